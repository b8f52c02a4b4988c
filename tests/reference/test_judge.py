"""Tests of the judge: good maps that it must accept, and for every rule a map that
breaks the rule and that it must reject.
"""

import random
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases
from comparison import ends
from judge import judge
from made_maps import lay, make
from random_fleets import changed, random_fleet
from stead_reference import read_map
from targets import targets
from write_map import END, encode

MAPS = {p.stem: p.read_bytes() for p in (HERE.parent / "maps").glob("*.map")}


def fleet(replicas, spread, *nodes, **more):
    """A fleet of nodes, each written as `name` or `name:weight`. The labels of a node
    are the first characters of its name: a1x is in zone a, rack 1.
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
    return {
        "name": "copies",
        "replicas": replicas,
        "spread": spread,
        "nodes": labelled,
        **more,
    }


def parts(description, *lists):
    """The description with equal parts of the space, one for each list of nodes: in
    "a b" the primary is a.
    """
    return dict(
        description,
        base=[
            [f"{-(-i * END // len(lists)):016x}", who.split()]
            for i, who in enumerate(lists)
        ],
    )


class AtOneReplica(unittest.TestCase):
    def test_balanced_maps_and_the_steps_of_figure_6_are_ok(self):
        for name in (
            "one",
            "three",
            "four-weights",
            "article",
            "weighted",
            "words",
            "cells-7",
            "cells-1000",
            "many",
        ):
            self.assertTrue(judge(MAPS[name])["ok"], name)
        for name in (f"figure-4-{i}" for i in range(1, 7)):
            self.assertEqual(judge(MAPS[name])["max_share_error_points"], "1", name)
        for i in range(2, 6):
            report = judge(MAPS[f"six-{i}"], MAPS[f"six-{i - 1}"])
            self.assertTrue(
                report["ok"]
                and report["moved"] == report["lower_bound"] == report["optimum"],
                report,
            )
            self.assertEqual(report["reordered"], "0")

    def test_one_point_too_many_is_rejected(self):
        description = dict(
            cases.members(),
            base=[
                ["0000000000000000", ["n0"]],
                ["5555555555555557", ["n1"]],
                ["aaaaaaaaaaaaaaab", ["n2"]],
            ],
        )
        report = judge(encode(description))
        self.assertFalse(report["ok"])
        self.assertEqual(len(report["problems"]), 2)

    def test_more_movement_than_the_bound_is_rejected(self):
        report = judge(MAPS["naive-4"], MAPS["three"])
        self.assertEqual((report["ok"], report["moved_is_lower_bound"]), (False, False))
        self.assertLess(int(report["optimum"]), int(report["moved"]))

    def test_weighted_policies_are_holders(self):
        # a new layout moves too much
        self.assertTrue(judge(MAPS["policy-gone"], MAPS["weighted"])["ok"] is False)
        report = judge(MAPS["policy-by-hand"], MAPS["weighted"])
        self.assertEqual(
            (report["ok"], report["moved"], report["optimum"]), (True, "0", "0")
        )

    def test_too_many_slices_are_rejected(self):
        self.assertFalse(judge(encode(dict(cases.members(), max_slices=2)))["ok"])

    def test_a_wrong_parent_is_rejected(self):
        self.assertFalse(judge(MAPS["six-3"], MAPS["six-1"])["ok"])
        self.assertFalse(judge(MAPS["three"], MAPS["three"])["ok"])

    def test_another_cluster_and_a_damaged_map_are_rejected(self):
        self.assertFalse(judge(MAPS["six-2"], MAPS["three"])["ok"])
        self.assertFalse(judge(MAPS["three"][:-1])["ok"])

    def test_a_renaming_moves_at_most_a_remainder_that_goes_by_name(self):
        # n1 becomes alpha, which is the first by name, so that the cell of the
        # remainder is due to it now; this map was made without moving that cell
        report = judge(MAPS["rename"], MAPS["three"])
        self.assertEqual((report["moved"], report["optimum"]), ("0", "1"))
        old = encode(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        )
        renamed = parts(fleet(2, [], "a", "b", "c", "x"), "a b", "b a", "c x", "x c")
        self.assertEqual(judge(encode(renamed, old), old)["optimum"], str(END // 2))
        renamed["nodes"][3]["formerly"] = "d"
        report = judge(encode(renamed, old), old)
        self.assertEqual(
            (report["ok"], report["optimum"], report["reordered"]), (True, "0", "0")
        )

    def test_with_max_slices_it_may_move_more(self):
        old = dict(cases.members(), max_slices=4)
        new = dict(cases.members(names=("n0", "n1", "n2", "n3")), max_slices=4)
        report = judge(encode(new, encode(old)), encode(old))
        self.assertTrue(
            report["ok"] and int(report["moved"]) > int(report["optimum"]), report
        )


class GoodMapsByHand(unittest.TestCase):
    def accepted(self, description, after=None):
        """Asserts that the judge accepts the map; returns the map and the report."""
        data = encode(description, after)
        report = judge(data, after)
        self.assertEqual(report["problems"], [])
        return data, report

    def test_two_copies_without_domains(self):
        self.accepted(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        )

    def test_one_node_holds_one_of_two_copies_everywhere(self):
        self.accepted(parts(fleet(2, [], "a:9", "b", "c"), "a b", "b a", "c a", "a c"))

    def test_three_copies_in_three_zones_of_two(self):
        self.accepted(
            parts(
                fleet(3, ["zone"], "a1", "a2", "b1", "b2", "c1", "c2"),
                "a1 b1 c1",
                "b1 a1 c1",
                "c1 a1 b1",
                "a2 b2 c2",
                "b2 a2 c2",
                "c2 a2 b2",
            )
        )

    def test_three_copies_in_two_zones_of_two_racks(self):
        # both zones have the cap 2, each rack the cap 1
        four = fleet(3, ["zone", "rack"], "a1", "a2", "b1", "b2")
        self.accepted(parts(four, "a1 a2 b1", "a2 b1 b2", "b1 a1 b2", "b2 a1 a2"))

    def test_a_node_joins_two_copies_and_gets_its_share_from_all(self):
        old, _ = self.accepted(parts(fleet(2, [], "a", "b"), "a b", "b a"))
        # 2 of 4 shares, and no node may hold more than one copy of a point
        three = fleet(2, [], "a", "b", "c:2")
        _, report = self.accepted(parts(three, "c b", "a c", "b c", "c a"), old)
        self.assertEqual(report["optimum"], str(END))
        self.assertEqual(report["lower_bound"], str(END))

    def test_a_change_whose_optimum_is_above_the_lower_bound(self):
        # From slicing theory: {a,b} hold one half, {c,d} the other, and now a has to
        # hold everything. So a must also enter {c,d}, and each of these points costs
        # two moves
        old, _ = self.accepted(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        )
        new = parts(fleet(2, [], "a:2", "b:0", "c", "d"), "a c", "a d", "c a", "d a")
        report = judge(encode(new, old), old)
        self.assertEqual(
            (report["lower_bound"], report["optimum"]), (str(END // 2), str(END))
        )
        self.assertEqual(report["moved"], str(END))
        self.assertEqual(report["problems"], [])

    def test_more_replicas_keep_the_copies_and_the_primaries_that_can_stay(self):
        old, _ = self.accepted(
            parts(fleet(1, [], "a", "b", "c", "d"), "a", "b", "c", "d")
        )
        _, report = self.accepted(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c"), old
        )
        self.assertEqual(
            (report["moved"], report["optimum"], report["reordered"]),
            (str(END), str(END), "0"),
        )

    def test_fewer_replicas_move_nothing(self):
        old, _ = self.accepted(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        )
        _, report = self.accepted(
            parts(fleet(1, [], "a", "b", "c", "d"), "a", "b", "c", "d"), old
        )
        self.assertEqual((report["moved"], report["optimum"]), ("0", "0"))


class BrokenMaps(unittest.TestCase):
    two_zones = fleet(3, ["zone", "rack"], "a1", "a2", "b1", "b2")
    good = parts(two_zones, "a1 a2 b1", "a2 b1 b2", "b1 a1 b2", "b2 a1 a2")

    def rejected(self, words, description, after=None):
        """Asserts that the judge rejects the map, and that every problem matches
        `words`; returns the report.
        """
        report = judge(encode(description, after), after)
        self.assertFalse(report["ok"])
        for problem in report["problems"]:
            self.assertRegex(problem, words)
        return report

    def test_one_cell_too_many_is_rejected(self):
        base = [list(slice_) for slice_ in self.good["base"]]
        base[1][0] = "4000000000000001"
        self.rejected(
            "^node (a1|b2) has .* cells, its target|^node a[12] is primary",
            dict(self.good, base=base),
        )

    def test_a_broken_cap_of_a_zone_is_rejected(self):
        zones = fleet(2, ["zone"], "a1", "a2", "b1", "b2")
        self.assertTrue(
            judge(encode(parts(zones, "a1 b1", "b2 a2", "a2 b2", "b1 a1")))["ok"]
        )
        report = self.rejected(
            "domain [ab] has 2 copies, its cap is 1",
            parts(zones, "a1 a2", "b2 b1", "a2 a1", "b1 b2"),
        )
        self.assertEqual(len(report["violations"]), 4)
        self.assertEqual(report["violating_slices"], 4)
        self.assertIn(
            {
                "policy": ["a1", "a2"],
                "domain": ["a"],
                "count": 2,
                "cap": 1,
                "first": "0" * 16,
                "slices": ["0" * 16],
            },
            report["violations"],
        )

    def test_a_broken_cap_of_a_rack_is_rejected(self):
        racks = fleet(
            3, ["zone", "rack"], "a1x", "a1y", "a2z", "b1x", "b1y", "b2z", cells=12
        )
        right = lay(racks)
        self.assertTrue(judge(encode(right))["ok"])
        # every zone keeps its number of copies, but two nodes of one rack hold the same
        # points
        wrong = parts(
            racks,
            "a1x a1y b1x",
            "a1y a2z b1x",
            "b1x a1x a2z",
            "b2z a1x b1y",
            "b1y a1y b2z",
            "a2z b1y b2z",
        )
        self.rejected("domain a/1 has 2 copies, its cap is 1", wrong)

    def test_a_rack_of_the_same_name_in_another_zone_is_another_rack(self):
        four = fleet(2, ["zone", "rack"], "a1", "b1")
        self.assertTrue(judge(encode(parts(four, "a1 b1", "b1 a1")))["ok"])

    def test_a_missing_copy_and_a_copy_too_many_are_rejected(self):
        four = fleet(2, [], "a", "b", "c", "d")
        wrong = parts(four, "a b c", "b", "c d", "d a")
        words = "policy (a,b,c|b) from .*: [13] nodes, replicas is 2|^node . (has|is primary)"
        report = self.rejected(words, wrong)
        self.assertEqual(sorted(v["count"] for v in report["violations"]), [1, 3])

    def test_one_primary_too_many_is_rejected(self):
        four = fleet(2, [], "a", "b", "c", "d")
        base = parts(four, "a b", "b a", "c d", "d c")["base"]
        base[1][0] = "4000000000000001"
        self.rejected("^node [ab] is primary of", dict(four, base=base))

    def test_the_part_of_a_primary_may_be_rounded_up_or_down(self):
        # 3 nodes share 2 * 2^64 cells: a has one cell more than b and c, and may be the
        # primary of its half rounded up or down
        three = make(fleet(2, [], "a", "b", "c"))
        self.assertTrue(judge(three)["ok"])

    def test_nodes_after_the_primary_that_are_not_in_order_of_names_are_rejected(self):
        self.rejected(
            "do not stand by name",
            parts(self.two_zones, "a1 a2 b1", "a2 b2 b1", "b1 a1 b2", "b2 a1 a2"),
        )

    def test_a_pointless_move_is_rejected(self):
        old = parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        report = self.rejected(
            "cells moved, the least is 0",
            parts(old, "a c", "b d", "c b", "d a"),
            encode(old),
        )
        self.assertEqual((report["optimum"], report["lower_bound"]), ("0", "0"))

    def test_a_detour_beside_a_needed_move_is_rejected(self):
        old = encode(
            parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        )
        new = parts(fleet(2, [], "a", "b", "c", "e"), "a b", "b a", "c e", "e c")
        self.assertTrue(judge(encode(new, old), old)["ok"])
        self.rejected(
            "cells moved, the least is", parts(new, "a e", "b a", "c b", "e c"), old
        )

    def test_a_pointless_reorder_is_rejected(self):
        old = parts(fleet(2, [], "a", "b", "c", "d"), "a b", "b a", "c d", "d c")
        report = self.rejected(
            "another primary although",
            parts(old, "b a", "a b", "c d", "d c"),
            encode(old),
        )
        self.assertEqual(
            (report["reordered"], report["least_reordered_cells"]), (str(END // 2), "0")
        )

    def test_a_reorder_that_is_necessary_is_accepted(self):
        # c gets a copy of every point and must be the primary of half of them, although
        # the old primary, a or b, still holds a copy there
        old = encode(parts(fleet(2, [], "a", "b"), "a b", "b a"))
        report = judge(
            encode(
                parts(fleet(2, [], "a", "b", "c:2"), "a c", "c a", "b c", "c b"), old
            ),
            old,
        )
        self.assertEqual((report["problems"], report["reordered"]), ([], str(END // 2)))

    def test_targets_by_weight_alone_are_rejected_where_a_cap_binds(self):
        # By weight a would have 4/7 of 2 copies, which is more than one copy of each
        # point, and b1 would have twice as much as c1
        capped = fleet(2, ["zone"], "a1:4", "b1:2", "c1")
        right = lay(capped)
        self.assertTrue(judge(encode(right))["ok"])
        wrong = parts(capped, "a1 b1", "b1 a1", "a1 c1", "c1 a1")  # b and c alike
        self.rejected("^node [bc]1 (has .* cells, its target|is primary)", wrong)

    def test_impossible_fleets_are_rejected(self):
        self.rejected(
            "impossible: 2 nodes can hold",
            parts(fleet(3, [], "a", "b", "c:0"), "a b c"),
        )
        bare = parts(fleet(2, ["zone"], "a", "b"), "a b", "b a")
        del bare["nodes"][0]["labels"]
        self.rejected("impossible: node a has not all labels", bare)

    def test_a_named_policy_has_no_share_at_two_replicas(self):
        two = fleet(
            2,
            [],
            "a",
            "b",
            policies=[{"name": "p", "nodes": ["a", "b"], "weight": "1"}],
        )
        self.rejected(
            "policy p has .* its target is 0|^node [ab] (has|is primary)",
            dict(two, base=[["0" * 16, ["a", "b"]], ["8" + "0" * 15, "p"]]),
        )

    def test_too_many_slices_are_rejected(self):
        self.rejected("4 slices, max_slices is 3", dict(self.good, max_slices=3))


class Tolerance(unittest.TestCase):
    """Tests with a tolerance of 10%, over 1000 cells: with two nodes, each may have 450
    to 550 of them.
    """

    def judged(self, share, replicas=1, tolerance=100000, nodes="ab", old=None):
        """The report of a map in which the first node has this share of the cells."""
        first, second, *_ = nodes
        at = f"{-(-share * END // 1000):016x}"
        lists = [[first], [second]]
        if replicas == 2:
            lists = [[first, "c"], [second, "c"]]
        description = dict(
            fleet(replicas, [], *nodes),
            cells=1000,
            tolerance=tolerance,
            base=[["0" * 16, lists[0]], [at, lists[1]]],
        )
        return judge(encode(description, old), old)

    def test_shares_within_the_band_are_ok(self):
        for share in (450, 451, 500, 549, 550):
            self.assertEqual(self.judged(share)["problems"], [], share)

    def test_one_cell_beyond_the_band_is_rejected(self):
        for share in (449, 551):
            problems = self.judged(share)["problems"]
            self.assertRegex(problems[0], "cells, its target is 500")
            self.assertEqual(self.judged(share, tolerance=99999)["ok"], False)

    def test_the_band_is_rounded_inwards(self):
        # 1% and a bit of 500 is 5, and less is 4
        for tolerance, good in ((10000, True), (9999, False)):
            self.assertEqual(self.judged(505, tolerance=tolerance)["ok"], good)
            self.assertEqual(self.judged(495, tolerance=tolerance)["ok"], good)

    def test_primaries_follow_the_band(self):
        # three nodes at two replicas: the target is 667, 667 and 666, so a node has 601
        # to 733 cells and is the primary of 300 to 367
        d = dict(fleet(2, [], "a", "b", "c"), cells=1000, tolerance=100000)

        def reported(*lists):
            base, at = [], 0
            for cells, who in lists:
                base.append([f"{-(-at * END // 1000):016x}", who.split()])
                at += cells
            assert at == 1000
            return judge(encode(dict(d, base=base)))["problems"]

        good = [(300, "a b"), (67, "a c"), (333, "b c"), (300, "c a")]
        self.assertEqual(reported(*good), [])
        bad = [(300, "a b"), (68, "a c"), (333, "b c"), (299, "c a")]
        problems = reported(*bad)
        self.assertEqual(len(problems), 2)
        self.assertRegex(problems[0], "node a is primary of 368 cells, of 667")
        self.assertRegex(problems[1], "node c is primary of 299 cells, of 666")

    def test_a_step_is_compared_with_the_shares_that_it_made(self):
        # 450 cells of a and 550 of b: after nothing changed nothing has to move
        old = dict(fleet(1, [], "a", "b"), cells=1000, tolerance=100000)
        old["base"] = [["0" * 16, ["a"]], [f"{-(-450 * END // 1000):016x}", ["b"]]]
        data = encode(old)
        self.assertEqual(self.judged(450, old=data)["problems"], [])
        # shares in the band, but all of it has moved
        problems = self.judged(450, nodes="ba", old=data)["problems"]
        self.assertRegex(problems[0], "1000 cells moved, the least is 100")

    def test_a_map_of_a_newer_program_is_not_judged(self):
        newer = {"features": [40], "sections": []}
        report = judge(encode(dict(cases.members(), newer=newer)))
        self.assertEqual(report["problems"], ["features that this judge does not know"])


class Pins(unittest.TestCase):
    """Tests with three copies over three zones of two nodes; the one node of zone d has
    the weight 0 and cannot hold a copy.
    """

    def judged(self, *nodes, short=False):
        key = {"key": b"justin".hex(), "nodes": list(nodes), "short": short}
        six = fleet(3, ["zone"], "a1", "a2", "b1", "b2", "c1", "c2", "d1:0")
        lists = ["a1 b1 c1", "b1 a1 c1", "c1 a1 b1", "a2 b2 c2", "b2 a2 c2", "c2 a2 b2"]
        return judge(encode(dict(parts(six, *lists), pins=[key])))

    def test_pins_that_lose_no_more_than_slices_are_ok(self):
        for nodes in ("a1 b2 c1", "a1 b1 d1", "a1 a2 b1 c1", "c1 c2 b1 b2 a1"):
            report = self.judged(*nodes.split())
            self.assertEqual((report["problems"], report["pin_violations"]), ([], 0))

    def test_pins_of_too_few_nodes_or_too_many_in_a_zone_are_rejected(self):
        for nodes, problems in (("a1", 1), ("a1 a2", 2), ("a1 a2 b1", 1)):
            report = self.judged(*nodes.split())
            self.assertEqual((report["ok"], report["pin_violations"]), (False, 1))
            self.assertEqual(len(report["problems"]), problems, report)

    def test_a_short_pin_is_counted_and_is_not_a_problem(self):
        report = self.judged("a1", "a2", short=True)
        self.assertEqual((report["ok"], report["short_pins"]), (True, 1))
        self.assertEqual(self.judged("a1", "b1", "c1", short=True)["short_pins"], 0)


class RandomSteps(unittest.TestCase):
    def test_made_maps_are_accepted_and_spoiled_ones_are_not(self):
        spoiled = 0
        for seed in range(60):
            draw = random.Random(seed)
            description, old = random_fleet(draw), None
            for step in range(4):
                new = lay(description, old)
                data = encode(new, old)
                report = judge(data, old)
                self.assertEqual(report["problems"], [], (seed, step))
                self.assertEqual(report["moved_cells"], report["optimum_cells"])
                for other in self.spoil(draw, new):
                    self.assertFalse(
                        judge(encode(other, old), old)["ok"], (seed, step, other)
                    )
                    spoiled += 1
                description, old = changed(draw, description), data
        self.assertGreater(spoiled, 200)

    @staticmethod
    def spoil(draw, description):
        """Yields broken maps, where they are possible: one in which a slice starts a cell
        later, and one with the nodes of a policy in another order.
        """
        base = description["base"]
        firsts = [int(first, 16) for first, _ in base] + [END]
        cells = description.get("cells") or END
        i = draw.randrange(len(base))
        if (
            i
            and set(base[i][1]) != set(base[i - 1][1])
            and firsts[i + 1] - firsts[i] > -(-END // cells)
        ):
            further = f"{-(-(firsts[i] * cells // END + 1) * END // cells):016x}"
            yield dict(
                description, base=base[:i] + [[further, base[i][1]]] + base[i + 1 :]
            )
        who = base[i][1]
        if len(who) > 1 and (firsts[i + 1] - firsts[i]) * cells // END > 2:
            yield dict(
                description,
                base=base[:i] + [[base[i][0], who[1:] + who[:1]]] + base[i + 1 :],
            )

    def test_with_as_many_outermost_domains_as_replicas_the_lower_bound_moves(self):
        for seed in range(20):
            draw, old = random.Random(seed), None
            for _ in range(4):
                names = [
                    f"{zone}{rack}{i}"
                    for zone in "abc"
                    for rack in "12"
                    for i in range(draw.randrange(1, 3))
                ]
                weighted = [f"{name}:{draw.randrange(1, 9)}" for name in names]
                new = make(fleet(3, ["zone", "rack"], *weighted), old)
                report = judge(new, old)
                self.assertEqual(report["problems"], [])
                self.assertEqual(report["optimum"], report["lower_bound"])
                old = new


class GradualChanges(unittest.TestCase):
    """Tests of a change of a fleet with two copies: a1 leaves, and c1, of a third zone,
    joins. Each test takes the change up to some point.
    """

    old = encode(
        parts(
            fleet(2, ["zone"], "a1", "a2", "b1", "b2"),
            "a1 b1",
            "b2 a2",
            "a2 b2",
            "b1 a1",
        )
    )
    new = fleet(2, ["zone"], "a1:0", "a2", "b1", "b2", "c1")

    def under_way(self, cut, new=None, target=None):
        """Returns the description of the new fleet with the target slices below the
        point `cut` and the old slices above it.
        """
        new = new or self.new
        target = target or lay(new, self.old)["base"]
        before = read_map(self.old)
        kept = [
            [
                f"{max(cut, first):016x}",
                [before.nodes[i].name for i in before.policies[policy].members],
            ]
            for first, end, policy in ends(before.base)
            if end > cut
        ]
        return dict(
            new,
            base=[[first, who] for first, who in target if int(first, 16) < cut] + kept,
            target=target,
            leaving=["a1"],
        )

    def verdict(self, description):
        return judge(encode(description, self.old), self.old)

    def test_any_part_of_a_change_is_accepted(self):
        for cut in (0, 1, END // 8, END // 2, END - 1):
            report = self.verdict(self.under_way(cut))
            self.assertEqual(
                (report["problems"], report["violations"], report["optimum"]),
                ([], [], None),
                cut,
            )

    def test_at_one_replica_with_a_weighted_policy_and_cells_of_two_sizes(self):
        self.assertEqual(judge(MAPS["gradual"], MAPS["cells-1000"])["problems"], [])
        report = judge(MAPS["gradual-end"], MAPS["gradual"])
        self.assertEqual(
            (report["problems"], report["moved_cells"]), ([], report["optimum_cells"])
        )
        self.assertIsNone(report["optimum"])

    def test_slices_that_wait_for_their_target_are_counted_and_are_no_violation(self):
        self.assertEqual(self.verdict(self.under_way(1))["pending_violations"], 0)
        together = dict(self.new, nodes=[dict(node) for node in self.new["nodes"]])
        # b1 is moved into the zone of a1, and two slices still have both nodes
        for node in together["nodes"]:
            node["labels"] = {
                "zone": "a" if node["name"] in ("a1", "b1") else node["name"]
            }
        for cut, pending in ((1, 2), (END // 2, 1)):
            report = self.verdict(self.under_way(cut, together))
            self.assertEqual(
                (
                    report["problems"],
                    report["violating_slices"],
                    report["pending_violations"],
                ),
                ([], 0, pending),
            )

    def test_slices_with_an_old_number_of_replicas_wait_for_their_target_too(self):
        one = parts(fleet(1, [], "a1", "a2", "b1", "b2"), "a1", "a2", "b1", "b2")
        old = encode(one)
        two = fleet(2, [], "a1", "a2", "b1", "b2")
        description = dict(two, base=one["base"], target=lay(two, old)["base"])
        self.assertEqual(judge(encode(description, old), old)["pending_violations"], 4)

    def test_a_change_behind_a_gap_is_rejected(self):
        whole = self.under_way(END - 1)
        late = [
            [first, who] for first, who in whole["base"] if int(first, 16) >= END // 2
        ]
        gap = [["0" * 16, ["a1", "b1"]], ["4" + "0" * 15, ["b2", "a2"]]] + late
        self.assertIn(
            "the step changed points behind it",
            " ".join(self.verdict(dict(whole, base=gap))["problems"]),
        )

    def test_a_change_that_is_not_the_targets_is_rejected(self):
        good = self.under_way(END // 2)
        self.assertFalse(
            self.verdict(
                dict(good, base=[[good["base"][0][0], ["b2", "c1"]]] + good["base"][1:])
            )["ok"]
        )

    def test_a_target_off_balance_or_with_a_broken_cap_is_rejected(self):
        good = self.under_way(1)
        target = good["target"]
        further = [
            [f"{int(first, 16) + (i == 1):016x}", who]
            for i, (first, who) in enumerate(target)
        ]
        self.assertRegex(
            " ".join(self.verdict(dict(good, target=further))["problems"]),
            "its target is|is primary of",
        )
        together = dict(
            good,
            nodes=[
                dict(
                    n,
                    labels={"zone": "b" if n["name"] == "c1" else n["labels"]["zone"]},
                )
                for n in good["nodes"]
            ],
        )
        report = self.verdict(together)
        self.assertTrue(report["violations"] and not report["ok"])

    def test_a_target_that_needs_more_movement_than_the_least_is_rejected(self):
        # the layout of a new map: its shares are right, but it ignores the map before
        target = lay(self.new)["base"]
        report = self.verdict(self.under_way(1, target=target))
        self.assertIn(
            "from base to target slices more moves than the least", report["problems"]
        )

    def test_the_last_step_is_judged_as_a_whole_change(self):
        half = encode(self.under_way(END // 2), self.old)
        last = dict(self.new, base=self.under_way(END // 2)["target"])
        report = judge(encode(last, half), half)
        self.assertEqual((report["problems"], report["moved"]), ([], report["optimum"]))
        self.assertGreater(int(report["moved"]), 0)


class Targets(unittest.TestCase):
    def test_targets_add_up_to_all_copies_of_all_cells_on_every_map(self):
        for name, data in MAPS.items():
            m = read_map(data)
            self.assertEqual(sum(targets(m).values()), m.cells * m.replicas, name)


if __name__ == "__main__":
    unittest.main()
