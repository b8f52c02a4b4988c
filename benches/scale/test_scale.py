"""The simulation of a carry: small cases whose answers are known by hand, the ways
between real maps, and what was measured.
"""

import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import carries
import measure
import numpy
import passes
import play
import run
import stead
import ways as ways_of
from fill import speeds
from rates import FILE, Cost, Rates, Site
from ways import Ways

# By how much the predicted time of a pass may differ from the measured one; docs/scale.md
# says so. Most of it is the other work of the machine.
ERROR = 0.35

# a node that needs a millisecond to list an item; 2 ms at the source and 3 ms at the
# target to copy one
PLAIN = Rates(listed=Cost(0, 0.001), item={"copy": Cost(0, 0.002, 0.003)})
ONE = Site(nodes=1, workers=1, trip=0.0, carrier_cores=1.0)


def two(*sources):
    """Ways from each source to the node `t`; each source gives half of what it has."""
    ways = Ways(nodes=[*sources, "t"])
    for name in sources:
        ways.held[name] = 1 / len(sources)
        ways.bring[name, "t"] = ways.drop[name, "t"] = 0.5 / len(sources)
    ways.gained["t"] = 0.5
    return ways


def seconds(task, ways, rows, rates, site):
    return passes.play(passes.jobs(task, ways, rows, rates, site), site).seconds


class Passes(unittest.TestCase):
    def test_two_nodes_take_what_their_items_take(self):
        # 1,000 items are listed in 1 s, and 500 are copied in 2.5 s
        self.assertAlmostEqual(seconds("copy", two("a"), 1000, PLAIN, ONE), 3.5)
        self.assertAlmostEqual(seconds("count", two("a"), 1000, PLAIN, ONE), 1.0)

    def test_a_limit_counts_at_the_target(self):
        # the items of the first second are free, and 400 are left at 40 a second
        site = replace(ONE, items_per_second=40)
        self.assertAlmostEqual(seconds("copy", two("a"), 1000, PLAIN, site), 11.5)
        site = replace(ONE, nodes=2, workers=4, items_per_second=40)
        self.assertAlmostEqual(seconds("copy", two("a", "b"), 1000, PLAIN, site), 11.5)

    def test_sources_share_the_processor_of_a_target(self):
        site = replace(ONE, nodes=2)
        # one after the other 3.5 s; at once each takes 1.75 s, and the target works 1.5 s
        self.assertAlmostEqual(seconds("copy", two("a", "b"), 1000, PLAIN, ONE), 3.5)
        self.assertAlmostEqual(seconds("copy", two("a", "b"), 1000, PLAIN, site), 1.75)
        # four at once would take 0.875 s, but the target works 1.5 s
        site, four = replace(ONE, nodes=4), two("a", "b", "c", "d")
        self.assertAlmostEqual(seconds("copy", four, 1000, PLAIN, site), 1.5)

    def test_a_slow_node_is_waited_for(self):
        ways, slow = two("a", "b"), {"b": 10.0}
        # b alone: 500 listed in 5 s; 250 copied in 5 s there and 0.75 s at the target
        site = replace(ONE, nodes=2, slow=slow)
        self.assertAlmostEqual(seconds("copy", ways, 1000, PLAIN, site), 10.75)
        site = replace(ONE, slow=slow)
        self.assertAlmostEqual(seconds("copy", ways, 1000, PLAIN, site), 12.5)

    def test_workers_share_a_batch(self):
        site = replace(ONE, workers=5, node_cores=5)
        self.assertAlmostEqual(seconds("copy", two("a"), 1000, PLAIN, site), 1.5)

    def test_the_journal_is_written_by_one_at_a_time(self):
        rates = Rates(listed=Cost(), item={}, journal={"copy": 1})
        # 512 items are two batches, wherever they are
        for sources in (["a"], ["a", "b"]):
            ways, site = two(*sources), replace(ONE, nodes=2, sync=1.0)
            self.assertAlmostEqual(seconds("copy", ways, 1024, rates, site), 2.0)

    def test_speeds_are_fair(self):
        use = numpy.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        found = speeds(use, numpy.array([1.0, 4.0]))
        self.assertEqual([round(speed, 9) for speed in found], [0.5, 0.5, 1.0])


