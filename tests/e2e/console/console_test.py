#!/usr/bin/env python3
"""Runs `hornbeam demo`, looks at the console's page meanwhile in headless Chromium, and checks that it shows the job as
it is: numbers that move, counts that agree with the JSON interface, a graph of the steps, a query on the result.

usage: console_test.py HORNBEAM SCREENSHOT.png     exit code 77: skipped, Chromium is not installed
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request

from browser import Browser, missing, wait_until

SKIPPED = 77
WIDTH, HEIGHT = 1280, 800
FLIGHTS = 60_000
RATE = 6_000  # messages per second: the run takes about ten seconds
# What FlightReplay adds.
DUPLICATES, MALFORMED = 500, 50
SMALLEST_SCREENSHOT_BYTES = 20_000
STEPS = ["ReadFlights", "Payload", "Parse", "WriteEvents", "Hourly", "WriteHourly", "DeadLetters", "WriteDeadLetters"]


def number(page, element):
    text = page.run("return document.getElementById(arguments[0]).textContent", element)
    return int(text.replace(",", "")) if text.replace(",", "").isdigit() else None


def steps(page):
    return page.run("return Object.fromEntries([...document.querySelectorAll('#graph .step')]"
                    ".map(g => [g.dataset.step, [Number(g.dataset.in), Number(g.dataset.out)]]))")


def get(console, path):
    with urllib.request.urlopen("http://%s%s" % (console, path), timeout=30) as reply:
        return reply.read().decode()


def newest_job(console):
    return json.loads(get(console, "/api/v1/jobs"))["jobs"][0]


def check_while_it_runs(page, console, screenshot):
    first = wait_until(lambda: number(page, "elements-read"), "elements on the page", 60)
    wait_until(lambda: len(steps(page)) == len(STEPS), "all steps in the graph", 10)
    assert sorted(steps(page)) == sorted(STEPS), steps(page)
    wait_until(lambda: (number(page, "elements-read") or 0) > first, "a count that moves", 10)
    wait_until(lambda: (number(page, "rate") or 0) > 0, "a rate", 10)
    before = steps(page)["Hourly"][0]
    wait_until(lambda: steps(page)["Hourly"][0] > before, "a step's count that moves", 10)
    wait_until(lambda: (number(page, "dead-letters") or 0) > 0, "dead letters", 20)
    wait_until(lambda: (number(page, "rows-delivered") or 0) > 0, "delivered rows", 20)
    wait_until(lambda: number(page, "backlog") is not None, "a backlog", 10)
    wait_until(lambda: page.run("return document.querySelectorAll('#tables button').length") == 3, "the three tables", 20)
    page.run("[...document.querySelectorAll('#tables button')].find(b => b.textContent === 'flights.hourly').click()")
    wait_until(lambda: page.run("return document.querySelectorAll('#result tbody tr').length") > 0, "rows of a query", 20)
    assert page.run("return document.documentElement.scrollWidth") <= WIDTH, "the page scrolls sideways"
    # The page shows at most what the job has, and a job that runs has at least what the page showed before.
    shown = number(page, "elements-read")
    job = newest_job(console)
    assert job["state"] == "JOB_STATE_RUNNING", job
    assert 0 < shown <= job["elements_read"], (shown, job)
    size = page.screenshot(screenshot)
    assert size > SMALLEST_SCREENSHOT_BYTES, "the screenshot is nearly empty: %d bytes" % size
    page.dark(True)
    page.screenshot(screenshot.replace(".png", "-dark.png"))
    page.dark(False)


def check_at_the_end(page, console):
    wait_until(lambda: newest_job(console)["state"] == "JOB_STATE_DRAINED", "the end of the job", 120)
    wait_until(lambda: page.run("return document.getElementById('job-state').textContent") == "drained", "the end on the page", 10)
    assert number(page, "elements-read") == FLIGHTS + MALFORMED
    assert number(page, "dead-letters") == MALFORMED
    assert number(page, "dropped-late") == 0
    shown = steps(page)
    assert shown["Parse"] == [FLIGHTS + MALFORMED] * 2, shown
    assert shown["WriteEvents"] == [FLIGHTS, FLIGHTS], shown
    assert shown["WriteDeadLetters"] == [MALFORMED, MALFORMED], shown
    metrics = get(console, "/metrics")
    assert 'ptransform="WriteEvents"' in metrics, metrics
    for name in ["dataflow_job_element_count", "dataflow_job_elapsed_time", "pubsub_googleapis_com:"]:
        assert name in metrics, name


def main():
    hornbeam, screenshot = sys.argv[1], os.path.abspath(sys.argv[2])
    if missing():
        print("skipped: %s not installed (tools/packages-test.txt)" % " and ".join(missing()))
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="hornbeam-console-") as directory:
        ready = os.path.join(directory, "ready.json")
        demo = subprocess.Popen([hornbeam, "demo", "--data-dir", os.path.join(directory, "data"), "--flights", str(FLIGHTS),
                                 "--rate", str(RATE), "--keep-running", "--ready-file", ready])
        try:
            def endpoints():
                assert demo.poll() is None, "the demo ended with %s" % demo.returncode
                return os.path.exists(ready) and json.load(open(ready))
            console = wait_until(endpoints, "the ready file", 60)["console"]
            with Browser(WIDTH, HEIGHT) as page:
                page.open("http://%s/" % console)
                check_while_it_runs(page, console, screenshot)
                check_at_the_end(page, console)
        finally:
            demo.terminate()
            code = demo.wait(timeout=60)
        assert code == 0, "the demo ended with %d" % code
    print("passed; the page is in %s" % screenshot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
