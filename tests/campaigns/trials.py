"""Builds the tests of a crate in the copy of the tree that `make mutants` changes, and runs them
with a mutant.
"""

import bisect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

import switched

import tools

OWN = os.path.join(tools.ROOT, "target", "mutants")
TREE = os.path.join(OWN, "tree")
# KiB: a changed loop may never end, and may fill the memory meanwhile
MEMORY = 4 << 20
# unit tests of the crate stead that take long and reach no more of the parts than others do
SKIPPED = ("ring::kinds::", "kernel::tests::", "fleet::text::", "fleet::from_toml::")
SHORTEST = 60  # seconds, for a program that takes less than a fifth of it
# The seconds that the tests of a mutant take together before it gets the next ones. Most mutants
# fail in the first of them. What all tests reach gets no more than the last group, and the tests of
# its part.
GROUPS = (0.2, 1, 4, 20)
LONGEST = 20  # seconds: a test that takes longer is left out

# directory: where it runs
# arguments: a tuple, of a program that is one test; None for a program of many tests
Program = namedtuple("Program", "path directory arguments")


class Cargo:
    """Cargo in the copy: it builds quickly, not for speed."""

    def __init__(self, package, name, *configuration):
        self.package, self.configuration = package, configuration
        self.env = {
            **os.environ,
            "CARGO_TARGET_DIR": os.path.join(OWN, name),
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "RUST_BACKTRACE": "0",
            # what one mutant failed with must not be tried with the next one
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }
        self.messages = []

    def run(self, *arguments):
        """What cargo made; None when it does not compile, and then `messages` says why."""
        options = [word for one in self.configuration for word in ("--config", one)]
        done = subprocess.run(
            [os.environ.get("CARGO", "cargo"), *options, *arguments]
            + ["--locked", "-q", "--message-format=json"],
            cwd=TREE,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        said = [json.loads(line) for line in done.stdout.splitlines()]
        self.messages = [one for one in said if one["reason"] == "compiler-message"]
        if done.returncode:
            return None
        return [one for one in said if one["reason"] == "compiler-artifact"]

    def tests(self, target, package=None):
        """The test program of a target; None when it does not compile."""
        package = package or self.package
        made = self.run("test", "--no-run", target, "-p", package)
        if made is None:
            return None
        program = next(
            one["executable"]
            for one in made
            if one["executable"] and one["profile"]["test"]
        )
        return Program(program, os.path.join(TREE, "crates", package), None)

    def from_c(self, scratch):
        """The suite of tests/c, with the library of the copy; None when it does not compile."""
        made = self.run("build", "-p", self.package)
        if made is None:
            return None
        files = [name for one in made for name in one["filenames"]]
        library = next(name for name in files if name.endswith("/libstead.so"))
        # a short path, since messages with long ones are cut; a child runs there as nobody
        directory = tempfile.mkdtemp(dir=scratch)
        for parent in (scratch, directory):
            os.chmod(parent, 0o755)
        for name in ("libstead.so", "libstead.so.1"):
            os.symlink(library, os.path.join(directory, name))
        sys.path[:0] = [os.path.join(tools.ROOT, "tests", "c")]
        sys.path[:0] = [os.path.join(tools.ROOT, "tests")]
        import memory
        from checking import MAPS, compiled

        suite = os.path.join(directory, "suite")
        complaint = compiled(suite, memory.SUITE, directory)
        if complaint:
            tools.refuse(f"tests/c does not compile: {complaint}")
        return Program(suite, directory, (MAPS, "2"))


def passes(program, names, seconds, env):
    """Whether these tests of a program pass: True, False, or "timeout". It is stopped at the
    first failure. `names`: arguments that choose tests.
    """
    arguments = names
    if program.arguments is not None:
        own = tempfile.mkdtemp(dir=program.directory)
        os.chmod(own, 0o755)
        arguments = [own, *program.arguments]
    running = subprocess.Popen(
        ["sh", "-c", f'ulimit -d {MEMORY}; exec "$@"', "sh", program.path, *arguments],
        cwd=program.directory,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    late = threading.Event()

    def stop():
        try:
            os.killpg(running.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def give_up():
        late.set()
        stop()

    timer = threading.Timer(seconds, give_up)
    timer.start()
    failed = False
    for line in running.stdout:
        if re.match(r"test .* \.\.\. FAILED", line):
            failed = True
            stop()
            break
    running.stdout.close()
    code = running.wait()
    timer.cancel()
    if late.is_set():
        return "timeout"
    return code == 0 and not failed


class Alone:
    """Mutants that are built one at a time."""

    def __init__(self, area, scratch):
        self.area, self.scratch = area, scratch
        # to optimise the changed crate takes longer than its tests
        level = f"profile.dev.package.{area.package}.opt-level=0"
        self.cargo = Cargo(area.package, "build", level)
        # how long the tests may take: of the tree as it is, without a limit at first
        self.limits = {}

    def steps(self):
        """Yields (program, arguments) of what to run, building it when it is asked for; None when
        it does not compile.
        """
        unit = self.cargo.tests("--lib")
        yield unit and (unit, [self.area.module])
        yield unit, [f"--skip={name}" for name in SKIPPED]
        if self.area.program:
            # the signature may be one that only the tests of another crate do not accept
            whole = self.cargo.tests(f"--test={self.area.program}")
            yield whole and (whole, list(self.area.tests))
        if self.area.package == "stead-capi":
            suite = self.cargo.from_c(self.scratch)
            yield suite and (suite, [])

    def ends(self):
        """How the copy as it is now ends: "caught", "timeout", "unviable", "survived"."""
        for number, step in enumerate(self.steps()):
            if step is None:
                return "unviable"
            began = time.monotonic()
            passed = passes(*step, self.limits.get(number, 3600), self.cargo.env)
            if number not in self.limits:
                self.limits[number] = max(SHORTEST, 5 * (time.monotonic() - began))
            if passed is not True:
                return passed or "caught"
        return "survived"


class Together:
    """A crate with many mutants in it, of which its tests switch on one.

    programs: integration tests, as (crate, name)
    numbers: those of the mutants that can be switched, by their index
    unviable: the indices of those that do not compile, alone or together
    """

    def __init__(self, package, programs, mutants, scratch):
        self.scratch, self.programs, self.mutants = scratch, programs, mutants
        self.cargo = Cargo(package, "switched")
        # warnings of what was written for the mutants are nobody's business
        self.cargo.env["RUSTFLAGS"] = "--cap-lints=warn"
        self.files = {}
        for index, mutant in enumerate(mutants):
            self.files.setdefault(mutant["file"], []).append((index, mutant))
        self.numbers, self.places = {}, {}
        self.without, self.unviable = set(), set()
        # (program, name): seconds, places it reaches
        self.tests = {}
        self.left_out = []

    def build(self):
        """Writes the mutants into the copy and builds the tests. Those that do not compile are
        left out, one try after another.
        """
        library = os.path.join("crates", self.cargo.package, "src", "lib.rs")
        sources = {}
        for path in {*self.files, library}:
            with open(os.path.join(TREE, path), "rb") as file:
                sources[path] = switched.Source(path, file.read())
        try:
            while True:
                written = self.write(sources, library)
                if (
                    self.cargo.run("check", "--lib", "-p", self.cargo.package)
                    is not None
                ):
                    break
                bad = self.blamed(written)
                if not bad - self.without:
                    errors = [one["message"]["rendered"] for one in self.cargo.messages]
                    tools.refuse("the copy does not compile:\n" + "".join(errors[:3]))
                self.without |= bad
            self.built = [self.cargo.tests("--lib")]
            for owner, name in self.programs:
                self.built.append(self.cargo.tests(f"--test={name}", owner))
            if self.cargo.package == "stead-capi":
                self.built.append(self.cargo.from_c(self.scratch))
        finally:
            for path, source in sources.items():
                replace(path, source.data)

    def write(self, sources, library):
        """Writes the mutants. Returns the files, by path."""
        self.numbers, self.places = {}, {}
        written, first = {}, 1
        for path, mutants in sorted(self.files.items()):
            without = {
                at for at, (index, _) in enumerate(mutants) if index in self.without
            }
            one = switched.Switched(
                sources[path], [mutant for _, mutant in mutants], first, without
            )
            first = one.next
            for at, number in one.numbers.items():
                self.numbers[mutants[at][0]] = number
            self.places.update(one.places)
            written[path] = one
        text = {path: bytes(one.out) for path, one in written.items()}
        text.setdefault(library, sources[library].data)
        text[library] += switched.MODULE.replace("COUNT", str(first)).encode()
        for path, data in text.items():
            replace(path, data)
        return written

    def blamed(self, written):
        """The mutants that the messages of the compiler speak of."""
        bad = set()
        for message in self.cargo.messages:
            message = message["message"]
            if message["level"] != "error":
                continue
            for span in message["spans"]:
                one = written.get(span["file_name"])
                if not span["is_primary"] or not one:
                    continue
                bounds = span["byte_start"], span["byte_end"]
                of = self.files[one.source.path]
                exact = {of[at][0] for at in one.blamed(*bounds)}
                self.unviable |= {index for index in exact if self.is_typed(index)}
                bad |= exact or {of[at][0] for at in one.near(*bounds)}
        return bad

    def is_typed(self, index):
        """Whether a mutant has to have the same type together with others as alone. What returns
        `impl Trait` may be of another type if it is the only one.
        """
        function = self.mutants[index].get("function") or {"return_type": "impl"}
        genre = self.mutants[index]["genre"]
        return genre != "FnValue" or "impl" not in function["return_type"]

    def look(self, workers):
        """Runs every test alone, to learn how long it takes and what it reaches."""
        every = []
        for program in self.built:
            if program.arguments is not None:
                every.append((program, ""))
                continue
            said = tools.said(program.path, "--list", "--format=terse") or ""
            names = re.findall(r"^(.*): test$", said, re.MULTILINE)
            every += [(program, name) for name in names if not name.startswith(SKIPPED)]

        def one(test):
            program, name = test
            handle, path = tempfile.mkstemp(dir=self.scratch)
            os.close(handle)
            env = {**self.cargo.env, "MUTANTS_REACHED": path}
            began = time.monotonic()
            passed = passes(program, ["--exact", name], LONGEST, env)
            seconds = time.monotonic() - began
            with open(path, encoding="utf-8") as file:
                reached = set(map(int, file.read().split()))
            os.remove(path)
            return test, passed, seconds, reached

        with ThreadPoolExecutor(workers) as pool:
            for test, passed, seconds, reached in pool.map(one, every):
                if passed is True:
                    self.tests[test] = seconds, reached
                else:
                    self.left_out.append((test[1], passed or "failed"))

    def groups(self, index, own):
        """The tests that reach a mutant: [(program, names, seconds)]. All tests whose names begin
        with a word of `own` come first, then others for as long as GROUPS says, in both the
        quickest first.
        """
        place = self.places[self.numbers[index]]
        found = [
            (seconds, test)
            for test, (seconds, reached) in self.tests.items()
            if place in reached
        ]
        found.sort(key=lambda one: one[0])
        of_part = [one for one in found if one[1][1].startswith(own)]
        others = [one for one in found if not one[1][1].startswith(own)]
        return list(grouped(of_part, True)) + list(grouped(others, False))

    def ends(self, index, own):
        """How a mutant ends: "caught", "timeout", "survived", or "unreached". `own`: how the names
        of the tests of its part begin.
        """
        env = {**self.cargo.env, "MUTANT": str(self.numbers[index])}
        groups = self.groups(index, own)
        for program, names, seconds in groups:
            chosen = ["--exact", "--test-threads=1", *names]
            passed = passes(program, chosen, 10 + 10 * seconds, env)
            if passed is not True:
                return passed or "caught"
        return "survived" if groups else "unreached"


def grouped(tests, all_of_them):
    """Tests, the quickest first, in groups of one program: [(program, names, seconds)]. What is
    beyond the last group comes with `all_of_them` only, in a group for each test.
    """
    spent, groups, late = 0, [{} for _ in GROUPS], []
    for seconds, (program, name) in tests:
        spent += seconds
        at = bisect.bisect_left(GROUPS, spent)
        if at < len(GROUPS):
            names, sum_of = groups[at].get(program, ([], 0))
            groups[at][program] = names + [name], sum_of + seconds
        elif all_of_them:
            late.append((program, [name], seconds))
    for group in groups:
        for program, (names, seconds) in group.items():
            yield program, names, seconds
    yield from late


def replace(path, data):
    """Writes a file of the copy, if it is another one. Its time is now, so cargo builds it again."""
    path = os.path.join(TREE, path)
    with open(path, "rb") as file:
        if file.read() == data:
            return
    with open(path, "wb") as file:
        file.write(data)
