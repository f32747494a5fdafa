"""A headless Chromium, driven through chromedriver's WebDriver protocol with the standard library alone."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

START_TIMEOUT_S = 30


def missing():
    """The programs of `chromium` and `chromedriver` that are not installed."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One window. Use it in a `with` statement."""

    def __init__(self, width, height):
        self._profile = tempfile.TemporaryDirectory(prefix="hornbeam-chromium-")
        log = os.path.join(self._profile.name, "chromedriver.log")
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0", "--log-path=" + log],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._address = "http://127.0.0.1:%d" % self._read_port()
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--window-size=%d,%d" % (width, height),
                     "--user-data-dir=" + os.path.join(self._profile.name, "profile")],
        }
        session = self._call("POST", "/session", {
            "capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}})
        self._session = "/session/" + session["sessionId"]
        # The window has borders of its own; the page shall have exactly this size.
        self.devtools("Emulation.setDeviceMetricsOverride",
                      {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._profile.cleanup()

    def open(self, url):
        self._call("POST", self._session + "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the JavaScript returns."""
        return self._call("POST", self._session + "/execute/sync", {"script": script, "args": list(arguments)})

    def screenshot(self, path):
        image = base64.b64decode(self._call("GET", self._session + "/screenshot"))
        with open(path, "wb") as file:
            file.write(image)
        return len(image)

    def dark(self, on):
        self.devtools("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def devtools(self, command, parameters):
        return self._call("POST", self._session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _read_port(self):
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                return int(line.rsplit("port", 1)[1].strip(" .\n"))
        raise RuntimeError("chromedriver ended before it was ready")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=START_TIMEOUT_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError("%s %s: %s" % (method, path, error.read().decode(errors="replace"))) from error


def wait_until(condition, what, timeout_s):
    """Asks `condition` until it gives something true, and returns that."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not seen within %d s: %s" % (timeout_s, what))
        time.sleep(0.1)
