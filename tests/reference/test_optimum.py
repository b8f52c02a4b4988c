"""Tests of the judge's flow: against another solver, and, where the space has only a
few cells, against a search through all possibilities.
"""

import itertools
import random
import sys
import unittest
from collections import Counter
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from comparison import cells_between, ends, pieces, same_nodes
from domains import caps, chain
from flow import Network
from made_maps import fleet_of, make
from optimum import least_moved, least_reordered, primaries, primary_numbers
from random_fleets import changed, random_fleet
from stead_reference import read_map
from targets import targets
from write_map import encode

try:
    from ortools.graph.python import min_cost_flow
except ImportError:
    min_cost_flow = None
    print(
        "skipped: OR-tools is not there (scripts/setup --tests installs it into .venv)",
        flush=True,
    )


def steps(count, most, cells):
    """Yields random steps, as (map before, map with the fleet after, description after,
    bytes before). Some of the maps before are steps themselves.
    """
    for seed in range(count):
        draw = random.Random(seed)
        description = random_fleet(draw, most, draw.choice(cells))
        old = make(description)
        if draw.randrange(2):
            description = changed(draw, description)
            old = make(description, old)
        after = changed(draw, description)
        yield read_map(old), fleet_of(after, old), after, old


def cell_sets(m, slices, names):
    """Returns a list with the names of the nodes of each cell, primary first."""
    return [
        [names.get(m.nodes[i].name) for i in m.policies[p].members]
        for first, end, p in ends(slices)
        for _ in range(cells_between(m, first, end))
    ]


class Flow(unittest.TestCase):
    def test_the_cheapest_path_is_taken_first_and_given_back_where_that_pays(self):
        network = Network()
        cheap = network.add("s", "a", 1, 0)
        network.add("s", "b", 1, 1)
        direct = network.add("a", "t", 1, 0)
        network.add("a", "c", 1, 3)
        network.add("b", "a", 1, 0)
        network.add("c", "t", 1, 0)
        self.assertEqual(network.send("s", "t"), (2, 4))
        self.assertEqual((network.flow(cheap), network.flow(direct)), (1, 1))

    def test_nothing_flows_when_the_sink_cannot_be_reached(self):
        self.assertEqual(Network().send("s", "t"), (0, 0))
        network = Network()
        network.add("s", "a", 5)
        network.add("b", "t", 5)
        self.assertEqual(network.send("s", "t"), (0, 0))

    @unittest.skipUnless(min_cost_flow, "OR-tools is not there")
    def test_random_networks_cost_what_another_solver_says(self):
        for seed in range(200):
            draw, network, solver = (
                random.Random(seed),
                Network(),
                min_cost_flow.SimpleMinCostFlow(),
            )
            n = draw.randrange(3, 9)
            for _ in range(draw.randrange(4, 30)):
                a, b = draw.sample(range(n), 2)
                capacity, cost = (
                    draw.randrange(10 ** draw.randrange(1, 9)),
                    draw.randrange(6),
                )
                network.add(a, b, capacity, cost)
                solver.add_arc_with_capacity_and_unit_cost(a, b, capacity, cost)
            solver.set_nodes_supplies([0, n - 1], [10**12, -(10**12)])
            self.assertEqual(solver.solve_max_flow_with_min_cost(), solver.OPTIMAL)
            self.assertEqual(
                network.send(0, n - 1),
                (solver.maximum_flow(), solver.optimal_cost()),
                seed,
            )


