"""`make bench-optimum`: small fleets whose caps conflict with the lower bound, and how
much more than the least stead moves there.

    make bench-optimum ARGS='--seeds 4'      a short run; --help names the rest

Each row of the table is a shape: R copies, zones, racks in a zone, the most nodes in a
rack. Each seed gives a history of one change a step: a node comes, leaves, or gets
another weight. The history goes through `stead apply`, step by step. The least that a
step can move is worked out by tests/reference/optimum.py, an exact minimum-cost flow,
from the map before and the fleet after; it never sees what stead did. Where OR-tools is
there, every tenth step is solved by it too, slice by slice, on 2^40 points since its
numbers have 64 bits.

What moved, the shares and the violations are read from the maps by tests/reference.
Everything is kept in target/bench-optimum.

The only randomness is SplitMix64, as in scenario.py. The draws, in this order: for each
rack of the start how many nodes it has (1 to the most), and the weight of each (1 to
100); each step: what it does (0 adds, 1 removes, 2 changes a weight), and on what.
Nodes are added to the start until it has enough for its copies. A change that cannot
be, or after which the rule of docs/placement.md gives zones another cap than the row
names, is drawn again.
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
SPREAD = ["zone", "rack"]
SEEDS, STEPS, HEAVIEST = 40, 12, 100
CHECKED = 10  # every tenth step is solved twice
SHIFT = 24  # 2^64 points as 2^40: sums over some hundred slices stay far below 2^63
GOAL = 1.05  # no step may move more than this times the least

# (R, zones, racks in a zone, most nodes in a rack, cap of a zone). The first ten are
# the project's research's, but for the cap of 3,4,2,2: four zones have the cap 1 at
# three copies, where the research had 2; 5,4,2,2 has its zones and cap.
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
# a row that may have more than 50 nodes gets a tenth of the histories: the exact flow
# takes seconds a step there
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
    """A fleet of a row's shape that changes; as a description for
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
        """A rack with room for a node; the one drawn may have none, and then None."""
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
        """Whether there are nodes enough, and zones have the cap of the row."""
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
        """One change."""
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
    """Takes the fleet through the program; returns the map's bytes and the report."""
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
        [STEAD, "apply", fleet, path, "--json"], stdout=subprocess.PIPE, check=True
    )
    with open(path, "rb") as file:
        return file.read(), json.loads(done.stdout)


def run_history(task):
    """What each step of one history came to."""
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
    """Judges one step. `fleet` knows the description alone: its base slices are a dummy
    that nothing here reads.
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
    """What OR-tools has against the optimum: it solves every slice for itself, each
    with a tree of the domains.

    Bounds and targets are rounded down to 2^SHIFT points, targets as running sums in
    the order of domains, so that no slice and no domain is off by more than one of
    them; the costs may differ by as many as there are slices and nodes, each over a
    detour of a few arcs.
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
    """(mean, worst) of name / by over the steps where `by` is above 0; worst is
    infinite where only `by` is 0.
    """
    found = [result[name] / result[by] for result in results if result[by]]
    worst = (
        float("inf")
        if any(result[name] and not result[by] for result in results)
        else max(found, default=1.0)
    )
    return statistics.mean(found) if found else 1.0, worst


def line_of(row, results):
    """A row of the table, and what is against it."""
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
