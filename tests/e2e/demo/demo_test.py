#!/usr/bin/env python3
"""Runs `hornbeam demo` on a part of the flights: twice, to see that it says the same, and once until Ctrl-C.

usage: demo_test.py HORNBEAM
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FLIGHTS = 30_000
RUN_TIMEOUT_S = 120


def results(hornbeam, data_dir):
    """What a run prints between its progress and its rate."""
    done = subprocess.run([hornbeam, "demo", "--data-dir", data_dir, "--flights", str(FLIGHTS)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=RUN_TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^In\n.*?(?=^[0-9.]+ s, )", done.stdout, re.DOTALL | re.MULTILINE)
    assert found, done.stdout
    return found.group()


def check_same_twice(hornbeam, data_dir):
    first = results(hornbeam, data_dir)
    assert "Every message is accounted for: 30,550 = 30,000 + 500 + 50." in first, first
    second = results(hornbeam, data_dir)
    assert first == second, "%s\nis not\n%s" % (first, second)


def check_interrupt(hornbeam, data_dir, ready):
    demo = subprocess.Popen([hornbeam, "demo", "--data-dir", data_dir, "--rate", "1000", "--ready-file", ready],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + RUN_TIMEOUT_S
    while not os.path.exists(ready):
        assert demo.poll() is None and time.monotonic() < end, "the demo did not start"
        time.sleep(0.05)
    assert json.load(open(ready))["pubsub"].startswith("127.0.0.1:")
    demo.send_signal(signal.SIGINT)
    _, error = demo.communicate(timeout=RUN_TIMEOUT_S)
    assert demo.returncode == 1, demo.returncode
    assert error.count("\n") == 1 and "stopped before the end" in error, error


def main():
    hornbeam = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="hornbeam-demo-") as directory:
        data_dir = os.path.join(directory, "data")
        check_same_twice(hornbeam, data_dir)
        check_interrupt(hornbeam, data_dir, os.path.join(directory, "ready.json"))
    print("passed")


if __name__ == "__main__":
    main()
