"""`make bench-optimum`: measures how much more than the least stead moves in small
fleets whose caps conflict with the lower bound.

    make bench-optimum ARGS='--seeds 4'      a short run; --help names the rest

Each row of the table is a shape: the number of copies R, of zones, of racks in a zone,
and the greatest number of nodes in a rack. Each seed gives a history with one change in
each step: a node is added, removed, or gets another weight. The history goes through
`stead apply`, step by step. The least that a step can move is computed by
tests/reference/optimum.py, an exact minimum-cost flow, from the map before and the
fleet after; it never sees the map that stead made. If OR-tools is installed, it solves
every tenth step, too, slice by slice; since its numbers have 64 bits, on a space of
2^40.

tests/reference reads the movement, the shares and the violations from the maps.
Everything is kept in target/bench-optimum.

All random numbers come from SplitMix64, as in scenario.py. They are drawn in this
order: for each rack of the start, the number of its nodes (at least 1) and the weight
of each (1 to 100); for each step, the kind of change (0 adds, 1 removes, 2 changes a
weight) and where. Nodes are added to the start until there are enough for the copies. A
change is drawn again if it is impossible, or if after it the rule of docs/placement.md
gives zones another cap than the row names.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "reference")]
sys.dont_write_bytecode = True

import scenario
from comparison import cells_between, ends, shares
from domains import caps, chain, violations
from made_maps import fleet_of
from markdown import table
from optimum import least_moved, moved
from stead_reference import read_map
from targets import targets

try:
    from ortools.graph.python import min_cost_flow
except ImportError:
    min_cost_flow = None

HERE = os.path.join(ROOT, "target", "bench-optimum")
STEAD = os.path.join(ROOT, "target", "release", "stead")
# the random histories give up copies and domains, and come back to older fleets
ALLOW = "drop-copies,lose-domain,take-back"
SPREAD = ["zone", "rack"]
SEEDS, STEPS, HEAVIEST = 40, 12, 100
CHECKED = 10  # every tenth step is also solved by OR-tools
SHIFT = 24  # 2^64 points are 2^40 units: sums over hundreds of slices stay below 2^63
GOAL = 1.05  # a step may move at most this times the least

# (R, zones, racks in a zone, most nodes in a rack, cap of a zone). The first ten come
# from the project's research. That gave 3,4,2,2 the cap 2, but at three copies the cap
# of four zones is 1; 5,4,2,2 has these zones and the cap 2.
ROWS = [
    (1, 1, 1, 12, 1),
    (2, 2, 2, 3, 1),
    (3, 3, 2, 3, 1),
    (2, 3, 2, 3, 1),
    (3, 5, 2, 2, 1),
    (3, 2, 3, 3, 2),
    (3, 4, 2, 2, 1),
    (2, 1, 4, 2, 2),
    (3, 1, 4, 1, 3),
    (4, 3, 2, 2, 2),
    (5, 4, 2, 2, 2),
    (3, 1, 1, 12, 3),
    (3, 5, 4, 5, 1),
]
# a row with possibly more than 50 nodes gets a tenth of the histories: the exact flow
# takes seconds for each step there
LARGE = 10
HEADER = (
    "R, zones, racks/zone, most nodes/rack, zone cap",
    "steps",
    "optimum = bound",
    "optimum / bound mean (worst)",
    "moved = optimum",
    "moved / optimum mean (worst)",
    "violations",
    "share errors",
    "solved twice",
)


class History:
    """A changing fleet of a row's shape, as descriptions for
    tests/reference/write_map.py.
    """

    def __init__(self, row, seed):
        self.replicas, self.zones, self.racks, self.most, self.cap = row
        self.numbers, self.nodes, self.made = (
            scenario.splitmix64(ROWS.index(row) * 1000 + seed),
            [],
            0,
        )
        for place in [(z, r) for z in range(self.zones) for r in range(self.racks)]:
            for _ in range(1 + self.below(self.most)):
                self.nodes.append(self.node(place))
        while not self.allowed(self.nodes):
            place = self.open_rack()
            self.nodes += [self.node(place)] if place else []

    def below(self, n):
        return next(self.numbers) % n

    def node(self, place):
        self.made += 1
        zone, rack = place
        labels = {"zone": "abcdefgh"[zone], "rack": str(rack + 1)}
        return {
            "name": f"{labels['zone']}{labels['rack']}-{self.made:02}",
            "weight": str(1 + self.below(HEAVIEST)),
            "labels": labels,
        }

    def open_rack(self):
        """Draws a rack; returns None if it has no room for another node."""
        place = self.below(self.zones), self.below(self.racks)
        labels = {"zone": "abcdefgh"[place[0]], "rack": str(place[1] + 1)}
        return (
            place
            if sum(node["labels"] == labels for node in self.nodes) < self.most
            else None
        )

    def description(self, nodes=None):
        return {
            "name": "tight",
            "replicas": self.replicas,
            "spread": SPREAD,
            "nodes": self.nodes if nodes is None else nodes,
        }

    def allowed(self, nodes):
        """Whether there are enough nodes, and zones have the cap of the row."""
        sizes = [
            sum(node["labels"]["zone"] == zone for node in nodes)
            for zone in "abcdefgh"[: self.zones]
        ]
        if sum(sizes) < self.replicas or min(sizes) == 0:
            return False
        cap = next(
            c
            for c in range(1, self.replicas + 1)
            if sum(min(c, size) for size in sizes) >= self.replicas
        )
        return cap == self.cap

    def change(self):
        """Makes one change."""
        while True:
            what, nodes = self.below(3), list(self.nodes)
            if what == 0:
                place = self.open_rack()
                nodes += [self.node(place)] if place else []
            elif what == 1:
                del nodes[self.below(len(nodes))]
            else:
                i = self.below(len(nodes))
                nodes[i] = dict(nodes[i], weight=str(1 + self.below(HEAVIEST)))
            if nodes != self.nodes and self.allowed(nodes):
                self.nodes = nodes
                return


def apply(history, scratch):
    """Applies the fleet with the program; returns the map's bytes and the report."""
    fleet, path = (
        os.path.join(scratch, "fleet.json"),
        os.path.join(scratch, "tight.map"),
    )
    wanted = history.description()
    with open(fleet, "w", encoding="ascii") as file:
        json.dump(
            {
                "name": wanted["name"],
                "replicas": wanted["replicas"],
                "spread": wanted["spread"],
                "node": wanted["nodes"],
            },
            file,
        )
    done = subprocess.run(
        [STEAD, "apply", fleet, path, "--json", "--allow", ALLOW],
        stdout=subprocess.PIPE,
        check=True,
    )
    with open(path, "rb") as file:
        return file.read(), json.loads(done.stdout)


