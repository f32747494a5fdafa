"""What a user of google-cloud-pubsub does first, against the local server."""
import threading
import time
import unittest

from google.api_core import exceptions
from google.cloud import pubsub_v1
from google.cloud.pubsub_v1.subscriber import exceptions as subscriber_exceptions
from google.protobuf import field_mask_pb2

from server_process import ServerProcess

TIMEOUT = 60


class Collector:
    """A callback that remembers what it saw, and can be waited for."""

    def __init__(self, decide=lambda message: message.ack()):
        self._decide = decide
        self._changed = threading.Condition()
        self.seen = []

    def __call__(self, message):
        self._decide(message)
        with self._changed:
            self.seen.append(message.data)
            self._changed.notify_all()

    def wait_for(self, condition):
        with self._changed:
            return self._changed.wait_for(lambda: condition(self.seen), TIMEOUT)


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()
        cls.publisher = pubsub_v1.PublisherClient()
        cls.subscriber = pubsub_v1.SubscriberClient()

    @classmethod
    def tearDownClass(cls):
        cls.subscriber.close()
        cls.publisher.stop()
        cls.server.close()

    def setUp(self):
        name = self._testMethodName.replace("test_", "t-")
        self.topic = self.publisher.topic_path("project", name)
        self.subscription = self.subscriber.subscription_path("project", name)
        self.publisher.create_topic(name=self.topic)
        self.subscriber.create_subscription(name=self.subscription, topic=self.topic)

    def publish(self, data, **attributes):
        return [self.publisher.publish(self.topic, d, **attributes) for d in data]

    def pull(self, count=100, subscription=None):
        response = self.subscriber.pull(subscription=subscription or self.subscription, max_messages=count,
                                        timeout=TIMEOUT)
        return response.received_messages

    def pull_at_once(self):
        return self.subscriber.pull(subscription=self.subscription, max_messages=100,
                                    return_immediately=True).received_messages

    def drain(self, expected):
        """Pulls and acknowledges until `expected` distinct messages are there."""
        data = set()
        while len(data) < expected:
            received = self.pull()
            data.update(m.message.data for m in received)
            if received:
                self.subscriber.acknowledge(subscription=self.subscription, ack_ids=[m.ack_id for m in received])
        return data

    def test_admin(self):
        self.assertEqual(self.publisher.get_topic(topic=self.topic).name, self.topic)
        self.assertIn(self.topic, [t.name for t in self.publisher.list_topics(project="projects/project")])
        self.assertEqual(list(self.publisher.list_topic_subscriptions(topic=self.topic)), [self.subscription])
        self.assertIn(self.subscription,
                      [s.name for s in self.subscriber.list_subscriptions(project="projects/project")])
        with self.assertRaises(exceptions.AlreadyExists):
            self.publisher.create_topic(name=self.topic)
        with self.assertRaisesRegex(exceptions.NotFound, r"Resource not found \(resource=none\)"):
            self.publisher.get_topic(topic=self.publisher.topic_path("project", "none"))
        updated = self.subscriber.update_subscription(
            subscription={"name": self.subscription, "ack_deadline_seconds": 42},
            update_mask=field_mask_pb2.FieldMask(paths=["ack_deadline_seconds"]))
        self.assertEqual(updated.ack_deadline_seconds, 42)
        self.subscriber.delete_subscription(subscription=self.subscription)
        with self.assertRaises(exceptions.NotFound):
            self.subscriber.get_subscription(subscription=self.subscription)
        self.publisher.delete_topic(topic=self.topic)
        with self.assertRaises(exceptions.NotFound):
            self.publisher.publish(self.topic, b"x").result(timeout=TIMEOUT)

    def test_batched_publish_and_pull(self):
        futures = self.publish([b"%d" % i for i in range(2500)], origin="test")
        ids = [f.result(timeout=TIMEOUT) for f in futures]
        self.assertEqual(len(set(ids)), 2500)
        self.assertTrue(all(i.isdecimal() for i in ids))
        self.assertEqual(self.drain(2500), {b"%d" % i for i in range(2500)})
        self.assertEqual(len(self.pull_at_once()), 0)

    def test_attributes_and_publish_time(self):
        before = time.time()
        self.publish([b"x"], key="value", other="\u00e9")[0].result(timeout=TIMEOUT)
        message = self.pull()[0].message
        self.assertEqual(dict(message.attributes), {"key": "value", "other": "\u00e9"})
        self.assertLess(abs(message.publish_time.timestamp() - before), 30)

    def test_streaming_pull_with_callbacks(self):
        collector = Collector()
        future = self.subscriber.subscribe(self.subscription, callback=collector)
        self.publish([b"%d" % i for i in range(3000)])
        self.assertTrue(collector.wait_for(lambda seen: len(set(seen)) == 3000))
        future.cancel()
        future.result(timeout=TIMEOUT)
        self.assertEqual(len(collector.seen), 3000)

    def test_nack_brings_it_back(self):
        tries = []

        def decide(message):
            tries.append(message.message_id)
            if len(tries) < 3:
                message.nack()
            else:
                message.ack()

        collector = Collector(decide)
        future = self.subscriber.subscribe(self.subscription, callback=collector)
        self.publish([b"x"])
        self.assertTrue(collector.wait_for(lambda seen: len(seen) == 3))
        future.cancel()
        future.result(timeout=TIMEOUT)
        self.assertEqual(len(set(tries)), 1)

    def test_redelivery_after_the_deadline(self):
        self.publish([b"x"])
        first = self.pull()
        self.assertEqual(len(self.pull_at_once()), 0)
        self.subscriber.modify_ack_deadline(subscription=self.subscription, ack_ids=[first[0].ack_id],
                                            ack_deadline_seconds=1)
        second = []
        while not second:
            second = self.pull()
        self.assertEqual(second[0].message.message_id, first[0].message.message_id)

    def test_bad_ack_ids(self):
        with self.assertRaises(exceptions.InvalidArgument):
            self.subscriber.acknowledge(subscription=self.subscription, ack_ids=["bad"])

    def test_two_subscribers_share(self):
        collectors = [Collector(), Collector()]
        clients = [pubsub_v1.SubscriberClient() for _ in collectors]
        flow = pubsub_v1.types.FlowControl(max_messages=50)
        futures = [client.subscribe(self.subscription, callback=collector, flow_control=flow)
                   for client, collector in zip(clients, collectors)]
        published = 0
        # Until both have had some; a share is promised, its size is not.
        for _ in range(50):
            self.publish([b"%d" % (published + i) for i in range(200)])
            published += 200
            give_up = time.monotonic() + TIMEOUT
            while sum(len(set(c.seen)) for c in collectors) < published and time.monotonic() < give_up:
                time.sleep(0.01)
            if all(c.seen for c in collectors):
                break
        for future in futures:
            future.cancel()
            future.result(timeout=TIMEOUT)
        for client in clients:
            client.close()
        self.assertTrue(all(c.seen for c in collectors))
        everything = collectors[0].seen + collectors[1].seen
        self.assertEqual(set(everything), {b"%d" % i for i in range(published)})

    def test_exactly_once_delivery(self):
        subscription = self.subscription + "-once"
        self.subscriber.create_subscription(
            request={"name": subscription, "topic": self.topic, "enable_exactly_once_delivery": True})
        results = []

        def decide(message):
            results.append(message.ack_with_response())

        collector = Collector(decide)
        future = self.subscriber.subscribe(subscription, callback=collector)
        self.publish([b"%d" % i for i in range(100)])
        self.assertTrue(collector.wait_for(lambda seen: len(seen) >= 100))
        for result in results:
            self.assertEqual(result.result(timeout=TIMEOUT), subscriber_exceptions.AcknowledgeStatus.SUCCESS)
        future.cancel()
        future.result(timeout=TIMEOUT)
        self.assertEqual(len(collector.seen), 100)

    def test_unsupported_is_refused(self):
        with self.assertRaises(exceptions.MethodNotImplemented):
            self.subscriber.create_subscription(
                request={"name": self.subscription + "-f", "topic": self.topic, "filter": "attributes:x"})
        with self.assertRaises(exceptions.MethodNotImplemented):
            self.subscriber.seek(request={"subscription": self.subscription, "snapshot": "projects/p/snapshots/snap"})

    def test_restart_after_kill(self):
        for f in self.publish([b"kept", b"acked"]):
            f.result(timeout=TIMEOUT)
        received = self.pull()
        while len(received) < 2:
            received.extend(self.pull())
        self.subscriber.acknowledge(subscription=self.subscription,
                                    ack_ids=[m.ack_id for m in received if m.message.data == b"acked"])
        time.sleep(0.5)  # five times the promised window of lazy acks
        self.server.kill()
        self.server.start()
        again = []
        while not again:
            again = self.pull()
        self.assertEqual([m.message.data for m in again], [b"kept"])

    def test_zz_clean_stop(self):
        self.assertEqual(self.server.stop(), 0)
        self.server.start()


if __name__ == "__main__":
    unittest.main()
