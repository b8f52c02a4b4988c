"""The unchanged clients of Debian, on the router and on one rrdcached: they see the
same, and leave the same on disk.
"""

import re
import signal
import subprocess
import time

import pytest
from rrd_clients import Pair, Tee, installed, rrdtool, script, unequal
from rrd_copies import differing, info
from rrd_servers import Client, wait_for

START = 1_700_000_040  # a multiple of 60
SOURCES = (
    f"-b {START} -s 60 DS:in:GAUGE:120:U:U DS:out:DERIVE:120:0:U RRA:AVERAGE:0.5:1:50 "
    "RRA:MAX:0.5:5:20"
).split()
PNG = b"\x89PNG\r\n"

both_ways = pytest.mark.parametrize("way", ["unix", "tcp"])


@both_ways
def test_rrdtool(cluster, dump, way):
    pair = Pair(cluster, way)
    names = ["tool/load.rrd", "tool/with blank.rrd", "tool/deep/er/a.rrd"]
    for name in names:
        file = pair.path(name)
        # over a unix socket rrdtool looks for the directory itself
        (cluster.base / name).parent.mkdir(parents=True, exist_ok=True)
        pair.same(rrdtool("create", file, *SOURCES))
        pair.same(rrdtool("create", file, "--no-overwrite", *SOURCES), code=1)
        for minute in range(1, 6):
            at = START + 60 * minute
            pair.same(
                rrdtool(
                    "update",
                    file,
                    f"{at}:{minute}:{100 * minute}",
                    f"{at + 30}:U:{100 * minute + 7}",
                )
            )
        # it looks into the local file
        pair.same(
            rrdtool("update", file, "--template", "out:in", f"{START + 360}:700:2.5"),
            code=int(way == "tcp"),
        )
        pair.same(
            rrdtool("update", file, f"{START + 420}.25:8:950", f"{START + 421}.75:9:U")
        )
        pair.same(rrdtool("update", file, f"{START}:1:1"), code=1)
        # too few values: rrdcached notices that only when it writes, and loses what
        # waits, so only the router gets it
        few = rrdtool("update", file, f"{START + 480}:1")(pair.routed)
        said = f"expected 2 data source readings (got 1) from {START + 480}"
        assert few.returncode == 1 and said.encode() in few.stderr, few
        # there is no MIN; rrdtool takes the archive that fits best
        for function in ("AVERAGE", "MAX", "MIN"):
            assert b"nan" in pair.same(
                rrdtool("fetch", file, function, "-s", START, "-e", START + 600)
            )
        assert b"ds[out].type" in pair.same(rrdtool("info", file))
        assert int(pair.same(rrdtool("last", file))) > START
        pair.same(rrdtool("first", file))
        pair.same(rrdtool("first", file, "--rraindex", 1))
        pair.same(rrdtool("flushcached", file))
        quoted = file.replace(":", "\\:")
        exported = rrdtool(
            "xport",
            "-s",
            START,
            "-e",
            START + 600,
            f"DEF:x={quoted}:in:AVERAGE",
            "CDEF:y=x,2,*",
            "XPORT:y:twice",
        )
        assert b"<entry>twice</entry>" in pair.same(exported)
    assert unequal(cluster, names, dump) == []
    for words in (
        ("update", "tool/none.rrd", f"{START}:1:1"),
        ("fetch", "tool/none.rrd", "AVERAGE"),
        ("last", "tool/none.rrd"),
        ("info", "tool/none.rrd"),
    ):
        pair.same(rrdtool(words[0], pair.path(words[1]), *words[2:]), code=1)
    listed = [sorted(out.split()) for _, out, _ in pair.both(rrdtool("list", "/tool"))]
    assert listed[0] == listed[1] and b"load.rrd" in listed[0]


