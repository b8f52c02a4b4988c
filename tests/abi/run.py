"""Checks that programs compiled with an earlier release run with the present libstead,
and compile with the present stead.h.

    python3 tests/abi/run.py             checks every archive (tests/abi/1, 2, ...) against the present library and header
    python3 tests/abi/run.py --record    archives the present release; it refuses when something was removed or changed

README.md says what an archive contains. The controls break copies of the header and of
the list of functions, and each must be found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "runners"))
sys.dont_write_bytecode = True

from c import compile_c, library

# ---- what there is


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def archives(abi):
    """Returns the directories of the archived releases, oldest first."""
    numbers = sorted(int(name) for name in os.listdir(abi) if name.isdigit())
    return [os.path.join(abi, str(number)) for number in numbers]


def exported(libraries):
    """Returns the names that the library exports, sorted."""
    done = subprocess.run(
        [
            "nm",
            "-D",
            "--defined-only",
            "--format=posix",
            os.path.join(libraries, "libstead.so"),
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    return sorted(line.split()[0] for line in done.stdout.decode().splitlines())


def version():
    """Returns the version of the present release."""
    return re.search(r'^version = "(.*)"$', read(ROOT, "Cargo.toml"), re.MULTILINE)[1]


class Header:
    """The declarations of a stead.h."""

    def __init__(self, include):
        text = re.sub(
            r"//[^\n]*|/\*.*?\*/", "", read(include, "stead.h"), flags=re.DOTALL
        )
        plus_plus = r'ifdef __cplusplus\s+(extern "C" \{|\})\s+#endif'
        text = re.sub(
            rf"^#(include <\w+\.h>|ifndef STEAD_H|define STEAD_H|{plus_plus}|endif)\s*$",
            "",
            text,
            flags=re.MULTILINE,
        )
        # the values of macros are compiled into a program; their names stay because the
        # client uses them
        text = re.sub(
            r"^#(define STEAD_(VERSION_\w+|USE_RESULT)( .*)?|ifndef STEAD_USE_RESULT|ifdef __GNUC__|else)"
            r"\n(  \(.*\)\n)?",
            "",
            text,
            flags=re.MULTILINE,
        )
        text = re.sub(r"^STEAD_USE_RESULT\s+", "", text, flags=re.MULTILINE)
        self.enums, self.records, self.functions = {}, {}, {}

        def enum(found):
            self.enums[found[2]] = re.findall(r"(\w+) = \d+", found[1])
            return ""

        def record(found):
            self.records[found[2]] = re.findall(r"(\w+) (\w+)((?:\[\d+\])?);", found[1])
            return ""

        def function(found):
            self.functions[found[2]] = " ".join(found[1].split())
            return ""

        text = re.sub(r"typedef enum \{((?:\s*\w+ = \d+,)*)\s*\} (\w+);", enum, text)
        text = re.sub(
            r"typedef struct \{((?:\s*\w+ \w+(?:\[\d+\])?;)*)\s*\} (\w+);", record, text
        )
        text = re.sub(r"typedef struct (\w+) \1;", "", text)
        text = re.sub(
            r"^((?:const )?\w+ \*?(stead_\w+)\([\w\s*,]*\);)",
            function,
            text,
            flags=re.MULTILINE,
        )
        if text.strip():
            sys.exit(
                "abi: stead.h declares what tests/abi/run.py does not know how to "
                f"archive: {text.strip()}"
            )


# ---- the checks; each returns a list of problems


class Held:
    """The present release, to be checked against the archived ones."""

    def __init__(self, include, libraries, exports, scratch):
        self.include, self.libraries, self.exports, self.scratch = (
            include,
            libraries,
            exports,
            scratch,
        )
        self.alignment = None

    def checks(self, archive):
        """Returns (promise, problems) for each promise of one archived release."""
        return [
            ("its client runs as it did", self.client(archive, archive)),
            (
                "its client compiles with the present header",
                self.client(archive, self.include),
            ),
            ("its client uses every function", unused(archive)),
            ("its layout is what its header says", self.layout(archive, archive)),
            ("its layout is the present header's", self.layout(archive, self.include)),
            ("its functions are exported", self.symbols(archive)),
            ("its functions are declared as they were", self.prototypes(archive)),
        ]

    def broken(self, archive):
        """Returns the broken promises of one archived release."""
        return [
            f"{what}: not so: {problem}"
            for what, problems in self.checks(archive)
            for problem in problems
        ]

    def program(self, name, source, include):
        """Compiles a program. Returns its path and the compiler's complaints."""
        path = os.path.join(self.scratch, name)
        return path, compile_c(source, path, include, self.libraries)

    def client(self, archive, include):
        program, complaint = self.program(
            "client", os.path.join(archive, "client.c"), include
        )
        if complaint:
            return [complaint]
        with tempfile.TemporaryDirectory() as empty:
            return compare(
                os.path.join(archive, "expected.txt"),
                program,
                os.path.join(archive, "maps"),
                empty,
            )

    def layout(self, archive, include):
        program, complaint = self.program(
            "layout", os.path.join(archive, "layout.c"), include
        )
        return (
            [complaint]
            if complaint
            else compare(
                os.path.join(archive, "layout.txt"), program, as_here=self.as_here
            )
        )

    def as_here(self, layout):
        """Returns a layout as this machine has it: the archives have that of x86-64, and
        32-bit x86 aligns numbers of 64 bits to four bytes. Sizes and offsets stay.
        """
        if self.alignment is None:
            source = os.path.join(self.scratch, "alignment.c")
            write(ALIGNMENT, source)
            program, complaint = self.program("alignment", source, self.include)
            assert not complaint, complaint
            said = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout
            self.alignment = said.decode().strip()
        return layout.replace("alignment 8", f"alignment {self.alignment}")

    def symbols(self, archive):
        return [
            f"libstead no longer exports {name}"
            for name in recorded(archive)
            if name not in self.exports
        ]

    def prototypes(self, archive):
        functions = Header(archive).functions
        if sorted(functions) != recorded(archive):
            return ["its header and its symbols.txt do not tell of the same functions"]
        source = os.path.join(self.scratch, "prototypes.c")
        # the array of all functions comes first: after the archive's declarations, a
        # function that stead.h lacks would not be noticed
        uses = "".join(f"    (function){name},\n" for name in functions)
        declarations = "\n".join(functions.values())
        write(
            "#include <stead.h>\n\ntypedef void (*function)(void);\n"
            f"const function FUNCTIONS[] = {{\n{uses}}};\n\n{declarations}\n\n"
            "int main(void) {\n    return FUNCTIONS[0] == 0;\n}\n",
            source,
        )
        complaint = self.program("prototypes", source, self.include)[1]
        return [complaint] if complaint else []

    def unrecorded(self, newest):
        """Returns what the present release exports beyond the newest archive."""
        declared = set(Header(self.include).functions)
        wrong = [
            f"libstead exports {name}, which stead.h does not declare"
            for name in self.exports
            if name not in declared
        ]
        place = f"{os.path.relpath(newest, ROOT)}/symbols.txt"
        return wrong + [
            f"libstead exports {name}, which {place} does not list: if it is to stay "
            "for ever, see tests/abi/README.md and run "
            "`python3 tests/abi/run.py --record`"
            for name in self.exports
            if name not in recorded(newest)
        ]