class Engine(unittest.TestCase):
    def test_the_numbers_are_those_of_the_carrier(self):
        source = Path(__file__).parents[2] / "crates" / "stead-sync" / "src" / "carry"
        for file, text in {
            "pass.rs": f"const BATCH: usize = {passes.BATCH};",
            "pass.rs ": f"const LISTED: usize = {passes.LISTED:_};",
            "sql/database.rs": f"pub const PAGE: usize = {PLAIN.page};",
            "pass.rs  ": f"wrapping_mul({ways_of.mixed(1):#010X})".replace(
                "0X9E37", "0x9E37_"
            ),
            "sql/mod.rs": "const BATCH: usize = 100;",
            "settings.rs": f"nodes: {Site().nodes},",
            "settings.rs ": f"workers: {Site().workers},",
        }.items():
            self.assertIn(text, (source / file.strip()).read_text(), file)


class Carries(unittest.TestCase):
    HOSTS = play.Hosts(count=0, grace=10.0)

    def carried(self, hosts=HOSTS, ideas=()):
        return play.carry(two("a"), 1000, PLAIN, ONE, hosts, ideas)

    def test_phases_follow_each_other(self):
        made = self.carried()
        # verify lists both nodes, and check and remove list what the source has
        passes = {"count": 1.0, "copy": 3.5, "verify": 1.5, "check": 1.0, "remove": 1.0}
        self.assertEqual({name: made.taken(name) for name in passes}, passes)
        self.assertAlmostEqual(made.seconds, 40 + sum(passes.values()))
        ends = [phase.end for phase in made.phases]
        self.assertEqual([phase.begin for phase in made.phases], [0, *ends[:-1]])

    def test_a_slow_host_costs_its_time_in_each_state_and_a_dead_one_once(self):
        least = self.carried().seconds
        slow = self.carried(replace(self.HOSTS, slow=300.0)).seconds
        dead = self.carried(replace(self.HOSTS, dead=3600.0, dies="new")).seconds
        self.assertAlmostEqual(slow - least, 4 * 300)
        self.assertAlmostEqual(dead - least, 3600)

    def test_what_runs_together_saves_the_shorter_one(self):
        least = self.carried().seconds
        self.assertAlmostEqual(least - self.carried(ideas=("count",)).seconds, 1.0)
        self.assertAlmostEqual(least - self.carried(ideas=("check",)).seconds, 1.0)
        # the source is listed once less
        self.assertAlmostEqual(least - self.carried(ideas=("verify",)).seconds, 1.0)
        # the source lists 500 items less in five passes, and the target none less
        self.assertAlmostEqual(least - self.carried(ideas=("point",)).seconds, 2.5)


