"""A site in a box: members on PostgreSQL shards and in directories, three web hosts in
PHP, Perl and Python, visitors, and a shard that is added while they work. `make
demo-site` runs it.

    python3 run.py [--members N] [--seconds N] [--no-page] [--keep-open] [--break]

All of it is real, runs on this machine only, in a temporary directory, and is gone at
the end. The exit code is 1 when a count is not 0.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import parts

# the state of a carry, and what happens in it
STATES = {
    "old": "all read and write the old place; what moves is counted",
    "both_old_first": "all write both places and read the old one; copying, verifying",
    "both_new_first": "all read the new place; verifying again",
    "new": "the old place is not used any more; the old copies are removed",
}


class Site:
    """The parts of the site, as far as they are there."""

    def __init__(self, place, options):
        from servers import Servers

        self.place, self.options = place, options
        self.servers = Servers(place)
        self.nodes = {}  # {name: (connection string, directory)}
        self.new = set()  # the nodes that are added
        self.hosts = {}  # {name: (language, map file)}
        self.ports = {}
        self.visitors = None
        self.moving = set()  # the keys that move
        self.map = os.path.join(place, "members.map")
        self.fleet = os.path.join(place, "fleet.toml")
        self.file = os.path.join(place, "carry.toml")

    def run(self, program, *arguments):
        """Runs a program of stead, and returns what it prints."""
        from servers import Failed

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
                say(f"without {name}, in {language}: {missing}")
        if not self.ports:
            raise parts.Missing("there is no web host; scripts/setup --site installs them")

    def add_host(self, name, language):
        """Starts a web host: its watch, which brings its own copy of the map, and its
        web server.
        """
        from servers import wait_for

        here = self.servers.directory(name)
        map = os.path.join(here, "members.map")
        watch = [parts.program("stead-sync"), "watch", self.url, map, "--host", name]
        # who is alone in reading another map misses what was not carried yet
        used = os.path.join(here, "broken.map") if self.options.breaks else map
        if self.options.breaks:
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
        if self.visitors:
            self.visitors.kill()
        self.servers.end()
        self.servers.remove()


def say(text):
    print(f"== {text}", flush=True)


class Terminal:
    """Lines for the terminal: what happens, and below it how it stands."""

    def __init__(self):
        self.live, self.lock = sys.stdout.isatty(), threading.Lock()
        self.shown = 0

    def line(self, text):
        """Prints a line that stays."""
        with self.lock:
            clear = "\r\x1b[K" if self.live else ""
            print(f"{clear}{text}", flush=True)

    def status(self, state):
        """Prints how it stands; elsewhere than on a terminal only now and then."""
        counts = state.get("counts")
        if not counts or not state["rate"] or not self.live and time.monotonic() - self.shown < 5:
            return
        self.shown = time.monotonic()
        (rows, due), (photos, _) = state["moved"]
        moves = f", moved {rows:,} rows {photos:,} photos" if due else ""
        text = (
            f"   {state['rate']:,} requests/s, {counts['judged']:,} judged, "
            f"{counts['misses']} misses{moves}"
        )
        with self.lock:
            if self.live:
                print(f"\r\x1b[K{text[:79]}", end="", flush=True)
            else:
                print(text, flush=True)


def names(count):
    """User names, from the list of examples/names."""
    script = os.path.join(parts.ROOT, "examples", "names", "make_names.py")
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "names")
        command = [sys.executable, script, file, "--count", str(count)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="ascii") as made:
            return made.read().split()


def truth_of(count):
    """The members at the start, and a tenth more names that are free."""
    keys = names(count + count // 10)
    return {key: ([1, 1] if n < count else [None, None]) for n, key in enumerate(keys)}


def run_carry(site, terminal, show):
    """Runs `stead-sync carry run`, and tells what it says. Returns whether it ended
    well.
    """
    carrying = site.servers.start_piped(
        [parts.program("stead-sync"), "carry", "run", site.file]
    )
    last = ""
    for line in carrying.stderr:
        last = text = line.strip().removeprefix("stead-sync: ")
        if text.startswith("state "):
            state = text.split()[1].rstrip(":,")
            terminal.line(f"   {state}: {STATES.get(state, '')}")
            show(phase=f"{state}: {STATES.get(state, '')}", state=state)
        elif text and not text.startswith("epoch ") and " epoch " not in text:
            terminal.line(f"      {text}")
        show(said=text)
    carrying.wait()
    if carrying.returncode:
        terminal.line(f"   the carry ended with {carrying.returncode}: {last}")
    return carrying.returncode == 0


def demo(site, terminal, page, options):
    """The whole story. Returns the exit code."""
    import stead
    from census import Census, fill
    from hosts import Visitors, Watcher

    show = page.show
    show(phase="starting etcd, three PostgreSQL shards and three web hosts", state="")
    site.start()
    truth = truth_of(options.members)
    before = stead.Map.open(site.map)
    fill(site.nodes, before, truth)
    file = os.path.join(site.place, "truth.json")
    with open(file, "w", encoding="ascii") as said:
        json.dump({"members": truth}, said)
    hosts = ", ".join(f"{name} ({what})" for name, (what, _) in site.hosts.items())
    say(f"{options.members:,} members on db1, db2 and db3; visitors at {hosts}")

    def status(**state):
        show(**state)
        terminal.status(page.state)

    watcher = Watcher(site, status)
    site.visitors = Visitors(file, site.ports)
    watcher.start()
    show(phase="three shards; visitors read, write, create and delete")
    time.sleep(options.seconds / 10)

    terminal.line("== db4 is added to fleet.toml   stead plan fleet.toml members.map")
    site.add_node("db4")
    site.new.add("db4")
    plan = site.run("stead", "plan", site.fleet, site.map)
    first, *_, table = plan.partition("\nnode ")
    for line in [first.partition("\n")[0], *f"node {table}".splitlines()[:5]]:
        terminal.line(f"   {line}")
    share = json.loads(site.run("stead", "plan", site.fleet, site.map, "--json"))
    share = share["moved"]["fraction"]
    show(phase=f"db4 is added: stead plan says that {share:.2%} of the members move")
    show(share=share)

    terminal.line("== stead apply --carry; stead-sync push; stead-sync carry run")
    if options.breaks:
        # the control: the placement of the new map, without the carry
        for _, used in site.hosts.values():
            site.run("stead", "apply", site.fleet, used)
        terminal.line("   (--break: the applications read the new map, and it alone)")
    site.run("stead", "apply", "--carry", site.fleet, site.map)
    site.run("stead-sync", "push", site.map, site.url)
    after = stead.Map.open(site.map)
    site.moving = {key for key in truth if before.locate(key) != after.locate(key)}
    items = sum(Census(site.nodes).moved(site.moving))
    site.write_carry(items, options.seconds * 0.7)
    is_carried = run_carry(site, terminal, show)
    show(phase="closed: db4 is one of four" if is_carried else "the carry has failed")
    time.sleep(options.seconds / 20)

    site.visitors.end()
    watcher.end()
    terminal.line("== counting every row of every shard, and every photo")
    with open(file, encoding="ascii") as said:
        truth = json.load(said)["members"]
    found = Census(site.nodes)
    counts = {**site.visitors.seen, **found.judge(truth, after)}
    rows, photos = found.moved(site.moving)
    all = len(found.rows), len(found.photos)
    moved = (
        f"{rows:,} of {all[0]:,} rows and {photos:,} of {all[1]:,} photos moved: "
        f"{(rows + photos) / max(1, sum(all)):.2%}; the plan said {share:.2%}"
    )
    return verdict(counts, moved, is_carried, page)


def verdict(counts, moved, is_carried, page):
    """Says how it ended, and returns the exit code."""
    told = (
        f"{counts['judged']:,} requests judged: {counts['misses']} misses, "
        f"{counts['lost']} lost, {counts['twice']} twice"
    )
    rest = ("stale", "wrong", "back", "unanswered")
    others = ", ".join(f"{counts[word]} {word}" for word in rest)
    is_good = is_carried and not any(
        counts[word] for word in ("misses", "lost", "twice", *rest)
    )
    print(f"\n   {told}\n   {others}; {counts['repeated']} requests sent again")
    if is_carried:
        print(f"   {moved}")
    for example in counts["examples"]:
        print(f"   such as: {example}"[:200])
    if is_good:
        print("   nobody noticed")
    else:
        print("demo-site: a count is not 0, or the carry has failed: data was missed or lost")
    page.show(phase="ended", told=told, others=others, verdict=moved, good=is_good, end=True)
    return 0 if is_good else 1


def main():
    parser = argparse.ArgumentParser(description="runs a site in a box, and adds a shard")
    whole = lambda text: max(1, int(text))
    add = parser.add_argument
    add("--members", type=whole, default=6000, help="how many members; 6000")
    add("--seconds", type=whole, default=40, help="about how long it works; 40")
    add("--no-page", action="store_true", help="without the page for a browser")
    add("--keep-open", action="store_true", help="goes on showing the page until Ctrl-C")
    add(
        "--break",
        dest="breaks",
        action="store_true",
        help="the control: applications that do not know of the carry; it must fail",
    )
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    site = page = None
    try:
        parts.use_a_python_with("psycopg2", "gunicorn")
        sys.path.insert(0, parts.python_module())
        from page import Page
        from servers import Failed

        page = Page()
        if not options.no_page:
            say(f"the page: {page.url}")
        place = tempfile.mkdtemp(prefix="stead-site-", dir="/tmp")
        os.chmod(place, 0o755)  # PostgreSQL does not run as root
        site = Site(place, options)
        try:
            code = demo(site, Terminal(), page, options)
        except Failed as failed:
            print(f"\ndemo-site: {failed}", file=sys.stderr)
            return 1
        if options.keep_open and not options.no_page:
            say(f"{page.url} stays until Ctrl-C")
            signal.pause()
        time.sleep(0 if options.no_page else 1)  # for the last event
        return code
    except parts.Missing as missing:
        print(f"demo-site: {missing}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo-site: stopped; everything it started is ended", file=sys.stderr)
        return 130
    finally:
        # a second Ctrl-C must not leave anything behind
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if site:
            site.end()
        if page:
            page.close()


if __name__ == "__main__":
    sys.exit(main())
