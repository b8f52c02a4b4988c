"""Checks what the library exports, needs and promises to the loader, and that every
function passes through the boundary.
"""

import os
import re

from checking import Done, compiled, declared, has, new_directory

# the libraries that libstead may need: libm, libpthread and libdl only where they are
# separate from the C library
NEEDED = re.compile(
    r"libgcc_s\.so\.1|libc\.so\.6|ld(?:-linux[\w-]*|64)\.so\.\d|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2"
)
FOR_TESTS = {"stead_test_arm", "stead_test_guarded"}


def exported(library):
    """Returns the names that a library exports."""
    text = Done(["nm", "-D", "--defined-only", "--format=posix", library]).text
    return {line.split()[0] for line in text.splitlines() if line.strip()}


def differences(left, right):
    """Returns what only one of two sets has."""
    return sorted(set(left) ^ set(right))


def check(part, scratch, libraries, faults):
    """Checks symbols, dynamic section and boundary. `faults` is the directory of the
    library with the tests' faults.
    """
    names = declared()
    part.equal("stead.h declares each function once", len(names), len(set(names)))
    if has("nm"):
        symbols(part, names, libraries, faults)
    else:
        part.without("nm is missing (package binutils)")
    if has("readelf"):
        dynamic(part, os.path.join(libraries, "libstead.so"))
    else:
        part.without("readelf is missing (package binutils)")
    boundary(part, names, scratch, faults)


def symbols(part, names, libraries, faults):
    """Checks that the library exports what the header declares."""
    there = exported(os.path.join(libraries, "libstead.so"))
    part.equal(
        "the library exports the functions of stead.h and nothing else",
        differences(there, names),
        [],
    )
    part.that(
        "the shipped library has none of the tests' functions", not there & FOR_TESTS
    )
    part.equal(
        "the library with faults has two more",
        differences(exported(os.path.join(faults, "libstead.so")), names),
        sorted(FOR_TESTS),
    )


def dynamic(part, library):
    """Checks soname, needed libraries and hardening."""
    text = Done(["readelf", "-dW", library]).text
    tags = re.findall(r"\((\w+)\)\s+(?:[^\[\n]*\[([^\]\n]*)\]|(.*))", text)
    named = lambda tag: [
        inside or rest.strip() for found, inside, rest in tags if found == tag
    ]
    part.equal("its soname", named("SONAME"), ["libstead.so.1"])
    needed = named("NEEDED")
    part.that(
        "it needs the C library and the unwinder alone",
        needed and all(NEEDED.fullmatch(name) for name in needed),
        needed,
    )
    flags = " ".join(named("FLAGS") + named("FLAGS_1"))
    part.that(
        "all is bound when it is loaded", "NOW" in flags or "BIND_NOW" in text, text
    )
    part.equal(
        "it takes libraries from where the system has them",
        named("RUNPATH") + named("RPATH"),
        [],
    )
    part.that("no code is changed while it is loaded", "TEXTREL" not in text)
    segments = Done(["readelf", "-lW", library]).text
    part.that(
        "the tables of addresses are read-only when it is loaded (RELRO)",
        "GNU_RELRO" in segments,
    )
    part.that(
        "the stack is not executable",
        re.search(r"GNU_STACK.* RW +0", segments),
        segments,
    )


def boundary(part, names, scratch, faults):
    """Calls each function once, and each must pass through the boundary; then makes each
    of them panic, and no panic may get out.
    """
    program = os.path.join(scratch, "boundary")
    complaint = compiled(program, ["boundary.c", "check.c"], faults)
    if not part.that("boundary.c compiles", not complaint, complaint):
        return
    done = Done([program, "pass", new_directory(scratch, "boundary-pass")])
    part.program("every function works once", done)
    passed = re.findall(r"^guarded (\w+)$", done.text, re.MULTILINE)
    part.equal(
        "every function went through the boundary", differences(passed, names), []
    )
    part.that(
        "one that did not would be seen",
        differences(passed[1:], names) and differences(passed + ["stead_other"], names),
    )
    done = Done([program, "armed", new_directory(scratch, "boundary-armed")])
    part.program(
        "a panic in any function is a status or a fallback, and the process lives", done
    )
    panics = len(re.findall(r"panicked at .*boundary\.rs", done.text))
    # each function is called once, so it panics once; stead_text_free(NULL) as well
    part.equal("each of them did panic", panics, len(names))
