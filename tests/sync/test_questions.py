"""What docs/faq.md says of jobs that plan and apply, and of programs that open a map and not
a pair, is so: its blocks are run, and its commands find what they are said to find.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faq.md"


def blocks(heading):
    """Returns the shell blocks below a heading of the page."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split(f"\n### {heading}\n")[1].split("\n##")[0]
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


class Machine:
    """A directory in which commands run as a job would run them."""

    def __init__(self, programs, home, hub):
        self.home = home
        self.home.mkdir()
        path = f"{os.path.dirname(programs['stead'])}:{os.environ['PATH']}"
        self.env = dict(os.environ, PATH=path, HUB=f"file://{hub}")

    def run(self, lines):
        """Runs lines until one fails. Returns the exit code and what was said."""
        done = subprocess.run(
            ["sh", "-ec", lines],
            cwd=self.home,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def does(self, lines):
        code, said = self.run(lines)
        assert code == 0, said
        return said


@pytest.fixture
def machines(programs, place):
    """Returns an operator's machine with a map at the hub, and two for the jobs."""
    hub = place / "hub" / "members.map"
    hub.parent.mkdir()
    found = [
        Machine(programs, place / name, hub) for name in ("ops", "review", "merge")
    ]
    found[0].does(
        'printf \'name = "members"\\n[[node]]\\nname = "a"\\n[[node]]\\nname = "b"\\n\' > fleet.toml\n'
        "stead apply fleet.toml members.map; stead-sync push members.map $HUB"
    )
    return found


def test_a_job_plans_and_another_one_applies_exactly_that(machines):
    ops, review, merge = machines
    plan, apply = blocks("Where do I keep the fleet file, and can CI apply it?")
    review.does(f"cp {ops.home}/fleet.toml . && stead fleet add-node fleet.toml c")
    review.does(plan)
    merge.does(f"cp {review.home}/change.plan .")
    assert "epoch 1 -> 2" in merge.does(apply)
    # the job once more
    assert "carried out already" in merge.does(apply)
    assert "epoch 2" in ops.does("stead-sync status $HUB")


def test_a_plan_is_refused_when_another_change_came_first(machines):
    ops, review, merge = machines
    plan, apply = blocks("Where do I keep the fleet file, and can CI apply it?")
    review.does(f"cp {ops.home}/fleet.toml . && stead fleet add-node fleet.toml c")
    review.does(plan)
    ops.does(
        "stead fleet add-node fleet.toml d; stead apply fleet.toml members.map\n"
        "stead-sync push members.map $HUB"
    )
    merge.does(f"cp {review.home}/change.plan .")
    code, said = merge.run(apply)
    assert code == 75 and "plan again" in said


def test_plan_exits_with_78_for_a_mistake_and_names_what_apply_refuses(machines):
    ops = machines[0]
    ops.does("sed '1i wieght = 1' fleet.toml > wrong.toml")
    assert ops.run("stead plan wrong.toml members.map")[0] == 78
    ops.does(
        "(head -n 1 fleet.toml; printf '[guard]\\nmove = \"1%%\"\\n'; tail -n +2 fleet.toml) > tight.toml\n"
        "stead fleet add-node tight.toml c"
    )
    said = ops.does("stead plan tight.toml members.map -o change.plan")
    assert "apply refuses" in said.splitlines()[-1]
    assert '"guards"' in ops.does("stead plan tight.toml members.map --json")
    assert '"guards"' not in ops.does("stead plan fleet.toml members.map --json")


def test_few_keys_show_which_program_asks_the_new_map_alone(machines):
    ops = machines[0]
    ops.does("mkdir a b c; stead fleet add-node fleet.toml c")
    (ops.home / "carry.toml").write_text(
        f'map = "members.map"\nurl = "{ops.env["HUB"]}"\ngrace = 1\n'
        f'[files]\nroot = "{ops.home}/{{node}}"\npattern = "{{key}}"\n'
    )
    ops.does(
        "seq 1000 | stead locate members.map | while read -r key node; do\n"
        "    echo old > $node/$key\n"
        "done\n"
        "stead apply --carry --max-move 1% fleet.toml members.map\n"
        "stead-sync carry run --until both_old_first carry.toml"
    )
    assert ops.run("stead-sync carry ahead carry.toml 2> /dev/null") == (0, "")
    # a program that asks the map, as `locate` does without --carry, writes what is new
    ops.does(
        "seq 1001 3000 | stead locate members.map 2> /dev/null > places\n"
        "awk '$2 == \"c\" { print $1 }' places > forgotten\n"
        "for key in $(cat forgotten); do echo new > c/$key; done"
    )
    forgotten = (ops.home / "forgotten").read_text().split()
    assert forgotten
    code, said = ops.run("stead-sync carry ahead carry.toml 2> /dev/null")
    listed = [line.split("\t") for line in said.splitlines()]
    assert code == 1
    assert sorted(item for item, *_ in listed) == sorted(forgotten)
    assert {tuple(rest[1:]) for _, *rest in listed} == {("c", "only_new")}
