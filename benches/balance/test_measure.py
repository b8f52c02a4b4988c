"""Tests of the judge of `make bench-balance`, on tables small enough to judge by hand.
They need no Swift.

    python3 -m unittest discover -s benches/balance
"""

import itertools
import os
import sys
import unittest
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import measure
import scenario


def fleet(*rows):
    """Nodes, each written as "name weight zone rack"."""
    nodes = [row.split() for row in rows]
    return [
        {"name": name, "weight": weight, "labels": {"zone": zone, "rack": rack}}
        for name, weight, zone, rack in nodes
    ]


SPREAD = ["zone", "rack"]


class Caps(unittest.TestCase):
    def zones(self, *sizes):
        nodes = fleet(
            *(
                f"{zone}{i} 1 {zone} r"
                for zone, size in zip("abcdefgh", sizes)
                for i in range(size)
            )
        )
        found = measure.caps(nodes, ["zone"], 3)
        return [found[(zone,)] for zone, _ in zip("abcdefgh", sizes)]

    def test_three_zones_hold_one_copy_each_and_two_zones_two(self):
        self.assertEqual(self.zones(4, 4, 4), [1, 1, 1])
        self.assertEqual(self.zones(4, 4), [2, 2])
        self.assertEqual(self.zones(4, 4, 4, 4, 4), [1] * 5)
        self.assertEqual(self.zones(4), [3])

    def test_a_small_zone_makes_the_others_hold_more(self):
        self.assertEqual(self.zones(1, 4), [1, 2])

    def test_racks_divide_the_cap_of_their_zone(self):
        found = measure.caps(
            fleet("n1 1 a 1", "n2 1 a 1", "n3 1 a 2", "n4 1 b 1"), SPREAD, 3
        )
        self.assertEqual(
            found,
            {(): 3, ("a",): 2, ("b",): 1, ("a", "1"): 1, ("a", "2"): 1, ("b", "1"): 1},
        )

    def test_a_node_of_weight_0_cannot_hold(self):
        self.assertEqual(
            measure.caps(fleet("n1 0 a 1", "n2 1 b 1"), ["zone"], 1), {(): 1, ("b",): 1}
        )

    def test_fewer_nodes_than_replicas_are_refused(self):
        with self.assertRaises(ValueError):
            measure.caps(fleet("n1 1 a 1", "n2 0 a 1"), SPREAD, 2)


class Shares(unittest.TestCase):
    def test_without_a_cap_that_binds_shares_follow_the_weights(self):
        nodes = fleet("n1 1 a 1", "n2 2.5 a 1", "n3 1.5 b 1")
        self.assertEqual(
            measure.ideals(nodes, [], 1),
            {"n1": Fraction(1, 5), "n2": Fraction(1, 2), "n3": Fraction(3, 10)},
        )
        self.assertEqual(measure.ideals(nodes, [], 1), measure.wanted(nodes, 1))

    def test_as_many_zones_as_replicas_hold_one_copy_each_whatever_their_weights(self):
        nodes = fleet("n1 9 a 1", "n2 1 a 2", "n3 1 b 1", "n4 1 c 1", "n5 3 c 2")
        found = measure.ideals(nodes, SPREAD, 3)
        self.assertEqual(
            found,
            {
                "n1": Fraction(9, 10),
                "n2": Fraction(1, 10),
                "n3": 1,
                "n4": Fraction(1, 4),
                "n5": Fraction(3, 4),
            },
        )

    def test_a_heavy_node_holds_every_point_once_and_the_others_the_rest(self):
        found = measure.ideals(fleet("n1 100 a 1", "n2 1 a 1", "n3 3 a 1"), [], 2)
        self.assertEqual(found, {"n1": 1, "n2": Fraction(1, 4), "n3": Fraction(3, 4)})

    def test_the_ideal_share_of_a_node_of_weight_0_is_0(self):
        self.assertEqual(
            measure.ideals(fleet("n1 0 a 1", "n2 1 b 1"), ["zone"], 1),
            {"n1": 0, "n2": 1},
        )

    def test_every_node_has_a_full_bound_in_which_no_other_level_is_higher(self):
        # this is the definition of weighted max-min fairness, and not the loop of
        # `ideals` again
        draws = scenario.splitmix64(1)
        bound_at = set()
        for _ in range(300):
            replicas = 1 + next(draws) % 4
            rows = [
                (
                    f"n{i} {1 + next(draws) % 1000 ** (1 + next(draws) % 2)} "
                    f"z{next(draws) % 4} r{next(draws) % 3}"
                )
                for i in range(replicas + next(draws) % 20)
            ]
            nodes = fleet(*rows)
            shares, caps = (
                measure.ideals(nodes, SPREAD, replicas),
                measure.caps(nodes, SPREAD, replicas),
            )
            level = {
                node["name"]: shares[node["name"]] / int(node["weight"])
                for node in nodes
            }
            members = {
                bound: [
                    n["name"]
                    for n in nodes
                    if measure.domain(n, SPREAD, len(bound)) == bound
                ]
                for bound in caps
            }
            for bound, cap in caps.items():
                self.assertLessEqual(sum(shares[name] for name in members[bound]), cap)
            for node in nodes:
                name = node["name"]
                self.assertLessEqual(shares[name], 1)
                full = [
                    depth
                    for depth in range(3)
                    for bound in [measure.domain(node, SPREAD, depth)]
                    if sum(shares[n] for n in members[bound]) == caps[bound]
                    and level[name] == max(level[n] for n in members[bound])
                ]
                full += [3] if shares[name] == 1 else []
                self.assertTrue(full, (rows, replicas, name))
                bound_at.add(max(full))
        self.assertEqual(
            bound_at, {0, 1, 2, 3}, "each kind of bound must have bound somebody"
        )