class LeastMovement(unittest.TestCase):
    @unittest.skipUnless(min_cost_flow, "OR-tools is not there")
    def test_the_least_movement_is_what_another_solver_finds_slice_by_slice(self):
        above = 0
        for old, m, *_ in steps(150, 9, [2**20, 2**16, 1000, 97]):
            least = least_moved(old, old.base, m)
            self.assertEqual(least, self.solved(old, m))
            above += least > 0
        self.assertGreater(above, 50)

    @staticmethod
    def solved(old, m):
        """The least movement by the other solver. Slices are not grouped: each has a
        tree of the domains to itself.
        """
        solver, number = (
            min_cost_flow.SimpleMinCostFlow(),
            itertools.count(len(m.nodes)),
        )
        found, names, target = caps(m), same_nodes(old, m), targets(m)
        for i, node in enumerate(m.nodes):
            solver.set_node_supply(i, -target["node", node.name])
        for first, end, policy in ends(old.base):
            length = cells_between(m, first, end)
            kept = [names.get(old.nodes[i].name) for i in old.policies[policy].members]
            vertex = {domain: next(number) for domain in found}
            solver.set_node_supply(vertex[()], length * m.replicas)
            for domain, cap in found.items():
                if domain:
                    solver.add_arc_with_capacity_and_unit_cost(
                        vertex[domain[:-1]], vertex[domain], length * cap, 0
                    )
            for i, node in enumerate(m.nodes):
                if node.weight:
                    inner = vertex[chain(node, m.spread)[-1]]
                    solver.add_arc_with_capacity_and_unit_cost(
                        inner, i, length, int(node.name not in kept)
                    )
        assert solver.solve() == solver.OPTIMAL
        return solver.optimal_cost()

    def test_the_least_movement_is_what_a_search_through_everything_finds(self):
        tried = 0
        for old, m, *_ in steps(150, 6, [2, 3, 4, 5]):
            cells = cell_sets(old, old.base, same_nodes(old, m))
            sets = [
                names
                for names in itertools.combinations(
                    [n for n in m.nodes if n.weight], m.replicas
                )
                if self.legal(m, names)
            ]
            demand = tuple(targets(m)["node", n.name] for n in m.nodes)
            self.assertEqual(
                least_moved(old, old.base, m), self.try_all(m, cells, sets, demand)
            )
            tried += len(sets) > 1
        self.assertGreater(tried, 80)

    @staticmethod
    def legal(m, nodes):
        """Whether these nodes keep all caps."""
        count = Counter(domain for node in nodes for domain in chain(node, m.spread))
        return all(count[domain] <= cap for domain, cap in caps(m).items())

    @staticmethod
    def try_all(m, cells, sets, demand):
        """The least movement when every cell gets one of the sets, and every node as
        many cells as its demand.
        """
        place = {n.name: i for i, n in enumerate(m.nodes)}

        @lru_cache(None)
        def best(at, left):
            if at == len(cells):
                return 0 if not any(left) else float("inf")
            costs = []
            for names in sets:
                after = list(left)
                for n in names:
                    after[place[n.name]] -= 1
                if min(after) >= 0:
                    costs.append(
                        sum(n.name not in cells[at] for n in names)
                        + best(at + 1, tuple(after))
                    )
            return min(costs, default=float("inf"))

        return best(0, demand)

    def test_cells_of_named_policies_move_once_whatever_the_number_of_new_nodes(self):
        policy = {"name": "p", "nodes": ["a", "b"], "weight": "1"}
        old = read_map(
            make_pair([policy], 1, [["0" * 16, "p"], ["8" + "0" * 15, ["c"]]])
        )
        self.assertEqual(
            least_moved(
                old, old.base, read_map(make_pair([], 2, [["0" * 16, ["a", "b"]]]))
            ),
            3 * 2**63,
        )

    def test_a_change_from_two_copies_to_named_policies_moves_every_cell_once(self):
        policy = {"name": "p", "nodes": ["a", "b"], "weight": "1"}
        old = read_map(make_pair([], 2, [["0" * 16, ["a", "b"]]]))
        new = read_map(
            make_pair([policy], 1, [["0" * 16, "p"], ["8" + "0" * 15, ["c"]]])
        )
        self.assertEqual(least_moved(old, old.base, new), 2**64)


def make_pair(policies, replicas, base):
    """A map of the nodes a, b and c. At one replica only c has a weight, at two only a
    and b.
    """
    weights = "001" if replicas == 1 else "110"
    nodes = [{"name": name, "weight": weight} for name, weight in zip("abc", weights)]
    return encode(
        {
            "name": "pair",
            "replicas": replicas,
            "nodes": nodes,
            "policies": policies,
            "base": base,
        }
    )


