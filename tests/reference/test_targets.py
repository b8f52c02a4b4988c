"""Tests of caps and targets: examples worked by hand, and properties of random fleets."""

import random
import sys
import unittest
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from domains import Impossible, caps
from made_maps import fleet_of
from random_fleets import random_fleet
from targets import fill, targets


def fleet(cells, replicas, spread, *nodes, **more):
    """A map of nodes, each written as `name` or `name:weight`. The labels of a node are
    the first characters of its name: a1x is in zone a, rack 1.
    """
    split = [node.partition(":") for node in nodes]
    labelled = [
        {
            "name": n,
            "weight": w or "1",
            "labels": {label: n[i] for i, label in enumerate(spread)},
        }
        for n, _, w in split
    ]
    return fleet_of(
        {
            "name": "copies",
            "replicas": replicas,
            "spread": spread,
            "nodes": labelled,
            "cells": cells,
            **more,
        }
    )


def cells_of(m):
    """The targets as {name: cells}."""
    return {name: cells for (_, name), cells in targets(m).items()}


class Caps(unittest.TestCase):
    def caps(self, replicas, spread, *names):
        found = caps(fleet(0, replicas, spread, *names))
        return {"/".join(domain): cap for domain, cap in found.items() if domain}

    def test_three_zones_at_three_replicas_have_the_cap_1_and_two_the_cap_2(self):
        self.assertEqual(
            self.caps(3, ["zone"], "a1", "a2", "b1", "b2", "c1"),
            {"a": 1, "b": 1, "c": 1},
        )
        self.assertEqual(
            self.caps(3, ["zone"], "a1", "a2", "b1", "b2"), {"a": 2, "b": 2}
        )

    def test_none_of_five_zones_has_two_copies(self):
        self.assertEqual(
            set(self.caps(3, ["zone"], "a", "b", "c", "d", "e").values()), {1}
        )

    def test_a_small_zone_raises_the_others(self):
        self.assertEqual(
            self.caps(4, ["zone"], "a1", "b1", "b2", "b3", "b4"), {"a": 1, "b": 3}
        )

    def test_racks_share_the_cap_of_their_zone(self):
        found = self.caps(5, ["zone", "rack"], "a1x", "a1y", "a2x", "b1x", "b1y", "b1z")
        self.assertEqual(found, {"a": 3, "a/1": 2, "a/2": 1, "b": 3, "b/1": 3})
        found = self.caps(3, ["zone", "rack"], "a1x", "a1y", "a2x", "b1x", "b1y")
        self.assertEqual(found, {"a": 2, "a/1": 1, "a/2": 1, "b": 2, "b/1": 2})

    def test_a_node_of_weight_0_does_not_count(self):
        self.assertEqual(self.caps(2, ["zone"], "a1", "a2", "b1:0"), {"a": 2})
        self.assertRaises(Impossible, caps, fleet(0, 3, [], "a", "b", "c:0"))


class ByHand(unittest.TestCase):
    def test_at_one_replica_cells_go_by_the_largest_remainders(self):
        self.assertEqual(
            cells_of(fleet(7, 1, [], "a", "b", "c")), {"a": 3, "b": 2, "c": 2}
        )
        self.assertEqual(
            cells_of(fleet(10, 1, ["zone"], "a:1", "b:2.5", "c:0")),
            {"a": 3, "b": 7, "c": 0},
        )

    def test_a_weighted_policy_is_a_holder_at_one_replica(self):
        policies = [{"name": "a", "nodes": ["b1"], "weight": "2"}]
        m = fleet(11, 1, ["zone"], "a1", "b1", policies=policies)
        self.assertEqual(
            targets(m), {("node", "a1"): 3, ("node", "b1"): 3, ("policy", "a"): 5}
        )
        m = fleet(
            11,
            1,
            ["zone"],
            "a1:0",
            policies=[{"name": "a", "nodes": ["a1"], "weight": "2"}],
        )
        self.assertEqual(targets(m)["policy", "a"], 11)

    def test_a_node_holds_one_copy_of_a_point_at_most(self):
        self.assertEqual(
            cells_of(fleet(12, 2, [], "a:9", "b", "c")), {"a": 12, "b": 6, "c": 6}
        )
        self.assertEqual(
            cells_of(fleet(12, 3, [], "a:9", "b:9", "c", "d:3")),
            {"a": 12, "b": 12, "c": 3, "d": 9},
        )

    def test_as_many_zones_as_replicas_have_equal_shares_whatever_their_weights(self):
        self.assertEqual(
            cells_of(fleet(12, 2, ["zone"], "a1:5", "a2", "b1", "b2")),
            {"a1": 10, "a2": 2, "b1": 6, "b2": 6},
        )

    def test_a_heavy_zone_is_capped_and_the_others_share_the_rest(self):
        # by weight zone a would have 14 of 24 cells; b and c share the 2 above its cap
        self.assertEqual(
            cells_of(fleet(12, 2, ["zone"], "a1:4", "a2:3", "b1:4", "c1:1")),
            {"a1": 7, "a2": 5, "b1": 10, "c1": 2},
        )

    def test_a_node_is_capped_inside_a_capped_zone(self):
        # Two zones at 3 replicas have the cap 2, that is 24 cells. a1 freezes at 12
        # cells (level 1.2), zone a at level 6; then b1 and b2 share the other 12 as 2
        # to 1
        nodes = ("a1:10", "a2", "a3", "b1", "b2:0.5")
        self.assertEqual(
            cells_of(fleet(12, 3, ["zone"], *nodes)),
            {"a1": 12, "a2": 6, "a3": 6, "b1": 8, "b2": 4},
        )

    def test_a_rack_is_capped_inside_a_zone_that_is_not(self):
        # one zone, cap 2; racks 1 and 2, cap 1 each: rack 1 may have 12 of the 24
        # cells, and not 18
        self.assertEqual(
            cells_of(fleet(12, 2, ["zone", "rack"], "a1x:2", "a1y:1", "a2x:1")),
            {"a1x": 8, "a1y": 4, "a2x": 12},
        )

    def test_the_innermost_of_the_bounds_reached_together_comes_first(self):
        # The whole, 14 cells, and both zones, 7 each, are all reached at level 7/3. If
        # the whole came first and its cells were shared as one group, zone a would get
        # 8
        nodes = ("a1", "a2", "a3", "b1", "b2", "b3")
        self.assertEqual(
            cells_of(fleet(7, 2, ["zone"], *nodes)),
            {"a1": 3, "a2": 2, "a3": 2, "b1": 3, "b2": 2, "b3": 2},
        )
        # after a1 is frozen at 12, zone a and the whole are both reached at level 6
        self.assertEqual(
            cells_of(fleet(12, 3, ["zone"], "a1:10", "a2", "a3", "b1", "b2")),
            {"a1": 12, "a2": 6, "a3": 6, "b1": 6, "b2": 6},
        )

    def test_a_node_in_a_domain_that_has_reached_its_bound_is_passed_over(self):
        # At level 2.5 the four nodes of a have 2.5 each, the others 2.4. Rounding down
        # leaves four cells, and zone a has room for three of them
        nodes = [f"a{i}" for i in range(1, 5)] + [
            "b1:0.96",
            "b2:0.96",
            "b3:0.96",
            "c1:0.96",
            "c2:0.96",
        ]
        got = cells_of(fleet(11, 2, ["zone"], *nodes))
        self.assertEqual(
            got,
            {
                "a1": 3,
                "a2": 3,
                "a3": 3,
                "a4": 2,
                "b1": 3,
                "b2": 2,
                "b3": 2,
                "c1": 2,
                "c2": 2,
            },
        )

    def test_a_node_of_weight_0_has_nothing_and_needs_no_labels(self):
        m = fleet(12, 2, ["zone"], "a1", "b1", "c1:0")
        m.nodes[2].labels.clear()
        self.assertEqual(cells_of(m), {"a1": 12, "b1": 12, "c1": 0})

    def test_targets_of_2_to_the_64_cells_are_exact(self):
        self.assertEqual(
            cells_of(fleet(0, 3, [], "a", "b", "c", "d")),
            dict.fromkeys("abcd", 3 * 2**62),
        )