class RealMaps(unittest.TestCase):
    """The ways between the maps of fleets with 1,000 nodes."""

    def test_a_new_node_gets_its_share_from_all(self):
        ways, _ = ways_of.of_change("1 node is added")
        self.assertAlmostEqual(ways.moved(), 1 / 1001, delta=1e-12)
        self.assertEqual({target for _, target in ways.bring}, {"n1000"})
        self.assertEqual(len(ways.bring), 1000)
        self.assertEqual(dict(ways.bring), dict(ways.drop))
        self.assertAlmostEqual(sum(ways.held.values()), 1.0)

    def test_a_rack_is_filled_all_at_once_because_the_order_is_mixed(self):
        ways, _ = ways_of.of_change("a rack of 20 is added")
        targets = lambda nodes: {two for one, two in ways.bring if one in nodes}
        self.assertGreater(len(targets(ways.nodes[:40])), 15)
        by_number = replace(ways, nodes=sorted(ways.nodes))
        self.assertLess(len(targets(by_number.nodes[:40])), 3)
        # at the limit, a target alone needs 9.8 s for what it gets, and 20 of them 196 s
        limited = Site(nodes=16, items_per_second=1000, sync=0.0)
        hosts = play.Hosts(count=0, grace=0.0)
        rates = Rates(listed=Cost(), item={})
        play_it = lambda ways: play.carry(ways, 1e7, rates, limited, hosts)
        self.assertGreater(play_it(by_number).taken("copy"), 90)
        self.assertLess(play_it(ways).taken("copy"), 30)

    def test_the_ways_are_those_of_keys_and_of_the_plan(self):
        keys = [f"key{number}" for number in range(20_000)]
        for name, (before, after, lost, least) in ways_of.changes(100).items():
            for replicas in {least, 2}:
                old = ways_of.build(before, replicas)
                new = ways_of.build(after, replicas, old)
                ways = ways_of.between(old, new, lost)
                fraction = stead.Plan.between(old, new).fraction
                self.assertAlmostEqual(ways.moved(), fraction * replicas, delta=1e-9)
                seen = {}
                for was, now in zip(
                    old.locate_all_many(keys), new.locate_all_many(keys)
                ):
                    source = next(node for node in was if node not in lost)
                    for target in set(now) - set(was):
                        self.assertIn((source, target), ways.bring, name)
                        seen[target] = seen.get(target, 0) + 1
                for target, share in ways.gained.items():
                    due = share * len(keys)
                    # five times the standard deviation of a count by chance
                    self.assertAlmostEqual(
                        seen.get(target, 0), due, delta=5 * due**0.5 + 5
                    )

    def test_a_dead_node_is_neither_read_nor_emptied(self):
        ways, replicas = ways_of.of_change("a dead node is replaced")
        self.assertEqual(replicas, 2)
        dead = "n0000"
        self.assertFalse([way for way in (*ways.bring, *ways.drop) if dead in way])
        self.assertNotIn(dead, ways.held)


class Program(unittest.TestCase):
    def test_two_maps_of_ones_own_are_played(self):
        names = [ways_of.node(number) for number in range(4)]
        old = ways_of.build(names[:3], 1)
        with tempfile.TemporaryDirectory() as place:
            old.save(f"{place}/old.map")
            ways_of.build(names, 1, old).save(f"{place}/new.map")
            words = f"--old {place}/old.map --new {place}/new.map --rows 4000 --hosts 5"
            given = run.options().parse_args([*words.split(), "--slow-host", "100"])
            (found,) = json.loads(run.as_json(run.question(given), ()))
        self.assertAlmostEqual(found["moved"], 1000, delta=1e-6)
        # old nodes hold 4,000, and the new one is listed to verify it
        self.assertAlmostEqual(found["listed"], 5 * 4000 + 1000, delta=1e-6)
        self.assertGreater(found["seconds"], 4 * 160)
        self.assertEqual(found["busiest"]["node"], "n0003")


class Measured(unittest.TestCase):
    """The simulation of carries that were run, from the costs of other carries."""

    def judge(self, factor):
        """Returns by how much the predictions are wrong when all costs are multiplied."""
        wrong = []
        for kind in json.loads(FILE.read_text())["kinds"].values():
            rows, rates = kind["measured"]["rows"], Rates.of(kind["rates"])
            for check in kind["measured"]["checks"]:
                shape = carries.Shape(**check["shape"])
                old, new = carries.maps(shape)
                ways = ways_of.between(old, new)
                slower = {
                    task: times * factor for task, times in check["slower"].items()
                }
                due = measure.predicted(ways, rows, rates, shape, slower, check["sync"])
                # with a limit, whether the first second is free depends on the pass before
                free = 1.0 if shape.items_per_second else 0.0
                wrong += [
                    max(abs(due[task][0] - found["measured"]) - free, 0)
                    / found["measured"]
                    for task, found in check["passes"].items()
                    if found["measured"] > measure.SHORT
                ]
        return wrong

    def test_carries_of_another_shape_took_what_was_predicted(self):
        wrong = self.judge(1)
        self.assertGreaterEqual(len(wrong), 8)
        self.assertLessEqual(max(wrong), ERROR, wrong)

    def test_costs_that_are_wrong_are_seen(self):
        """The control."""
        for factor in (0.4, 2.5):
            self.assertGreater(max(self.judge(factor)), ERROR)


if __name__ == "__main__":
    unittest.main()
