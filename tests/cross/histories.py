"""Prints the digest of each map of random histories: the same lines on every machine.

    python3 tests/cross/histories.py SEED COUNT STEPS [--stead PROGRAM]

The histories are those of tests/history, built by the program alone. After each history
come where keys are, and what `survey` says of them in decimal fractions.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "history")]
sys.dont_write_bytecode = True

import built
import run as history

KEYS = b"".join(b"key%d\n" % i for i in range(2000))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:32]


def said(*command, **options):
    """Returns what a command that must succeed prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, **options).stdout


def lines(stead, seed, steps):
    """Yields the lines of one history."""
    with tempfile.TemporaryDirectory() as scratch:
        made, refused = history.alone(stead, scratch, seed, steps)
        for step in made:
            yield f"seed {seed} step {step.number} map {digest(step.bytes)}"
        yield f"seed {seed} refused {refused}"
        last = os.path.join(scratch, "alone.map")
        survey = said(stead, "survey", "-", input=KEYS)
        yield f"seed {seed} survey {digest(survey)}"
        yield f"seed {seed} keys {digest(said(stead, 'locate', last, input=KEYS))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("seed", "count", "steps"):
        parser.add_argument(name, type=int)
    parser.add_argument("--stead")
    options = parser.parse_args()
    stead = os.path.abspath(options.stead or built.program())
    for seed in range(options.seed, options.seed + options.count):
        for line in lines(stead, seed, options.steps):
            print(line, flush=True)


if __name__ == "__main__":
    main()
