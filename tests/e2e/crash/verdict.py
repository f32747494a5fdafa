"""Compares what is in the tables with what must be."""
import hashlib
from collections import Counter

SHOWN = 10


class Verdict:
    """problems: sentences; empty when all is right. digests: of what the tables say, equal for equal results."""

    def __init__(self, stream, raw, sums, dead, exactly_once):
        self._stream = stream
        self._exactly_once = exactly_once
        self.problems = []
        self.digests = {}
        self._line_of = {}
        for number, line in enumerate(stream.lines, 1):
            self._line_of.setdefault(line.event_id, number)
        self._check_raw(raw)
        self._check_dead(dead)
        self._check_sums(sums)

    def _problem(self, what, items):
        items = sorted(items)
        if items:
            shown = "; ".join(str(item) for item in items[:SHOWN])
            more = " and {} more".format(len(items) - SHOWN) if len(items) > SHOWN else ""
            self.problems.append("{} {}: {}{}".format(len(items), what, shown, more))

    def _named(self, event_id):
        return (self._line_of.get(event_id, 0), event_id, self._stream.events.get(event_id))

    def _check_raw(self, rows):
        counts = Counter(row[0] for row in rows)
        expected = self._stream.events
        self._problem("events are missing from raw (line, id, (key, value, time))",
                      [self._named(i) for i in expected if i not in counts])
        self._problem("rows of raw are of no event", [(i,) for i in counts if i not in expected])
        if self._exactly_once:
            self._problem("events are in raw more than once (line, id, (key, value, time)), times",
                          [self._named(i) + (n,) for i, n in counts.items() if n > 1 and i in expected])
        self._problem("rows of raw are not as the event was", [
            tuple(row) for row in rows
            if row[0] in expected and (row[1], int(row[2]), int(row[3])) != expected[row[0]]])
        self._digest("raw", sorted(tuple(row) for row in rows))

    def _check_dead(self, rows):
        counts = Counter(row[2] for row in rows)
        self._problem("malformed messages have no dead letter", [p for p in self._stream.dead if p not in counts])
        self._problem("dead letters are of no malformed message",
                      [tuple(row) for row in rows if row[2] not in self._stream.dead])
        if self._exactly_once:
            self._problem("malformed messages have more than one dead letter", [p for p, n in counts.items() if n > 1])
        self._digest("dead letters", sorted(counts))

    def _check_sums(self, rows):
        newest = newest_panes(rows)
        expected = self._stream.sums
        if self._exactly_once:
            panes = Counter((row[0], int(row[1]), int(row[2])) for row in rows)
            self._problem("panes are in sums more than once (key, minute, pane)", [p for p, n in panes.items() if n > 1])
            self._problem("sums are wrong (key, minute): is, must be", [
                (window, newest.get(window), must) for window, must in expected.items() if newest.get(window) != must])
        else:
            self._problem("sums lack events (key, minute): is, must be at least", [
                (window, newest.get(window), must) for window, must in expected.items()
                if newest.get(window, (0, 0))[0] < must[0] or newest[window][1] < must[1]])
        self._problem("sums are of no window", [w for w in newest if w not in expected])
        self._digest("sums", sorted(newest.items()))

    def _digest(self, name, content):
        self.digests[name] = hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def newest_panes(rows):
    """{(key, minute_ms): (events, sum)} of the panes with the greatest number. Where a pane was written twice
    (at-least-once), the fuller one."""
    newest = {}
    for key, minute_ms, pane, events, total in rows:
        window = (key, int(minute_ms))
        rank = (int(pane), int(events), int(total))
        if window not in newest or rank > newest[window]:
            newest[window] = rank
    return {window: rank[1:] for window, rank in newest.items()}
