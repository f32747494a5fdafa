"""A pubsub_server of the test's own, which can be killed and started again on the same port and data."""
import os
import signal
import subprocess
import tempfile
import time


class ServerProcess:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="pubsub_test_")
        self.address = None
        self._process = None
        self.start()

    def start(self):
        ready = os.path.join(self._folder.name, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        port = self.address.split(":")[1] if self.address else "0"
        self._process = subprocess.Popen(
            [os.environ["PUBSUB_SERVER"], "--data-dir", os.path.join(self._folder.name, "data"), "--port", port,
             "--ready-file", ready], stdout=subprocess.DEVNULL)
        give_up = time.monotonic() + 60
        while not os.path.exists(ready):
            if self._process.poll() is not None:
                raise RuntimeError("pubsub_server ended with code {}".format(self._process.returncode))
            if time.monotonic() > give_up:
                raise RuntimeError("pubsub_server is not ready after a minute")
            time.sleep(0.005)
        with open(ready) as f:
            self.address = f.read().strip()
        os.environ["PUBSUB_EMULATOR_HOST"] = self.address

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self):
        """Ends the server as SIGTERM does, and returns its exit code."""
        self._process.terminate()
        return self._process.wait(timeout=60)

    def close(self):
        if self._process.poll() is None:
            self.kill()
        self._folder.cleanup()
