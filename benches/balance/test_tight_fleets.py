"""Tests of the measures of `make bench-optimum` and scatter.py, on steps made by hand.
They do not need the program.

    python3 -m unittest discover -s benches/balance
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import scatter
import tight_fleets
from made_maps import make
from optimum import least_moved
from stead_reference import read_map
from write_map import encode

if tight_fleets.min_cost_flow is None:
    print(
        "skipped: OR-tools is not there (scripts/setup --tests installs it into .venv)",
        flush=True,
    )


def report(moved, bound):
    return {"moved": {"points": str(moved)}, "lower_bound": {"points": str(bound)}}


def conflict():
    """Returns a step whose least movement is above the lower bound, since copies must
    stay apart, as (description before, description, bytes before).
    """
    for seed in range(20):
        history = tight_fleets.History((2, 3, 2, 3, 1), seed)
        before = history.description()
        old = make(before)
        history.change()
        fleet = tight_fleets.fleet_of(history.description(), old)
        least, due = (
            least_moved(read_map(old), read_map(old).base, fleet),
            tight_fleets.targets(fleet),
        )
        was = tight_fleets.shares(read_map(old))
        bound = sum(max(0, cells - was.get(holder, 0)) for holder, cells in due.items())
        if least > bound:
            return history.description(), old, least, bound
    raise AssertionError("no step with a conflict")


class Histories(unittest.TestCase):
    def test_every_row_keeps_its_shape_and_its_cap_and_changes_at_every_step(self):
        for row in tight_fleets.ROWS:
            _, zones, racks, most, cap = row
            history, before, seen = tight_fleets.History(row, 3), None, set()
            for _ in range(30):
                wanted = history.description()
                fleet = tight_fleets.fleet_of(wanted)
                found = tight_fleets.caps(fleet)
                sizes = {
                    rack: sum(
                        node["labels"] == dict(zip(tight_fleets.SPREAD, rack))
                        for node in wanted["nodes"]
                    )
                    for rack in found
                    if len(rack) == 2
                }
                self.assertTrue(
                    max(sizes.values()) <= most and len(sizes) <= zones * racks, row
                )
                # the cap of a zone is never above its number of nodes
                zone_caps = [found[zone] for zone in found if len(zone) == 1]
                self.assertEqual((len(zone_caps), max(zone_caps)), (zones, cap), row)
                self.assertNotEqual(before, wanted["nodes"])
                before = wanted["nodes"]
                seen.add(len(before))
                history.change()
            self.assertGreater(len(seen), 1, row)

    def test_a_seed_gives_the_same_history_again(self):
        row = tight_fleets.ROWS[4]
        first, again, other = (tight_fleets.History(row, seed) for seed in (1, 1, 2))
        for history in (first, again, other):
            history.change()
        self.assertEqual(first.nodes, again.nodes)
        self.assertNotEqual(first.nodes, other.nodes)


class Judging(unittest.TestCase):
    def test_a_step_that_moves_the_least_is_distinguished_from_a_new_layout(self):
        description, old, least, bound = conflict()
        found = tight_fleets.judge(
            description, old, make(description, old), report(least, bound), 0
        )
        self.assertEqual(
            (found["optimum"], found["moved"], found["bound"]), (least, least, bound)
        )
        self.assertEqual(
            (found["wrong"], found["violations"], found["share_error"]), ([], 0, 0)
        )
        # the layout of a new map, which ignores the map before
        anew = tight_fleets.judge(
            description, old, make(description), report(least, bound), 0
        )
        self.assertGreater(anew["moved"], least)
        self.assertIn("the report's moved", anew["wrong"][0])
        _, problems = tight_fleets.line_of(
            (2, 3, 2, 3, 1), [dict(anew, row=(2, 3, 2, 3, 1), seed=0, step=1)]
        )
        self.assertIn("the goal is", " ".join(problems))

    def test_wrong_shares_and_copies_in_one_zone_are_seen(self):
        nodes = [
            {"name": name, "labels": {"zone": name[0], "rack": "1"}}
            for name in ("a1", "a2", "b1", "b2")
        ]
        description = {
            "name": "tight",
            "replicas": 2,
            "spread": ["zone", "rack"],
            "nodes": nodes,
        }
        old = make(description)
        for base, wrong in ((["a1", "b1"], (2**63, 0)), (["a1", "a2"], (2**63, 1))):
            after = encode(dict(description, base=[["0" * 16, base]]), old)
            found = tight_fleets.judge(description, old, after, report(0, 0), 0)
            self.assertEqual((found["share_error"], found["violations"]), wrong)

    @unittest.skipUnless(tight_fleets.min_cost_flow, "OR-tools is not there")
    def test_the_second_solver_objects_to_a_wrong_optimum(self):
        description, old, least, bound = conflict()
        m = read_map(old)
        fleet = tight_fleets.fleet_of(description, old)
        due = tight_fleets.targets(fleet)
        self.assertEqual(tight_fleets.second_opinion(m, fleet, due, least), [])
        for wrong in (bound, least + 2**44, least - 2**44):
            self.assertIn(
                "OR-tools' optimum is",
                tight_fleets.second_opinion(m, fleet, due, wrong)[0],
            )


class Scatter(unittest.TestCase):
    def test_peers_are_counted_and_weighed(self):
        found = scatter.together([(2, "abc"), (1, "abd"), (1, "cbd")])
        self.assertEqual(found["a"], {"b": 3, "c": 2, "d": 1})
        # the most that one peer holds of a node's data: of a 3 of 3, of b 3 of 4, of c
        # 3 of 3, of d 2 of 2
        self.assertEqual(scatter.figures(found, 3), (3, 3, 1.0, 1.0))
        self.assertEqual(max(found["b"].values()) * 2 / sum(found["b"].values()), 0.75)
        self.assertEqual(
            scatter.figures(scatter.together([(1, "ab"), (3, "ac"), (1, "ad")]), 2)[:2],
            (1, 1),
        )

    def test_a_step_of_the_scenario_is_applied(self):
        nodes = {name: {"name": name, "weight": 1} for name in "ab"}
        scatter.change(
            nodes,
            {
                "remove": ["a"],
                "reweight": {"b": 5},
                "add": [{"name": "c", "weight": 2}],
            },
        )
        self.assertEqual(
            {name: node["weight"] for name, node in nodes.items()}, {"b": 5, "c": 2}
        )


if __name__ == "__main__":
    unittest.main()
