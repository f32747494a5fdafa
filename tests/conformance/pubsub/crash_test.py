"""SIGKILL at 20 random moments while clients publish and acknowledge: nothing that Publish returned for is lost, and
what was acknowledged longer ago than the window of lazy acks does not come back."""
import random
import threading
import time
import unittest

from google.api_core import exceptions
from google.cloud import pubsub_v1

from server_process import ServerProcess

KILLS = 20
LAZY_WINDOW_S = 0.1
SEED = 20130101


class CrashTest(unittest.TestCase):
    def setUp(self):
        self.server = ServerProcess()
        self.publisher = pubsub_v1.PublisherClient()
        self.subscriber = pubsub_v1.SubscriberClient()
        self.topic = self.publisher.topic_path("project", "topic")
        self.subscription = self.subscriber.subscription_path("project", "subscription")
        self.publisher.create_topic(name=self.topic)
        self.subscriber.create_subscription(name=self.subscription, topic=self.topic, ack_deadline_seconds=60)

    def tearDown(self):
        self.subscriber.close()
        self.server.close()

    def test_nothing_is_lost(self):
        rng = random.Random(SEED)
        stop = threading.Event()
        confirmed = {}  # message id -> data, of publishes that returned
        lock = threading.Lock()
        failures = []

        def publish(worker):
            n = 0
            while not stop.is_set():
                data = b"%d-%d" % (worker, n)
                n += 1
                try:
                    message_id = self.publisher.publish(self.topic, data).result(timeout=60)
                    with lock:
                        if message_id in confirmed:
                            failures.append("id {} was given twice".format(message_id))
                        confirmed[message_id] = data
                except exceptions.GoogleAPICallError:
                    pass  # it was not promised anything

        acked_at = {}  # message id -> when Acknowledge returned
        back = []      # deliveries of messages that had been acknowledged for good
        kills = []     # when

        def consume():
            while not stop.is_set():
                try:
                    received = self.subscriber.pull(subscription=self.subscription, max_messages=50, timeout=5,
                                                    return_immediately=True).received_messages
                    for m in received:
                        when = acked_at.get(m.message.message_id)
                        # Only the first kill after an ack can have undone it, and only soon after.
                        undone = when is not None and any(0 <= k - when < LAZY_WINDOW_S * 5 for k in list(kills))
                        if when is not None and not undone:
                            back.append(m.message.message_id)
                    # Half of them: the rest tests that what is not acknowledged stays.
                    ids = [m for m in received if int(m.message.message_id) % 2 == 0]
                    if ids:
                        self.subscriber.acknowledge(subscription=self.subscription, ack_ids=[m.ack_id for m in ids],
                                                    timeout=5)
                        now = time.monotonic()
                        acked_at.update((m.message.message_id, now) for m in ids)
                    else:
                        time.sleep(0.01)
                except exceptions.GoogleAPICallError:
                    time.sleep(0.01)

        threads = [threading.Thread(target=publish, args=(w,)) for w in range(4)]
        threads.append(threading.Thread(target=consume))
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.5))
            self.server.kill()
            kills.append(time.monotonic())
            self.server.start()
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join(timeout=120)
        self.assertEqual(failures, [])
        self.assertEqual(back, [])
        self.assertGreater(len(confirmed), KILLS)

        # What is left, after a last restart that makes every lease void.
        self.server.kill()
        self.server.start()
        left = set()
        while True:
            received = self.subscriber.pull(subscription=self.subscription, max_messages=1000, timeout=30,
                                            return_immediately=True).received_messages
            if not received:
                break
            left.update(m.message.message_id for m in received)
        missing = [i for i in confirmed if i not in left and i not in acked_at]
        self.assertEqual(missing, [], "of {} published".format(len(confirmed)))
        print("{} publishes over {} kills, {} acknowledged, {} left, 0 lost".format(
            len(confirmed), KILLS, len(acked_at), len(left)))


if __name__ == "__main__":
    unittest.main()
