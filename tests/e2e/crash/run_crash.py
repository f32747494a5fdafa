"""Publishes messages with known content while processes are killed, and compares what comes of them.

  run_crash.py --programs BUILD_DIR --scenario undisturbed|job|pubsub|bigquery|everything
               [--mode exactly_once|at_least_once] [--power-cut] [--vary-workers] [--messages N] [--kills K]
               [--seconds T] [--seed S] [--keep]

The job, the Pub/Sub and the BigQuery service are processes of their own; in the scenarios "undisturbed" and
"everything" the services are one `hornbeam up`. With --power-cut a kill also loses what was not synced. The seed
decides content and kills. Exit code 0: every event is in the raw table once (at least once, in that mode), every
malformed message is a dead letter, and the newest pane of each minute and key is its sum.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import urllib.error

from event_stream import TAIL_KEY, EventStream
from processes import PROJECT, BigQueryServer, CrashJob, Died, PowerCut, Publisher, PubSubServer, Up
from tables import Tables
from verdict import Verdict, newest_panes

SCENARIOS = ("undisturbed", "job", "pubsub", "bigquery", "everything")
# A restarted job's watermark stands still for 12 s: with a mean of so much between kills it moves now and then.
SECONDS_PER_KILL = {"job": 8.0, "pubsub": 4.0, "bigquery": 4.0, "everything": 8.0}
UNDISTURBED_SECONDS = 20.0
STUCK_SECONDS = 90
DRAIN_SECONDS = 120
LEASE_SECONDS = 12


class CrashRun:
    def __init__(self, flags, folder):
        self._flags = flags
        self._folder = folder
        self._random = random.Random("{} {}".format(flags.scenario, flags.seed))
        self._begun = time.monotonic()
        self.kills = []  # (seconds since publishing began, published, what)
        self._stream = EventStream(flags.seed, flags.messages)
        self._make_processes()
        self._tables = Tables(self._bigquery, PROJECT, "crash")
        self._publisher = None

    def _program(self, path):
        return os.path.join(self._flags.programs, path)

    def _power(self, number):
        if not self._flags.power_cut:
            return None
        return PowerCut(self._program("tests/drop_unsynced/drop_unsynced.so"),
                        self._program("tests/drop_unsynced/drop_unsynced_restore"),
                        "{} {}".format(self._flags.seed, number))

    def _next_workers(self):
        return self._random.randint(1, 4) if self._flags.vary_workers else 0

    def _make_processes(self):
        scenario = self._flags.scenario
        if scenario in ("undisturbed", "everything"):
            up = Up(self._program("hornbeam"), self._folder, self._power(1))
            self._pubsub = self._bigquery = up
            self._services = [up]
        else:
            self._pubsub = PubSubServer(self._program("src/services/pubsub/pubsub_server"), self._folder,
                                        self._power(1))
            self._bigquery = BigQueryServer(self._program("bigquery_server"), self._folder,
                                            self._power(2))
            self._services = [self._pubsub, self._bigquery]
        self._job = CrashJob(self._program("tests/e2e/crash/crash_job"), self._folder, self._power(3),
                             self._pubsub, self._bigquery, self._flags.mode, self._next_workers)
        self._victims = {"undisturbed": [], "job": [self._job], "pubsub": [self._pubsub],
                         "bigquery": [self._bigquery], "everything": [*self._services, self._job]}[scenario]

    def _say(self, text):
        print("{:7.1f} s  {}".format(time.monotonic() - self._begun, text), flush=True)

    def run(self):
        """The verdict."""
        lines_path = os.path.join(self._folder, "lines")
        self._stream.write(lines_path)
        for service in self._services:
            service.start()
        for service in self._services:
            service.wait_ready()
        self._tables.create_dataset()
        seconds = self._flags.seconds or self._flags.kills * SECONDS_PER_KILL.get(self._flags.scenario, 0.0)
        seconds = seconds or UNDISTURBED_SECONDS
        self._publisher = Publisher(self._program("tests/e2e/crash/crash_publisher"), self._folder,
                                    self._pubsub.pubsub, lines_path, max(1, int(self._flags.messages / seconds)))
        self._publisher.wait_publishing()
        self._job.start()
        self._job.wait_ready()
        self._say("publishing {:,} messages over about {:.0f} s".format(self._flags.messages, seconds))
        if self._victims:
            self._kill_at_random(seconds)
        self._wait_published()
        self._wait_processed()
        self._drain()
        verdict = Verdict(self._stream, self._tables.rows("raw"), self._tables.rows("sums"),
                          self._tables.rows("dead_letters"), self._flags.mode == "exactly_once")
        for service in self._services:
            if (code := service.stop(60)) != 0:
                verdict.problems.append("{} ended with code {} at SIGTERM".format(service.name, code))
        return verdict

    def _kill_at_random(self, seconds):
        moments = sorted(self._random.uniform(0.03, 1.05) * seconds for _ in range(self._flags.kills))
        published_from = time.monotonic()
        for moment in moments:
            while time.monotonic() < published_from + moment:
                self._check_alive()
                time.sleep(min(0.05, max(0.0, published_from + moment - time.monotonic())))
            victims = self._random.sample(self._victims, len(self._victims))
            for victim in victims:
                victim.kill()
            undone = [victim.reap() for victim in victims]
            self.kills.append((time.monotonic() - published_from, self._publisher.published(),
                               "{}{}".format(" and ".join(v.name for v in victims),
                                             "; " + "; ".join(undone) if any(undone) else "")))
            self._say("kill {} of {}: {}".format(len(self.kills), self._flags.kills, self.kills[-1][2]))
            time.sleep(self._random.uniform(0.0, 0.3))
            for victim in self._random.sample(victims, len(victims)):
                victim.start()
        for victim in self._victims:
            victim.wait_ready()

    def _check_alive(self):
        for process in (*self._services, self._job):
            process.check_alive()

    def _wait_published(self):
        while not self._publisher.ended():
            self._check_alive()
            time.sleep(0.2)
        self._say(self._publisher.log().splitlines()[-1])

    def _progress(self):
        """(rows of raw, dead letters, sums that are as expected), and whether that is all."""
        raw = self._tables.count("raw")
        dead = self._tables.count("dead_letters")
        try:
            newest = newest_panes(self._tables.rows("sums"))
        except (urllib.error.URLError, OSError):
            newest = {}
        expected = {window: must for window, must in self._stream.sums.items() if window[0] != TAIL_KEY}
        right = sum(1 for window, must in expected.items() if newest.get(window, (0, 0))[0] >= must[0])
        done = ((raw or 0) >= len(self._stream.events) and (dead or 0) >= len(self._stream.dead) and
                right == len(expected))
        return (raw, dead, right), done

    def _wait_processed(self):
        last, moved = None, time.monotonic()
        while True:
            self._check_alive()
            progress, done = self._progress()
            if done:
                break
            if progress != last:
                last, moved = progress, time.monotonic()
            if time.monotonic() > moved + STUCK_SECONDS:
                self._say("nothing has moved for {} s: {} rows in raw, {} dead letters, {} of {} sums".format(
                    STUCK_SECONDS, *progress, len(self._stream.sums) - 1))
                return
            time.sleep(0.5)
        self._say("all is processed: {} rows in raw, {} dead letters, {} sums".format(*progress))
        if self._victims:
            time.sleep(LEASE_SECONDS)  # what a lost acknowledgement brings again must change nothing
            self._check_alive()

    def _drain(self):
        code = self._job.stop(DRAIN_SECONDS)
        if code is None:
            raise Died("the job is not drained after {} s\n{}".format(DRAIN_SECONDS, self._job.log_tail()))
        if code != 0:
            raise Died("draining ended the job with code {}\n{}".format(code, self._job.log_tail()))
        self._say("drained")

    def close(self):
        if self._publisher is not None:
            self._publisher.close()
        self._job.close()
        for service in self._services:
            service.close()


def parse_flags():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--scenario", choices=SCENARIOS, required=True)
    parser.add_argument("--mode", choices=("exactly_once", "at_least_once"), default="exactly_once")
    parser.add_argument("--power-cut", action="store_true")
    parser.add_argument("--vary-workers", action="store_true", help="each start of the job has one to four workers")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=None, help="publish for about so long")
    parser.add_argument("--keep", action="store_true", help="keep the folder with data and logs")
    flags = parser.parse_args()
    if flags.seed is None:
        flags.seed = random.SystemRandom().randrange(1_000_000)
    if flags.scenario == "undisturbed":
        flags.kills = 0
    return flags


def main():
    flags = parse_flags()
    name = "{} {}{} messages={} kills={} seed={}".format(flags.scenario, flags.mode, " power-cut" * flags.power_cut,
                                                         flags.messages, flags.kills, flags.seed)
    folder = tempfile.mkdtemp(prefix="hornbeam_crash_")
    print("crash test: {}\nfolder: {}".format(name, folder), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the finally below
    run = CrashRun(flags, folder)
    problems = []
    try:
        verdict = run.run()
        problems = verdict.problems
        print("digests: " + ", ".join("{} {}".format(*item) for item in verdict.digests.items()))
    except Died as died:
        problems = [str(died)]
    finally:
        run.close()
    if problems:
        for problem in problems:
            print("WRONG: " + problem)
        print("kills (s, published, what):")
        for seconds, published, what in run.kills:
            print("  {:6.2f}  {:7d}  {}".format(seconds, published, what))
    if not problems and not flags.keep:
        shutil.rmtree(folder)
    else:
        print("kept: " + folder)
    print("{}: {}".format("FAILED" if problems else "passed", name))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
