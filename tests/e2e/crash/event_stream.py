"""What the crash tests publish, and what must come of it: both made from a seed, and from nothing else.

Events lie a fixed step apart in event time and are moved by up to 45 s. Of a hundred lines one is the copy of an
earlier one, and of five hundred one is malformed in one of several ways. The last line is an event of key "tail"
two hours later, which moves the watermark past all the others.
"""
import json
import random
from datetime import datetime, timezone

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
DISORDER_MS = 45_000
MINUTE_MS = 60_000
KEYS = 8
TAIL_KEY = "tail"
COPY_DISTANCE = 1500


class Line:
    """One message: the event id (an attribute), the event time (an attribute, as text), the payload."""

    def __init__(self, event_id, time, payload):
        self.event_id = event_id
        self.time = time
        self.payload = payload

    def text(self):
        return "\t".join((self.event_id, self.time, self.payload))


def _rfc3339(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + "{:03d}Z".format(ms % 1000)


class EventStream:
    """lines: what to publish, in order. Expected: events {id: (key, value, event_ms)}, dead {payload}, and
    sums {(key, minute_ms): (events, sum)}."""

    def __init__(self, seed, messages):
        self._random = random.Random(seed)
        self._minutes = 60 if messages <= 50_000 else 200
        self._step_ms = self._minutes * MINUTE_MS / messages
        self.lines = []
        self.events = {}
        self.dead = set()
        self._originals = []
        while len(self.lines) < messages - 1:
            self._add_line(len(self.lines))
        self._add_event("tail", TAIL_KEY, START_MS + (self._minutes + 120) * MINUTE_MS)
        self.sums = {}
        for key, value, event_ms in self.events.values():
            window = (key, event_ms - event_ms % MINUTE_MS)
            events, total = self.sums.get(window, (0, 0))
            self.sums[window] = (events + 1, total + value)

    def _add_line(self, i):
        chance = self._random.random()
        if chance < 0.01 and self._originals:
            self.lines.append(self._random.choice(self._originals[-COPY_DISTANCE:]))
            return
        event_ms = START_MS + DISORDER_MS + int(i * self._step_ms) + self._random.randint(-DISORDER_MS, DISORDER_MS)
        if chance < 0.012:
            self._add_malformed("bad-{}".format(i), event_ms)
        else:
            self._add_event("event-{}".format(i), "key-{}".format(self._random.randrange(KEYS)), event_ms)
        self._originals.append(self.lines[-1])

    def _add_event(self, event_id, key, event_ms):
        value = self._random.randrange(1_000_000)
        time = str(event_ms) if self._random.random() < 0.5 else _rfc3339(event_ms)
        self.lines.append(Line(event_id, time, json.dumps({"id": event_id, "key": key, "value": value})))
        self.events[event_id] = (key, value, event_ms)

    def _add_malformed(self, event_id, event_ms):
        whole = json.dumps({"id": event_id, "key": "key-0", "value": 1})
        time, payload = self._random.choice([
            (str(event_ms), "no JSON at all, {}".format(event_id)),
            (str(event_ms), whole[:-3]),
            (str(event_ms), json.dumps({"id": event_id, "key": "key-0"})),
            (str(event_ms), json.dumps({"id": event_id, "key": "key-0", "value": "many"})),
            ("yesterday", whole),
            ("2026-13-45T00:00:00Z", whole),
        ])
        self.lines.append(Line(event_id, time, payload))
        self.dead.add(payload)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            for line in self.lines:
                f.write(line.text() + "\n")