def recorded(archive):
    """Returns the functions that an archive lists."""
    return read(archive, "symbols.txt").split()


def unused(archive):
    """Returns a complaint for each function that the archive's client does not use."""
    client = read(archive, "client.c")
    return [
        f"client.c does not use {name}"
        for name in recorded(archive)
        if f"{name}(" not in client
    ]


def compare(expected, *command, as_here=str):
    """Runs a program and returns how its output differs from the expected one, as this
    machine has it.
    """
    done = subprocess.run(command, capture_output=True, check=False)
    found, wanted = (
        done.stdout.decode("utf-8", "replace").splitlines(),
        as_here(read(expected)).splitlines(),
    )
    if done.returncode or done.stderr:
        return [f"exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')}"]
    differ = [
        f"line {i + 1} is {a!r}, was {b!r}"
        for i, (a, b) in enumerate(zip(found, wanted))
        if a != b
    ]
    return differ + (
        [f"{len(found)} lines, were {len(wanted)}"] if len(found) != len(wanted) else []
    )


# ---- recording

ALIGNMENT = """\
#include <stdint.h>
#include <stdio.h>

struct number {
    char before;
    uint64_t number;
};

int main(void) {
    return printf("%d\\n", (int)(sizeof(struct number) - sizeof(uint64_t))) < 0;
}
"""
LAYOUT = """\
// Prints what programs compile in from this release's stead.h: sizes, offsets and numbers. run.py --record wrote this file.

#include <stddef.h>
#include <stdio.h>

#include <stead.h>

#define NUMBER(name) printf("%s = %lld\\n", #name, (long long)name)
#define SIZE(type) printf("%s: size %zu, alignment %zu\\n", #type, sizeof(type), offsetof(struct { char before; type value; }, value))
// does not compile if the field has another type
#define FIELD(record, type, name, many) \\
    do { \\
        static record value; \\
        type(*field) many = &value.name; \\
        printf("%s.%s: %s%s, offset %zu, size %zu\\n", #record, #name, #type, #many, offsetof(record, name), sizeof *field); \\
    } while (0)

int main(void) {
"""


