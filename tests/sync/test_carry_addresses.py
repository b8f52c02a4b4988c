"""Nodes that come to another address while a run carries: it goes on there, and nowhere else."""

import shutil
import time

import pytest
from carry_site import PATTERN, Carry, local
from carry_sql import ALL, SqlCarry, needed
from sync_servers import wait_for

KEYS = [f"key{n:03}" for n in range(120)]
LIMITS = "items_per_second = 8\ntries = 100\n"


def ended(run):
    """Waits for a run; it has to succeed."""
    try:
        out, err = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, (out, err)
    return err


def test_a_run_at_work_follows_a_root_that_moves(programs, place):
    roots = {}
    root = lambda node: roots.get(node, place / "nodes" / node)
    lines = lambda node: f"attributes = {{ mount = '{root(node)}' }}\n"
    with local(programs, place) as site:
        carry = Carry(site, KEYS, attributes=lines)
        kind = f"[files]\nroot = '{{mount}}'\npattern = '{PATTERN}'\n"
        carry.write_file(kind=kind, limits=LIMITS)
        carry.fill()
        carry.begin("a", "b", "c", "d")
        run = carry.start_run()
        files = lambda node: {path.name for path in root(node).glob("??/key*")}
        wait_for(lambda: len(files("d")) > 5, "copies at d")
        # what is copied there from now on is not at the new root
        own = shutil.ignore_patterns(".stead-carry*")
        shutil.copytree(root("d"), place / "elsewhere", ignore=own)
        roots["d"] = place / "elsewhere"
        assert len(files("d")) < len(KEYS) / 6
        carry.anna.apply(*carry.nodes, attributes=lines)
        assert "the map is another one now; I go on with that" in ended(run)
        assert carry.state() is None
        for node in carry.nodes:
            assert files(node) == {key for key in KEYS if carry.home(key) == node}
        assert len(files("d")) > len(KEYS) / 6


@pytest.mark.parametrize("during", ["a pass", "the first look"])
def test_a_run_at_work_follows_a_server_that_moves(programs, place, during):
    needed("postgresql")
    address = lambda node: carry.moved.get(node, f"{place}/nodes/{node}")
    dsn = lambda node: f"host={address(node)} user=owner dbname=postgres"
    lines = lambda node: f"attributes = {{ dsn = '{dsn(node)}' }}\n"
    with (
        local(programs, place) as site,
        SqlCarry(site, "postgresql", KEYS, ("a", "b")) as carry,
    ):
        carry.attributes = lines
        carry.anna.apply("a", "b", attributes=lines)
        carry.fill()
        carry.begin(*ALL)
        # the newest limits are at the end of the file
        carry.file_with([("members", "member")], connection="'{dsn}'")
        carry.file.write_text(carry.file.read_text() + LIMITS)
        if during == "a pass":
            run = carry.start_run()
            wait_for(
                lambda: any("c" in at for at in carry.copies().values()), "rows at c"
            )
        for node in ("c", "a"):
            carry.move_server(node)
        if during == "the first look":
            run = carry.start_run()
            time.sleep(1)
            assert run.poll() is None
        carry.anna.apply(*ALL, attributes=lines)
        ended(run)
        assert carry.state() is None
        there = {key: list(nodes) for key, nodes in carry.copies().items()}
        assert there == {key: [carry.home(key)] for key in KEYS}
        assert {node for nodes in there.values() for node in nodes} == set(ALL)
