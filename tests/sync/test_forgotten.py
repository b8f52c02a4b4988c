"""A change of weights was pushed without `--carry`, with two copies of each key, and taken back.
The lines of docs/wrong-places.md tell what was written meanwhile from what was deleted since.
"""

import re
import subprocess
from pathlib import Path

from carry_site import Carry, local

PAGE = Path(__file__).resolve().parents[2] / "docs" / "wrong-places.md"
KEYS = [f"key{n:03}" for n in range(200)]
NODES = ("nas1", "nas2", "nas3")
WEIGHTS = {"nas3": "weight = 3\n"}


def printed():
    """Returns the line that lists what each node has, and the loop."""
    section = PAGE.read_text().split("\n### The change was pushed\n")[1]
    first, loop = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[
        :2
    ]
    (listing,) = re.findall(r"^for node in nas1 nas2; do .*$", first, re.MULTILINE)
    return listing.replace("nas1 nas2", " ".join(NODES)), loop


def test_the_loop_of_the_page_knows_what_is_new_with_copies(programs, place):
    listing, loop = printed()
    with local(programs, place) as site:
        carry = Carry(site, KEYS, old=NODES, more="replicas = 2")
        carry.write_file(
            kind=f"[files]\nroot = '{carry.roots}/{{node}}'\npattern = '{{key}}'\n"
        )
        shell = lambda text: subprocess.run(
            ["sh", "-c", text], cwd=carry.roots, check=True, capture_output=True
        )

        def write(key):
            for node in carry.homes(key):
                (carry.roots / node / key).write_text(key)

        for key in KEYS:
            write(key)
        weights = lambda node: WEIGHTS.get(node, "")
        before = {key: carry.homes(key) for key in KEYS}
        carry.anna.apply(*NODES, more="replicas = 2", attributes=weights)
        made = [f"new{n:02}" for n in range(60)]
        for key in made:
            write(key)
        moved = [key for key in KEYS if carry.homes(key) != before[key]]
        assert len(moved) > 20
        # some that move were read and written at their new places, too
        again = moved[::2]
        for key in again:
            write(key)
        shell(listing + " && mv before.txt ..")
        done = site.run("stead", "rollback", carry.anna.map, "1", "--exact")
        assert done.returncode == 0, done.stderr
        carry.anna.apply(
            *NODES,
            more="replicas = 2",
            attributes=weights,
            options=("--carry", "--allow", "take-back"),
        )
        # these are deleted at their old places, as programs do that follow the first map again
        deleted = again[::2]
        for key in deleted:
            for node in before[key]:
                (carry.roots / node / key).unlink()
        ahead = site.sync("carry", "ahead", carry.file)
        assert ahead.returncode == 1, ahead.stderr
        (place / "ahead.txt").write_text(ahead.stdout)
        said = subprocess.run(
            ["sh", "-c", loop], cwd=place, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        told = {"deleted": set(), "written": set()}
        for line in said:
            key, what = re.match(r"(\S+) (?:was|is) (\w+)", line).groups()
            told[what].add(key)
        assert told["deleted"] <= set(deleted) and len(told["deleted"]) > 5, said
        assert told["written"] <= set(made) and len(told["written"]) > 5, said
