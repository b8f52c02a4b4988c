"""fork.py MAP COUNT KEY FIRST SECOND: forks while MAP is replaced and threads open it.

Each child asks the map that its parent has open, and one that it opens, for the key: it
is on node FIRST in epoch 1, and on SECOND in epoch 2. Prints how many children were
right. A child that hangs is ended by SIGALRM.
"""

import os
import signal
import sys
import threading

import stead

path, count, key, *nodes = sys.argv[1:]
RIGHT, PATIENCE = 7, 20


def right(one):
    """Whether a map answers as its epoch must."""
    return one.locate(key) == nodes[one.epoch - 1]


def opening():
    """Opens the map again and again, so that a fork finds its locks taken."""
    while not done.is_set():
        right(stead.Map.open(path))


done = threading.Event()
threads = [threading.Thread(target=opening) for _ in range(2)]
for thread in threads:
    thread.start()
good = 0
for _ in range(int(count)):
    parent = stead.Map.open(path)
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        ok = False
        try:
            ok = right(parent) and right(stead.Map.open(path)) and right(parent)
        finally:
            os._exit(RIGHT if ok else 1)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == RIGHT
done.set()
for thread in threads:
    thread.join()
print(good)
