#!/usr/bin/env python3
"""Draws the maps of tests/reference/rings' examples with the program, into tests/maps:
`draw_maps.py`, or `--check` to compare only.

A ring is drawn alike for ever: other bytes mean that somebody's keys would be looked
for elsewhere. Ends with a line of counts.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "reference")]
sys.dont_write_bytecode = True

import built
from ring_examples import examples


def draw(program, example, directory):
    """Returns the bytes of the map of an example."""
    servers, drawn = directory / "servers", directory / f"{example.name}.map"
    servers.write_bytes(
        example.servers
        if isinstance(example.servers, bytes)
        else example.servers.encode()
    )
    set_ = [
        word
        for name, value in example.choices.items()
        for word in ("--set", f"{name}={value}")
    ]
    subprocess.run(
        [
            program,
            "ring",
            example.kind,
            servers,
            "-o",
            drawn,
            "--fleet",
            directory / f"{example.name}.toml",
            "--name",
            "ring",
            *set_,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return drawn.read_bytes()


def main(check):
    """Draws all maps, or names those that differ."""
    program, wrong, count = built.program(), [], 0
    with tempfile.TemporaryDirectory() as directory:
        for example in examples():
            count += 1
            place, data = (
                TESTS / "maps" / f"ring-{example.name}.map",
                draw(program, example, Path(directory)),
            )
            if not check:
                place.write_bytes(data)
            elif not place.exists() or place.read_bytes() != data:
                wrong.append(
                    f"{place.relative_to(TESTS.parent)} is not what `stead ring "
                    f"{example.kind}` draws"
                )
    print(
        *wrong, f"{count - len(wrong)} passed, {len(wrong)} failed, 0 skipped", sep="\n"
    )
    return bool(wrong or not count)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