def layout_source(header):
    """Returns a program that prints the layout of what a header declares."""
    lines = []
    for name, numbers in header.enums.items():
        lines += [f"SIZE({name});", *(f"NUMBER({number});" for number in numbers)]
    for name, fields in header.records.items():
        lines += [
            f"SIZE({name});",
            *(
                f"FIELD({name}, {kind}, {field}, {many});"
                for kind, field, many in fields
            ),
        ]
    return LAYOUT + "".join(f"    {line}\n" for line in lines) + "    return 0;\n}\n"


def record(abi, held, release):
    """Archives the present release: over the newest archive if that has the same version,
    otherwise under the next number. Returns the problems that forbid it.
    """
    numbers = archives(abi)
    before = [
        archive
        for archive in numbers
        if os.path.exists(os.path.join(archive, "stead.h"))
    ]
    header = Header(held.include)
    wrong = [
        f"{os.path.relpath(archive, abi)}: {problem}"
        for archive in before
        for problem in held.broken(archive)
    ]
    wrong += [
        f"stead.h and libstead do not have the same functions: {name}"
        for name in sorted(set(header.functions) ^ set(held.exports))
    ]
    if wrong:
        return wrong
    target = numbers[-1]
    if target in before and read(target, "version.txt").strip() != release:
        target = os.path.join(abi, str(int(os.path.basename(target)) + 1))
        os.mkdir(target)
        for name in ("client.c", "expected.txt"):
            shutil.copy(os.path.join(numbers[-1], name), target)
    shutil.copy(os.path.join(held.include, "stead.h"), target)
    write(release + "\n", target, "version.txt")
    write("".join(name + "\n" for name in held.exports), target, "symbols.txt")
    write(layout_source(header), target, "layout.c")
    program, complaint = held.program(
        "layout", os.path.join(target, "layout.c"), target
    )
    if complaint:
        return [complaint]
    write(
        subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode(),
        target,
        "layout.txt",
    )
    print(
        f"recorded {release} in {os.path.relpath(target, ROOT)}; its client has to "
        f"use every function: {unused(target) or 'it does'}"
    )
    return []


# ---- controls: each breaks a copy, and compares the problems found with words that
# they must contain


def changed_header(held, scratch, pattern, replacement):
    """Returns the same with a header in which one place was changed."""
    include = tempfile.mkdtemp(dir=scratch)
    text, count = re.subn(
        pattern,
        replacement,
        read(held.include, "stead.h"),
        count=1,
        flags=re.DOTALL | re.MULTILINE,
    )
    if count != 1:
        sys.exit(f"abi: a control finds nothing to change: {pattern}")
    write(text, include, "stead.h")
    return Held(include, held.libraries, held.exports, held.scratch)


