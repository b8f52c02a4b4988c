"""One pass of a carry, played through: which node takes how long, and what it uses.

As crates/stead-sync/src/carry/pass.rs does it, `limits.nodes` nodes are listed at once,
in a mixed order. Each lists its items until a batch is full, lets
`limits.workers` workers do what moves, and goes on listing. So a node alone takes

    listing + batches * (units / workers * time of a unit + journal)

and several nodes share the processors of the targets and of the carrier, its network,
and the limits of each node.
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy
from fill import speeds
from rates import Cost

# BATCH and LISTED of pass.rs: a batch is full when so many items move, or were listed
BATCH = 256
LISTED = 100_000

NOTHING = Cost()


@dataclass
class Job:
    """What one node has to do in a pass."""

    node: str
    # seconds that it takes alone
    alone: float = 0.0
    items: float = 0.0
    listed: float = 0.0
    # {(resource, node): how much}
    use: dict = field(default_factory=lambda: defaultdict(float))
    # what of these listing takes
    listing_alone: float = 0.0
    listing: dict = field(default_factory=dict)


@dataclass
class Played:
    """How a pass went."""

    seconds: float = 0.0
    items: float = 0.0
    listed: float = 0.0
    # {(resource, node): part of the time in which it was busy}
    busy: dict = field(default_factory=dict)
    # {node: (when it began, when it ended)}
    spans: dict = field(default_factory=dict)


def loads(task, ways, rows):
    """Returns {listed node: [(pass whose costs apply, source, target, items)]}."""
    found = defaultdict(list)
    if task == "remove":
        for (node, keeper), share in ways.drop.items():
            found[node].append(("remove", node, keeper, share * rows))
        return found
    for (source, target), share in ways.bring.items():
        name = "check" if task == "verify" else task
        found[source].append((name, source, target, share * rows))
        if task == "verify":
            # is what the target has also at the source?
            found[target].append(("stray", source, target, share * rows))
    return found


def job_of(task, node, work, ways, rows, rates, site):
    """Returns what a node has to do. `rates` and `site` are those of rates.py."""
    job = Job(node)
    slow = lambda name: site.slow.get(name, 1.0)
    here = ways.held[node]
    if task in ("verify", "check", "remove"):
        here += ways.gained[node]
    job.listed = here * rows
    listed = rates.listed
    job.use["cpu", node] += job.listed * listed.source
    job.use["carrier", ""] += job.listed * listed.carrier
    job.use["in", ""] += job.listed * rates.name_bytes
    # the keys of a page, and where it ends
    pages = 2 * job.listed / rates.page if rates.trips else 0
    waits = pages * site.trip
    job.alone = job.listed * (listed.source * slow(node) + listed.carrier) + waits
    job.listing_alone, job.listing = job.alone, dict(job.use)
    if task == "count":
        return job
    job.items = sum(items for *_, items in work)
    batches = max(job.items / BATCH, job.listed / LISTED, 1)
    each = job.items / batches
    # seconds of a worker in a batch; a unit has items of one pair of nodes
    worked, units = 0.0, 0.0
    before = job.use["cpu", node]
    for name, source, target, items in work:
        item, unit, trips = costs(name, rates)
        part = items / batches
        here = max(1 - (1 - part / each) ** each, 1e-12)
        if part > rates.at_once.get(name, 1):
            here = math.ceil(part / rates.at_once.get(name, 1) - 1e-9)
        units += here
        parts = []
        for place, at in (("source", source), ("target", target)):
            cost = getattr(item, place) * part + getattr(unit, place) * here
            job.use["cpu", at] += cost * batches
            parts.append(cost * slow(at))
        cost = item.carrier * part + unit.carrier * here
        job.use["carrier", ""] += cost * batches
        waits = here * (trips * site.trip + rates.syncs.get(name, 0) * site.sync)
        worked += sum(parts) + cost + waits
        times = {"copy": (1, 1), "check": (2, 0), "stray": (1, 0)}.get(name, (2, 0))
        job.use["in", ""] += times[0] * items * rates.bytes
        job.use["out", ""] += times[1] * items * rates.bytes
        for at in (source, target):
            job.use["limit", at] += items
    at_once = min(site.workers, max(units, 1))
    job.use["journal", ""] += batches * rates.journal.get(task, 0) * site.sync
    taken = batches * worked / at_once + job.use["journal", ""]
    mine = (job.use["cpu", node] - before) * slow(node) / site.node_cores
    job.alone += taken if site.one_machine else max(taken, mine)
    return job


def costs(name, rates):
    """Returns the cost of an item, that of a unit, and its questions."""
    if name != "stray":
        return (
            rates.item.get(name, NOTHING),
            rates.unit.get(name, NOTHING),
            rates.trips.get(name, 0),
        )
    # one of the two reads of a comparison
    half = lambda cost: Cost(cost.carrier / 2, cost.source, 0.0)
    item, unit, trips = costs("check", rates)
    return half(item), half(unit), trips / 2


def jobs(task, ways, rows, rates, site):
    """Returns what each node has to do, in the order of the carrier."""
    work = loads(task, ways, rows)
    return [
        job_of(task, node, work[node], ways, rows, rates, site)
        for node in ways.nodes
        if node in work
    ]


def capacity(resource, site):
    """Returns how much of a resource there is in a second; None: without limit."""
    kind, node = resource
    if kind == "cpu":
        return site.node_cores / site.slow.get(node, 1.0)
    if kind == "carrier":
        return site.carrier_cores
    if kind == "journal":
        return 1.0
    if kind == "limit":
        return site.items_per_second or None
    return site.network


def on_one_machine(todo):
    """Lets all processors be the carrier's."""
    for job in todo:
        for resource in [r for r in job.use if r[0] == "cpu"]:
            job.use["carrier", ""] += job.use.pop(resource)


