"""Two routers and their servers in network namespaces of their own. Each pair of them has
a link. A link that is cut drops every packet, in both directions, and nobody is told:
between the routers, a switch lets go of one of its ports; to the servers, their end is
taken down.

    A (10.77.1.1) ---- (10.77.1.2) B
     \\ 10.77.2.1         10.77.3.1 /
      `---- servers (10.77.9.1) --'

The clients and those who judge use unix sockets, which namespaces do not separate.
"""

import contextlib
import os
import subprocess

from rrd_pair import Pair

SERVERS = "10.77.9.1"
# the switch between the routers, and the ends of links that are cut, all in the servers'
# namespace
SWITCH, PORT = "switch", "port-b"
TO_SERVERS = {"A": "sa", "B": "sb"}


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True)


def missing():
    """Returns why this machine cannot have such namespaces, or None."""
    if os.geteuid():
        return "only root may make network namespaces"
    name = f"stead-try-{os.getpid()}"
    try:
        ip("netns", "add", name)
        try:
            # a command in it needs mounts of its own, which a chroot may not have
            ip("-n", name, "link", "set", "lo", "up")
        finally:
            ip("netns", "del", name)
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode(errors="replace").strip()
        return f"this machine makes no network namespaces: {why}"
    except OSError as error:
        return f"this machine makes no network namespaces: {error}"
    return None


class Apart(Pair):
    """Four servers in one namespace, and two routers, each in one of its own."""

    def __init__(self, programs, place):
        super().__init__(programs, place)
        self.spaces = {name: f"stead-{name}-{os.getpid()}" for name in "ABS"}
        self.ports = {name: 7001 + 2 * at for at, name in enumerate(self.backends)}
        self.a.addresses = ("10.77.1.2:42221", "10.77.1.1:42221")
        self.b.addresses = ("10.77.1.1:42221", "10.77.1.2:42221")
        self.options += ["--public"]
        for name, router in (("A", self.a), ("B", self.b)):
            router.prefix = self.inside(name)

    def inside(self, name):
        """Returns the words that begin a command in a namespace."""
        return ["ip", "netns", "exec", self.spaces[name]]

    def node(self, name):
        port = self.ports[name]
        return (
            f'[[node]]\nname = "{name}"\nlabels = {{ zone = "{name[0]}" }}\n'
            f'attributes = {{ rrdcached = "{SERVERS}:{port}", '
            f'files = "{SERVERS}:{port + 1}" }}\n'
        )

    def __enter__(self):
        try:
            self.connect()
            for name, server in self.backends.items():
                port = self.ports[name]
                server.address = f"unix:{server.directory}/s"
                server.prefix = self.inside("S")
                server.more = ["-l", f"{SERVERS}:{port}"]
                server.start()
                server.start_agent(self.programs, f"{SERVERS}:{port + 1}", ["--public"])
            self.publish()
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        super().__exit__()
        for space in self.spaces.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", space)

    def connect(self):
        """Makes the namespaces and the three links."""
        for space in self.spaces.values():
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
        ip("-n", self.spaces["S"], "addr", "add", f"{SERVERS}/32", "dev", "lo")
        self.servers_link("add", SWITCH, "type", "bridge")
        self.servers_link("set", SWITCH, "up")
        for number, name in enumerate("AB", 1):
            small = name.lower()
            self.link(name, "pair", f"10.77.1.{number}/30", f"port-{small}")
            self.servers_link("set", f"port-{small}", "master", SWITCH)
            net = f"10.77.{number + 1}"
            self.link(name, "servers", f"{net}.1/30", f"s{small}", f"{net}.2/30")
            route = ("route", "add", SERVERS, "via", f"{net}.2")
            ip("-n", self.spaces[name], *route)

    def link(self, name, own, address, end, other=None):
        """Links a router's namespace, where the interface is `own`, to the servers'."""
        ip(
            *("link", "add", own, "netns", self.spaces[name], "type", "veth"),
            *("peer", "name", end, "netns", self.spaces["S"]),
        )
        for space, interface, has in (
            (self.spaces[name], own, address),
            (self.spaces["S"], end, other),
        ):
            if has:
                ip("-n", space, "addr", "add", has, "dev", interface)
            ip("-n", space, "link", "set", interface, "up")

    def servers_link(self, *words):
        ip("-n", self.spaces["S"], "link", *words)

    def cut(self, router, other=True, servers=False):
        if other:
            self.servers_link("set", PORT, "nomaster")
        if servers:
            self.servers_link("set", TO_SERVERS[router.name], "down")

    def heal(self):
        self.servers_link("set", PORT, "master", SWITCH)
        for end in TO_SERVERS.values():
            self.servers_link("set", end, "up")
