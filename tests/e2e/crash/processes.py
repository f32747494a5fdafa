"""The processes of a crash test: they are killed, and started again on the same ports and folders."""
import json
import os
import random
import signal
import subprocess
import time

READY_SECONDS = 90
# A sync under a power cut takes so much longer, so that most kills find something unsynced.
SYNC_MS = 8
PROJECT = "crash"


class Died(Exception):
    """A process ended though nobody killed it."""


class Process:
    """One program with a folder of its own. Started again, it takes the ports it had."""

    def __init__(self, name, folder, power=None):
        self.name = name
        self.data = os.path.join(folder, name)
        self.ready_file = os.path.join(folder, name + ".ready")
        self.log_path = os.path.join(folder, name + ".log")
        self.power = power  # a PowerCut, or None: SIGKILL alone
        self._process = None
        os.makedirs(self.data, exist_ok=True)

    def argv(self):
        raise NotImplementedError

    def on_ready(self, text):
        pass

    def start(self):
        if os.path.exists(self.ready_file):
            os.remove(self.ready_file)
        environment = dict(os.environ)
        if self.power:
            environment.update(self.power.environment(self.data))
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(self.argv(), stdout=log, stderr=log, env=environment)

    def is_ready(self):
        self.check_alive()
        return os.path.exists(self.ready_file)

    def wait_ready(self):
        give_up = time.monotonic() + READY_SECONDS
        while not self.is_ready():
            if time.monotonic() > give_up:
                raise Died("{} is not ready after {} s\n{}".format(self.name, READY_SECONDS, self.log_tail()))
            time.sleep(0.01)
        with open(self.ready_file, encoding="utf-8") as f:
            self.on_ready(f.read())

    def check_alive(self):
        if self._process is not None and self._process.poll() is not None:
            raise Died("{} ended by itself with code {}\n{}".format(self.name, self._process.returncode,
                                                                    self.log_tail()))

    def kill(self):
        """SIGKILL. With a power cut, what was not synced is gone afterwards."""
        self.check_alive()
        self._process.send_signal(signal.SIGKILL)

    def reap(self):
        """After kill()."""
        self._process.wait()
        self._process = None
        if self.power:
            return self.power.restore(self.data)
        return ""

    def stop(self, seconds):
        """SIGTERM; the exit code, or None when it did not end in time."""
        self.check_alive()
        self._process.terminate()
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def log_tail(self):
        with open(self.log_path, "rb") as f:
            return f.read()[-3000:].decode(errors="replace")


class PowerCut:
    """Lets processes run under drop_unsynced, and drops what they had not synced."""

    def __init__(self, library, restore, seed):
        self._library = library
        self._restore = restore
        self._random = random.Random(seed)

    @staticmethod
    def _journal(data):
        return data + ".journal"

    def environment(self, data):
        os.makedirs(self._journal(data), exist_ok=True)
        return {"LD_PRELOAD": self._library, "DROP_UNSYNCED_ROOT": data, "DROP_UNSYNCED_JOURNAL": self._journal(data),
                "DROP_UNSYNCED_SYNC_MS": str(SYNC_MS)}

    def restore(self, data):
        # Every second time all of it goes; otherwise a prefix of each file's unsynced writes reached the disk.
        seed = 0 if self._random.random() < 0.5 else self._random.randrange(1, 1 << 30)
        argv = [self._restore, "--root", data, "--journal", self._journal(data), "--seed", str(seed)]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        return done.stdout.strip()


def port_of(address):
    return address.rsplit(":", 1)[1] if address else "0"


class PubSubServer(Process):
    def __init__(self, program, folder, power):
        super().__init__("pubsub", folder, power)
        self._program = program
        self.pubsub = None

    def argv(self):
        return [self._program, "--data-dir", self.data, "--port", port_of(self.pubsub), "--ready-file",
                self.ready_file]

    def on_ready(self, text):
        self.pubsub = text.strip()


class BigQueryServer(Process):
    def __init__(self, program, folder, power):
        super().__init__("bigquery", folder, power)
        self._program = program
        self.bigquery = None
        self.bigquery_grpc = None

    def argv(self):
        return [self._program, "--data-dir", self.data, "--port", port_of(self.bigquery), "--grpc-port",
                port_of(self.bigquery_grpc), "--ready-file", self.ready_file]

    def on_ready(self, text):
        ready = json.loads(text)
        self.bigquery = ready["bigquery"]
        self.bigquery_grpc = ready["bigquery-grpc"]


class Up(Process):
    """`hornbeam up`: all services in one process."""

    def __init__(self, program, folder, power):
        super().__init__("up", folder, power)
        self._program = program
        self.pubsub = None
        self.bigquery = None
        self.bigquery_grpc = None

    def argv(self):
        return [self._program, "up", "--data-dir", self.data, "--pubsub-port", port_of(self.pubsub),
                "--bigquery-port", port_of(self.bigquery), "--bigquery-grpc-port", port_of(self.bigquery_grpc),
                "--console-port", "0", "--ready-file", self.ready_file]

    def on_ready(self, text):
        ready = json.loads(text)
        self.pubsub = ready["pubsub"]
        self.bigquery = ready["bigquery"]
        self.bigquery_grpc = ready["bigquery-grpc"]


class CrashJob(Process):
    """Each start has as many workers as next_workers() says; 0 for one per core."""

    def __init__(self, program, folder, power, pubsub, bigquery, mode, next_workers):
        super().__init__("job", folder, power)
        self._next_workers = next_workers
        self._program = program
        self._pubsub = pubsub
        self._bigquery = bigquery
        self._mode = mode

    def argv(self):
        return [self._program, "--state-dir", self.data, "--subscription",
                "projects/{}/subscriptions/events".format(PROJECT), "--dataset", PROJECT + ".crash", "--pubsub",
                self._pubsub.pubsub, "--bigquery", self._bigquery.bigquery, "--bigquery-grpc",
                self._bigquery.bigquery_grpc, "--mode", self._mode, "--workers",
                str(self._next_workers()), "--ready-file", self.ready_file]


class Publisher:
    """The world outside: never killed."""

    def __init__(self, program, folder, pubsub, lines_path, rate):
        self._log_path = os.path.join(folder, "publisher.log")
        argv = [program, "--pubsub", pubsub, "--topic", "projects/{}/topics/events".format(PROJECT), "--subscription",
                "projects/{}/subscriptions/events".format(PROJECT), "--file", lines_path, "--rate", str(rate)]
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log)

    def log(self):
        with open(self._log_path, encoding="utf-8") as f:
            return f.read()

    def wait_publishing(self):
        while not self.log() and not self.ended():
            time.sleep(0.01)

    def published(self):
        lines = [line for line in self.log().splitlines() if line.startswith("published ")]
        return int(lines[-1].split()[1].rstrip(",")) if lines else 0

    def ended(self):
        code = self._process.poll()
        if code not in (None, 0):
            raise Died("the publisher ended with code {}\n{}".format(code, self.log()[-1000:]))
        return code == 0

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
