"""Values that rrdtool cannot write. rrdcached takes them, and when it comes to write
them, it drops them and everything that waits behind them. The router refuses them
first, by what it knows of the file and in rrdtool's own words.
"""

import itertools
import json
import random
import subprocess

import pytest
from rrd_feed import there
from rrd_servers import Client, wait_for

START = 1_700_000_000
NUMBERS = [
    "1",
    "1.5",
    "-1",
    "-1.5",
    "1e3",
    "1E+3",
    "+5",
    ".5",
    "5.",
    "inf",
    "-inf",
    "+inf",
    "nan",
    "-nan",
    "+nan",
    "Infinity",
    "U",
    "1e1024",
    "1e1025",
    "1.5e-1020",
    "1.5e-1021",
    "00",
    "-0",
    "123456789012345678901234567890123456789",
]
KINDS = ["GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE"]


def create(client, name, *sources, rra="RRA:LAST:0.5:1:10000"):
    sources = " ".join(sources)
    line = f"CREATE {name} -b {START} -s 1 {sources} {rra}"
    assert client.ask(line) == b"0 RRD created OK\n"


class Tool:
    """One rrdtool process that judges updates of a file of its own."""

    def __init__(self, place):
        self.place = place
        self.process = subprocess.Popen(
            ["rrdtool", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=place,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, line):
        """Returns rrdtool's error, or an empty text."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        for said in self.process.stdout:
            if said.startswith(("OK ", "ERROR: ")):
                return "" if said.startswith("OK ") else said[len("ERROR: ") : -1]
        raise AssertionError("rrdtool has ended")

    def judge(self, sources, values):
        made = self.ask(
            f"create judged.rrd -b {START} -s 1 {' '.join(sources)} RRA:LAST:0.5:1:10"
        )
        assert not made, made
        # some types are judged only after a first value
        first = ":7" * sum("COMPUTE" not in source for source in sources)
        assert not self.ask(f"update judged.rrd {START + 5}{first}")
        return self.ask(f"update judged.rrd {values}").removeprefix("judged.rrd: ")


def test_one_bad_update_destroys_no_neighbour(cluster, record_property):
    """50 good updates, a bad one, 249 good ones: all that was acknowledged is there."""
    bad = {
        "columns": ("DS:v:GAUGE:3600:U:U", "1:2"),
        "counter": ("DS:v:COUNTER:3600:U:U", "1.5"),
        "infinite": ("DS:v:GAUGE:3600:U:U", "+inf"),
        "time": ("DS:v:GAUGE:3600:U:U", None),
    }
    kept = {}
    for address, way in ((cluster.single.address, "single"), (cluster.tcp, "router")):
        with Client(address) as client:
            for name, (source, value) in bad.items():
                create(client, f"{name}/v.rrd", source)
                acknowledged = []
                for second in range(1, 301):
                    time, given = f"{START + second}", f"{second}"
                    if second == 51:
                        given = value or given
                        # two times that differ, and that are one for rrdtool
                        time += "" if value else ".0000005"
                    if second == 52 and not value:
                        time = f"{START + 51}.0000009"
                    said = client.ask(f"UPDATE {name}/v.rrd {time}:{given}")
                    if said.startswith(b"0 "):
                        acknowledged.append(second)
                    else:
                        assert second in (51, 52), said
                assert client.ask(f"FLUSH {name}/v.rrd").startswith(b"0 ")
                servers = (
                    [cluster.single]
                    if way == "single"
                    else [
                        server
                        for server in cluster.backends.values()
                        if (server.base / f"{name}/v.rrd").exists()
                    ]
                )
                assert len(servers) == (1 if way == "single" else 2)
                for server in servers:
                    out = subprocess.run(
                        ["rrdtool", "info", server.base / f"{name}/v.rrd"],
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    ).stdout
                    last = next(
                        int(line.split(" = ")[1])
                        for line in out.splitlines()
                        if line.startswith("last_update")
                    )
                    lost = sum(START + second > last for second in acknowledged)
                    kept[way, name] = kept.get((way, name), 0) + lost
    record_property(
        "acknowledged updates lost after a bad one", ", ".join(map(str, kept.items()))
    )
    assert all(kept["router", name] == 0 for name in bad), kept
    # the control: one rrdcached loses them
    assert all(kept["single", name] > 200 for name in bad), kept


def test_the_router_refuses_what_rrdtool_refuses_and_nothing_else(cluster, place):
    """Every type with every form of a number, and several columns at random."""
    choice = random.Random(21)
    cases = list(itertools.product(((kind,) for kind in KINDS), NUMBERS))
    for _ in range(300):
        kinds = choice.choices([*KINDS, "COMPUTE"], k=choice.randrange(1, 4))
        kinds[0] = choice.choice(KINDS)
        takes = sum(kind != "COMPUTE" for kind in kinds)
        count = choice.choice((takes, takes, takes, takes + 1, takes + 2, takes - 1))
        cases.append((kinds, ":".join(choice.choices(NUMBERS, k=max(1, count)))))
    refused = 0
    with Client(cluster.tcp) as client, Tool(place) as tool:
        for number, (kinds, value) in enumerate(cases):
            sources = [
                f"DS:v{at}:COMPUTE:v0,2,*"
                if kind == "COMPUTE"
                else f"DS:v{at}:{kind}:3600:U:U"
                for at, kind in enumerate(kinds)
            ]
            name = f"h{number}/v.rrd"
            create(client, name, *sources, rra="RRA:LAST:0.5:1:10")
            wanted = tool.judge(sources, f"{START + 10}:{value}")
            said = client.ask(f"UPDATE {name} {START + 10}:{value}").decode()
            if wanted:
                refused += 1
                assert said == f"-1 {cluster.base}/{name}: {wanted}\n", (kinds, value)
            else:
                assert said == "0 errors, enqueued 1 value(s).\n", (kinds, value)
        # the file takes good values afterwards, whatever was refused
        for number, (kinds, _) in enumerate(cases):
            takes = sum(kind != "COMPUTE" for kind in kinds)
            line = f"UPDATE h{number}/v.rrd {START + 20}" + ":7" * takes
            assert client.ask(line).startswith(b"0 "), line
    assert 100 < refused < len(cases) - 100


def test_a_batch_loses_only_its_bad_lines(cluster):
    with Client(cluster.tcp) as client:
        lines, wrong = [], []
        for host in range(40):
            create(client, f"h{host}/v.rrd", "DS:v:COUNTER:3600:U:U")
        for number in range(2000):
            value = "1.5" if number % 97 == 3 else "1:2" if number % 97 == 8 else "7"
            lines.append(f"UPDATE h{number % 40}/v.rrd {START + 1 + number}:{value}")
            if value != "7":
                wrong.append(number + 1)
        # a long line, which goes to the servers in pieces, is refused as a whole
        values = [f"{START + 5000 + at}:{at}" for at in range(900)]
        lines.append("UPDATE h0/v.rrd " + " ".join([*values, f"{START + 6000}:1.5"]))
        wrong.append(len(lines))
        head, *said = client.batch(lines).decode().splitlines()
        assert head == f"{len(wrong)} errors"
        assert [int(line.split()[0]) for line in said] == wrong
        assert said[-1].endswith(": not a simple unsigned integer: '1.5'")
        good = 50 - sum((number - 1) % 40 == 0 for number in wrong[:-1])
        assert client.ask("PENDING h0/v.rrd").startswith(b"%d " % good)


def test_a_file_that_was_changed_is_learnt_again(cluster):
    """Somebody gives both copies one more column, without the router."""
    name = "h/v.rrd"
    with Client(cluster.tcp) as client:
        create(client, name, "DS:v:GAUGE:3600:U:U")
        assert client.ask(f"UPDATE {name} {START + 1}:1").startswith(b"0 ")
        assert client.ask(f"UPDATE {name} {START + 2}:1:2").startswith(b"-1 ")
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
        for backend in cluster.located([name])[name]:
            server = cluster.backends[backend]
            with Client(server.address) as direct:
                assert direct.ask(f"FORGET {name}") == b"0 Gone!\n"
            subprocess.run(
                ["rrdtool", "tune", server.base / name, "DS:w:GAUGE:3600:U:U"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        assert client.ask(f"UPDATE {name} {START + 2}:1:2").startswith(b"0 ")
        assert (
            client.ask(f"UPDATE {name} {START + 3}:1")
            == (
                f"-1 {cluster.base}/{name}: expected 2 data source readings (got 1) from "
                f"{START + 3}\n"
            ).encode()
        )


def test_the_first_value_of_a_new_file_is_judged_too(cluster):
    rules = cluster.place / "create.toml"
    rules.write_text(
        "[[create]]\nmatch = '**'\nstep = 1\nds = ['DS:v:COUNTER:60:U:U']\n"
        "rra = ['RRA:LAST:0.5:1:100']\n"
    )
    cluster.stop_router()
    cluster.start_router("--create", rules)
    with Client(cluster.tcp) as client:
        said = client.ask(f"UPDATE h/v.rrd {START + 1}:1.5")
        assert said.endswith(b": not a simple unsigned integer: '1.5'\n"), said
        assert client.ask(f"UPDATE h/v.rrd {START + 1}:1").startswith(b"0 ")


def test_what_was_taken_while_no_server_was_up_is_judged_before_it_is_sent(cluster):
    """The router has just started and knows no file: the log has it, and that is all."""
    name = "h/v.rrd"
    with Client(cluster.tcp) as client:
        create(client, name, "DS:v:GAUGE:3600:U:U")
    places = [cluster.backends[place] for place in cluster.located([name])[name]]
    cluster.stop_router()
    cluster.start_router()
    for server in places:
        server.stop()
    for place in cluster.located([name])[name]:
        wait_for(
            lambda place=place: cluster.router_said(rf"backend {place} \(\S+ is down"),
            f"{place} to be seen as down",
        )
    with Client(cluster.tcp) as client:
        for second in range(1, 101):
            value = "1:2" if second == 50 else second
            said = client.ask(f"UPDATE {name} {START + second}:{value}")
            assert said.startswith(b"0 "), said
        for server in places:
            server.start()
        for place in cluster.located([name])[name]:
            wait_for(
                lambda place=place: (
                    len(cluster.router_said(rf"backend {place} \(\S+ is up")) >= 2
                ),
                f"{place} to be up again",
            )
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    for server in places:
        found = there(server.base / name, START + 100)
        lost = [
            second
            for second in range(1, 101)
            if "nan" in found.get(START + second, "nan")
            or float(found[START + second]) != second
        ]
        # the time of the refused value is covered by the next one
        assert [second for second in lost if second != 50] == [], server.base
    assert len(cluster.router_said("found extra data on update argument: 2")) >= 2


@pytest.mark.parametrize("count", [3000])
def test_many_files_are_learnt_from_one_batch(cluster, count):
    with Client(cluster.tcp) as client:
        sources = "DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:10"
        created = [
            f"CREATE h{at}/v.rrd -b {START} -s 1 {sources}" for at in range(count)
        ]
        assert client.batch(created) == b"0 errors\n"
    cluster.stop_router()
    cluster.start_router()
    with Client(cluster.tcp) as client:
        lines = [f"UPDATE h{at}/v.rrd {START + 1}:1" for at in range(count)]
        lines[17] += ":2"
        head, said = client.batch(lines).decode().splitlines()
        assert (head, said.split()[0]) == ("1 errors", "18")


def test_the_other_files_of_a_directory_are_learnt_with_the_first(cluster):
    """Their first updates do not wait for a server. Files of other directories, directories
    that have too many files, and those of files that do not exist are left alone.
    """
    sources = "DS:v:GAUGE:60:U:U RRA:LAST:0.5:1:10"
    files = [f"h/d d/{at}.rrd" for at in range(200)] + ["h/v.rrd", "g/v.rrd"]
    files += [f"large/{at}.rrd" for at in range(2001)]
    with Client(cluster.tcp) as client:
        created = [
            "CREATE {} -b {} -s 1 {}".format(name.replace(" ", r"\ "), START, sources)
            for name in files
        ]
        assert client.batch(created) == b"0 errors\n"
    cluster.stop_router()
    cluster.start_router()

    def known():
        command = [cluster.programs["stead-rrd"], "status", "--json", cluster.state]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout)["known_files"]

    with Client(cluster.tcp) as client:
        assert client.ask(f"UPDATE none/v.rrd {START + 1}:1").startswith(b"-1 No such")
        assert client.ask(f"UPDATE large/7.rrd {START + 1}:1").startswith(b"0 ")
        assert known() == 1
        assert client.ask(rf"UPDATE h/d\ d/7.rrd {START + 1}:1").startswith(b"0 ")
        wait_for(lambda: known() == 201, "the files of h/d d to be known")
        # what is known of them is right
        said = client.ask(rf"UPDATE h/d\ d/8.rrd {START + 1}:1:2")
        assert said.endswith(b": found extra data on update argument: 2\n"), said
        said = client.ask(rf"UPDATE h/d\ d/9.rrd {START - 1}:1")
        assert b"illegal attempt to update using time" in said, said
        for at in range(10, 200):
            said = client.ask(rf"UPDATE h/d\ d/{at}.rrd {START + 1}:{at}")
            assert said.startswith(b"0 "), said
        assert known() == 201
