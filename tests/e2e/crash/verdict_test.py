"""Tests of the judge: a verdict finds whatever is missing, doubled, foreign or wrong."""
import unittest

from event_stream import EventStream
from verdict import Verdict


class VerdictTest(unittest.TestCase):
    def setUp(self):
        self.stream = EventStream(7, 2000)
        self.raw = [[i, key, str(value), str(ms)] for i, (key, value, ms) in self.stream.events.items()]
        self.sums = [[key, str(minute), "0", str(events), str(total)]
                     for (key, minute), (events, total) in self.stream.sums.items()]
        self.dead = [["Parse", "why", payload] for payload in self.stream.dead]

    def problems(self, exactly_once=True):
        return Verdict(self.stream, self.raw, self.sums, self.dead, exactly_once).problems

    def test_the_stream_is_what_the_seed_says(self):
        again = EventStream(7, 2000)
        self.assertEqual([line.text() for line in again.lines], [line.text() for line in self.stream.lines])
        self.assertEqual(len(self.stream.lines), 2000)
        self.assertGreater(len(self.stream.dead), 0)
        self.assertGreater(len({line.event_id for line in self.stream.lines}), 1900)
        self.assertLess(len({line.event_id for line in self.stream.lines}), 2000)

    def test_the_right_tables_are_right(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.problems(exactly_once=False), [])

    def test_digests_do_not_depend_on_the_order_of_rows(self):
        first = Verdict(self.stream, self.raw, self.sums, self.dead, True).digests
        self.raw.reverse()
        self.sums.reverse()
        self.assertEqual(Verdict(self.stream, self.raw, self.sums, self.dead, True).digests, first)

    def test_a_missing_event_is_found_in_both_modes(self):
        self.raw.pop()
        self.assertEqual(len(self.problems()), 1)
        self.assertEqual(len(self.problems(exactly_once=False)), 1)

    def test_a_doubled_event_is_found_where_it_matters(self):
        self.raw.append(self.raw[0])
        self.assertEqual(len(self.problems()), 1)
        self.assertEqual(self.problems(exactly_once=False), [])

    def test_a_changed_and_a_foreign_row_are_found(self):
        self.raw[0] = [self.raw[0][0], "key-x", "1", "2"]
        self.raw.append(["nobody", "key-0", "1", "2"])
        self.assertEqual(len(self.problems()), 2)

    def test_dead_letters_are_counted(self):
        self.dead.append(self.dead[0])
        self.assertEqual(len(self.problems()), 1)
        del self.dead[0]
        self.assertEqual(self.problems(), [])
        self.dead.pop()
        self.dead.append(["Parse", "why", "a good message"])
        self.assertEqual(len(self.problems()), 2)

    def test_of_several_panes_the_newest_is_the_sum(self):
        key, minute, _, events, total = self.sums[0]
        self.sums[0] = [key, minute, "10", events, total]
        self.sums.append([key, minute, "9", "1", "1"])
        self.assertEqual(self.problems(), [])
        self.sums.append([key, minute, "11", "1", "1"])
        self.assertEqual(len(self.problems()), 1)

    def test_a_pane_written_twice_and_a_missing_sum_are_found(self):
        self.sums.append(self.sums[0])
        self.assertEqual(len(self.problems()), 1)
        self.sums = self.sums[1:-1]
        self.assertEqual(len(self.problems()), 1)
        self.assertEqual(len(self.problems(exactly_once=False)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
