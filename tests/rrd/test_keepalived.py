"""A real keepalived with the configuration of the manual makes no two primaries."""

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import rrd_namespaces
from rrd_clients import installed
from rrd_feed import create
from rrd_pair import Load, files_of, judged
from rrd_servers import wait_for

GUIDE = Path(__file__).resolve().parents[2] / "docs/rrd-two-routers.md"
ADDRESS = "10.77.8.1"


def configuration(pair, router, interface):
    """Returns the guide's configuration with the addresses and paths of the test."""
    found = re.search(r"```text\n(vrrp_script .*?)```", GUIDE.read_text(), re.DOTALL)
    text = found[1]
    for old, new in (
        ("/run/stead-rrd/socket", router.unix.removeprefix("unix:")),
        ("interface eth0", f"interface {interface}"),
        ("10.0.0.10/24", f"{ADDRESS}/32"),
        ("/usr/local/bin/stead-rrd", pair.programs["stead-rrd"]),
        ("/var/lib/stead-rrd", router.state),
    ):
        assert old in text, old
        text = text.replace(old, str(new))
    assert "--force" not in text
    # a busy machine can be silent for some seconds, in which the other one would take over
    text = text.replace("priority 100", "priority 100\n    advert_int 4")
    return f"global_defs {{\n    script_user root\n}}\n{text}"


class Keepalived:
    """A context manager: a keepalived beside one of the routers."""

    def __init__(self, pair, router, interface):
        self.pair, self.router = pair, router
        self.place = pair.place / f"keepalived-{router.name}"
        self.place.mkdir()
        (self.place / "conf").write_text(configuration(pair, router, interface))

    def __enter__(self):
        command = [*self.router.prefix, installed("keepalived"), "--dont-fork"]
        command += ["--log-console", "--log-detail", "-f", self.place / "conf"]
        pids = [
            ("-p", "pid"),
            ("-r", "vrrp-pid"),
            ("-c", "check-pid"),
            ("-b", "bfd-pid"),
        ]
        for option, name in pids:
            command += [option, self.place / name]
        with open(self.place / "said", "wb") as said:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def has_address(self):
        """Returns whether its namespace has the virtual address."""
        command = [*self.router.prefix, "ip", "-o", "addr", "show"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        return ADDRESS in shown.stdout

    def said(self):
        return (self.place / "said").read_text(errors="replace")


def test_the_network_between_the_machines_breaks(programs, place, record_property):
    """Both take the address. The standby is promoted, and the old primary is silent."""
    for name in ("keepalived", "nc"):
        if not installed(name) and not shutil.which(name):
            pytest.skip(f"{name} is not installed")
    if why := rrd_namespaces.missing():
        pytest.skip(why)
    with (
        rrd_namespaces.Apart(programs, place) as pair,
        Keepalived(pair, pair.a, "pair") as one,
    ):
        create(pair.a, files_of("a"))
        create(pair.a, files_of("b"))
        # from here on, its priority is higher than that of the other one
        wait_for(lambda: "succeeded" in one.said(), "the check of the primary")
        wait_for(one.has_address, "the primary's machine to have the address")
        with (
            Keepalived(pair, pair.b, "pair") as two,
            Load(pair.a, files_of("a")) as old,
            Load(pair.b, files_of("b")) as new,
        ):
            old.more(300, "updates")
            assert not re.search("[Dd]isabling", one.said() + two.said()), one.said()
            assert not two.has_address(), two.said()
            assert pair.b.status()["pair"]["role"] == "standby"
            pair.cut(pair.a)
            wait_for(two.has_address, "the standby's machine to have the address")
            assert one.has_address(), one.said()
            pair.ready(pair.b)
            new.more(300, "updates through the new primary")
            pair.heal()
            pair.a.is_so("a standby", role="standby", in_sync=True, connected=True)
            wait_for(lambda: not one.has_address(), "one machine with the address")
            new.more(100, "updates with the standby")
            # the first to end: it would take over from the other one
            one.end()
        # the old primary acknowledged nothing after the new one did
        assert old.when[-1] < new.when[0]
        what = "keepalived, A cut off from B"
        assert judged(pair, [old, new], record_property, what) == (0, 0)