def run_history(task):
    """Returns the figures of each step of one history."""
    row, seed, steps = task
    history, results = History(row, seed), []
    with tempfile.TemporaryDirectory() as scratch:
        before, _ = apply(history, scratch)
        for step in range(1, steps + 1):
            history.change()
            after, report = apply(history, scratch)
            results.append(
                dict(
                    row=row,
                    seed=seed,
                    step=step,
                    **judge(history.description(), before, after, report, step + seed),
                )
            )
            before = after
    return results


def judge(description, before, after, report, number):
    """Judges one step. `fleet` is made from the description alone: its base slices are
    dummies that nothing here reads.
    """
    old, new, fleet = read_map(before), read_map(after), fleet_of(description, before)
    due, was, has = targets(fleet), shares(old), shares(new)
    least = least_moved(old, old.base, fleet)
    found = {
        "nodes": len(fleet.nodes),
        "slices": len(new.base),
        "optimum": least,
        "moved": moved(old, old.base, new, new.base),
        "bound": sum(
            max(0, cells - was.get(holder, 0)) for holder, cells in due.items()
        ),
        "share_error": max(
            abs(has.get(holder, 0) - due.get(holder, 0))
            for holder in has.keys() | due.keys()
        ),
        "violations": len(
            {
                first
                for broken in violations(new, new.base, caps(fleet))
                for first in broken["slices"]
            }
        ),
    }
    found["wrong"] = [
        f"the report's {name} is {report[field]['points']}"
        for name, field in (("moved", "moved"), ("bound", "lower_bound"))
        if report[field]["points"] != str(found[name])
    ]
    if not found["bound"] <= least <= found["moved"]:
        found["wrong"].append("bound <= optimum <= moved does not hold")
    found["checked"] = min_cost_flow is not None and number % CHECKED == 0
    if found["checked"]:
        found["wrong"] += second_opinion(old, fleet, due, least)
    return found


def second_opinion(old, fleet, due, least):
    """Solves the step with OR-tools; returns its objections to the optimum. Slices are
    not grouped: each has a tree of the domains to itself.

    The unit here is 2^SHIFT points. Bounds of slices and targets are rounded down to
    it, targets as running sums in the order of the domains. So no slice and no domain
    is off by more than one unit, and the costs may differ by one unit for each slice
    and node, times the few arcs of a detour.
    """
    solver, found, order = (
        min_cost_flow.SimpleMinCostFlow(),
        caps(fleet),
        sorted(fleet.nodes, key=lambda node: chain(node, fleet.spread)),
    )
    number = {("node", node.name): i for i, node in enumerate(order)}
    total = 0
    for node in order:
        cells = due["node", node.name]
        solver.set_node_supply(
            number["node", node.name], -((total + cells >> SHIFT) - (total >> SHIFT))
        )
        total += cells
    sent = vertices = 0
    for first, end, policy in ends(old.base):
        length = (cells_between(old, 0, end) >> SHIFT) - (
            cells_between(old, 0, first) >> SHIFT
        )
        if not length:
            continue
        kept = {old.nodes[i].name for i in old.policies[policy].members}
        vertex = {domain: len(order) + vertices + i for i, domain in enumerate(found)}
        vertices += len(found)
        solver.set_node_supply(vertex[()], length * fleet.replicas)
        sent += length * fleet.replicas
        for domain, cap in found.items():
            if domain:
                solver.add_arc_with_capacity_and_unit_cost(
                    vertex[domain[:-1]], vertex[domain], length * cap, 0
                )
        for node in order:
            inner = vertex[chain(node, fleet.spread)[-1]]
            solver.add_arc_with_capacity_and_unit_cost(
                inner, number["node", node.name], length, int(node.name not in kept)
            )
    if solver.solve_max_flow_with_min_cost() != solver.OPTIMAL:
        return ["OR-tools found no optimum"]
    slack = 4 * (len(old.base) + len(order))
    if sent - solver.maximum_flow() > slack:
        return [f"OR-tools could place {solver.maximum_flow()} of {sent}"]
    other = solver.optimal_cost()
    return (
        [f"OR-tools' optimum is {other} * 2^{SHIFT} points"]
        if abs(other - (least >> SHIFT)) > slack
        else []
    )