@both_ways
def test_rrdtool_in_pipe_mode(cluster, dump, way):
    """One rrdtool runs many commands, as LibreNMS and others use it."""
    pair = Pair(cluster, way)
    names = [f"pipe/v{number}.rrd" for number in range(5)] + ["pipe/with blank.rrd"]
    (cluster.base / "pipe").mkdir()
    text = ""
    for name in names:
        file = f'"{pair.path(name)}" --daemon ADDRESS'
        text += f"create {file} {' '.join(SOURCES)}\n"
        for minute in range(1, 4):
            text += f"update {file} {START + 60 * minute}:{minute}:{minute}\n"
        text += (
            f"update {file} {START}:1:1\nfetch {file} AVERAGE -s {START} -e "
            f"{START + 300}\nlast {file}\ninfo {file}\nflushcached {file}\n"
        )
    text += "update pipe/none.rrd --daemon ADDRESS 1:1\nhelp\nquit\n"

    def timeless(address):
        done = rrdtool("-", text=text)(address)
        # OK u:0.00 s:0.00 r:0.01
        done.stdout = re.sub(rb"(?m)^OK u:.*$", b"OK", done.stdout)
        return done

    said = pair.same(timeless)
    assert (
        said.count(b"OK\n") == 8 * len(names) + 1
        and said.count(b"ERROR") == len(names) + 1
    ), said
    assert unequal(cluster, names, dump) == []


@both_ways
def test_now_and_the_default_begin_of_a_file(cluster, dump, way):
    """Both copies of a file have the same time, whether the client or the router chose
    it.
    """
    pair = Pair(cluster, way)
    (cluster.base / "now").mkdir()
    file = pair.path("now/a.rrd")
    before = int(time.time())
    assert (
        rrdtool("create", file, "-s", 1, "DS:v:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:50")(
            pair.routed
        ).returncode
        == 0
    )
    assert rrdtool("update", file, "N:5")(pair.routed).returncode == 0
    last = int(rrdtool("last", file)(pair.routed).stdout)
    assert before <= last <= time.time()
    with Client(cluster.unix) as client:
        assert client.ask("FLUSH now/a.rrd").startswith(b"0 ")
    copies = [
        server.base / "now/a.rrd"
        for server in cluster.backends.values()
        if (server.base / "now/a.rrd").exists()
    ]
    assert len(copies) == 2
    assert dump(copies[0]) == dump(copies[1])
    assert f"<lastupdate>{last}</lastupdate>".encode() in dump(copies[0])


def test_what_rrdtool_does_to_the_local_file_flushes_it_first(cluster):
    """dump, lastupdate and tune ask the daemon for a FLUSH, and then open the local
    file; here that is the file of `single`.
    """
    pair = Pair(cluster, "unix")
    (cluster.base / "local").mkdir()
    for number, words in enumerate(
        (["dump"], ["lastupdate"], ["tune", "--heartbeat", "in:240"])
    ):
        name = f"local/v{number}.rrd"
        pair.same(rrdtool("create", pair.path(name), *SOURCES))
        pair.same(rrdtool("update", pair.path(name), f"{START + 60}:1:1"))
        copies = [
            server
            for server in cluster.backends.values()
            if (server.base / name).exists()
        ]
        assert len(copies) == 2

        def on_disk(copies=copies, name=name):
            return [
                subprocess.run(
                    ["rrdtool", "last", server.base / name],
                    stdout=subprocess.PIPE,
                    check=True,
                ).stdout
                for server in copies
            ]

        with Client(cluster.unix) as client:
            assert client.ask(f"PENDING {name}").startswith(b"1 ")
        assert on_disk() == [b"%d\n" % START] * 2
        assert (
            rrdtool(words[0], pair.path(name), *words[1:])(pair.routed).returncode == 0
        )
        assert on_disk() == [b"%d\n" % (START + 60)] * 2, words
        # over TCP there is no local file, and rrdtool refuses
        assert rrdtool(words[0], name, *words[1:])(cluster.tcp).returncode == 1


