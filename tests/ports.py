"""Ports of this machine for the servers of tests that run beside each other."""

import socket


class Ports:
    """Ports of 127.0.0.1 for this process only, as long as all who need a port take it
    from here. None is one that the system gives to a connection by itself.
    """

    COUNT = 128

    def __init__(self):
        for first in range(10_000, 32_000, self.COUNT):
            # the name of this socket is gone when the process is
            mine = socket.socket(socket.AF_UNIX)
            try:
                mine.bind(f"\0stead-rrd-ports-{first}")
                self.first, self.mine = first, mine
                break
            except OSError:
                mine.close()
        else:
            raise AssertionError("every port is taken by another process")
        self.turn = -1

    def free(self):
        """Returns a port that nobody uses now, and that was not returned of late."""
        for _ in range(self.COUNT):
            self.turn += 1
            port = self.first + self.turn % self.COUNT
            with socket.socket() as found:
                try:
                    found.bind(("127.0.0.1", port))
                except OSError:
                    continue
            return port
        raise AssertionError(f"{self.COUNT} ports from {self.first} on are in use")


# those of this process, as soon as it needs one
ports = None


def free_port():
    """Returns a port of 127.0.0.1 that nobody uses now, and that no other run of these
    tests takes.
    """
    global ports
    ports = ports or Ports()
    return ports.free()
