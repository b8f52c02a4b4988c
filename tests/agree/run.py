"""make demo-agree: puts one fleet and one list of keys through every client that is
installed, and through every face of stead.

    python3 tests/agree/run.py [--keys N] [--markdown] [--picture FILE]

Prints which clients agree on all keys, on which share of the keys any two placements
agree, and the median pair, and draws the table as target/agree/agreement.svg. Exits
with 1 if stead's faces disagree, or if no client could be run.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import agreement
import clients
import faces
import fleet
import picture
import show


def ask_clients(servers, keys, wire):
    """Returns ({client: (version, answers)}, {client: why it is left out}). `wire` says
    whether the servers are running.
    """
    asked, without = {}, {}

    def ask(client):
        if client.wire and not wire:
            raise clients.Lacking(
                "it shows only on real servers, and memcached is not installed, or "
                "cannot listen on port 11211"
            )
        return clients.version(client), clients.ask(client, servers, keys)

    # programs that several clients share are compiled before the clients start
    for prepare in (clients.libmemcached, clients.spymemcached, clients.rust):
        try:
            prepare()
        except (clients.Lacking, RuntimeError):
            pass  # reported for each client below
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for client, job in [
            (client, pool.submit(ask, client)) for client in clients.CLIENTS
        ]:
            try:
                asked[client] = job.result()
            except clients.Lacking as why:
                without[client] = str(why)
            except RuntimeError as why:
                without[client] = f"failed: {str(why).strip().splitlines()[-1]}"
    return asked, without


def ask_faces(servers, keys, scratch):
    """Returns ({name: answers}, {name: why it is left out})."""
    path = os.path.join(scratch, "agree.map")
    faces.make_map(servers, path)
    asked, without = {}, {}
    for face in faces.FACES:
        try:
            asked[face.name] = faces.ask(face, path, keys)
        except clients.Lacking as why:
            without[face.name] = str(why)
    return asked, without


def drawn(asked, servers, keys, scratch):
    """Returns, for each client whose ring stead can draw as a map, (label, the number
    of keys on which the map agrees with the client).
    """
    for client, (_, found) in asked.items():
        if (client.program, client.mode) in faces.RINGS:
            path = os.path.join(scratch, client.mode + ".map")
            faces.draw(client, servers, path)
            yield (
                client.label,
                agreement.agree(faces.ask(faces.FACES[0], path, keys), found),
            )


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="make demo-agree",
        description="How far do the clients of memcached and hash rings agree?",
    )
    parser.add_argument(
        "--keys", type=int, default=20000, help="how many user names [20000]"
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables of docs/agreement.md"
    )
    parser.add_argument(
        "--picture",
        default=os.path.join(clients.TARGET, "agreement.svg"),
        help="where to draw [target/agree/agreement.svg]",
    )
    options = parser.parse_args(arguments)
    if options.keys < 2:
        parser.error("--keys: two at least")
    keys = fleet.user_names(options.keys)
    with tempfile.TemporaryDirectory() as scratch:
        with fleet.memcacheds() as running:
            servers = running or fleet.names()
            print(
                f"== asking {len(clients.CLIENTS)} clients where {len(keys):,} user "
                f"names live on {len(servers)} servers, "
                f"{servers[0]} to {servers[-1].split('.')[-1]}",
                flush=True,
            )
            if running:
                fleet.fill(servers, keys)
            asked, without = ask_clients(servers, keys, bool(running))
        print("== asking stead in every language", flush=True)
        ours, ours_without = ask_faces(servers, keys, scratch)
        adopted = list(drawn(asked, servers, keys, scratch))
    if len(asked) < 2:
        for client, why in without.items():
            print(f"left out: {client.label}: {why}")
        print(
            "stead: no two clients are installed, so there is nothing to compare; "
            "scripts/setup --tests installs them",
            file=sys.stderr,
        )
        return 1

    answers = {client.label: found for client, (_, found) in asked.items()}
    names = {
        client.label: (
            f"{client.label} "
            f"({version}{', random in each process' if client.random else ''})"
        )
        for client, (version, _) in asked.items()
    }
    table = agreement.table(answers)
    print()
    for line in (
        show.markdown(table, names)
        if options.markdown
        else show.text(table, names, show.coloured())
    ):
        print(line)
    print()
    for client, why in without.items():
        print(f"left out: {client.label}: {why}")
    for name, why in ours_without.items():
        print(f"left out: stead, {name}: {why}")

    ketama = [
        client.label for client in asked if "ketama" in client.label + client.mode
    ]
    kinds = len(agreement.group({label: answers[label] for label in ketama}))
    wrong = agreement.differing(ours)
    shared = min(min(row) for row in agreement.table(ours).alike) / len(keys)
    print(
        f"{len(asked)} clients give {len(table.groups)} different placements; the "
        f"median pair agrees on {show.share(table.median)} of the keys, "
        f"and {table.same} of {table.pairs} pairs on all."
    )
    print(
        "(Each way to set one up counts; they are "
        f"{len({client.library for client in asked})} programs and libraries.)"
    )
    print(f"{len(ketama)} of them are set to ketama, and form {kinds} placements.")
    print(
        f"stead's {len(ours)} faces agree on {show.share(shared)}: {', '.join(ours)}."
    )
    print(
        f"{sum(alike == len(keys) for _, alike in adopted)} of {len(adopted)} clients "
        "whose ring stead draws as a map agree with that map on 100 %."
    )
    for label, alike in adopted:
        if alike != len(keys):
            print(
                f"stead: {label} and the map of its ring agree on {show.share(alike / len(keys))}",
                file=sys.stderr,
            )
    draw(options.picture, table, names, answers, ours)
    print(f"drawn: {os.path.relpath(options.picture)}")
    for name, count, first in wrong:
        print(
            f"stead: the face {name} places {count} keys otherwise than "
            f"{next(iter(ours))}, the first of them {keys[first]!r}",
            file=sys.stderr,
        )
    return 1 if wrong or any(alike != len(keys) for _, alike in adopted) else 0


def draw(path, table, names, answers, ours):
    """Writes the picture: the clients in the order of their placements, then the faces
    of stead as a block.
    """
    both = agreement.table(
        {**answers, **{f"stead, {name}": found for name, found in ours.items()}}
    )
    where = {
        label: index for index, members in enumerate(both.groups) for label in members
    }
    blocks = [
        (
            "",
            [
                (names[label], where[label])
                for members in table.groups
                for label in members
            ],
        ),
        ("stead", [(f"stead, {name}", where["stead, " + name]) for name in ours]),
    ]
    title = f"{len(answers)} clients, {len(table.groups)} placements of the same keys"
    subtitle = (
        f"{table.keys:,} user names on ten servers: % of keys that two clients look "
        "for on the same server. The median pair: "
        f"{show.share(table.median)}. Framed: stead."
    )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            "\n".join(picture.svg(blocks, both.alike, both.keys, title, subtitle))
            + "\n"
        )


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