@both_ways
@pytest.mark.parametrize("client", ["perl", "php"])
def test_librrd_from(client, cluster, dump, way):
    file = "client.pl" if client == "perl" else "client.php"
    loads = (
        ["perl", "-MRRDs", "-e", "1"]
        if client == "perl"
        else ["php", "-r", "exit((int) !extension_loaded('rrd'));"]
    )
    if (
        not installed(client)
        or subprocess.run(loads, capture_output=True, check=False).returncode
    ):
        pytest.skip(
            f"{'librrds-perl' if client == 'perl' else 'php-rrd'} is not installed"
        )
    pair = Pair(cluster, way)
    (cluster.base / client).mkdir()
    picture = cluster.place / "picture.png"
    drawn = []

    def run(address):
        done = script(
            client, file, pair.path(""), START, picture, way, place=cluster.place
        )(address)
        drawn.append(picture.read_bytes())
        picture.unlink()
        return done

    (cluster.place / "a").mkdir()
    (cluster.place / "b").mkdir()
    with (
        Tee(pair.routed, cluster.place / "a") as routed,
        Tee(pair.single, cluster.place / "b") as single,
    ):
        pair.routed, pair.single = routed.address, single.address
        said = pair.same(run).decode()
        # the same requests over as many connections; most errors lead to a new
        # connection
        timeless = [
            [re.sub(rb" 17[0-9]{8} 17[0-9]{8}$", b"", line) for line in tee.lines()]
            for tee in (routed, single)
        ]
        assert timeless[0] == timeless[1]
        assert len(routed.connections) == len(single.connections)
    assert {b"CREATE", b"UPDATE", b"FETCH", b"INFO"} < {
        line.split(b" ")[0].upper() for line in timeless[0]
    }
    # calls that open the file itself cannot work from another machine, with the router
    # or with rrdcached
    assert said.count("ERROR opening") == (
        0 if way == "unix" else 2 if client == "perl" else 12
    )
    assert drawn[0] == drawn[1] and drawn[0].startswith(PNG)
    names = [f"{client}/load.rrd", f"{client}/with blank.rrd"] + ["php/object.rrd"] * (
        client == "php"
    )
    assert unequal(cluster, names, dump) == []


def test_a_graph_through_the_router_is_the_same_picture(cluster):
    pair = Pair(cluster, "tcp")
    for number in range(3):
        for address in (pair.routed, pair.single):
            with Client(address) as client:
                assert client.ask(
                    f"CREATE graph/v{number}.rrd {' '.join(SOURCES)}"
                ).startswith(b"0 ")
                lines = [
                    (
                        f"UPDATE graph/v{number}.rrd "
                        f"{START + 60 * at}:{(at * (number + 3)) % 17}:{at * at}"
                    )
                    for at in range(1, 50)
                ]
                assert client.batch(lines) == b"0 errors\n"

    def picture(address):
        words = [
            "-s",
            START,
            "-e",
            START + 3000,
            "-w",
            600,
            "-h",
            200,
            "--title",
            "three files",
            "--disable-rrdtool-tag",
        ]
        for number, colour in enumerate(("ff0000", "00aa00", "0000ff")):
            words += [
                f"DEF:v{number}=graph/v{number}.rrd:in:AVERAGE",
                f"AREA:v{number}#{colour}40",
                f"LINE1:v{number}#{colour}:v{number}",
            ]
        done = rrdtool("graph", "-", *words)(address)
        assert done.returncode == 0 and PNG in done.stdout[:200], done.stderr
        return done.stdout

    expected = picture(pair.single)
    assert picture(pair.routed) == expected
    # the control: one different value
    with Client(pair.routed) as client:
        assert client.ask(f"UPDATE graph/v1.rrd {START + 60 * 50}:500:5000").startswith(
            b"0 "
        )
    assert picture(pair.routed) != expected


def test_an_unequal_copy_is_found(cluster, dump):
    """The control for all comparisons of this file."""
    pair = Pair(cluster, "tcp")
    for name in ("control/a.rrd", "control/b.rrd"):
        pair.same(rrdtool("create", name, *SOURCES))
    assert unequal(cluster, ["control/a.rrd", "control/b.rrd"], dump) == []
    backend = cluster.located(["control/b.rrd"])["control/b.rrd"][1]
    with Client(cluster.backends[backend].address) as client:
        assert client.ask(f"UPDATE control/b.rrd {START + 60}:1:1").startswith(b"0 ")
    assert unequal(cluster, ["control/a.rrd", "control/b.rrd"], dump) == [
        ("control/b.rrd", backend)
    ]
    assert unequal(cluster, ["control/a.rrd", "control/b.rrd"], info) == [
        ("control/b.rrd", backend)
    ]