def controls(held, archive, scratch):
    """Yields (name, whether the broken thing was found)."""
    header = lambda pattern, replacement: changed_header(
        held, scratch, pattern, replacement
    )
    exports = lambda names: Held(
        held.include, held.libraries, sorted(names), held.scratch
    )
    added = header(
        r"^int32_t stead_abi\(void\);",
        "int32_t stead_abi(void);\n\nint32_t stead_added(const stead_map *map, uint64_t number);",
    )
    added.exports = sorted([*held.exports, "stead_added"])
    number = header(
        r"STEAD_INTERNAL = 15,", "STEAD_INTERNAL = 15,\n  STEAD_ADDED = 16,"
    )
    less = exports(set(held.exports) - {"stead_map_locate"})
    wider = header(r"int32_t policy;", "int64_t policy;")
    unsigned = header(r"int32_t from;", "uint32_t from;")
    swapped = header(r"int32_t from;(.*?)int32_t to;", r"int32_t to;\1int32_t from;")
    renumbered = header(r"STEAD_CONFLICT = 10,", "STEAD_CONFLICT = 16,")
    unnamed = header(r"^  STEAD_NAME = 13,\n", "")
    retyped = header(
        r"(int32_t stead_map_locate\([^)]*)int32_t \*node", r"\1int64_t *node"
    )
    returned = header(r"^size_t stead_plan_count", "int32_t stead_plan_count")
    undeclared = header(r"^int32_t stead_map_same\([^)]*\);", "")
    other = os.path.join(tempfile.mkdtemp(dir=scratch), "1")
    shutil.copytree(archive, other)
    write(
        read(archive, "expected.txt").replace("node b2", "node b1", 1),
        other,
        "expected.txt",
    )

    yield (
        "a function that is no longer exported is found",
        finds(less.symbols(archive), "no longer exports stead_map_locate"),
    )
    yield (
        "a function that nobody recorded is found",
        finds(added.unrecorded(archive), "stead_added", "--record"),
    )
    yield (
        "a field that got wider is found",
        finds(wider.layout(archive, wider.include), "policy"),
    )
    yield (
        "a field that lost its sign is found",
        finds(unsigned.layout(archive, unsigned.include), "from"),
    )
    yield (
        "fields in another order are found",
        finds(swapped.layout(archive, swapped.include), "stead_move.from"),
    )
    yield (
        "another number is found",
        finds(renumbered.layout(archive, renumbered.include), "STEAD_CONFLICT = 16"),
    )
    yield (
        "a number that is gone is found",
        finds(unnamed.layout(archive, unnamed.include), "STEAD_NAME"),
    )
    yield (
        "an argument of another type is found",
        finds(retyped.prototypes(archive), "conflicting types", "stead_map_locate"),
    )
    yield (
        "a result of another type is found",
        finds(returned.prototypes(archive), "conflicting types", "stead_plan_count"),
    )
    yield (
        "a function that is no longer declared is found",
        finds(undeclared.prototypes(archive), "stead_map_same", "undeclared"),
    )
    yield (
        "a client that prints something else is found",
        finds(held.client(other, other), "line 1", "node b1"),
    )
    yield (
        "what is only added breaks nothing",
        not added.broken(archive) and not number.broken(archive),
    )
    for name, worse in (("taken away", less), ("changed", retyped)):
        abi, found = recorded_in_copy(archive, worse, "99.0.0", scratch)
        yield (
            f"--record refuses what was {name}",
            finds(found, "stead_map_locate")
            and files(abi) == files(os.path.dirname(archive), "1"),
        )
    abi, found = recorded_in_copy(archive, added, "99.0.0", scratch)
    grown = not found and "stead_added" in recorded(archives(abi)[-1])
    yield "--record adds a number for a new release", grown and len(archives(abi)) == 2
    abi, found = recorded_in_copy(
        archive, added, read(archive, "version.txt").strip(), scratch
    )
    grown = not found and "stead_added" in recorded(archives(abi)[-1])
    yield (
        "--record stays in the number of its release",
        grown and len(archives(abi)) == 1,
    )


def finds(problems, *words):
    """Returns whether problems were found that contain these words."""
    return bool(problems) and all(word in "\n".join(problems) for word in words)


def recorded_in_copy(archive, held, release, scratch):
    """Tries --record in a copy of an archive. Returns the copy and what forbade it."""
    abi = tempfile.mkdtemp(dir=scratch)
    shutil.copytree(archive, os.path.join(abi, "1"))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        out, sys.stdout = sys.stdout, nowhere
        try:
            return abi, record(abi, held, release)
        finally:
            sys.stdout = out


def files(abi, *only):
    """Returns {name: text} of the archives."""
    numbers = only or os.listdir(abi)
    return {
        f"{number}/{name}": read(abi, number, name)
        for number in numbers
        for name in os.listdir(os.path.join(abi, number))
        if name != "maps"
    }


# ---- running


def main(arguments):
    if arguments not in ([], ["--record"]):
        sys.exit("usage: run.py [--record]")
    with tempfile.TemporaryDirectory() as scratch:
        libraries = library(scratch)
        held = Held(
            os.path.join(ROOT, "include"), libraries, exported(libraries), scratch
        )
        if arguments:
            wrong = record(HERE, held, version())
            print("".join(f"refused: {problem}\n" for problem in wrong), end="")
            return 1 if wrong else 0
        found = [
            (f"{os.path.basename(archive)}: {what}", problems)
            for archive in archives(HERE)
            for what, problems in held.checks(archive)
        ]
        newest = archives(HERE)[-1]
        found.append(("all that the library has is recorded", held.unrecorded(newest)))
        found += [
            (f"control: {name}", [] if good else ["it is not"])
            for name, good in controls(held, newest, scratch)
        ]
    for what, problems in found:
        print(f"{'FAILED' if problems else 'ok    '} {what}")
        print("".join(f"       {problem}\n" for problem in problems), end="")
    failed = sum(bool(problems) for _, problems in found)
    print(f"{len(found) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
