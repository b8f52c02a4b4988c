"""The same map bytes from every language's build: a random history of 60 steps, of which
each language builds every few, one after the other.

The program builds the whole history alone. Then the languages build it in turns: each
opens the map that the language before it saved, and builds the fleet of its step, given
as a file, as a text, or as a value of its own. After each step the map's bytes and
digest must be those that the program made alone.

    python3 tests/history/run.py [--seed N] [--steps N]
"""

import argparse
import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
sys.path[:0] = [HERE, TESTS, os.path.join(TESTS, "runners")]
sys.dont_write_bytecode = True

import built
import c
import perl
from fleets import CHANGES, Fleet, Random, as_json, as_toml
from test_perl import HAS_PERL

SEED, STEPS = 17, 60
SHAPES = ["file", "text", "value"]
# every fourth step is made with the first of these that is not "-"
MAX_MOVES = ["-", "-", "-", "5%"]


def done(command, **options):
    """Returns the exit code, the output and the complaints of a command."""
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, **options
    )
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode("utf-8", "replace")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Step:
    """A step: the fleet, and what the program made of it alone."""

    def __init__(self, number, kinds, value, max_move):
        self.number, self.kinds, self.value = number, kinds, value
        self.max_move = max_move
        self.bytes = None

    def __str__(self):
        step = "" if self.max_move == "-" else f", at most {self.max_move} moves"
        return f"step {self.number} ({', '.join(self.kinds)}{step})"


def apply(program, directory, fleet, max_move, path):
    """Runs `stead apply`; returns what it complains of."""
    step = ["--allow", "drop-copies,lose-domain,move,take-back"]
    step += [] if max_move == "-" else ["--max-move", max_move]
    code, _, said = done([program, "apply", fleet, path, *step], cwd=directory)
    return said if code else ""


def alone(program, directory, seed, count):
    """Returns the steps of a history, and how many changes no map can satisfy: the
    program refuses them, and others are drawn.
    """
    random = Random(seed)
    fleet, steps, refused = Fleet(random), [], 0
    path, text = (os.path.join(directory, name) for name in ("alone.map", "alone.toml"))
    while len(steps) < count:
        before, kinds = fleet.copy(), ["first"]
        if steps:
            kinds = [fleet.change() for _ in range(1 + random.below(3))]
        max_move = random.one(MAX_MOVES) if steps else "-"
        write(text, as_toml(fleet.value))
        said = apply(program, directory, text, max_move, path)
        if said:
            refused += 1
            fleet.value = before
            assert steps and refused < 10 * count, said
            continue
        kinds = [kind for kind in kinds if kind] or ["nothing"]
        step = Step(len(steps) + 1, kinds, fleet.copy(), max_move)
        step.bytes = read(path)
        steps.append(step)
    return steps, refused


# ---- languages


class Program:
    """The program, written in Rust. It publishes where the others save."""

    shapes = ("file",)

    def __init__(self, program):
        self.program = program

    def build(self, directory, previous, fleet, shape, max_move, out):
        """Makes the map `out`; returns its digest and what was complained of."""
        shutil.rmtree(out + ".history", ignore_errors=True)
        if previous != "-":
            shutil.copy(previous, out)
        said = apply(self.program, directory, fleet, max_move, out)
        if said:
            return "", said
        # the header has the digest in bytes 96 to 127 (docs/map-format.md)
        return read(out)[DIGEST].hex(), ""


# where a map file has its digest
DIGEST = slice(96, 128)


class Language:
    """A language whose program is build.EXTENSION."""

    def __init__(self, command, shapes=SHAPES, **environment):
        self.command, self.shapes = command, shapes
        self.environment = dict(os.environ, **environment)

    def build(self, directory, previous, fleet, shape, max_move, out):
        """Makes the map `out`; returns its digest and what was complained of."""
        arguments = [previous, fleet, shape, max_move, out]
        code, digest, said = done(
            [*self.command, *arguments], cwd=directory, env=self.environment
        )
        return digest, said or (f"exit {code}" if code else "")


def python():
    """Returns the command of a Python that has the module, the variables that it needs,
    and why there is none. The module in .venv is there for other suites already.
    """
    script = os.path.join(ROOT, "scripts", "python-module")
    venv = os.path.join(ROOT, ".venv", "bin", "python")
    if os.path.exists(venv) and done([venv, "-c", "import maturin"])[0] == 0:
        code, _, said = done([sys.executable, script])
        assert code == 0, said
        return [venv], {}, ""
    code, tree, said = done([sys.executable, script, "--tree"])
    return [sys.executable], {"PYTHONPATH": tree.strip()}, said.strip() if code else ""


