"""How fast works go on that share machines: all as fast as the machines allow, and no
work is held back for the sake of another one (max-min fairness).
"""

import numpy

# rounding: a resource with less than this part of its capacity left is full
FULL = 1e-9


def speeds(use, capacity):
    """Returns the speed of each work: 1 is as fast as it would go alone.

    `use[r, j]` is how much of the resource `r` the work `j` takes at speed 1, and
    `capacity[r]` how much there is. All works are sped up together; whichever uses a
    resource that is full stays as it is.
    """
    count = use.shape[1]
    speed = numpy.zeros(count)
    going = numpy.ones(count, bool)
    left = capacity.astype(float)
    while going.any():
        taken = use[:, going].sum(axis=1)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            room = numpy.where(taken > 0, left / taken, numpy.inf)
        step = min(1 - speed[going][0], room.min(initial=numpy.inf))
        speed[going] += step
        left = left - step * taken
        if speed[going][0] >= 1 - FULL:
            break
        full = (left <= FULL * capacity) & (taken > 0)
        going &= ~(use[full] > 0).any(axis=0)
    return speed
