"""The program of docs/carry-servers.md that reads and writes rows by both maps, run as it is
printed, in each state of a carry in real PostgreSQL.
"""

import contextlib
import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from carry_site import local
from carry_sql import ALL, SqlCarry, needed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "carry-servers.md"
# the Python that has psycopg2
PYTHON = "/usr/bin/python3"
KEYS = [f"key{n:03}" for n in range(40)]
STATES = ("old", "both_old_first", "both_new_first", "new", None)

# writes and deletes by a name of the state, and says what is read before and afterwards
WORK = """
import json, sys
state, keys = sys.argv[1], sys.argv[2:]
before = {key: read(key) for key in keys}
for number, key in enumerate(keys):
    if number % 4 == 1:
        delete(key)
    elif number % 4 > 1:
        change(key, f"{key} {state}")
print(json.dumps([before, {key: read(key) for key in keys}]))
"""


def printed():
    """Returns the program."""
    section = PAGE.read_text().split("\n#### Rows in Python\n")[1]
    return re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture
def python(place):
    """Returns the environment in which the system's Python finds stead."""
    have = [PYTHON, "-c", "import psycopg2"]
    if subprocess.run(have, capture_output=True, check=False).returncode:
        pytest.skip("the system's Python has no psycopg2")
    (place / "python").mkdir()
    module = importlib.util.find_spec("stead").submodule_search_locations[0]
    (place / "python" / "stead").symlink_to(module)
    return dict(os.environ, PYTHONPATH=str(place / "python"))


@contextlib.contextmanager
def begun(programs, place):
    """A carry of rows, whose nodes say where their databases are."""
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
        carry.file_with([("members", "member")], connection="'{dsn}'")
        yield carry


def test_while_rows_are_copied_a_dead_old_server_is_no_miss(programs, place, python):
    program = place / "program.py"
    program.write_text(printed() + "import sys\nprint(read(sys.argv[1]))\n")
    with begun(programs, place) as carry:
        assert carry.run("--until", "both_old_first").returncode == 0
        moving, (old, new) = next(iter(carry.both_homes().items()))
        read = lambda: subprocess.run(
            [PYTHON, program, moving],
            cwd=carry.anna.map.parent,
            env=python,
            capture_output=True,
            text=True,
            check=False,
        )
        # as before it is copied
        carry.at(new)(f"DELETE FROM members WHERE member = '{moving}'")
        assert f"{moving} first" in read().stdout
        carry.kill_server(old)
        found = read()
        assert (found.returncode, found.stdout) == (1, ""), found
        assert "OperationalError" in found.stderr
        carry.start_server(old)


def test_the_program_of_the_page_misses_no_row_in_any_state(programs, place, python):
    program = place / "program.py"
    program.write_text(printed() + WORK)
    with begun(programs, place) as carry:
        due = {key: [f"{key} first"] for key in KEYS}
        for state in STATES:
            done = carry.run("--until", state) if state else carry.run()
            assert done.returncode == 0, done.stderr
            assert carry.state() == state
            worked = subprocess.run(
                [PYTHON, program, str(state), *KEYS],
                cwd=carry.anna.map.parent,
                env=python,
                capture_output=True,
                text=True,
                check=False,
            )
            assert worked.returncode == 0, worked.stderr
            before, after = json.loads(worked.stdout)
            assert before == due, state
            for number, key in enumerate(KEYS):
                if number % 4:
                    due[key] = None if number % 4 == 1 else [f"{key} {state}"]
            assert after == due, state
        there = {key: list(nodes) for key, nodes in carry.copies().items()}
        rows = {key for key, row in due.items() if row}
        assert there == {key: [carry.home(key)] for key in rows}
        assert {node for nodes in there.values() for node in nodes} == set(ALL)


@pytest.mark.parametrize(
    ("state", "back"),
    [(state, False) for state in STATES[:4]] + [(state, True) for state in STATES[:3]],
)
def test_servers_move_to_other_addresses_while_a_carry_is_open(
    programs, place, python, state, back
):
    program = place / "program.py"
    program.write_text(printed() + WORK)
    with begun(programs, place) as carry:
        due = {key: [f"{key} first"] for key in KEYS}
        read = lambda: json.loads(
            subprocess.run(
                [PYTHON, program, state, *KEYS],
                cwd=carry.anna.map.parent,
                env=python,
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
        )
        assert carry.run("--until", state).returncode == 0
        # an old server, and the new one
        for node in ("a", "c"):
            carry.move_server(node)
        done = carry.run()
        assert (done.returncode, carry.state()) == (66, state), done
        assert "if it is at another address, " in done.stderr, done.stderr
        assert carry.state() == state
        if back:
            # to go back is no reason to forget where servers are
            assert carry.anna.site.sync("carry", "reverse", carry.file).returncode == 0
        told = carry.anna.apply(*ALL, attributes=carry.attributes).stdout
        assert "moves nothing" in told and 'node c dsn "' in told, told
        before, after = read()
        assert before == due, state
        done = carry.run()
        assert (done.returncode, carry.state()) == (0, None), done.stderr
        assert read()[0] == after
        there = {key: list(nodes) for key, nodes in carry.copies().items()}
        assert there == {key: [carry.home(key)] for key, row in after.items() if row}
        used = {node for nodes in there.values() for node in nodes}
        assert used == set("ab" if back else ALL)