class LeastReorder(unittest.TestCase):
    def test_the_least_reorder_is_what_a_search_through_everything_finds(self):
        reordered = 0
        for old, _, after, data in steps(150, 6, [2, 3, 4, 5]):
            m = read_map(make(after, data))
            names = same_nodes(old, m)
            before = [nodes[0] for nodes in cell_sets(old, old.base, names)]
            now = cell_sets(m, m.base, {n.name: n.name for n in m.nodes})
            least = least_reordered(old, old.base, m, m.base)
            self.assertEqual(
                least,
                self.try_all(before, now, tuple(sorted(primaries(m, m.base).items()))),
            )
            reordered += least > 0
        self.assertGreater(reordered, 10)

    @staticmethod
    def try_all(before, now, demand):
        """The fewest cells that are reordered when every node is the primary of as many
        cells as its demand.
        """

        @lru_cache(None)
        def best(at, left):
            if at == len(now):
                return 0
            costs = []
            for i, (name, cells) in enumerate(left):
                if name in now[at] and cells:
                    after = left[:i] + ((name, cells - 1),) + left[i + 1 :]
                    costs.append(
                        int(before[at] in now[at] and before[at] != name)
                        + best(at + 1, after)
                    )
            return min(costs, default=float("inf"))

        return best(0, demand)

    def test_the_numbers_by_remainder_are_the_first_that_the_slices_allow(self):
        tried = 0
        for _, _, after, data in steps(150, 6, [2, 3, 4, 5, 7]):
            m = read_map(make(after, data))
            sets = cell_sets(m, m.base, {n.name: n.name for n in m.nodes})
            possible = (
                {
                    frozenset(Counter(choice).items())
                    for choice in itertools.product(*sets)
                }
                if len(sets) * m.replicas < 21
                else []
            )
            if possible:
                got = {
                    name: cells
                    for name, cells in primary_numbers(m, m.base).items()
                    if cells
                }
                self.assertEqual(got, self.first(m, possible))
                tried += m.replicas > 1
        self.assertGreater(tried, 80)

    def test_a_node_is_not_rounded_up_where_the_slices_do_not_allow_it(self):
        # every node holds one of two cells: by the remainders a and b would each be the
        # primary of one, but they hold the same cell
        four = {
            "name": "four",
            "replicas": 2,
            "cells": 2,
            "nodes": [{"name": name} for name in "abcd"],
        }
        m = read_map(
            encode(
                dict(four, base=[["0" * 16, ["a", "b"]], ["8" + "0" * 15, ["c", "d"]]])
            )
        )
        self.assertEqual(primary_numbers(m, m.base), {"a": 1, "b": 0, "c": 1, "d": 0})

    @staticmethod
    def first(m, possible):
        """Of the possible numbers, those that round up the nodes with the largest
        remainders: the choices are compared node by node, largest remainder first.
        """
        target = {name: cells for (_, name), cells in targets(m).items()}
        order = sorted(target, key=lambda name: -(target[name] % m.replicas))
        best = []
        for numbers in possible:
            count = dict(numbers)
            up = [count.get(name, 0) - target[name] // m.replicas for name in order]
            if all(
                x in (0, 1) and (not x or target[name] % m.replicas)
                for x, name in zip(up, order)
            ):
                best.append((up, count))
        return max(best, key=lambda pair: pair[0])[1]


class Pieces(unittest.TestCase):
    def test_pieces_cover_the_space_once(self):
        for old, m, after, data in steps(20, 8, [0, 1000]):
            m = read_map(make(after, data))
            found = list(pieces(old, old.base, m, m.base))
            self.assertEqual(
                [first for first, *_ in found], [0] + [end for _, end, *_ in found[:-1]]
            )
            self.assertEqual(found[-1][1], 2**64)


if __name__ == "__main__":
    unittest.main()