def play(todo, site):
    """Plays the jobs of a pass, and returns how it went."""
    if site.one_machine:
        on_one_machine(todo)
    total, users = Counter(), Counter()
    for job in todo:
        total.update(job.use)
        users.update(job.use.keys())
    # a node that was idle may do a second's work at once
    free = {
        resource: max(0.0, 1 - site.items_per_second / total[resource])
        for resource in total
        if resource[0] == "limit" and total[resource] > 0
    }
    bounds = {r: most for r in total if (most := capacity(r, site))}
    shared = [r for r in bounds if users[r] > 1]
    place = {resource: number for number, resource in enumerate(shared)}
    use = numpy.zeros((len(shared), len(todo)))
    alone = numpy.zeros(len(todo))
    for column, job in enumerate(todo):
        least = job.alone
        for resource, amount in job.use.items():
            amount *= free.get(resource, 1.0)
            if resource in place:
                use[place[resource], column] = amount
            elif resource in bounds:
                least = max(least, amount / bounds[resource])
        alone[column] = max(least, 1e-9)
    use /= alone
    seconds, spans = run(use, alone, numpy.array([bounds[r] for r in shared]), site)
    found = Played(
        seconds=seconds,
        items=sum(job.items for job in todo),
        listed=sum(job.listed for job in todo),
        spans={job.node: span for job, span in zip(todo, spans)},
    )
    if seconds:
        found.busy = {r: total[r] / bounds[r] / seconds for r in bounds}
    return found


def run(use, alone, bound, site):
    """Lets the jobs run, `site.nodes` at once. Returns the time, and (begin, end) of
    each.
    """
    count, now, next_one = len(alone), 0.0, 0
    left = alone.copy()
    active, spans = [], [[0.0, math.inf] for _ in alone]
    while True:
        while len(active) < site.nodes and next_one < count:
            spans[next_one][0] = now
            active.append(next_one)
            next_one += 1
        if not active:
            return now, spans
        here = use[:, active]
        rows = here.any(axis=1)
        speed = speeds(here[rows], bound[rows])
        until = left[active] / speed
        step = until.min()
        now += step
        left[active] -= speed * step
        # those that end together end in one step
        done = until <= step * (1 + 1e-9)
        for number in [job for job, ends in zip(active, done) if ends]:
            spans[number][1] = now
        active = [job for job, ends in zip(active, done) if not ends]
