"""The site: nodes, web hosts, the files of the operator, and what ends them."""

import os
import subprocess

import parts
from servers import Failed, Servers, wait_for


class Site:
    """The parts of the site, as far as they are there."""

    def __init__(self, place, terminal, breaks):
        self.place, self.terminal, self.breaks = place, terminal, breaks
        self.servers = Servers(place)
        self.nodes = {}  # {name: (connection string, directory)}
        self.new = set()  # the nodes that are added
        self.hosts = {}  # {name: (language, map file)}
        self.ports = {}
        self.visitors = self.watcher = None
        self.moving = set()  # the keys that move
        self.map = os.path.join(place, "members.map")
        self.fleet = os.path.join(place, "fleet.toml")
        self.file = os.path.join(place, "carry.toml")

    def run(self, program, *arguments):
        """Runs a program of stead, and returns what it prints."""
        done = subprocess.run(
            [parts.program(program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
        if done.returncode:
            raise Failed(f"{program} {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def add_node(self, name):
        """Starts a shard, makes the directory, and writes both into the fleet."""
        root = self.servers.directory(f"photos-{name}")
        with open(f"{root}/.node", "w", encoding="ascii") as file:
            file.write(f"{name}\n")
        self.nodes[name] = self.servers.shard(name), root
        with open(self.fleet, "w", encoding="ascii") as file:
            file.write('name = "members"\n')
            for node, (shard, root) in self.nodes.items():
                file.write(
                    f'\n[[node]]\nname = "{node}"\n'
                    f'attributes = {{ shard = "{shard}", photos = "{root}" }}\n'
                )

    def start(self):
        """Starts everything, with three nodes."""
        url = f"etcd://127.0.0.1:{self.servers.etcd()}/site/members"
        self.url = url
        self.servers.template()
        for name in ("db1", "db2", "db3"):
            self.add_node(name)
        self.run("stead", "apply", self.fleet, self.map)
        self.run("stead-sync", "push", self.map, url)
        for name, language in (("web1", "php"), ("web2", "perl"), ("web3", "python")):
            try:
                self.add_host(name, language)
            except parts.Missing as missing:
                self.terminal.say(f"without {name}, in {language}: {missing}")
        if not self.ports:
            raise parts.Missing(
                "there is no web host; scripts/setup --site installs them"
            )

    def add_host(self, name, language):
        """Starts a web host: its watch, which brings its own copy of the map, and its
        web server.
        """
        here = self.servers.directory(name)
        map = os.path.join(here, "members.map")
        watch = [parts.program("stead-sync"), "watch", self.url, map, "--host", name]
        # who is alone in reading another map misses what was not carried yet
        used = os.path.join(here, "broken.map") if self.breaks else map
        if self.breaks:
            with open(self.map, "rb") as now, open(used, "wb") as copy:
                copy.write(now.read())
        port = getattr(self.servers, language)(used)
        self.servers.start(watch, name)
        wait_for(lambda: os.path.exists(map), f"the map of {name}")
        self.hosts[name] = language, used
        self.ports[name] = port

    def write_carry(self, items, seconds):
        """Writes the file of the carry, with a rate at which it takes so long."""
        # each item is copied, compared at both places, verified again and removed; the
        # new node takes part in all of it
        rate = max(50, round(5 * items / seconds))
        with open(self.file, "w", encoding="ascii") as file:
            file.write(
                f'map = "members.map"\nurl = "{self.url}"\n'
                "grace = 1 # the longest request takes less\n\n"
                '[postgresql]\nconnection = "{shard}"\n'
                'tables = [{ table = "members", key = "member" }]\n\n'
                '[files]\nroot = "{photos}"\npattern = "{a}/{escaped_key}"\n'
                f'marker = ".node"\n\n[limits]\nitems_per_second = {rate}\n'
            )

    def end(self):
        """Ends all processes, and removes the directory."""
        if self.watcher:
            self.watcher.stop()
        if self.visitors:
            self.visitors.kill()
        self.servers.end()
        self.servers.remove()
