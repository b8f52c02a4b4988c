"""A whole carry, played through: the hosts that confirm each state, and the passes.

    state               old    both_old_first   both_new_first   new
    all hosts confirm   wait   wait             wait             wait
    then                count  copy, verify     check            remove

This is what crates/stead-sync/src/carry/machine.rs does: one after the other. `IDEAS`
names what could be otherwise, to see what that would give.
"""

import random
from dataclasses import dataclass, field, replace

from passes import Job, jobs, play
from rates import PASSES

# What could be otherwise: phases that overlap, and shorter lists. None of this is in the
# carrier.
IDEAS = {
    "count": "counting while the hosts confirm `old`",
    "check": "verifying again while the hosts confirm `both_new_first`",
    "verify": "a node is verified in the listing in which it is copied",
    "point": "nodes list only what moves (an index on the point)",
}


@dataclass
class Hosts:
    """How long hosts take until they have confirmed an epoch: a log-normal time, whose
    median and sigma are given, as watches answer within a second when nothing is wrong.
    """

    count: int = 1000
    median: float = 1.0
    sigma: float = 0.5
    grace: float = 60.0
    # seconds that one more host takes for each state
    slow: float = 0.0
    # seconds until somebody forgets a host that died, and the state in which it dies
    dead: float = 0.0
    dies: str = "old"
    seed: int = 22

    def waits(self):
        """Returns {state: seconds until all have confirmed and the grace is over}."""
        drawn, found = random.Random(self.seed), {}
        for state in dict.fromkeys(PASSES.values()):
            times = [
                self.median * drawn.lognormvariate(0, self.sigma)
                for _ in range(self.count)
            ]
            times += [self.slow, self.dead if state == self.dies else 0.0]
            found[state] = max(times) + self.grace
        return found


@dataclass
class Phase:
    """A part of a carry."""

    name: str
    state: str
    begin: float
    end: float
    played: object = None

    @property
    def seconds(self):
        return self.end - self.begin


@dataclass
class Carry:
    """A carry that was played."""

    phases: list = field(default_factory=list)

    @property
    def seconds(self):
        return max((phase.end for phase in self.phases), default=0.0)

    def of(self, name):
        """The phases of a name."""
        return [phase for phase in self.phases if phase.name == name]

    def taken(self, name):
        """The seconds of all phases of a name."""
        return sum(phase.seconds for phase in self.of(name))

    def listed(self):
        """How many items were listed in all passes."""
        return sum(phase.played.listed for phase in self.phases if phase.played)

    def busiest(self, kind, name="copy"):
        """(node, part of the time) of the node whose `kind` is busiest in a pass."""
        (phase,) = self.of(name)
        found = [
            (busy, node)
            for (what, node), busy in phase.played.busy.items()
            if what == kind
        ]
        return max(found)[::-1] if found else ("", 0.0)


def both(copy, verify):
    """What a node has to do that is copied and verified in one listing."""
    first = {job.node: job for job in copy}
    found = []
    for job in verify:
        other = first.get(job.node)
        if other is None:
            found.append(job)
            continue
        # it is listed once
        alone = job.alone + other.alone - other.listing_alone
        one = Job(job.node, alone, job.items + other.items, job.listed)
        for sign, use in ((1, job.use), (1, other.use), (-1, other.listing)):
            for resource, amount in use.items():
                one.use[resource] += sign * amount
        found.append(one)
    return found


def carry(ways, rows, rates, site, hosts, ideas=()):
    """Plays a carry of `rows` rows, and returns its phases."""
    made, now = Carry(), 0.0
    waits = hosts.waits()
    if "point" in ideas:
        ways = only_moving(ways)

    def add(name, state, seconds, played=None, begin=None):
        begin = now if begin is None else begin
        made.phases.append(Phase(name, state, begin, begin + seconds, played))
        return begin + seconds

    for state in waits:
        began = now
        now = add("wait", state, waits[state])
        tasks = [task for task in PASSES if PASSES[task] == state]
        todo = {task: jobs(task, ways, rows, rates, site) for task in tasks}
        if "verify" in ideas and "verify" in todo:
            todo = {"copy": both(todo["copy"], todo["verify"])}
        for task, work in todo.items():
            played = play(work, site)
            begin = began if task in ideas else now
            now = max(now, add(task, state, played.seconds, played, begin))
    return made


def only_moving(ways):
    """The same ways, where a node lists nothing but what it has to do with."""
    held = dict.fromkeys(ways.nodes, 0.0)
    for (source, _), share in ways.bring.items():
        held[source] += share
    return replace(ways, held=held)
