"""Databases on three nodes, whose tables each test makes as it needs them."""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path

import places
import pytest
from carry_servers import KINDS, ServerCarry, program
from sync_site import Site


def needed(kind):
    missing = [name for name in KINDS[kind].needs if not program(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} are not installed")


class SqlCarry(ServerCarry):
    """Databases on three nodes, and a carry that has begun and has not moved anything."""

    def file_with(self, tables, **more):
        """Writes the file of the carry with these tables and settings."""
        name = "postgresql" if self.is_postgresql else "mariadb"
        connection = re.search(
            r"^connection = .*", self.kind.file(self.roots), re.MULTILINE
        )
        connection = more.pop("connection", connection[0].removeprefix("connection = "))
        listed = ", ".join(f"{{ table = '{t}', key = '{k}' }}" for t, k in tables)
        lines = [f"[{name}]", f"connection = {connection}", f"tables = [{listed}]"]
        lines += [f"{key} = {value}" for key, value in more.items()]
        super(ServerCarry, self).write_file(kind="\n".join(lines))

    @property
    def is_postgresql(self):
        return "psql" in self.kind.needs

    def at(self, *nodes):
        """Runs statements of the owner at nodes."""

        def run(*statements):
            for node in nodes:
                with contextlib.closing(self.connect(node)) as client:
                    for statement in statements:
                        client.run(statement)

        return run

    def to(self):
        """The user of the carry, as GRANT writes it."""
        return "carry" if self.is_postgresql else "carry@localhost"

    @contextlib.contextmanager
    def changed(self, nodes, statements, undo):
        """Other tables at nodes, and at the end the ones of before."""
        self.at(*nodes)(*statements)
        try:
            yield
        finally:
            self.at(*nodes)(*undo)
            self.file_with([("members", "member")])

    def both_homes(self):
        """{key: (where it is, where it goes)} of the keys that move."""
        found = {key: next(iter(nodes)) for key, nodes in self.copies().items()}
        pairs = {key: (node, self.home(key)) for key, node in found.items()}
        return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}

    def refused(self, *parts):
        """Checks that nothing begins, with or without --dry-run, and why. Returns what is
        said with it.
        """
        for options in ((), ("--dry-run",)):
            done = self.run(*options)
            assert done.returncode == 66, (done.returncode, done.stderr)
            assert all(part in done.stderr for part in parts), done.stderr
            assert len(done.stderr.splitlines()) == 1, done.stderr
        assert self.state() == "old"
        return done.stderr

    def tied(self, *parts):
        """Checks that rows of other keys are found before anything moves."""
        for options in ((), ("--dry-run",)):
            done = self.run(*options)
            assert done.returncode == 66, (done.returncode, done.stderr)
            last = done.stderr.splitlines()[-1]
            assert all(part in last for part in parts), done.stderr
        assert self.state() == "old"

    def goes(self):
        """Checks that the carry could begin. Returns what is said."""
        done = self.run("--dry-run")
        assert done.returncode == 0, done.stderr
        return done.stdout


KEYS = [f"key{n:03}" for n in range(40)]

ALL = ("a", "b", "c")


@contextlib.contextmanager
def begun(programs, kind):
    """A carry from two nodes to three that has begun, and has moved nothing."""
    needed(kind)
    place = Path(tempfile.mkdtemp(prefix="stead-sql-", dir=places.short()))
    (place / "shared").mkdir()
    site = Site(programs, place, f"file://{place}/shared/members.map")
    with site, SqlCarry(site, kind, KEYS, ("a", "b")) as made:
        made.fill()
        made.begin(*ALL)
        made.file_with([("members", "member")])
        yield made
    shutil.rmtree(place, ignore_errors=True)