def bounds_by_hand(m):
    """All bounds, as [(cells, nodes under the bound)]. The caps are computed by their
    definition, from the outermost domain inwards, from the labels alone.
    """
    holding = [n for n in m.nodes if n.weight > 0]
    found = [(m.cells, [n]) for n in holding]

    def descend(nodes, cap, labels):
        found.append((cap * m.cells, nodes))
        if labels:
            values = sorted({n.labels[labels[0]] for n in nodes})
            parts = [
                [n for n in nodes if n.labels[labels[0]] == value] for value in values
            ]
            c = 0
            while sum(min(c, len(part)) for part in parts) < cap:
                c += 1
            for part in parts:
                descend(part, min(c, len(part)), labels[1:])

    descend(holding, m.replicas, m.spread)
    return found


class Random(unittest.TestCase):
    def test_random_targets_are_max_min_fair_and_less_than_one_cell_from_it(self):
        capped = 0
        for seed in range(600):
            m = fleet_of(random_fleet(random.Random(seed), most=12))
            target, exact = fill(m)
            bounds = bounds_by_hand(m)
            self.assertEqual(sum(target.values()), m.replicas * m.cells)
            for cells, nodes in bounds:
                self.assertLessEqual(
                    sum(target["node", n.name] for n in nodes), cells, seed
                )
                self.assertLessEqual(
                    sum(exact["node", n.name] for n in nodes), cells, seed
                )
            for n in m.nodes:
                self.assertLess(abs(target["node", n.name] - exact["node", n.name]), 1)
                if n.weight:
                    self.assertTrue(self.has_bottleneck(n, bounds, exact), (seed, n))
                    capped += exact["node", n.name] != Fraction(
                        m.replicas * m.cells * n.weight, sum(n.weight for n in m.nodes)
                    )
        self.assertGreater(capped, 500)

    @staticmethod
    def has_bottleneck(node, bounds, exact):
        """Whether a node is under a full bound in which no other node has a higher
        level. An allocation is the weighted max-min fair one, of which there is only
        one, if and only if this holds for every node (Bertsekas and Gallager, Data
        Networks, 6.5.2).
        """
        level = {
            n.name: exact["node", n.name] / n.weight
            for _, nodes in bounds
            for n in nodes
        }
        full = [
            nodes
            for cells, nodes in bounds
            if node in nodes and sum(exact["node", n.name] for n in nodes) == cells
        ]
        return any(
            all(level[n.name] <= level[node.name] for n in nodes) for nodes in full
        )

    def test_neither_the_order_of_a_fleet_nor_the_scale_of_its_weights_counts(self):
        for seed in range(100):
            draw = random.Random(seed)
            description = random_fleet(draw)
            expected = cells_of(fleet_of(description))
            for node in description["nodes"]:
                node["weight"] = str(round(Fraction(node["weight"]) * 3 * 10**6)).zfill(
                    7
                )
                node["weight"] = node["weight"][:-6] + "." + node["weight"][-6:]
            draw.shuffle(description["nodes"])
            self.assertEqual(cells_of(fleet_of(description)), expected)


if __name__ == "__main__":
    unittest.main()
