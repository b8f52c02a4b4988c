"""Judges answers afterwards by the published maps, which the reference implementation
reads. So the judge shares no code with the code that it judges.
"""

from collections import Counter, defaultdict

import stead_reference


def judge(answers, epochs):
    """Returns {fault: number of times}, empty if there are none. The faults:

    error      no answer, or another status than 200
    mixed      epoch, node, address, database are not of one map
    stale      an epoch that had a successor when the request began
    early      an epoch whose publishing had not begun when the answer arrived
    backwards  a worker answered an older epoch than in a request that had ended when
    this one began
    """
    faults = Counter()
    for answer in answers:
        if answer.said is None:
            faults["error"] += 1
            continue
        epoch = answer.said["epoch"]
        faults["mixed"] += mixed(answer, epochs[epoch])
        faults["stale"] += (
            epoch + 1 in epochs and epochs[epoch + 1].done <= answer.start
        )
        faults["early"] += epochs[epoch].begun > answer.end
    faults["backwards"] = sum(map(backwards, by_worker(answers).values()))
    return +faults


def mixed(answer, published):
    """Returns whether an answer contradicts this map."""
    said, read = answer.said, published.map
    node = stead_reference.locate(read, read.point(answer.key.encode()))
    # an answer has some of these facts
    wanted = {
        "epoch": read.epoch,
        "again": read.epoch,
        "node": node,
        "shard": node,
        "database": node,
        "address": published.addresses[node],
    }
    return any(said[name] != value for name, value in wanted.items() if name in said)


def by_worker(answers):
    """Returns {worker: its answers}."""
    found = defaultdict(list)
    for answer in answers:
        if answer.said:
            found[answer.worker].append(answer)
    return found


def backwards(answers):
    """Returns the number of answers of one worker that have an older epoch than an
    answer that had ended before they began.
    """
    ended = sorted(answers, key=lambda answer: answer.end)
    count, newest, at = 0, 0, 0
    for answer in sorted(answers, key=lambda answer: answer.start):
        while ended[at].end < answer.start:
            newest = max(newest, ended[at].said["epoch"])
            at += 1
        count += answer.said["epoch"] < newest
    return count


def changes(answers):
    """Returns {worker: number of epoch changes between its answers}, which is how often
    a fault at a change could have been visible.
    """
    return {
        worker: len({answer.said["epoch"] for answer in some}) - 1
        for worker, some in by_worker(answers).items()
    }
