"""What `make bench-rrd` loads: one rrdcached, two of them, and a router before four."""

import json
import shlex
import signal
import subprocess

from rrd_servers import Client, Cluster, Rrdcached, free_port, wait_for

# Options of `stead-rrd serve` by the name of the variant. They stand after the router's
# --listen. A variant is measured if the router knows all its options; one more line
# measures one more.
VARIANTS = {
    "served+power": "--answer served --durability power",
    "served+crash": "--answer served --durability crash",
    "logged+crash": "--answer logged --durability crash",
}
# begins the name of a variant that is measured with two routers
PAIR = "pair:"
# for a router that knows no variant
PLAIN = {"router": ""}

# the time of the first update
BEGIN = 1700000000


def understands(router, text):
    """Returns whether this router has all options of a variant."""
    help = subprocess.run(
        [router, "serve", "--help"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    return all(
        word.partition("=")[0] in help
        for word in shlex.split(text)
        if word.startswith("--")
    )


def known(router):
    """Returns the variants whose options this router has."""
    has = {name: text for name, text in VARIANTS.items() if understands(router, text)}
    return has or dict(PLAIN)


def pairs(router):
    """Returns the variants of two routers, if this one can be one of a pair."""
    if not understands(router, "--standby --pair --role"):
        return {}
    return {PAIR + name: text for name, text in known(router).items()}


def statistics_of(server):
    """Returns the numbers that an rrdcached's STATS names."""
    with Client(server.address) as client:
        lines = client.ask("STATS").decode().splitlines()[1:]
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def create(path, begin):
    """Makes a file like those of collectd, but smaller."""
    archives = ["RRA:AVERAGE:0.5:1:360", "RRA:MAX:0.5:6:240"]
    command = ["rrdtool", "create", path, "-s", "10", "-b", str(begin)]
    subprocess.run([*command, "DS:value:GAUGE:20:U:U", *archives], check=True)


def copy(template, places):
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(template)


class Plain:
    """Some rrdcached that the client uses directly: it sends each update to all of them
    and waits for all answers.
    """

    router, routers = None, []

    def __init__(self, place, socket, count=1, journal=False):
        self.copies = count
        self.servers = []
        for number in range(count):
            directory = place / str(number)
            directory.mkdir(parents=True)
            address = (
                f"unix:{directory}/s"
                if socket == "unix"
                else f"127.0.0.1:{free_port()}"
            )
            server = Rrdcached(directory / "one", address)
            if journal:
                server.journal = directory / "journal"
                server.journal.mkdir()
            self.servers.append(server)

    def __enter__(self):
        for server in self.servers:
            server.start()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop(9)  # otherwise it would flush a million useless values

    @property
    def addresses(self):
        """The addresses that a client sends each update to."""
        return [server.address for server in self.servers]

    def place_files(self, names, template):
        """Puts every file into the directory of each server."""
        for server in self.servers:
            copy(template, (server.base / name for name in names))


class Routed(Cluster):
    """A router before some rrdcached; `zones` has the number of servers in each zone."""

    def __init__(self, programs, place, socket, arguments="", zones=(2, 2), copies=2):
        place.mkdir()
        super().__init__(programs, place)
        names = [
            f"{zone}{number}"
            for zone, count in zip("abcd", zones)
            for number in range(1, count + 1)
        ]
        # these servers replace those of the tests, which are never started
        self.backends = {
            name: Rrdcached(place / "backends" / name, f"127.0.0.1:{free_port()}")
            for name in names
        }
        for backend in self.backends.values():
            backend.files = None  # no files are copied during a measurement
        self.servers = list(self.backends.values())
        self.socket, self.copies = socket, copies
        self.arguments = shlex.split(arguments)

    def __enter__(self):
        self.publish()
        try:
            for server in self.servers:
                server.start()
            self.start_router()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop_router(9)
        for server in self.servers:
            server.stop(9)

    @property
    def routers(self):
        """The processes of the routers."""
        return [self.router]

    def started(self, name, state, *options):
        """Starts a router whose messages go into the file of this name. Nothing is flushed
        but by the measurement, and the log has room for all of it.
        """
        listen = self.unix if self.socket == "unix" else "127.0.0.1:0"
        command = [self.programs["stead-rrd"], "serve"]
        command += ["--map", self.map, "--base", self.base, "--state", state]
        command += ["--flush-after", "86400", "--log-size", "16384"]
        command += ["--listen", listen, *self.arguments, *options]
        with open(self.place / name, "wb") as said:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def start_router(self):
        """Starts the router and waits until its servers are up."""
        self.router = self.started("router", self.state)
        self.serves()

    def serves(self):
        """Waits until the router listens, and all its servers are up."""
        self.tcp = wait_for(
            lambda: self.router_said(r"listening on (\S+)"), "the router to listen"
        )[0]
        self.all_up(1)

    @property
    def addresses(self):
        """The address that clients connect to."""
        return [self.unix if self.socket == "unix" else self.tcp]

    def place_files(self, names, template):
        """Puts every file only where the map says, so that an update on another server
        fails.
        """
        for name, nodes in self.located(names).items():
            copy(template, (self.backends[node].base / name for node in nodes))


class Paired(Routed):
    """Two routers before some rrdcached: the clients use the primary, and the standby is
    on the same machine, with a log of its own.
    """

    standby = None

    @property
    def routers(self):
        return [self.router, self.standby]

    def start_router(self):
        """Starts both, and waits until the standby has the primary's log."""
        one, two = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.standby = self.started(
            "standby",
            self.place / "standby-state",
            *("--pair", two, "--standby", one, "--role", "standby"),
        )
        self.router = self.started(
            "router",
            self.state,
            *("--pair", one, "--standby", two, "--role", "primary"),
        )
        self.serves()
        wait_for(self.in_sync, "the standby to be in sync")

    def in_sync(self):
        """Returns whether the standby has everything that the primary has."""
        done = subprocess.run(
            [self.programs["stead-rrd"], "status", self.state, "--json"],
            stdout=subprocess.PIPE,
            check=False,
        )
        return done.stdout and json.loads(done.stdout)["pair"]["in_sync"]

    def stop_router(self, how=signal.SIGTERM):
        """Stops both."""
        super().stop_router(how)
        if self.standby:
            self.standby.send_signal(how)
            self.standby.wait()
        self.standby = None