def ratios(results, name, by):
    """Returns the mean and the worst ratio name / by over the steps where `by` is above
    0. The worst is infinite if in some step only `by` is 0.
    """
    found = [result[name] / result[by] for result in results if result[by]]
    worst = (
        float("inf")
        if any(result[name] and not result[by] for result in results)
        else max(found, default=1.0)
    )
    return statistics.mean(found) if found else 1.0, worst


def line_of(row, results):
    """Returns a row of the table, and the reasons why it fails."""
    optimum, more = (
        ratios(results, "optimum", "bound"),
        ratios(results, "moved", "optimum"),
    )
    broken, wrong_shares = (
        sum(result["violations"] for result in results),
        sum(result["share_error"] > 0 for result in results),
    )
    equal = [
        sum(result[name] == result["optimum"] for result in results)
        for name in ("bound", "moved")
    ]
    problems = [
        f"row {row}, seed {r['seed']}, step {r['step']}: {text}"
        for r in results
        for text in r["wrong"]
    ]
    problems += (
        [f"row {row}: a step moved {more[1]:.3f} of the least, the goal is {GOAL}"]
        if more[1] > GOAL
        else []
    )
    problems += (
        [f"row {row}: {broken} violations, {wrong_shares} steps with wrong shares"]
        if broken or wrong_shares
        else []
    )
    return (
        ", ".join(map(str, row)),
        len(results),
        equal[0],
        f"{optimum[0]:.3f} ({optimum[1]:.2f})",
        equal[1],
        f"{more[0]:.3f} ({more[1]:.3f})",
        broken,
        wrong_shares,
        sum(result["checked"] for result in results),
    ), problems


def main():
    parser = argparse.ArgumentParser(
        description="How much more than the least stead moves on fleets whose caps bind."
    )
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help=f"histories a row (default {SEEDS})"
    )
    parser.add_argument(
        "--first-seed", type=int, default=0, help="the first seed (default 0)"
    )
    parser.add_argument(
        "--steps", type=int, default=STEPS, help=f"changes a history (default {STEPS})"
    )
    parser.add_argument("--row", help="only the row that starts like this, as 3,5,2,2")
    wanted = parser.parse_args()
    os.makedirs(HERE, exist_ok=True)
    rows = [row for row in ROWS if ",".join(map(str, row)).startswith(wanted.row or "")]
    print(
        f"{len(rows)} rows of {wanted.seeds} histories (large fleets: a tenth) of "
        f"{wanted.steps} steps",
        flush=True,
    )
    if min_cost_flow is None:
        print(
            "skipped: OR-tools is not there (scripts/setup --tests installs it into "
            ".venv); nothing is solved twice",
            flush=True,
        )
    start, lines, problems, kept = time.monotonic(), [], [], []
    with multiprocessing.Pool() as pool:
        for row in rows:
            histories = (
                wanted.seeds
                if row[1] * row[2] * row[3] <= 50
                else -(-wanted.seeds // LARGE)
            )
            tasks, results = (
                [
                    (row, wanted.first_seed + seed, wanted.steps)
                    for seed in range(histories)
                ],
                [],
            )
            for done, found in enumerate(pool.imap_unordered(run_history, tasks), 1):
                results += found
                if done % 10 == 0 or done == len(tasks):
                    print(
                        f"   {', '.join(map(str, row))}: {done} of {len(tasks)} "
                        f"histories, {time.monotonic() - start:.0f} s",
                        flush=True,
                    )
            results.sort(key=lambda result: (result["seed"], result["step"]))
            line, wrong = line_of(row, results)
            lines, problems, kept = [*lines, line], problems + wrong, kept + results
    text = table(HEADER, lines) + "\n"
    print(
        f"\n{text}\n{len(kept)} steps, {time.monotonic() - start:.0f} s; beside it in "
        "target/bench-optimum: table.txt and every step's figures"
    )
    with open(os.path.join(HERE, "table.txt"), "w", encoding="ascii") as file:
        file.write(text)
    with open(os.path.join(HERE, "steps.json"), "w", encoding="ascii") as file:
        json.dump(kept, file, indent=0)
        file.write("\n")
    if problems:
        sys.exit("bench-optimum: " + "\nbench-optimum: ".join(problems))


if __name__ == "__main__":
    main()
