"""A site in a box: members on PostgreSQL shards and in directories, three web hosts in
PHP, Perl and Python, visitors, and a shard that is added while they work. `make
demo-site` runs it.

    python3 run.py [--members N] [--seconds N] [--pause MS] [--no-page] [--dir PATH]
                   [--keep-open] [--break]

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
import time

sys.dont_write_bytecode = True

import parts
from terminal import Terminal

# the state of a carry, and what happens in it
STATES = {
    "old": "the old place is read and written; counting",
    "both_old_first": "both places are written, the old one is read; copying",
    "both_new_first": "the new place is read; verifying again",
    "new": "the old place is not used any more; removing old copies",
}


def names(count):
    """User names, from the list of examples/names."""
    script = os.path.join(parts.ROOT, "examples", "names", "make_names.py")
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "names")
        command = [sys.executable, script, file, "--count", str(count)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="ascii") as made:
            return made.read().split()


def percent(share):
    """A share, as stead writes it."""
    return f"{100 * share:.2f} %"


def truth_of(count):
    """The members at the start, and a tenth more names that are free."""
    keys = names(count + count // 10)
    return {key: ([1, 1] if n < count else [None, None]) for n, key in enumerate(keys)}


def run_carry(site, show):
    """Runs `stead-sync carry run`, and tells what it says. Returns whether it ended
    well.
    """
    terminal = site.terminal
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


def demo(site, page, options):
    """The whole story. Returns the exit code."""
    import stead
    from census import Census, count, fill
    from hosts import Visitors, Watcher

    show, terminal = page.show, site.terminal
    show(phase="starting etcd, three PostgreSQL shards and three web hosts", state="")
    site.start()
    truth = truth_of(options.members)
    before = stead.Map.open(site.map)
    fill(site.nodes, before, truth)
    file = os.path.join(site.place, "truth.json")
    with open(file, "w", encoding="ascii") as said:
        json.dump({"members": truth}, said)
    hosts = ", ".join(f"{name} ({what})" for name, (what, _) in site.hosts.items())
    terminal.say(
        f"{options.members:,} members on db1, db2 and db3; visitors at {hosts}"
    )

    def status(**state):
        show(**state)
        terminal.status(page.state)

    site.watcher = Watcher(site, status)
    site.visitors = Visitors(file, site.ports, options.pause / 1000)
    site.watcher.start()
    show(phase="three shards; visitors read, write, create and delete")
    time.sleep(options.seconds / 10)

    terminal.say("db4 is added to fleet.toml   stead plan fleet.toml members.map")
    site.add_node("db4")
    site.new.add("db4")
    plan = site.run("stead", "plan", site.fleet, site.map)
    first, *_, table = plan.partition("\nnode ")
    for line in [first.partition("\n")[0], *f"node {table}".splitlines()[:5]]:
        terminal.line(f"   {line}")
    share = json.loads(site.run("stead", "plan", site.fleet, site.map, "--json"))
    share = share["moved"]["fraction"]
    show(phase=f"db4 is added: stead plan says that {percent(share)} of all keys move")
    show(share=share)

    terminal.say("stead apply --carry; stead-sync push; stead-sync carry run")
    if options.breaks:
        # the control: the placement of the new map, without the carry
        for _, used in site.hosts.values():
            site.run("stead", "apply", site.fleet, used)
        terminal.line("   (--break: the applications read the new map, and it alone)")
    site.run("stead", "apply", "--carry", site.fleet, site.map)
    site.run("stead-sync", "push", site.map, site.url)
    after = stead.Map.open(site.map)
    site.moving = {key for key in truth if before.locate(key) != after.locate(key)}
    site.write_carry(count(site.nodes, site.moving), options.seconds * 0.7)
    is_carried = run_carry(site, show)
    if is_carried:
        show(phase="closed: db4 is one of four", state="closed")
    else:
        show(phase="the carry has failed")
    time.sleep(options.seconds / 20)

    site.visitors.end()
    site.watcher.end()
    terminal.say("counting every row of every shard, and every photo")
    with open(file, encoding="ascii") as said:
        truth = json.load(said)["members"]
    found = Census(site.nodes)
    counts = {**site.visitors.seen, **found.judge(truth, after)}
    rows, photos = found.moved(site.moving)
    all = len(found.rows), len(found.photos)
    share_now = percent((rows + photos) / max(1, sum(all)))
    moved = (
        f"{rows:,} of {all[0]:,} rows and {photos:,} of {all[1]:,} photos moved:\n"
        f"   {share_now} of all; the plan said {percent(share)}"
    )
    return verdict(counts, moved, is_carried, site, page)


def verdict(counts, moved, is_carried, site, page):
    """Says how it ended, and returns the exit code."""
    told = (
        f"{counts['judged']:,} requests judged: {counts['misses']} misses, "
        f"{counts['lost']} lost, {counts['twice']} twice"
    )
    others = (
        f"{counts['stale']} stale, {counts['wrong']} wrong, {counts['back']} come back, "
        f"{counts['unanswered']} never answered, {counts['repeated']} sent again"
    )
    zero = ("misses", "lost", "twice", "stale", "wrong", "back", "unanswered")
    is_good = is_carried and not any(counts[word] for word in zero)
    line = site.terminal.line
    for text in ("", told, others, *moved.splitlines()):
        line(f"   {text}")
    if is_good:
        line("   No visitor noticed that a shard was added.")
    else:
        for example in counts["examples"]:
            line(f"   such as: {example}"[:200])
        what = "not every count is 0" if is_carried else "stead-sync carry has failed"
        if site.breaks:
            line("demo-site: not every count is 0, as it must be without the carry")
        else:
            line(f"demo-site: {what}; please report it")
    page.show(
        phase="ended", told=told, others=others, verdict=moved, good=is_good, end=True
    )
    return 0 if is_good else 1


def main():
    parser = argparse.ArgumentParser(
        description="runs a site in a box, and adds a shard"
    )
    whole = lambda text: max(1, int(text))
    add = parser.add_argument
    add("--members", type=whole, default=6000, help="how many members; 6000")
    add("--seconds", type=whole, default=30, help="about how long it works; 30")
    add(
        "--pause",
        type=lambda text: max(0, int(text)),
        default=0,
        help="milliseconds that each of the nine visitors waits between two requests; 0",
    )
    add("--no-page", action="store_true", help="without the page for a browser")
    add("--dir", default="/tmp", help="where its directory is made; /tmp")
    add(
        "--keep-open", action="store_true", help="goes on showing the page until Ctrl-C"
    )
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
    terminal = Terminal()
    try:
        parts.use_a_python_with("psycopg2", "gunicorn")
        if not parts.are_built():
            terminal.say("building the modules for Python and Perl; once, some minutes")
        sys.path.insert(0, parts.python_module())
        from box import Failed, Site
        from page import Page

        page = Page()
        if not options.no_page:
            terminal.say(f"the page: {page.url}")
        place = tempfile.mkdtemp(prefix="stead-site-", dir=options.dir)
        os.chmod(place, 0o755)  # PostgreSQL does not run as root
        site = Site(place, terminal, options.breaks)
        try:
            code = demo(site, page, options)
        except Failed as failed:
            print(f"\ndemo-site: {failed}", file=sys.stderr)
            return 1
        if options.keep_open and not options.no_page:
            terminal.say(f"{page.url} stays until Ctrl-C")
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