def languages(scratch):
    """Returns {name: language} of those that are here, and why the others are not."""
    found, missing = {"program": Program(built.program())}, []
    source = lambda extension: os.path.join(HERE, "build." + extension)
    program = os.path.join(scratch, "build")
    libraries = c.library(scratch)
    complaint = c.compile_c(
        source("c"), program, os.path.join(ROOT, "include"), libraries
    )
    assert not complaint, complaint
    found["C"] = Language([program], ["file", "text"])
    command, variables, why = python()
    if why:
        missing.append(f"Python: {why}")
    else:
        found["Python"] = Language([*command, source("py")], **variables)
    library = os.path.join(libraries, "libstead.so")
    php = os.environ.get("PHP", "php")
    if done(["sh", "-c", f"{php} -r 'exit((int) !extension_loaded(\"FFI\"));'"])[0]:
        missing.append("PHP: there is no php with the extension FFI")
    else:
        found["PHP"] = Language([php, source("php")], STEAD_LIBRARY=library)
    script = os.path.join(ROOT, "scripts", "php-extension")
    if os.path.exists(script):
        extension = runpy.run_path(script)
        if why := extension["why_not"]():
            missing.append(f"PHP's extension: {why}")
        else:
            options = ["-d", f"extension={extension['build']()}"]
            found["PHP's extension"] = Language(
                [php, *options, source("php")], STEAD_LIBRARY=library
            )
    if HAS_PERL:
        module = perl.MODULE["build"]()
        found["Perl"] = Language(
            [perl.MODULE["PERL"], "-w", "-Mblib=" + module, source("pl")]
        )
    else:
        missing.append("Perl: there is no perl with its headers (libperl-dev)")
    return found, missing


# ---- the history in turns


def in_turns(steps, found, directory, wrong=None):
    """Builds the steps in turns. Returns the first thing that is not as the program made
    it alone, or an empty string; and how often each language built in each shape.
    `wrong` is (language, turn, a function that changes its fleet): the control.
    """
    names, turns, shapes = list(found), Counter(), Counter()
    previous = "-"
    for step in steps:
        name = names[step.number % len(names)]
        language = found[name]
        shape = language.shapes[turns[name] % len(language.shapes)]
        turns[name] += 1
        shapes[name, shape] += 1
        value = step.value
        if wrong and wrong[0] == name and turns[name] == wrong[1]:
            value = wrong[2](value)
        fleet = os.path.join(directory, f"fleet-{step.number}")
        fleet += ".json" if shape == "value" or turns[name] % 2 else ".toml"
        write(fleet, (as_json if fleet.endswith(".json") else as_toml)(value))
        out = os.path.join(directory, f"{step.number}.map")
        digest, said = language.build(
            directory, previous, fleet, shape, step.max_move, out
        )
        if said:
            return f"{step}: {name} ({shape}): {said.strip()}", shapes
        if read(out) != step.bytes:
            return f"{step}: {name} ({shape}) made other bytes than the program", shapes
        if digest != step.bytes[DIGEST].hex():
            return f"{step}: {name} ({shape}) says another digest: {digest}", shapes
        previous = out
    return "", shapes


def heavier(value):
    """The fleet with a millionth more weight on one node."""
    node = max(value["node"], key=lambda node: node["weight"])
    changed = dict(node, weight=round(node["weight"] + 0.000001, 6))
    nodes = [changed if one is node else one for one in value["node"]]
    return dict(value, node=nodes)


def noted(value):
    """The fleet with another attribute on one node: no place changes."""
    node = dict(value["node"][0], attributes={"address": "elsewhere"})
    return dict(value, node=[node, *value["node"][1:]])


class Tally:
    """Counts checks, and prints those that fail."""

    passed = failed = 0

    def that(self, sentence, good, detail=""):
        """Counts a check."""
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"FAILED: {sentence}" + (f"\n  {detail}" if detail else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        found, missing = languages(scratch)
        steps, refused = alone(
            found["program"].program, scratch, options.seed, options.steps
        )
        kinds = Counter(kind for step in steps for kind in step.kinds)
        print(f"== seed {options.seed}: {len(steps)} steps, {refused} more refused")
        print("   " + ", ".join(f"{kinds[kind]} {kind}" for kind in CHANGES))
        if (options.seed, options.steps) == (SEED, STEPS):
            # the history would prove less without one of them
            lost = [kind for kind in CHANGES if not kinds[kind]]
            tally.that("every kind of change happens", not lost, lost)
            limited = sum(step.max_move != "-" for step in steps)
            tally.that("max_move happens", limited > 5, limited)
            different = len({step.bytes for step in steps})
            tally.that("the maps differ", different > 0.8 * len(steps), different)
        wrong, shapes = in_turns(steps, found, scratch)
        tally.that("the languages make what the program makes alone", not wrong, wrong)
        for name, language in found.items():
            for shape in language.shapes:
                count = shapes[name, shape]
                print(f"   {name}, fleet as {shape}: {count} steps")
                tally.that(f"{name} builds of a {shape}", count > 1, count)
        final = hashlib.sha256(steps[-1].bytes).hexdigest()
        print(
            f"   the last map: SHA-256 {final[:16]}, digest "
            f"{steps[-1].bytes[DIGEST].hex()[:16]}, by all"
        )
        # controls: one language is given a slightly other fleet, once
        for number, name in enumerate(found):
            change = (heavier, noted)[number % 2]
            said, _ = in_turns(steps, found, scratch, (name, 3, change))
            print(f"   control: {said}")
            tally.that(
                f"{name} with another fleet is noticed",
                f": {name} (" in said and "made other bytes" in said,
                said or "nothing was noticed",
            )
    for why in missing:
        print(f"skipped: {why}")
    print(f"{tally.passed} passed, {tally.failed} failed, {len(missing)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
