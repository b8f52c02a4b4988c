"""The tables of docs/scale.md: what each change costs, what a slow node or host costs, what
it takes to be done in time, and what phases that overlap would give.
"""

from dataclasses import replace

import play
import ways as ways_of
from rates import PASSES

HOUR = 3600.0

# the numbers of nodes that may be listed at once (`limits.nodes`)
LANES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def told(seconds):
    """A time in two figures or so: `0.9 s`, `45 s`, `12 min`, `3.4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / HOUR:.1f} h"


def table(head, rows):
    """Yields the lines of a table; all columns but the first are figures."""
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


class Question:
    """A number of rows, their costs, the site and its hosts; and the changes."""

    def __init__(self, rows, rates, site, hosts, changes):
        self.rows, self.rates, self.site, self.hosts = rows, rates, site, hosts
        # {name: (ways, replicas)}
        self.changes = changes

    def carry(self, ways, site=None, hosts=None, ideas=()):
        return play.carry(
            ways,
            self.rows,
            self.rates,
            site or self.site,
            hosts or self.hosts,
            ideas,
        )

    def by_change(self):
        """The time of each change, by phase."""
        head = ["change", "copies moved", "listed", *PASSES, "hosts", "in all"]
        rows = []
        for name, (ways, replicas) in self.changes.items():
            made = self.carry(ways)
            rows.append(
                [
                    name if replicas == 1 else f"{name} ({replicas} copies)",
                    f"{ways.moved() * self.rows:,.0f}",
                    f"{made.listed() / 1e9:.2f} · 10⁹",
                    *(told(made.taken(task)) for task in PASSES),
                    told(made.taken("wait")),
                    f"**{told(made.seconds)}**",
                ]
            )
        return table(head, rows)

    def busiest(self):
        """Who is busy while data is copied."""
        head = [
            "while copying",
            "busiest source",
            "busiest target",
            "carrier",
            "network",
        ]
        rows = []
        part = lambda share: f"{share * 100:.0f} %"
        for name, (ways, _) in self.changes.items():
            (copy,) = self.carry(ways).of("copy")
            busy = copy.played.busy
            found = []
            for side in (0, 1):
                nodes = sorted({way[side] for way in ways.bring})
                found.append(max((busy["cpu", node], node) for node in nodes))
            rows.append(
                [
                    name,
                    *(f"{node} {part(share)}" for share, node in found),
                    part(busy.get(("carrier", ""), 0.0)),
                    part(max(busy.get((way, ""), 0.0) for way in ("in", "out"))),
                ]
            )
        return table(head, rows)

    def slow(self, name):
        """What a slow node, a slow host and a dead host cost in a change."""
        ways, _ = self.changes[name]
        sources = sorted({one for one, _ in ways.bring}, key=ways.nodes.index)
        target = next(iter({two for _, two in ways.bring}))
        cases = {
            "all is well": (self.site, self.hosts),
            f"a source at a tenth of its rate, the first ({sources[0]})": (
                replace(self.site, slow={sources[0]: 10.0}),
                self.hosts,
            ),
            f"a source at a tenth of its rate, the last ({sources[-1]})": (
                replace(self.site, slow={sources[-1]: 10.0}),
                self.hosts,
            ),
            f"a target at a tenth of its rate ({target})": (
                replace(self.site, slow={target: 10.0}),
                self.hosts,
            ),
            "a host that takes 10 min for each state": (
                self.site,
                replace(self.hosts, slow=600.0),
            ),
            "a host that died, forgotten after 1 h": (
                self.site,
                replace(self.hosts, dead=HOUR),
            ),
        }
        least = self.carry(ways).seconds
        rows = []
        for case, (site, hosts) in cases.items():
            taken = self.carry(ways, site, hosts).seconds
            rows.append(
                [case, told(taken), told(taken - least) if taken > least else "-"]
            )
        return table([name, "in all", "more"], rows)

    def ideas(self):
        """What phases that overlap, and shorter lists, would give."""
        ways = {name: ways for name, (ways, _) in self.changes.items()}
        rows = []
        for what, ideas in {
            "as it is": (),
            **{told: (name,) for name, told in play.IDEAS.items()},
            "all of these": tuple(play.IDEAS),
        }.items():
            times = (self.carry(each, ideas=ideas).seconds for each in ways.values())
            rows.append([what, *map(told, times)])
        return table(["if", *ways], rows)

    def limited(self, limits=(100, 300, 1000, 3000)):
        """What a limit for each node costs."""
        rows = []
        for limit in limits:
            site = replace(self.site, items_per_second=limit)
            times = (
                self.carry(ways, site).seconds for ways, _ in self.changes.values()
            )
            rows.append([f"{limit:,} rows/s", *map(told, times)])
        return table(["each node at most", *self.changes], rows)

    def in_time(self):
        """What it takes to be done in 1 h and in 24 h."""
        head = [
            "change",
            "`nodes` for 1 h",
            "rows/s for 1 h",
            "`items_per_second` for 24 h",
        ]
        rows = []
        for name, (ways, _) in self.changes.items():
            lanes = self.lanes_for(ways, HOUR)
            moved = ways.moved() * self.rows
            limit = self.limit_for(ways, 24 * HOUR)
            shown = "more than 256" if lanes is None else lanes
            rate = "-"
            if lanes is not None:
                made = self.carry(ways, replace(self.site, nodes=lanes))
                rate = f"{moved / made.taken('copy'):,.0f}"
            rows.append([name, shown, rate, f"{limit:,.0f}"])
        return table(head, rows)

    def lanes_for(self, ways, seconds):
        """The least `limits.nodes` with which a carry ends in time; None when none does."""
        for lanes in LANES:
            if self.carry(ways, replace(self.site, nodes=lanes)).seconds <= seconds:
                return lanes
        return None

    def limit_for(self, ways, seconds):
        """The least `items_per_second` with which a carry ends in time, in two figures."""
        low, high = 1.0, 1e6
        while high / low > 1.02:
            middle = (low * high) ** 0.5
            site = replace(self.site, items_per_second=middle)
            if self.carry(ways, site).seconds <= seconds:
                high = middle
            else:
                low = middle
        return float(f"{high:.2g}")


def growth(question, added=(1, 2, 5, 10, 20, 50, 100), count=1000):
    """Yields (nodes added, ways) of fleets that grow by more and more nodes."""
    old_nodes = [ways_of.node(number) for number in range(count)]
    old = ways_of.build(old_nodes, 1)
    for more in added:
        nodes = [*old_nodes, *(ways_of.node(count + number) for number in range(more))]
        yield more, ways_of.between(old, ways_of.build(nodes, 1, old))
