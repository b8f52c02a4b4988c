"""A running router as its operator sees it: status, metrics, messages, the control
socket, its stop, and the units of systemd.
"""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import urllib.request
from pathlib import Path

import pytest
import units
from rrd_servers import LIMIT, Client, Rrdcached, free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
START = 1_700_000_000


def stead_rrd(programs, *words):
    """Runs the program. Returns its exit code, its output and its messages."""
    done = subprocess.run(
        [programs["stead-rrd"], *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def status(cluster):
    """Returns the status as JSON."""
    code, out, said = stead_rrd(cluster.programs, "status", "--json", cluster.state)
    assert code in (0, 1) and said == "", (code, out, said)
    return json.loads(out)


def restart(cluster, *options):
    """Restarts the router with other options."""
    cluster.stop_router()
    cluster.start_router(*options)


def create(client, name):
    assert (
        client.ask(
            f"CREATE {name} -b {START} -s 60 DS:v:GAUGE:120:U:U RRA:LAST:0.5:1:100"
        )
        == b"0 RRD created OK\n"
    )


def status_once(cluster, fits, what):
    """Waits until the exit code and the page of `stead-rrd status` fit. Returns these
    and the messages.
    """

    def asked():
        done = stead_rrd(cluster.programs, "status", cluster.state)
        return done if fits(*done[:2]) else None

    return wait_for(asked, what)


def test_status_says_first_whether_all_is_well(cluster):
    code, page, said = stead_rrd(cluster.programs, "status", cluster.state)
    assert (code, said, page.splitlines()[0]) == (0, "", "all is well: 4 backends up")
    found = status(cluster)
    assert {
        b["name"]: (b["state"], b["address"], b["labels"]) for b in found["backends"]
    } == {
        name: ("up", server.address, [["zone", name[0]]])
        for name, server in cluster.backends.items()
    }
    assert (found["epoch"], found["next_epoch"], found["fleet"]) == (1, None, "rrd")
    address = cluster.backends["b1"].address
    cluster.backends["b1"].stop(signal.SIGKILL)
    code, page, _ = status_once(cluster, lambda code, _: code, "a bad status")
    assert code == 1
    assert page.startswith(f"not well: backend b1 ({address}) is down for "), page
    # half of the files have a copy there
    assert "% of the files have one copy only that is up" in page
    assert 0.4 < status(cluster)["exposed"]["single"] < 0.6
    # the problem goes away
    cluster.backends["b1"].start()
    wait_for(
        lambda: stead_rrd(cluster.programs, "status", cluster.state)[0] == 0,
        "a good status",
    )
    assert {b["name"]: b["reconnects"] for b in status(cluster)["backends"]}["b1"] >= 1


def test_status_says_which_server_keeps_a_journal(cluster):
    with Client(cluster.unix) as client:
        for host in range(8):
            create(client, f"h{host}/v.rrd")
        server = cluster.backends["a1"]
        server.stop()
        server.journal = cluster.place / "journal"
        server.journal.mkdir()
        server.start()

        times = iter(range(1_700_000_001, 1_800_000_000))

        def update_and_look():
            for host in range(8):
                client.ask(f"UPDATE h{host}/v.rrd {next(times)}:1")
            return [
                backend["name"]
                for backend in status(cluster)["backends"]
                if backend["journal"]
            ]

        assert wait_for(update_and_look, "the journal to be seen") == ["a1"]
    _, page, _ = stead_rrd(cluster.programs, "status", cluster.state)
    assert "rrdcached keeps a journal of its own on a1" in page.splitlines()[0], page


def test_status_counts_what_clients_do(cluster):
    before = status(cluster)["clients"]
    assert all(verb["requests"] == 0 for verb in before["verbs"])
    with Client(cluster.unix) as client:
        create(client, "a.rrd")
        for i in range(1, 8):
            assert client.ask(f"UPDATE a.rrd {START + i}:1").startswith(b"0 ")
        assert client.ask(f"UPDATE a.rrd {START + 1}:1").startswith(
            b"-1 illegal attempt"
        )
        assert client.batch(
            [f"UPDATE a.rrd {START + 10 + i}:1" for i in range(5)]
            + ["UPDATE b.rrd 1:1", "NONE"]
        ).startswith(b"2 errors")
        assert client.ask("nonsense").startswith(b"-1 Unknown command")
        found = status(cluster)
        assert found["clients"]["connected"] == before["connected"] + 1
    verbs = {
        verb["verb"]: (verb["requests"], verb["errors"])
        for verb in found["clients"]["verbs"]
        if verb["requests"]
    }
    assert verbs == {
        "update": (14, 2),
        "create": (1, 0),
        "batch": (1, 0),
        "unknown": (2, 2),
    }
    assert all(
        sum(verb["buckets"]) == verb["requests"] for verb in found["clients"]["verbs"]
    )
    assert (
        found["log"]["newest"] > 0
        and found["log"]["bytes"] > 0
        and found["log"]["bound"] == 1 << 30
    )
    wait_for(
        lambda: status(cluster)["clients"]["connected"] == before["connected"],
        "the client to be gone",
    )


def test_without_a_router_it_is_said_what_to_do(cluster, place):
    for verb in (["status"], ["move"]):
        code, out, said = stead_rrd(cluster.programs, *verb, place / "none")
        assert (code, out) == (69, "") and said == (
            f"stead-rrd: {place}/none/control: there is no such directory; give "
            "the router's --state directory\n"
        )
    code, _, said = stead_rrd(cluster.programs, "repair", place, "a1")
    assert code == 69 and "no router runs on this directory" in said
    cluster.stop_router(signal.SIGKILL)
    code, _, said = stead_rrd(cluster.programs, "status", cluster.state)
    assert (
        code == 69
        and "the router that ran on this directory has ended: start it again, or wait"
        in said
    )
    # a socket that is left over does not matter, and a router that stops in order
    # leaves none
    cluster.start_router()
    assert stead_rrd(cluster.programs, "status", cluster.state)[0] == 0
    assert stat.S_IMODE((cluster.state / "control").stat().st_mode) == 0o600
    cluster.stop_router()
    assert not (cluster.state / "control").exists()


def scrape(url):
    """Returns the metrics as a strict parser reads them: {(name, labels): value} and
    {family: (type, help, unit)}.
    """
    parser = pytest.importorskip(
        "prometheus_client.openmetrics.parser",
        reason="prometheus-client is not in .venv",
    )
    with urllib.request.urlopen(url, timeout=LIMIT) as answer:
        assert (
            answer.headers["Content-Type"]
            == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        )
        text = answer.read().decode()
    families = list(parser.text_string_to_metric_families(text))
    samples = {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in families
        for s in family.samples
    }
    assert len(samples) == sum(len(family.samples) for family in families), (
        "a sample stands twice"
    )
    return (
        samples,
        {
            family.name: (family.type, family.documentation, family.unit)
            for family in families
        },
        text,
    )


def conventions_broken(families):
    """Returns what breaks the naming conventions of Prometheus, in the way of promtool."""
    broken = []
    for name, (kind, help_text, unit) in families.items():
        if not re.fullmatch(r"stead_rrd_[a-z][a-z0-9_]*", name):
            broken.append((name, "no name of ours"))
        if not help_text or help_text == name:
            broken.append((name, "no help"))
        if re.search(
            r"(?<!_time)_(milliseconds|minutes|hours|kilobytes|mib|gauge|counter|histogram)(_|$)",
            name,
        ):
            broken.append((name, "not a base unit, or its type in its name"))
        if (
            kind == "unknown"
            or (kind != "counter" and name.endswith("_total"))
            or (kind != "histogram" and name.endswith(("_count", "_sum", "_bucket")))
        ):
            broken.append((name, "its suffix is not that of its type"))
        if unit and not name.endswith(unit):
            broken.append((name, "its unit is not in its name"))
    return broken


def test_the_conventions_are_checked():
    good = {"stead_rrd_x_seconds": ("gauge", "Some", "seconds")}
    assert conventions_broken(good) == []
    for name, family in [
        ("other", ("gauge", "Some", "")),
        ("stead_rrd_x", ("gauge", "", "")),
        ("stead_rrd_x_total", ("gauge", "Some", "")),
        ("stead_rrd_x_milliseconds", ("gauge", "Some", "")),
        ("stead_rrd_x", ("gauge", "Some", "bytes")),
        ("stead_rrd_x", ("unknown", "Some", "")),
    ]:
        assert conventions_broken({name: family}), name


def test_metrics_are_what_prometheus_reads(cluster):
    restart(cluster, "--metrics", "127.0.0.1:0")
    (url,) = cluster.router_said(r"metrics at (http://127\.0\.0\.1:\d+/metrics)")
    with Client(cluster.tcp) as client:
        create(client, "a.rrd")
        for i in range(1, 21):
            assert client.ask(f"UPDATE a.rrd {START + i}:1").startswith(b"0 ")
        assert client.ask("UPDATE a.rrd 5:1").startswith(b"-1 ")
        samples, families, text = scrape(url)
    assert conventions_broken(families) == []
    update = (("verb", "update"),)
    assert samples["stead_rrd_requests_total", update] == 21
    assert samples["stead_rrd_request_errors_total", update] == 1
    assert samples["stead_rrd_request_duration_seconds_count", update] == 21
    assert (
        samples["stead_rrd_request_duration_seconds_bucket", (("le", "+Inf"), *update)]
        == 21
    )
    assert samples["stead_rrd_problems", ()] == 0
    for name in cluster.backends:
        assert samples["stead_rrd_backend_up", (("backend", name),)] == 1
    # each value of a.rrd is on two backends, and the refused value was refused by both
    assert (
        sum(
            samples["stead_rrd_backend_writes_total", (("backend", name),)]
            for name in cluster.backends
        )
        == 2 * 22
    )
    assert samples["stead_rrd_log_bound_bytes", ()] == 1 << 30
    page = (ROOT / "docs" / "rrd-operations.md").read_text()
    rows = set(re.findall(r"^\| `(stead_rrd_\w+)", page, re.MULTILINE))
    names = {
        name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")
        for name, _ in samples
    }
    assert names <= rows | {"stead_rrd_request_duration_seconds"}, sorted(names - rows)
    assert (
        # there was neither a move nor a check so far, and there is one router only
        {
            name
            for name in rows
            if not re.match("stead_rrd_(move|check_last|pair)_", name)
        }
        <= names
    ), sorted(rows - names)
    # Check that the parser is strict: it accepts no truncated text, no unknown type, no
    # counter without its suffix, and no histogram that does not add up.
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    for damaged in (
        ("# EOF\n", ""),
        (" gauge\n", " gague\n"),
        ("_total{", "{"),
        ('le="+Inf",verb="update"} 21', 'le="+Inf",verb="update"} 20'),
    ):
        assert damaged[0] in text
        with pytest.raises(ValueError):
            list(parser.text_string_to_metric_families(text.replace(*damaged)))
    cluster.backends["a1"].stop(signal.SIGKILL)
    down = ("stead_rrd_backend_state", (("backend", "a1"), ("state", "down")))
    wait_for(lambda: scrape(url)[0][down] == 1, "the metrics to say that a1 is down")
    assert scrape(url)[0]["stead_rrd_backend_up", (("backend", "a1"),)] == 0


def test_the_rules_alert_on_what_the_table_says():
    """Those of the page, and those that it links to."""
    page = (ROOT / "docs" / "rrd-operations.md").read_text()
    table = dict(
        re.findall(r"^\| `(stead_rrd_\w+)`.*\| *(.*?) *\|$", page, re.MULTILINE)
    )
    increases = {
        name for name, when in table.items() if when.startswith("any increase")
    }
    assert "stead_rrd_backend_late_errors_total" in increases
    (block,) = re.findall("```yaml\ngroups:\n.*?```", page, re.DOTALL)
    examples = (ROOT / "examples" / "alerts.yml").read_text()
    for rules in (block, examples):
        named = set(re.findall(r"stead_rrd_\w+", rules))
        named = {re.sub("_bucket$", "", name) for name in named}
        known = set(table) | {"stead_rrd_request_duration_seconds"}
        assert named <= known, sorted(named - known)
        rising = set(re.findall(r"increase\((stead_rrd_\w+)\[", rules))
        assert rising == increases, sorted(rising ^ increases)
        # a problem that comes and goes has to alert, too
        assert re.findall(r"[^\s'(]*\(?stead_rrd_problems\S*", rules) == [
            "max_over_time(stead_rrd_problems[10m])"
        ], rules


def test_metrics_are_for_this_machine_unless_told_otherwise(cluster, place):
    command = [
        "serve",
        "--map",
        cluster.map,
        "--base",
        place,
        "--state",
        place / "other",
        "--listen",
        f"unix:{place}/other.s",
        "--metrics",
        "0.0.0.0:0",
    ]
    code, _, said = stead_rrd(cluster.programs, *command)
    assert (
        code == 74
        and "--metrics 0.0.0.0:0: not a loopback address" in said
        and "--public" in said
    ), said


def test_log_lines_are_json_when_asked_for(cluster):
    restart(cluster, "--log-format", "json")
    address = cluster.backends["a2"].address
    cluster.backends["a2"].stop(signal.SIGKILL)

    def lines():
        return [
            json.loads(line)
            for line in (cluster.place / "router").read_text().splitlines()
        ]

    (down,) = wait_for(
        lambda: [line for line in lines() if line.get("state") == "down"],
        "the line that says that a2 is down",
    )
    assert (down["level"], down["backend"], down["address"]) == ("WARN", "a2", address)
    assert down["message"] == f"backend a2 ({address}) is down: {down['error']}"
    assert {line["backend"] for line in lines() if line.get("state") == "up"} == set(
        cluster.backends
    )
    assert all(line["timestamp"] for line in lines())


def test_the_journal_gets_levels_and_no_times(cluster):
    """JOURNAL_STREAM names the file that standard error goes to. If it names another
    file, lines look as on a terminal.
    """
    cluster.stop_router()
    said = cluster.place / "router"
    for same, begin in (
        (True, rb"<6>listening on "),
        (False, rb"20\d\d-\S+Z INFO  stead-rrd: listening on "),
    ):
        found = said.stat()
        os.environ["JOURNAL_STREAM"] = (
            f"{found.st_dev}:{found.st_ino if same else found.st_ino + 1}"
        )
        try:
            cluster.start_router()
        finally:
            del os.environ["JOURNAL_STREAM"]
        lines = said.read_bytes().splitlines()
        assert lines and all(
            re.match(rb"<[3467]>\w" if same else rb"20\d\d-", line) for line in lines
        ), lines
        assert re.match(begin, lines[0]), lines
        cluster.stop_router()


def test_a_request_in_hand_is_answered_before_the_end(cluster):
    """Its backends hang while the router is told to stop. It does not exit before they
    have answered, and it accepts no new clients.
    """
    restart(cluster, "--grace", str(LIMIT), "--timeout", str(LIMIT))
    with Client(cluster.tcp) as client, Client(cluster.tcp) as idle:
        create(client, "a.rrd")
        assert idle.ask("PING") == b"0 PONG\n"
        hanging = [
            cluster.backends[name].process.pid
            for name in cluster.located(["a.rrd"])["a.rrd"]
        ]
        newest = status(cluster)["log"]["newest"]
        for pid in hanging:
            os.kill(pid, signal.SIGSTOP)
        try:
            client.send(f"UPDATE a.rrd {START + 60}:5\n")
            wait_for(
                lambda: status(cluster)["log"]["newest"] > newest,
                "the update to be in the log",
            )
            os.kill(cluster.router.pid, signal.SIGTERM)
            # a client that waits for nothing is disconnected
            assert idle.file.read() == b""
            wait_for(lambda: refused(cluster.tcp), "new clients to be refused")
            assert cluster.router.poll() is None
        finally:
            for pid in hanging:
                os.kill(pid, signal.SIGCONT)
        assert client.reply() == b"0 errors, enqueued 1 value(s).\n"
        assert client.file.read() == b""
    assert cluster.router.wait() == 0


def created(cluster, count, rows=100):
    """Makes files of some size, and returns their names."""
    names = [f"host{i:03}/v.rrd" for i in range(count)]
    with Client(cluster.unix) as client:
        for name in names:
            assert (
                client.ask(
                    f"CREATE {name} -b {START} -s 60 DS:v:GAUGE:120:U:U RRA:LAST:0.5:1:{rows}"
                )
                == b"0 RRD created OK\n"
            )
    return names


def test_a_server_is_added_as_the_manual_says(cluster, place):
    names = created(cluster, 40)
    cluster.backends["b3"] = server = Rrdcached(
        place / "b3", f"127.0.0.1:{free_port()}"
    )
    server.start()
    cluster.publish()
    code, page, _ = status_once(
        cluster, lambda _, page: "epoch 1 -> 2" in page, "epoch 2"
    )
    assert (
        code == 1
        and "files have to be moved from epoch 1 to 2, and nothing moves them: run stead-rrd move"
        in page
    ), page
    code, out, said = stead_rrd(cluster.programs, "move", cluster.state)
    assert (code, said) == (0, ""), (code, out, said)
    last = out.splitlines()[-1]
    moved = re.fullmatch(r"move to epoch 2: (\d+) of \1 files?, [\d.]+ \w+: done", last)
    assert (
        moved
        and int(moved[1])
        == sum("b3" in nodes for nodes in cluster.located(names).values())
        > 0
    ), out
    code, page, _ = status_once(cluster, lambda code, _: code == 0, "all to be well")
    assert page.startswith("all is well: 5 backends up\nrrd, epoch 2, ")
    code, out, said = stead_rrd(cluster.programs, "move", cluster.state)
    assert (code, said) == (0, "") and "no file has to move" in out
    code, out, said = stead_rrd(cluster.programs, "repair", cluster.state, "b9")
    assert (code, out) == (75, "") and "b9" in said
    code, out, _ = stead_rrd(cluster.programs, "repair", cluster.state, "b3")
    assert code == 0 and re.search(
        rf"^repair of b3: {moved[1]} of {moved[1]} files?, .*: done$", out, re.MULTILINE
    ), out


def test_a_server_is_retired_as_the_manual_says(cluster):
    names = created(cluster, 20)
    server = cluster.backends["a2"]
    assert any("a2" in nodes for nodes in cluster.located(names).values())

    def apply(*edit):
        """Edits the fleet, and applies it. Returns what that says."""
        fleet, said = cluster.place / "fleet.toml", ""
        for words in (
            ["fleet", edit[0], fleet, edit[1]],
            ["apply", fleet, cluster.map],
        ):
            said = subprocess.run(
                [cluster.programs["stead"], *words],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        return said

    apply("drain", "a2")
    status_once(cluster, lambda _, page: "epoch 1 -> 2" in page, "epoch 2")
    assert stead_rrd(cluster.programs, "move", cluster.state)[0] == 0
    code, out, said = stead_rrd(cluster.programs, "check", cluster.state, "--restart")
    assert (code, said) == (0, "") and "all copies are equal" in out, (out, said)
    # what is left there is seen
    left = server.base / "left.rrd"
    left.write_bytes((cluster.backends["a1"].base / names[0]).read_bytes())
    code, out, _ = stead_rrd(cluster.programs, "check", cluster.state, "--restart")
    assert code == 1 and "left.rrd: only a2 has it" in out, out
    left.unlink()
    assert stead_rrd(cluster.programs, "check", cluster.state, "--restart")[0] == 0
    assert "moves nothing" in apply("remove-node", "a2")
    wait_for(lambda: status(cluster)["epoch"] == 3, "epoch 3 to be taken up")
    server.stop(signal.SIGKILL)
    server.base.rename(server.directory / "gone")
    with Client(cluster.unix) as client:
        for name in names:
            assert client.ask(f"UPDATE {name} {START + 60}:1").startswith(b"0 ")
    now = status(cluster)
    assert [one["name"] for one in now["backends"]] == ["a1", "b1", "b2"]
    # the log keeps nothing for it
    assert " a2\n" not in (cluster.state / "log" / "positions").read_text()
    _, page, _ = status_once(cluster, lambda code, _: code == 0, "all to be well")
    assert page.startswith("all is well: 3 backends up\nrrd, epoch 3, ")


def test_a_map_that_is_not_taken_up_is_told(cluster, place):
    first = cluster.map.read_bytes()
    cluster.backends["a1"].start_agent(cluster.programs)  # no file has to move
    cluster.publish()
    newest = cluster.map.read_bytes()
    status_once(cluster, lambda _, page: "rrd, epoch 2" in page, "epoch 2")

    def told(change, words):
        change()
        why = f"is not taken up, and epoch 2 stays in use: {words}"
        status_once(cluster, lambda code, page: code == 1 and why in page, words)
        code, out, said = stead_rrd(cluster.programs, "move", cluster.state)
        assert (code, out) == (75, "") and words in said, (code, out, said)

    def put(data):
        return lambda: replace(cluster.map, data)

    told(put(first), "epoch 1 is not newer than 2")
    # somebody else has made an epoch 2, too
    cluster.map, ours = place / "twin.map", cluster.map
    cluster.map.write_bytes(first)
    cluster.publish(["a1", "a2", "b1"])
    twin, cluster.map = cluster.map.read_bytes(), ours
    words = "it is another map than the epoch 2 by which the router serves, so two of"
    told(put(twin), words)
    kept = cluster.state / "settled.map"
    gone = "No such file or directory (os error 2); put it back from another host that has it, or"
    told(cluster.map.unlink, f"{cluster.map}: {gone} from {kept}, which is epoch 2")
    told(put(newest[:-1]), str(cluster.map))
    put(newest)()
    status_once(cluster, lambda code, _: code == 0, "all to be well")

    # a router that has served by no map does not begin with an old one
    put(first)()
    ran = refused_at_the_start(cluster, place)
    assert ran.returncode == 65 and "an old map was put back" in ran.stderr, ran


def refused_at_the_start(cluster, place):
    """Starts a router that has served by no map, and returns how it ended."""
    command = [cluster.programs["stead-rrd"], "serve", "--map", cluster.map]
    command += ["--base", place / "db", "--state", place / "new"]
    return subprocess.run(
        [*command, "--listen", f"unix:{place}/new.sock"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def replace(path, data):
    """Puts a file in the place of another, as a whole."""
    new = path.with_name("put")
    new.write_bytes(data)
    new.rename(path)


def added(cluster, place):
    """Starts one more server, which no map has yet."""
    cluster.backends["b3"] = server = Rrdcached(
        place / "b3", f"127.0.0.1:{free_port()}"
    )
    server.start()
    return server


def test_what_a_move_needs_can_be_put_right_while_it_waits(cluster, place):
    names = created(cluster, 40)
    server = added(cluster, place)
    server.files = None  # forgotten in the fleet
    cluster.publish()
    status_once(cluster, lambda _, page: "epoch 1 -> 2" in page, "epoch 2")
    server.files = server.base
    cluster.publish()
    wait_for(lambda: cluster.router_said("epoch 3 waits"), "the router to see it")
    restart(cluster)
    code, out, said = stead_rrd(cluster.programs, "move", cluster.state)
    assert code == 0 and "move to epoch 2" in out, (code, out, said)
    status_once(
        cluster,
        lambda code, page: code == 0 and "rrd, epoch 3, " in page,
        "all to be well in epoch 3",
    )
    assert any("b3" in nodes for nodes in cluster.located(names).values())


def test_two_nodes_at_one_address_are_refused(cluster, place):
    created(cluster, 4)
    server = added(cluster, place)
    server.reached = cluster.backends["a1"].reached
    cluster.publish()
    why = "the nodes a1 and b3 have the same address"
    status_once(cluster, lambda code, page: code == 1 and why in page, why)
    cluster.stop_router()
    ran = refused_at_the_start(cluster, place)
    assert ran.returncode == 78 and why in ran.stderr, ran
    # its files are those of another one
    server.reached, own = server.address, server.files
    server.files = cluster.backends["a1"].files
    cluster.publish()
    ran = refused_at_the_start(cluster, place)
    why = "the nodes a1 and b3 have the same attribute files="
    assert ran.returncode == 78 and why in ran.stderr, ran
    server.files = own
    cluster.publish()
    cluster.start_router()
    status_once(cluster, lambda _, page: "epoch 1 -> 4" in page, "epoch 4")


def test_a_server_does_not_get_another_name(cluster):
    """Its files would be moved onto themselves, and then removed as old copies."""
    made = created(cluster, 4)
    cluster.backends["b9"] = cluster.backends.pop("b2")
    cluster.publish()
    why = "b9 has the attribute rrdcached="
    status_once(cluster, lambda code, page: code == 1 and why in page, why)
    ran = subprocess.run(
        [cluster.programs["stead-rrd"], "move", cluster.state],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 75 and why in ran.stderr, ran
    cluster.backends["b2"] = cluster.backends.pop("b9")
    found = [server.base.rglob("*.rrd") for server in cluster.backends.values()]
    assert sum(len(list(files)) for files in found) == 2 * len(made)


def test_a_server_with_two_names_and_addresses_keeps_its_files(cluster):
    """Nobody can see before the move that they are one. The addresses differ, and the
    path of the files does, too.
    """
    made = created(cluster, 20)
    server = cluster.backends["b2"]
    other = server.directory / "other"
    other.symlink_to(server.base)
    before = server.reached, server.files
    server.reached = server.reached.replace("127.0.0.1", "localhost")
    server.files = other
    cluster.backends["b9"] = cluster.backends.pop("b2")
    cluster.publish()
    status_once(cluster, lambda _, page: "epoch 1 -> 2" in page, "epoch 2")
    ran = subprocess.run(
        [cluster.programs["stead-rrd"], "move", cluster.state],
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    status_once(cluster, lambda code, page: "rrd, epoch 2, " in page, "the move to end")
    cluster.backends["b2"] = cluster.backends.pop("b9")
    server.reached, server.files = before
    found = [server.base.rglob("*.rrd") for server in cluster.backends.values()]
    assert sum(len(list(files)) for files in found) == 2 * len(made), said
    assert cluster.router_said("b2 and b9 are one server"), said


def test_an_rrdcached_and_an_agent_of_two_directories_are_told(cluster, place):
    """A server is replaced, and only one of its two addresses is corrected in the map."""
    restart(cluster, "--flush-after", "1", "--sync-after", "0")
    made = created(cluster, 20)

    def update(second):
        with Client(cluster.unix) as client:
            for name in made:
                said = client.ask(f"UPDATE {name} {START + 60 * second}:{second}")
                assert said.startswith(b"0 "), said

    def flushed():
        return all(b["unflushed_files"] == 0 for b in status(cluster)["backends"])

    update(1)
    wait_for(flushed, "all to be on disk")
    old = cluster.backends["b2"]
    new = Rrdcached(place / "new", f"127.0.0.1:{free_port()}")
    new.files = old.files
    new.start()
    cluster.backends["b2"] = new
    try:
        cluster.publish()
        wait_for(lambda: status(cluster)["epoch"] == 2, "epoch 2")
        update(2)
        words = "are not the same ones: correct the attribute"
        code, page, _ = status_once(
            cluster, lambda _, page: words in page, "the two directories"
        )
        assert code == 1 and f"({new.address})" in page and str(old.files) in page
        for verb, *more in (["check", "--restart"], ["repair", "b2"]):
            code, out, said = stead_rrd(cluster.programs, verb, cluster.state, *more)
            assert code != 0 and words in out + said, (code, out, said)
            assert "all copies are equal" not in out, out
        assert not list(new.base.rglob("*.rrd"))
        new.files = new.base
        cluster.publish()
        wait_for(lambda: status(cluster)["epoch"] == 3, "epoch 3")
        code, out, said = stead_rrd(cluster.programs, "repair", cluster.state, "b2")
        assert code == 0, (code, out, said)
        status_once(cluster, lambda code, _: code == 0, "all to be well")
        places = cluster.located(made)
        here = sorted(name for name in made if "b2" in places[name])
        assert (
            sorted(str(f.relative_to(new.base)) for f in new.base.rglob("*.rrd"))
            == here
        )
        code, out, said = stead_rrd(
            cluster.programs, "check", cluster.state, "--restart"
        )
        assert code == 0 and "all copies are equal" in out, (code, out, said)
    finally:
        old.stop(signal.SIGKILL)


def test_ctrl_c_ends_a_move_and_the_same_goes_on(cluster, place):
    """At 1 MiB a second the files, of 0.8 MB each, take half a minute; the client is
    stopped long before.
    """
    created(cluster, 80, rows=100_000)
    cluster.backends["b3"] = server = Rrdcached(
        place / "b3", f"127.0.0.1:{free_port()}"
    )
    server.start()
    cluster.publish()
    wait_for(lambda: status(cluster)["next_epoch"] == 2, "epoch 2")
    with subprocess.Popen(
        [cluster.programs["stead-rrd"], "move", cluster.state, "--rate", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        wait_for(
            lambda: (status(cluster)["moving"] or {"done": 0})["done"],
            "a file to have moved",
        )
        # another one joins it, and the move goes on when that one dies
        with subprocess.Popen(
            [cluster.programs["stead-rrd"], "move", cluster.state],
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout.readline().startswith("move to epoch 2: ")
            other.kill()
        assert status(cluster)["moving"]["ended"] is False
        client.send_signal(signal.SIGINT)
        out, said = client.communicate()
    assert (
        client.returncode == 130 and "Run the same command again to continue" in said
    ), (
        out,
        said,
    )
    assert out.startswith("move to epoch 2: "), out
    code, page, _ = status_once(
        cluster, lambda _, page: "nothing moves them" in page, "the end of it"
    )
    assert code == 1 and ", epoch 1 -> 2, " in page, page
    # it stays stopped
    cluster.stop_router(signal.SIGKILL)
    cluster.start_router()
    assert not (cluster.state / "moving").exists()
    assert not cluster.router_said("goes on by itself")
    page = status_once(cluster, lambda code, _: code == 1, "the status")[1]
    assert "nothing moves them: run stead-rrd move" in page, page
    code, out, said = stead_rrd(cluster.programs, "move", cluster.state)
    # it continues with what the first run has done
    done = int(re.match(r"move to epoch 2: (\d+) files?, looking for more, ", out)[1])
    files = int(
        re.fullmatch(
            r"move to epoch 2: (\d+) of \1 files, .*: done", out.splitlines()[-1]
        )[1]
    )
    assert (code, said) == (0, "") and 0 < done < files, (code, out, said)
    assert status(cluster)["epoch"] == 2


def unknown_messages(page, sources):
    """Counts the messages in the troubleshooting table, and returns those that the
    program does not have. It compares the longest part of each message without names,
    numbers and dots.
    """
    unknown, count = [], 0
    for line in page.split("## Troubleshooting")[1].splitlines():
        message = re.match(r"\| \w[\w, ]*: `([^`]+)`", line)
        if message:
            count += 1
            part = max(
                re.split(r"\brrd\d|\d+|[()]|\.\.\.|: |; |, |\"", message[1]), key=len
            ).strip()
            if part not in sources:
                unknown.append(part)
    return count, unknown


def test_the_messages_of_the_manual_are_the_programs():
    page = (ROOT / "docs" / "rrd-operations.md").read_text()
    sources = "".join(
        # a string may continue on the next line
        re.sub(r"\\\n *", "", path.read_text())
        for path in (ROOT / "crates" / "stead-rrd" / "src").rglob("*.rs")
    )
    # a long string continues on the next line
    sources = re.sub(r"\\\n\s*", "", sources)
    # messages of rrdcached and of the system
    sources += (
        "illegal attempt to update using time Address already in use Too many open "
        "files"
    )
    count, unknown = unknown_messages(page, sources)
    assert count > 15 and unknown == []
    assert unknown_messages(
        "## Troubleshooting\n| router: `the moon is full (rrd1)` | wait |", sources
    ) == (1, ["the moon is full"])


def test_the_fleet_of_the_manual_is_one(programs, place):
    page = (ROOT / "docs" / "rrd.md").read_text()
    (place / "rrd.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    subprocess.run(
        [programs["stead"], "apply", place / "rrd.toml", place / "rrd.map"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    located = subprocess.run(
        [programs["stead"], "locate", place / "rrd.map", "web1/cpu.rrd"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    file, nodes = located.strip().split("\t")
    assert (
        f"prints `{file}`, a tab and `{nodes}`" in " ".join(page.split())
        and f"{file}: on {nodes.replace(',', ' and ')}" in page
    ), located


def refused(address):
    try:
        with Client(address) as client:
            return client.file.read() == b""
    except ConnectionError:
        return True


def test_an_end_does_not_wait_for_ever(cluster):
    """The control of the test above: without grace, the router exits while the backends
    hang. The client then gets the acknowledgement from the log, or nothing.
    """
    restart(cluster, "--grace", "0", "--timeout", str(LIMIT))
    with Client(cluster.tcp) as client:
        create(client, "a.rrd")
        hanging = [
            cluster.backends[name].process.pid
            for name in cluster.located(["a.rrd"])["a.rrd"]
        ]
        newest = status(cluster)["log"]["newest"]
        for pid in hanging:
            os.kill(pid, signal.SIGSTOP)
        try:
            client.send(f"UPDATE a.rrd {START + 60}:5\n")
            wait_for(
                lambda: status(cluster)["log"]["newest"] > newest,
                "the update to be in the log",
            )
            os.kill(cluster.router.pid, signal.SIGTERM)
            assert cluster.router.wait() == 0
            assert client.file.read() in (b"", b"0 errors, enqueued 1 value(s).\n")
        finally:
            for pid in hanging:
                os.kill(pid, signal.SIGCONT)


def test_systemd_hears_when_clients_can_come_and_when_it_ends(cluster):
    cluster.stop_router()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(cluster.place / "notify"))
        notified.settimeout(LIMIT)
        os.environ["NOTIFY_SOCKET"] = str(cluster.place / "notify")
        try:
            cluster.start_router()
            assert notified.recv(4096).strip() == b"READY=1"
            os.kill(cluster.router.pid, signal.SIGTERM)
            assert notified.recv(4096).strip() == b"STOPPING=1"
            assert cluster.router.wait() == 0
        finally:
            del os.environ["NOTIFY_SOCKET"]


def test_the_units_are_what_systemd_takes(programs, place):
    units.check("stead-rrd*.service", "stead-rrd", programs["stead-rrd"], place)


def options(programs, verb):
    """Returns the long options of a verb, from its help."""
    code, usage, _ = stead_rrd(programs, verb, "--help")
    assert code == 0
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", usage, re.MULTILINE)) - {
        "--help",
        "--version",
    }


def test_a_mistake_on_the_command_line_is_one_line(programs):
    for mistake in ((), ("sevre",), ("serve",), ("status", "--router")):
        code, out, said = stead_rrd(programs, *mistake)
        assert (code, out, said.count("\n")) == (64, "", 1), said
        end = "; see --help\n" if mistake else "`stead-rrd --help` lists them\n"
        assert said.startswith("stead-rrd: ") and said.endswith(end), said


def test_the_manual_has_every_option_and_every_exit_code(programs):
    page = (ROOT / "docs" / "rrd-reference.md").read_text()
    verbs = ("serve", "files", "status", "move", "repair", "check", "promote")
    _, usage, _ = stead_rrd(programs, "--help")
    assert set(
        re.findall(
            r"^  ([a-z]+) ",
            usage.split("Commands:\n")[1].split("\nOptions:")[0],
            re.MULTILINE,
        )
    ) == set(verbs)
    for verb in verbs:
        section = re.search(
            rf"^## stead-rrd {verb}\n(.*?)(?=^##)",
            page + "\n##",
            re.MULTILINE | re.DOTALL,
        )
        assert section, f"docs/rrd-reference.md has no section on stead-rrd {verb}"
        rows = set(re.findall(r"^\| `(--[a-z-]+)", section[1], re.MULTILINE))
        assert rows == options(programs, verb), verb
    codes = set(re.findall(r"^  (\d+) ", usage.split("Exit codes:\n")[1], re.MULTILINE))
    table = page.split("## Exit codes\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| (\d+) +\|", table, re.MULTILINE)) == codes


def test_a_port_in_use_is_said(cluster, place):
    with socket.socket() as taken:
        port = free_port()
        taken.bind(("127.0.0.1", port))
        taken.listen()
        command = [
            "serve",
            "--map",
            cluster.map,
            "--base",
            place,
            "--state",
            place / "other",
            "--listen",
            f"127.0.0.1:{port}",
        ]
        code, _, said = stead_rrd(cluster.programs, *command)
    assert (
        code == 74
        and f"cannot listen on --listen 127.0.0.1:{port}: Address already in use"
        in said
        and "see Ports in docs/rrd-reference.md" in said
    ), said