class Tables(unittest.TestCase):
    # at 3 replicas the cap of a zone is 2, that of a rack 1
    NODES = fleet("n1 1 a 1", "n2 1 a 1", "n3 1 a 2", "n4 1 b 1", "n5 1 b 2")

    def test_a_partition_is_counted_once_for_each_label_that_it_breaks(self):
        table = [
            ("n1", "n3", "n4"),
            ("n1", "n2", "n4"),
            ("n1", "n2", "n3"),
            ("n4", "n4", "n1"),
            ("n1", "n4"),
        ]
        found = measure.violations(table, self.NODES, SPREAD, 3)
        self.assertEqual(found, {"zone": 1, "rack": 3, "node": 2, "any": 4})

    def test_a_good_table_has_no_violation(self):
        table = [names for names in itertools.combinations(["n1", "n3", "n4", "n5"], 3)]
        self.assertEqual(measure.violations(table, self.NODES, SPREAD, 3)["any"], 0)

    def test_a_domain_in_which_no_node_can_hold_may_hold_no_copy(self):
        nodes = fleet("n1 0 a 1", "n2 1 b 1", "n3 1 c 1")
        self.assertEqual(
            measure.violations([("n1",), ("n2",)], nodes, ["zone"], 1),
            {"zone": 1, "node": 0, "any": 1},
        )

    def test_another_order_moves_nothing_and_a_new_node_one_copy(self):
        before = [("n1", "n3", "n4"), ("n1", "n3", "n4"), ("n1", "n3", "n4")]
        after = [("n4", "n1", "n3"), ("n1", "n5", "n4"), ("n2", "n5", "n4")]
        self.assertEqual(measure.moved(before, after), 3)

    def test_gains_are_a_bound_that_a_swap_exceeds(self):
        before, after = [("n1",), ("n4",)], [("n4",), ("n1",)]
        self.assertEqual(
            measure.gains(measure.counted(before), measure.counted(after)), 0
        )
        self.assertEqual(measure.moved(before, after), 2)
        self.assertEqual(measure.gains({"n1": 2, "n2": 1}, {"n1": 1, "n3": 2}), 2)

    def test_the_worst_error_is_relative_and_infinite_where_nothing_is_due(self):
        due = {"n1": Fraction(1, 2), "n2": Fraction(1, 4), "n3": Fraction(0)}
        self.assertEqual(
            measure.worst_error({"n1": Fraction(5, 8), "n2": Fraction(1, 8)}, due), 0.5
        )
        self.assertEqual(measure.worst_error({"n1": Fraction(1, 2)}, due), 1.0)
        self.assertEqual(measure.worst_error({"n3": Fraction(1, 8)}, due), float("inf"))
        self.assertEqual(measure.worst_error(due, due), 0.0)


class Scenario(unittest.TestCase):
    def test_the_same_seed_gives_the_same_history_and_a_shorter_one_is_its_beginning(
        self,
    ):
        whole, some = scenario.make(), scenario.make(20)
        self.assertEqual(whole["nodes"], some["nodes"])
        self.assertEqual(whole["steps"][:20], some["steps"])
        self.assertNotEqual(whole["nodes"], scenario.make(seed=6)["nodes"])

    def test_the_generator_is_splitmix64(self):
        numbers = list(itertools.islice(scenario.splitmix64(1234567), 3))
        self.assertEqual(
            numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]
        )

    def test_every_step_is_one_change_of_a_node_that_is_there(self):
        whole = scenario.make()
        names, kinds = {node["name"] for node in whole["nodes"]}, []
        self.assertEqual(len(names), 600)
        for step in whole["steps"]:
            ((kind, change),) = step.items()
            kinds.append(kind)
            if kind == "add":
                self.assertNotIn(change[0]["name"], names)
                names.add(change[0]["name"])
            else:
                ((name),) = change
                self.assertIn(name, names)
                names -= {name} if kind == "remove" else set()
        self.assertEqual(set(kinds), {"add", "remove", "reweight"})


if __name__ == "__main__":
    unittest.main()
