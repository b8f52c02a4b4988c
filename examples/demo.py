"""The demo: a million user names on 4 to 16 servers. Run it with `make demo`.

It makes a list of 1,188,968 user names (as many as the site of "Evenly distributing
members by MD5" had in 2005), measures how evenly naming schemes spread them, then lets
a fleet grow 4 -> 7 -> 10 -> 13 -> 16 and counts, name by name, what moves. At the end
C, Python, PHP, Perl and the program locate the same ten names. All files stay in
target/demo.
"""

import hashlib
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import languages
import quick

ROOT, TARGET = languages.ROOT, languages.TARGET
STEAD = os.path.join(languages.BUILT, "stead")
HERE = os.path.join(TARGET, "demo")
NAMES = os.path.join(HERE, "names.txt")
COUNT = 1_188_968
SIZES = [4, 7, 10, 13, 16]
COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def say(text, command=None):
    print(f"\n== {text}", flush=True)
    if command:
        print(f"$ {command}", flush=True)


def stead(*arguments, names=None):
    """Runs the program and returns what it prints; its errors go to the terminal."""
    with open(names or os.devnull, "rb") as stdin:
        done = subprocess.run(
            [STEAD, *arguments], stdin=stdin, stdout=subprocess.PIPE, check=False
        )
    if done.returncode:
        sys.exit(f"demo: stead {arguments[0]} ended with {done.returncode}")
    return done.stdout


def write_fleet(size):
    """Writes a fleet of `size` equal servers, n00, n01 ..., and returns its path."""
    path = os.path.join(HERE, f"fleet-{size}.toml")
    nodes = "".join(
        f'\n[[node]]\nname = "n{i:02}"\nattributes = {{ address = "10.0.0.{i + 1}:3306" }}\n'
        for i in range(size)
    )
    with open(path, "w", encoding="ascii") as file:
        file.write(f'name = "members"\n{nodes}')
    return path


def picture(path, width=64):
    """Returns one line that shows the space from 0 to 100 %, with a letter for the
    server that holds each part.
    """
    slices = json.loads(stead("show", path, "--json", "--slices"))["slices"]
    line, at = "", 0
    for column in range(width):
        middle = (2 * column + 1) * 2**64 // (2 * width)
        while int(slices[at]["last"], 16) < middle:
            at += 1
        node = int(slices[at]["nodes"][0][1:])
        letter = "ABCDEFGHIJKLMNOP"[node]
        line += (
            f"\x1b[48;5;{(22 + node * 13) % 216 + 16};97m{letter}\x1b[0m"
            if COLOURS
            else letter
        )
    return line


def md5_points(names):
    """Returns the point of each name for `md5 mod n`, computed by Python and not by
    stead.
    """
    return [int.from_bytes(hashlib.md5(name).digest()[:8], "big") for name in names]


def main():
    # the names in the last table have letters that not every terminal can show
    sys.stdout.reconfigure(errors="backslashreplace")
    os.makedirs(HERE, exist_ok=True)
    start = time.monotonic()
    print(
        "== building stead and libstead (the first time it takes a minute or two)",
        flush=True,
    )
    quick.Build().wait_for("stead-cli", "stead-capi")
    ready = languages.prepare()
    if not os.path.exists(NAMES):
        say(f"making {COUNT:,} user names from US Census name frequencies (once)")
        make = [
            sys.executable,
            os.path.join(ROOT, "examples", "names", "make_names.py"),
            NAMES,
            "--count",
            str(COUNT),
        ]
        subprocess.run(make, check=True)

    say(
        "how evenly do naming schemes spread them?",
        "stead survey names.txt --members 1000000000",
    )
    sys.stdout.buffer.write(stead("survey", NAMES, "--members", "1000000000"))
    sys.stdout.flush()

    say("a fleet of 4 servers grows to 16", "stead apply fleet.toml members.map")
    for name in os.listdir(HERE):
        if name.startswith("members-"):
            os.remove(os.path.join(HERE, name))
    with open(NAMES, "rb") as file:
        names = file.read().splitlines()
    points = md5_points(names)
    rows, before, last = [], None, None
    for size in SIZES:
        fleet, path = write_fleet(size), os.path.join(HERE, f"members-{size}.map")
        store = os.path.join(HERE, "store", "members.map")
        if size == SIZES[0]:
            subprocess.run(["rm", "-rf", os.path.dirname(store)], check=True)
            os.makedirs(os.path.dirname(store))
        report = json.loads(stead("apply", fleet, store, "--json"))
        with open(store, "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        # locates every name, as a program would
        places = stead("locate", path, names=NAMES).splitlines()
        if len(places) != len(names) or any(
            not p.startswith(n + b"\t") for p, n in zip(places[::9973], names[::9973])
        ):
            sys.exit("demo: locate did not answer each name")
        nodes = [place.rsplit(b"\t", 1)[1] for place in places]
        counts = {}
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
        row = {
            "size": size,
            "slices": report["slices"],
            "fullest": max(counts.values()) * size / len(names),
            "bound": report["lower_bound"]["fraction"],
            "points": report["moved"]["fraction"],
        }
        if before:
            row["moved"] = sum(a != b for a, b in zip(before, nodes)) / len(names)
            row["modulo"] = sum(point % last != point % size for point in points) / len(
                names
            )
        rows.append(row)
        before, last = nodes, size
        print(f"   {size:>2} servers  {picture(path)}")

    say("what it cost, counted on the names")
    print("                  share of names that moved        fullest server,")
    print("  servers      stead  the optimum  md5 mod n    names / fair share  slices")
    for old, row in zip([None] + rows, rows):
        if old is None:
            print(
                f"        {row['size']:>2}          -            -          -"
                f"                {row['fullest']:.4f}{row['slices']:>8}"
            )
            continue
        step = f"{old['size']:>2} -> {row['size']:>2}"
        print(
            f"  {step:>8}   {row['moved']:8.3%}     {row['bound']:8.3%}   {row['modulo']:8.3%}"
            f"                {row['fullest']:.4f}{row['slices']:>8}"
        )
    print(f"""
  The optimum is the share that the new servers must get: no placement can move
  less. stead moved exactly that share of the hash space at every step; on
  {len(names):,} names chance adds or takes a few hundredths of a per cent.""")
    for row in rows[1:]:
        if row["points"] != row["bound"]:
            sys.exit("demo: more moved than the optimum")

    say(
        "the same ten names on the 16 servers, in five languages",
        "stead locate members.map frank Frank ...",
    )
    if not all(future.done() for future in ready.values()):
        print(
            "   the modules of Python and Perl are built once; a minute ...", flush=True
        )
    if not languages.agree(store, ready):
        sys.exit("demo: the languages disagree, which must not be: please report it")
    print(f"""
  Ask where a name lives:
    target/quick/stead locate target/demo/store/members.map frank
  Plan a change of your own: edit target/demo/fleet-16.toml, then
    target/quick/stead plan target/demo/fleet-16.toml \\
      target/demo/store/members.map
  ({time.monotonic() - start:.1f} s)""")


main()
