"""TLS as the manual sets it up, with real openssl, stunnel and rrdtool, and what is said
when something is wrong with it.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest
from rrd_feed import create
from rrd_pair import Load, Pair, files_of, judged
from rrd_servers import Client, free_port, wait_for

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rrd-tls.md"
START = 1_700_000_000
CREATE = f"-b {START} -s 60 DS:v:GAUGE:120:U:U RRA:AVERAGE:0.5:1:2000"


def blocks():
    """Returns the commands and settings of the manual's page on TLS, in order."""
    page = PAGE.read_text()
    return re.findall(r"^```(?:sh|ini)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


class Guide:
    """What the manual says, for this machine: its addresses, its directory."""

    def __init__(self, place):
        self.place = place / "tls"
        self.place.mkdir()
        ports = {name: free_port() for name in ("router", "agent", "stunnel", "client")}
        self.addresses = {
            "10.0.0.9:42219": f"127.0.0.1:{ports['router']}",
            "10.0.0.1:42218": f"127.0.0.1:{ports['agent']}",
            "10.0.0.1:42220": f"127.0.0.1:{ports['stunnel']}",
            "accept = 127.0.0.1:42217": f"accept = 127.0.0.1:{ports['client']}",
            "10.0.0.9": "127.0.0.1",
            "10.0.0.1": "127.0.0.1",
            "/etc/stead-rrd/tls": str(self.place),
        }
        self.router = f"127.0.0.1:{ports['router']}"
        self.stunnel = f"127.0.0.1:{ports['stunnel']}"
        self.client = f"127.0.0.1:{ports['client']}"
        self.commands, router, agent, self.server_conf, self.client_conf = map(
            self.here, blocks()
        )
        self.serve = self.variables(router)["OPTIONS"]
        self.agent = self.variables(agent)
        self.processes = []
        self.run(self.commands)

    def here(self, text):
        for theirs, ours in self.addresses.items():
            text = text.replace(theirs, ours)
        return text

    @staticmethod
    def variables(text):
        """Reads a file of variables as systemd does."""
        pairs = (line.split("=", 1) for line in text.splitlines())
        return {name: shlex.split(shlex.split(value)[0]) for name, value in pairs}

    def run(self, commands, **more):
        """Runs commands in the directory of the certificates."""
        done = subprocess.run(
            ["sh", "-euc", commands],
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
            **more,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def certificate(self, name, addresses, uses="clientAuth", days=825, ca="ca"):
        """Makes one more certificate, by the command of the manual."""
        function = self.commands[self.commands.index("certificate()") :]
        function = function[: function.index("\n}\n") + 3]
        function = function.replace("-days 825", f"-days {days}")
        function = function.replace("ca.pem -CAkey ca.key", f"{ca}.pem -CAkey {ca}.key")
        self.run(f"{function}certificate {name} {addresses} {uses}")

    def other_ca(self, name):
        made = self.commands.splitlines()[1].replace("ca.key", f"{name}.key")
        self.run(made.replace("ca.pem", f"{name}.pem"))

    def start_stunnel(self, conf, address):
        """Starts a stunnel with a configuration of the manual."""
        file = self.place / f"stunnel{len(self.processes)}"
        file.write_text(f"foreground = yes\npid =\n{conf}")
        with open(f"{file}.said", "wb") as said:
            self.processes.append(
                subprocess.Popen(
                    ["stunnel4", file],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )
            )

        def listens():
            assert self.processes[-1].poll() is None, Path(f"{file}.said").read_text()
            with socket.socket() as tried:
                host, port = address.split(":")
                return tried.connect_ex((host, int(port))) == 0

        wait_for(listens, "stunnel to listen")

    def context(self, name=None, ca="ca"):
        """Returns the client's side, with this certificate or with none."""
        context = ssl.create_default_context(cafile=self.place / f"{ca}.pem")
        # the default from Python 3.13 on
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        if name:
            context.load_cert_chain(
                self.place / f"{name}.pem", self.place / f"{name}.key"
            )
        return context

    def stop(self):
        for process in self.processes:
            process.terminate()
            process.wait()


@pytest.fixture
def guide(place):
    for name in ("openssl", "stunnel4"):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    made = Guide(place)
    yield made
    made.stop()


class TlsClient(Client):
    """A client that speaks TLS itself."""

    def __init__(self, guide, name="web1", ca="ca", address=None):
        host, port = (address or guide.router).split(":")
        plain = socket.create_connection((host, int(port)), 120)
        self.socket = guide.context(name, ca).wrap_socket(plain, server_hostname=host)
        self.file = self.socket.makefile("rb")


def start_router(cluster, guide, *options):
    cluster.stop_router()
    cluster.start_router(*guide.serve, *options)


def rrdtool(*arguments):
    done = subprocess.run(
        ["rrdtool", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def hops(cluster, guide):
    """Puts TLS between the router and one of its servers, as the manual does."""
    server = cluster.backends["a1"]
    conf = guide.server_conf.replace(
        "connect = 127.0.0.1:42217", f"connect = {server.address}"
    )
    guide.start_stunnel(conf, guide.stunnel)
    server.reached = f"tls:{guide.stunnel}"
    server.start_agent(
        cluster.programs, guide.agent["LISTEN"][0], guide.agent["OPTIONS"]
    )
    assert server.files.startswith("tls:")
    cluster.stop_router()
    cluster.publish()


def test_the_guide_works_with_rrdtool_and_every_hop(cluster, guide, dump):
    hops(cluster, guide)
    start_router(cluster, guide)
    guide.start_stunnel(guide.client_conf, guide.client)
    names = [f"host{number}/v.rrd" for number in range(12)]
    at_a1 = [name for name, nodes in cluster.located(names).items() if "a1" in nodes]
    assert 0 < len(at_a1) < len(names)
    values = [f"{START + 60 * step}:{step}" for step in range(1, 1500)]
    for name in names:
        rrdtool("create", name, "--daemon", guide.client, *CREATE.split())
        for at in range(0, len(values), 200):
            rrdtool("update", "--daemon", guide.client, name, *values[at : at + 200])
        asked = ["AVERAGE", "-s", START, "-e", START + 60 * 1500]
        said = rrdtool("fetch", name, *asked, "--daemon", guide.client)
        assert said.count("\n") > 1500 and "1.4986666667e+03" in said
        assert said == rrdtool("fetch", name, *asked, "--daemon", cluster.tcp)
    # past the router nobody gets to rrdcached, even with a certificate
    with TlsClient(guide, "router", address=guide.stunnel) as client:
        assert client.ask("PING") == b"0 PONG\n"
    with (
        pytest.raises((OSError, AssertionError)),
        TlsClient(guide, "web1", address=guide.stunnel) as client,
    ):
        client.ask("PING")
    # what an agent behind TLS gets is what the other server has
    base = cluster.backends["a1"].base
    with Client(cluster.unix) as client:
        for name in names:
            assert client.ask(f"FLUSH {name}").startswith(b"0 ")
    whole = {name: dump(base / name) for name in at_a1}
    for name in at_a1:
        (base / name).unlink()
    repaired = subprocess.run(
        [cluster.programs["stead-rrd"], "repair", cluster.state, "a1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert repaired.returncode == 0 and ": done" in repaired.stdout, repaired
    assert {name: dump(base / name) for name in at_a1} == whole
    assert cluster.router_said("is refused") == []


def test_plain_and_tls_listeners_have_rights_of_their_own(cluster, guide):
    cluster.stop_router()
    cluster.start_router(*guide.serve[:2], "--allow", "PING,BATCH", *guide.serve[2:])
    with TlsClient(guide) as some, Client(cluster.unix) as all_of_it:
        assert some.ask("PING") == b"0 PONG\n"
        assert some.ask("STATS").startswith(b"-1 Permission denied")
        assert b"Statistics" in all_of_it.ask("STATS")
        # a large answer and a request in pieces
        some.send("BATCH\n")
        assert some.reply().startswith(b"0 Go ahead")
        for _ in range(50):
            some.send("nothing of that kind\n" * 1000)
        some.send(".")
        some.send("\n")
        assert some.reply().count(b"\n") == 50_001
        # the end is said, so that the other side knows that nothing is missing
        some.send("QUIT\n")
        assert some.file.read() == b""


@pytest.mark.parametrize(
    "what, at_router",
    [
        ("no certificate", "it shows no certificate; give it one that the CA of"),
        ("expired", "its certificate has expired; make a new one"),
        ("another CA", "its certificate is of another CA; give it one"),
        ("of a server", "its certificate is not made for this side"),
        ("another name", "its certificate is for no name of --tls-clients"),
        ("plain", "it does not speak TLS; give it TLS, or use an address without"),
        ("nothing", "TLS|eof"),
    ],
)
def test_a_stranger_is_refused_and_named(cluster, guide, what, at_router):
    start_router(cluster, guide, "--tls-clients", "web1.example,192.0.2.7")
    guide.other_ca("other")
    guide.certificate("old", "DNS:web1.example", days=0)
    guide.certificate("strange", "DNS:web1.example", ca="other")
    guide.certificate("server", "DNS:web1.example", "serverAuth")
    guide.certificate("web2", "DNS:web2.example")
    guide.certificate("by-address", "IP:192.0.2.7")
    time.sleep(1.1)  # the certificate of no days is valid for this second
    names = {
        "no certificate": None,
        "expired": "old",
        "another CA": "strange",
        "of a server": "server",
        "another name": "web2",
    }
    host, port = guide.router.split(":")

    def tried():
        try:
            if what in names:
                with TlsClient(guide, names[what]) as client:
                    return client.ask("PING")
            with socket.create_connection((host, int(port)), 120) as plain:
                plain.sendall(b"PING\n" if what == "plain" else b"")
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(4096):
                    pass
        except (OSError, AssertionError):
            pass
        return None

    for _ in range(30):
        assert tried() is None
    said = wait_for(
        lambda: cluster.router_said(r"a client at .*"), "the router to say so"
    )
    done = subprocess.run(
        [cluster.programs["stead-rrd"], "status", cluster.state, "--json"],
        stdout=subprocess.PIPE,
        check=False,
    )
    assert json.loads(done.stdout)["clients"]["refused"] > 25, done
    # one message for all of them, or two on a slow machine
    assert len(said) < 10, said
    assert said[0].startswith("a client at 127.0.0.1 is refused: "), said
    assert re.search(at_router, said[0]), said
    for name in ("web1", "by-address"):
        with TlsClient(guide, name) as client:
            assert client.ask("PING") == b"0 PONG\n"


def test_tls_on_a_plain_port_and_the_reverse_is_said(cluster, guide):
    start_router(cluster, guide)
    host, port = cluster.tcp.split(":")
    for _ in range(5):
        with (
            socket.create_connection((host, int(port)), 120) as plain,
            pytest.raises(OSError, match=r"EOF|reset|SSL"),
        ):
            guide.context("web1").wrap_socket(plain, server_hostname=host)
    said = cluster.router_said(r"a client at \S+ speaks TLS.*")
    assert len(said) == 1 and "the address of a --listen tls:" in said[0], said
    # a plain agent behind tls:, and an agent with TLS behind a plain address
    server = cluster.backends["a1"]
    name = next(
        name
        for name in (f"h{number}/v.rrd" for number in range(99))
        if "a1" in cluster.located([name])[name]
    )
    with Client(cluster.unix) as client:
        assert client.ask(f"CREATE {name} {CREATE}").startswith(b"0 ")

    taken, known = 0, None

    def repair(listen, options, fleet):
        """Repairs the server by an agent that listens so, and whose address is so in
        the fleet.
        """
        nonlocal taken, known
        server.start_agent(cluster.programs, listen, options)
        if fleet != known:
            server.files = known = fleet
            cluster.publish()
            taken += 1
        wait_for(
            lambda: len(cluster.router_said("no file has to move")) == taken,
            "the address to be known",
        )
        done = subprocess.run(
            [cluster.programs["stead-rrd"], "repair", cluster.state, "a1"],
            capture_output=True,
            text=True,
            check=False,
        )
        server.stop_agent()
        return done.stdout

    address = guide.agent["LISTEN"][0].removeprefix("tls:")
    options = guide.agent["OPTIONS"]
    said = repair(address, [], f"tls:{address}")
    assert "it does not speak TLS; give it TLS, or use an address without" in said, said
    said = repair(f"tls:{address}", options, f"tls:{address}")
    assert ": done" in said, said
    # an agent that lets in another router only
    options[-1] = "router2.example"
    said = repair(f"tls:{address}", options, f"tls:{address}")
    assert ": done" not in said, said
    assert server.agent_said("its certificate is for no name of --tls-clients") == 1
    options[-1] = "router.example"
    # by a name that the certificate does not have
    said = repair(f"tls:{address}", options, f"tls:localhost:{address.split(':')[1]}")
    assert "certificate is for rrd1.example, 127.0.0.1, not for localhost" in said, said
    said = repair(f"tls:{address}", options, address)
    assert "it speaks TLS; write tls: before its address in the fleet" in said, said


def test_certificates_are_loaded_again_on_sighup(cluster, guide):
    start_router(cluster, guide)
    guide.other_ca("new")
    with TlsClient(guide) as old:
        assert old.ask("PING") == b"0 PONG\n"
        # a mistake: the key of another certificate
        key = (guide.place / "router.key").read_bytes()
        (guide.place / "router.key").write_bytes(
            (guide.place / "web1.key").read_bytes()
        )
        os.kill(cluster.router.pid, signal.SIGHUP)
        wait_for(
            lambda: cluster.router_said(
                r"--tls-key \S+: not the key of --tls-cert \S+; the certificates from "
                "before stay in use"
            ),
            "the mistake to be said",
        )
        with TlsClient(guide) as client:
            assert client.ask("PING") == b"0 PONG\n"
        (guide.place / "router.key").write_bytes(key)
        # a new CA beside the old one, then alone
        guide.run("cat new.pem >> ca.pem; cp ca.pem both.pem")
        guide.certificate("web3", "DNS:web3.example", ca="new")
        for count, refused in ((1, None), (2, "web1")):
            os.kill(cluster.router.pid, signal.SIGHUP)
            wait_for(
                lambda count=count: (
                    len(cluster.router_said("--tls-ca are loaded again")) == count
                ),
                "the certificates to be loaded",
            )
            for name in ("web1", "web3"):
                if name == refused:
                    with pytest.raises((OSError, AssertionError)):
                        TlsClient(guide, name, "both").ask("PING")
                    continue
                with TlsClient(guide, name, "both") as client:
                    assert client.ask("PING") == b"0 PONG\n"
            guide.run("cp new.pem ca.pem")
        # who is connected stays
        assert old.ask("PING") == b"0 PONG\n"


@pytest.mark.parametrize("verb", ["serve", "files"])
def test_a_mistake_in_the_options_is_said_in_one_line(programs, place, guide, verb):
    address = f"127.0.0.1:{free_port()}"
    options = {
        "--tls-cert": "router.pem",
        "--tls-key": "router.key",
        "--tls-ca": "ca.pem",
    }
    base = [programs["stead-rrd"], verb, "--base", place, "--listen", f"tls:{address}"]
    if verb == "serve":
        base += ["--map", place / "no.map", "--state", place / "state"]
    (guide.place / "text").write_text("nothing\n")
    for change, code, text in (
        (
            dict.fromkeys(options),
            64,
            "needs --tls-cert, --tls-key and --tls-ca as well",
        ),
        ({"--tls-ca": None}, 64, "--tls-ca <FILE>"),
        ({"--tls-key": "missing"}, 74, "missing: No such file or directory"),
        ({"--tls-key": "web1.key"}, 74, "web1.key: not the key of --tls-cert "),
        ({"--tls-cert": "text"}, 74, "text: it does not contain a certificate in PEM"),
        ({"--tls-clients": "a b"}, 74, '"a b": not a host name or an IP address'),
    ):
        words = [
            word
            for name, file in {**options, **change}.items()
            if file
            for word in (name, file if name == "--tls-clients" else guide.place / file)
        ]
        done = subprocess.run(
            [*base, *words], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == code and text in done.stderr, (change, done)
        assert code == 64 or done.stderr.count("\n") == 1, done.stderr


def test_two_routers_speak_tls(guide, programs, place, record_property):
    """The log and the state go over TLS, and a router without a certificate of the CA is
    no standby.
    """
    pair = Pair(programs, place)
    ports = free_port(), free_port()
    here, there = (f"tls:127.0.0.1:{port}" for port in ports)
    pair.a.addresses, pair.b.addresses = (there, here), (here, there)
    at = guide.serve.index("--tls-cert")
    pair.options += [*guide.serve[at:], "--tls-clients", "router.example"]
    with pair:
        create(pair.a, files_of("a"))
        with Load(pair.a, files_of("a")) as load:
            load.more(300, "updates")
            pair.a.kill()
        code, said = pair.b.promote()
        assert code == 0 and "promoted" in said, said
        pair.ready(pair.b)
        create(pair.b, files_of("b"))
        with Load(pair.b, files_of("b")) as later:
            later.more(300, "updates of the new primary")
        found = judged(pair, [load, later], record_property, "A killed, over TLS")
        assert found == (0, 0)
        pair.a.start()
        pair.a.is_so("in sync", role="standby", in_sync=True, connected=True)
        # somebody with a certificate that is not a router's
        guide.certificate("other", "DNS:other.example", "clientAuth")
        with (
            pytest.raises((OSError, AssertionError)),
            TlsClient(guide, "other", address=f"127.0.0.1:{ports[1]}") as stranger,
        ):
            stranger.ask("PING")
        wait_for(
            lambda: pair.b.said(r"a client at 127\.\S+ is refused: .*"), "the refusal"
        )