class Collectd:
    """Runs a real collectd that writes to an rrdcached or to the router."""

    def __init__(self, cluster, address, options, plugins=""):
        self.place = cluster.place
        (cluster.base).mkdir(exist_ok=True)
        (self.place / "collectd.conf").write_text(f"""
            Hostname "a host"
            FQDNLookup false
            BaseDir "{cluster.base}"
            PIDFile "{self.place}/collectd.pid"
            TypesDB "/usr/share/collectd/types.db"
            Interval 1
            WriteThreads 1
            LoadPlugin logfile
            <Plugin logfile>
                LogLevel info
                File "{self.place}/collectd.said"
            </Plugin>
            {plugins}
            LoadPlugin unixsock
            <Plugin unixsock>
                SocketFile "{self.place}/collectd.sock"
            </Plugin>
            LoadPlugin rrdcached
            <Plugin rrdcached>
                DaemonAddress "{address}"
                {options}
            </Plugin>
        """)
        self.process = None

    def __enter__(self):
        command = [installed("collectd"), "-f", "-C", self.place / "collectd.conf"]
        with open(self.place / "collectd.out", "wb") as said:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        wait_for(self.listens, "collectd to be ready")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def said(self):
        assert self.process.poll() is None, (self.place / "collectd.out").read_text()
        said = self.place / "collectd.said"
        return said.read_text() if said.exists() else ""

    def listens(self):
        """Returns whether it is ready; the socket exists a little before it listens."""
        try:
            with Client(f"unix:{self.place}/collectd.sock"):
                pass
        except OSError:
            return False
        return "Initialization complete" in self.said()

    def put(self, values):
        """Gives it values as another program may: (name, interval, text)."""
        with Client(f"unix:{self.place}/collectd.sock") as client:
            for name, interval, text in values:
                said = client.ask(f'PUTVAL "{name}" interval={interval} {text}')
                assert said.startswith(b"0 Success"), (name, text, said)


@pytest.fixture
def collectd():
    """Makes a Collectd, if collectd is installed."""
    if not installed("collectd"):
        pytest.skip("collectd-core is not installed")
    return Collectd


def templates(cluster, control=""):
    """Writes a file of templates for the values of the tests' collectd, by the
    intervals in the host's name. `control` stands before all rules.
    """
    patterns = [(f"every-{step}/**", step) for step in STEPS] + [("**", 1)]
    rules = "".join(
        f'[[create]]\nmatch = "{pattern}"\nstep = {step}\n'
        'types-db = "/usr/share/collectd/types.db"\n\n'
        for pattern, step in patterns
    )
    path = cluster.place / "create.toml"
    path.write_text(control + rules)
    return path


STEPS = (1, 10, 60, 300, 86400, 100_000)


def types():
    """Returns collectd's types, each with the kinds of its data sources."""
    with open("/usr/share/collectd/types.db") as file:
        for line in file:
            fields = line.split()
            if fields and not fields[0].startswith("#"):
                yield fields[0], [field.split(":")[1] for field in fields[1:]]


def values_for_collectd():
    """Returns a file of every type with values every 10 seconds, and files of some
    types at all other steps.
    """
    for number, (name, kinds) in enumerate(types()):
        for step in (
            STEPS
            if name in ("load", "if_octets", "ps_count", "counter", "absolute")
            else (10,)
        ):
            first = START + number * 7
            for turn in range(3):
                values = ":".join(
                    str((turn + 1) * (at + 2)) + (".5" if kind == "GAUGE" else "")
                    for at, kind in enumerate(kinds)
                )
                part = "" if turn else (".25", ".5", ".75")[number % 3]
                yield (
                    f"every-{step}/plug in-a/{name}-an instance-{number}",
                    step,
                    f"{first + turn * step}{part}:{values}",
                )


