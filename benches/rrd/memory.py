"""Measures the memory of a router that was just started, with more and more clients."""

import resource
import sys
import time
from pathlib import Path

from rrd_servers import Client, wait_for
from systems import BEGIN, Routed


class Crowd:
    """A context manager: many connections to the router."""

    def __init__(self, system, count, line=None):
        self.system, self.clients = system, []
        self.count, self.line = count, line

    def __enter__(self):
        for number in range(self.count):
            self.clients.append(Client(self.system.addresses[0]))
            if self.line and not self.clients[-1].ask(self.line(number)).startswith(
                b"0 "
            ):
                sys.exit("the router refused an update while its memory was measured")
        # wait until the router has accepted the connections: so far the kernel may only
        # have queued them
        descriptors = Path(f"/proc/{self.system.router.pid}/fd")
        wait_for(
            lambda: sum(1 for _ in descriptors.iterdir()) >= self.count,
            f"the router to take {self.count} clients",
        )
        time.sleep(0.2)  # for the tasks of the last client; only a few KiB depend on it
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.__exit__()


def held(pid):
    """RSS and PSS of a process, in KiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return {"rss_kib": sizes["Rss"], "pss_kib": sizes["Pss"]}


def measure(bench):
    """Returns the memory in KiB, and in KiB for each client."""
    rows = []
    with Routed(
        bench.programs,
        bench.place / "memory",
        bench.options.socket,
        zones=(1,),
        copies=1,
    ) as system:
        system.place_files(bench.names, bench.template)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100

        def look(what, count, line=None):
            if count > limit:
                print(
                    f"skipped: {what}: a process may have {limit + 100} open files "
                    "(ulimit -n)",
                    file=sys.stderr,
                )
                return
            with Crowd(system, count, line):
                rows.append({"what": what, "clients": count, **held(system.router.pid)})

        def update(number):
            return (
                f"update {bench.names[number % len(bench.names)]} "
                f"{BEGIN + number // len(bench.names)}:{number}"
            )

        for count in (0, 1000, 5000):
            look(f"{count:,} clients that ask nothing", count)
        for start in (0, 1):
            system.stop_router()
            system.start_router()
            if start == 0:
                look("a new router", 0)
                look("1,000 clients, each asked one update", 1000, update)
    for row in rows:
        base = [
            other
            for other in rows
            if other["clients"] == 0 and rows.index(other) <= rows.index(row)
        ][-1]
        if row["clients"]:
            row["kib_each"] = (row["pss_kib"] - base["pss_kib"]) / row["clients"]
    return rows


def show(rows):
    """Prints the table of memory."""
    lines = [["memory of the router", "RSS", "PSS", "a client"]]
    for row in rows:
        each = f"{row['kib_each']:.1f} KiB" if "kib_each" in row else "-"
        sizes = (f"{row[name] / 1024:.1f} MiB" for name in ("rss_kib", "pss_kib"))
        lines.append([row["what"], *sizes, each])
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        words = [line[0].ljust(widths[0])]
        words += [word.rjust(width) for word, width in zip(line[1:], widths[1:])]
        print("  ".join(words).rstrip())
    print(flush=True)