@both_ways
def test_collectd_and_the_files_that_nobody_creates(
    cluster, collectd, way, record_property
):
    """collectd makes its own files in the base of `single`, and the router makes them
    at the backends from templates. All are equal.

    The lines of collectd are kept and sent again to `single`, which has the files that
    collectd made.
    """
    control = (
        '[[create]]\nmatch = "every-60/*/counter-*"\nstep = 60\nheartbeat = 119\n'
        'types-db = "/usr/share/collectd/types.db"\n'
    )
    cluster.stop_router()
    cluster.start_router("--create", templates(cluster, control))
    pair = Pair(cluster, way)
    plugins = "\n".join(
        f"LoadPlugin {name}"
        for name in ("load", "memory", "uptime", "cpu", "users", "interface")
    )
    data = f'DataDir "{cluster.base}"' if way == "unix" else ""
    with Tee(pair.routed, cluster.place) as tee:
        with collectd(cluster, tee.address, data, plugins) as running:
            sent = list(values_for_collectd())
            running.put(sent)
            wait_for(
                lambda: sum(b"every-" in line for line in tee.lines()) >= len(sent),
                "the values to come through",
            )
            wait_for(
                lambda: sum(b"load/load.rrd" in line for line in tee.lines()) >= 4,
                "four values of the load",
            )
        updates = tee.lines()
        said = running.place.joinpath("collectd.said").read_text()
    assert "failed" not in said and len(tee.connections) == 1, said
    # it creates nothing here; for a file that librrd has made locally, it sends a
    # FORGET
    assert {line.split(b" ")[0].lower() for line in updates} == {
        b"update",
        b"stats",
        b"forget",
    }
    with Client(pair.single) as client:
        for line in updates:
            assert (
                not line.startswith(b"update")
                or client.ask(line + b"\n") == b"0 errors, enqueued 1 value(s).\n"
            ), line
    names = sorted(
        str(path.relative_to(cluster.base)) for path in cluster.base.rglob("*.rrd")
    )
    own = [name for name in names if not name.startswith("every-")]
    assert len(own) >= 8 and len(names) - len(own) >= len(
        {name for name, _, _ in sent}
    ), names
    record_property("files of collectd", len(names))
    # compare some files completely, and all by info, which has everything but the rows
    assert [name.split("-an ")[0] for name, _ in unequal(cluster, names, info)] == [
        "every-60/plug in-a/counter"
    ] * 2  # the control
    names = [
        name for name in names if not name.startswith("every-60/plug in-a/counter-")
    ]
    sampled = own + names[:: len(names) // 25]
    assert differing(cluster, sampled) == ([], 2 * len(sampled))
    record_property("of these compared with all rows", len(sampled))


def test_collectd_over_tcp_without_templates_gets_nothing_through(cluster, collectd):
    """The control. With templates, collectd needs no disk of its own."""
    values = [
        ("every-10/load/load", 10, f"{START + 10 * turn}:1:2:3") for turn in range(5)
    ]
    rrd = "every-10/load/load.rrd"

    def held():
        return [
            server
            for server in cluster.backends.values()
            if (server.base / rrd).exists()
        ]

    with collectd(cluster, cluster.tcp, "CreateFiles false") as running:
        running.put(values)
        wait_for(
            lambda: (
                running.said().count(f"No such file: {cluster.base}/{rrd}")
                >= len(values)
            ),
            "collectd to say that it cannot",
        )
    assert held() == []
    cluster.stop_router()
    cluster.start_router("--create", templates(cluster))
    with collectd(cluster, cluster.tcp, "CreateFiles false") as running:
        running.put(values)
        with Client(cluster.tcp) as client:
            wait_for(
                lambda: client.ask(f"PENDING {rrd}").startswith(b"5 "), "the last value"
            )
            with Client(f"unix:{cluster.place}/collectd.sock") as own:
                assert own.ask(
                    'FLUSH plugin=rrdcached identifier="every-10/load/load"'
                ).startswith(b"0 Done")
            assert client.ask(f"PENDING {rrd}").startswith(b"0 ")
    assert len(held()) == 2 and not list(cluster.base.rglob("*.rrd"))


def test_a_template_makes_what_is_missing_and_spares_what_is_there(cluster, dump):
    """This holds also while no backend is up, and after a restart of the router, which
    then knows no file.
    """
    name = "every-10/load/load.rrd"
    cluster.stop_router()
    cluster.start_router("--create", templates(cluster))
    for backend in cluster.backends.values():
        backend.stop(9)
    for backend in cluster.backends:
        wait_for(
            lambda backend=backend: cluster.router_said(
                rf"backend {backend} \(\S+ is down"
            ),
            f"{backend} to be seen as down",
        )
    with Client(cluster.tcp) as client:
        assert (
            client.batch(
                [f"UPDATE {name} {START + 10 * turn}:1:2:3" for turn in range(3)]
            )
            == b"0 errors\n"
        )
        assert client.ask(f"UPDATE {name} {START + 30}:1:2:3").startswith(b"0 ")
        assert client.ask(f"LAST {name}").startswith(b"-1 ")
    for backend in cluster.backends.values():
        backend.start()
    cluster.all_up(2)
    cluster.stop_router()
    cluster.start_router("--create", templates(cluster))
    with Client(cluster.tcp) as client, Client(cluster.single.address) as single:
        assert client.ask(f"UPDATE {name} {START + 40}:1:2:3").startswith(b"0 ")
        assert client.ask(
            f"UPDATE every-10/none/none.rrd {START + 40}:1:2:3"
        ).startswith(b"-1 No such file")
        sources = " ".join(
            f"DS:{part}:GAUGE:20:0:5000"
            for part in ("shortterm", "midterm", "longterm")
        )
        archives = ((1, 1200), (7, 1235), (50, 1210), (223, 1202), (2635, 1201))
        archives = " ".join(
            f"RRA:{kind}:0.1:{steps}:{rows}"
            for steps, rows in archives
            for kind in ("AVERAGE", "MIN", "MAX")
        )
        assert single.ask(
            f"CREATE {name} -b {START - 1} -s 10 {sources} {archives}"
        ).startswith(b"0 ")
        for turn in range(5):
            assert single.ask(f"UPDATE {name} {START + 10 * turn}:1:2:3").startswith(
                b"0 "
            )
    assert unequal(cluster, [name], dump) == []


def test_a_bad_file_of_templates_is_refused_at_the_start(cluster):
    bad = cluster.place / "bad.toml"
    bad.write_text('[[create]]\nmatch = "**"\nstep = "ten"\n')
    command = [
        cluster.programs["stead-rrd"],
        "serve",
        "--map",
        cluster.map,
        "--base",
        cluster.base,
        "--state",
        cluster.place / "other",
        "--listen",
        "127.0.0.1:0",
    ]
    done = subprocess.run(
        [*command, "--create", bad],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.returncode == 65
        and done.stderr.count("\n") == 1
        and f"{bad}:3: " in done.stderr
    ), done


def test_templates_are_loaded_again_on_sighup_and_a_mistake_changes_nothing(cluster):
    file = cluster.place / "create.toml"
    rule = '[[create]]\nmatch = "{}/*.rrd"\nstep = 10\n'
    rule += 'ds = ["DS:v:GAUGE:20:0:U"]\nrra = ["RRA:LAST:0:1:100"]\n'
    file.write_text(rule.format("old"))
    cluster.stop_router()
    cluster.start_router("--create", file)

    def reload(text, said):
        file.write_text(text)
        cluster.router.send_signal(signal.SIGHUP)
        wait_for(lambda: cluster.router_said(said), said)

    with Client(cluster.tcp) as client:
        taken = {}

        def update(name):
            taken[name] = taken.get(name, 0) + 10
            return client.ask(f"UPDATE {name} {START + taken[name]}:1")

        assert update("old/a.rrd").startswith(b"0 ")
        assert update("new/a.rrd").startswith(b"-1 No such file")
        reload(rule.format("new") + "step = ten\n", r"create\.toml:6: ")
        assert update("new/a.rrd").startswith(b"-1 No such file")
        assert update("old/b.rrd").startswith(b"0 ")
        reload(rule.format("new"), r"is loaded again")
        assert update("new/a.rrd").startswith(b"0 ")
        assert update("old/c.rrd").startswith(b"-1 No such file")
        assert update("old/a.rrd").startswith(b"0 ")


def test_a_lost_copy_is_not_made_anew_and_empty(cluster):
    """An empty copy would look like the whole file. So a template makes only files that
    no backend has.
    """
    name = "every-10/load/load.rrd"
    cluster.stop_router()
    cluster.start_router("--create", templates(cluster))
    with Client(cluster.tcp) as client:
        assert client.ask(f"UPDATE {name} {START}:1:2:3").startswith(b"0 ")
        assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    first, second = (
        cluster.backends[backend] for backend in cluster.located([name])[name]
    )
    cluster.stop_router()
    first.stop(9)
    (first.base / name).unlink()
    first.start()
    cluster.state = cluster.place / "other"  # a log without that update and its CREATE
    cluster.start_router("--create", templates(cluster))
    with Client(cluster.tcp) as client:
        for turn in range(1, 4):
            assert client.ask(f"UPDATE {name} {START + 10 * turn}:1:2:3").startswith(
                b"0 "
            )
            assert (
                client.batch([f"UPDATE {name} {START + 10 * turn + 5}:1:2:3"])
                == b"0 errors\n"
            )
        assert (
            client.ask(f"FETCH {name} AVERAGE {START} {START + 30}").count(b": 1.0")
            >= 2
        )
    assert not (first.base / name).exists() and (second.base / name).exists()
