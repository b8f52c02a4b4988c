"""Runs the suite under valgrind and under the sanitizers, and controls that each tool
must report: otherwise its silence would mean nothing.
"""

import os
import re

from checking import MAPS, Done, compiled, has, new_directory

SUITE = [
    "suite.c",
    "check.c",
    "answers.c",
    "batches.c",
    "itself.c",
    "arguments.c",
    "builders.c",
    "files.c",
    "cache.c",
    "large.c",
    "limits.c",
    "changes.c",
    "pairs.c",
    "stores.c",
    "threads.c",
]
# Lost memory of every kind is an error. Memory that stays reachable is not: the cache of
# open maps keeps 16 files for as long as the process lives, as the header says, and
# Rust's standard library keeps memory that belongs to a thread or to the process.
VALGRIND = [
    "valgrind",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect,possible",
    "--errors-for-leak-kinds=definite,indirect,possible",
    "--child-silent-after-fork=yes",
    "--fair-sched=try",
]
ONCE = "1"  # one round of everything
SANITIZERS = "-fsanitize=address,undefined"


def valgrind(part, scratch, suite, forks, controls):
    """Runs memcheck on the suite, on forks, and on the controls."""
    if not has("valgrind"):
        return part.without(
            "valgrind is missing: the suite does not run under memcheck"
        )
    done = Done([*VALGRIND, controls, "leak"])
    part.that(
        "valgrind reports a handle that is never ended",
        done.code == 99 and re.search(r"(definitely|possibly) lost: [1-9]", done.text),
        done.text,
    )
    done = Done([*VALGRIND, controls, "beyond"])
    part.that(
        "valgrind reports a key that is longer than its block",
        done.code == 99 and "Invalid read" in done.text,
        done.text,
    )
    done = Done([*VALGRIND, suite, new_directory(scratch, "valgrind"), MAPS, ONCE])
    part.that("the suite under valgrind", done.code == 0, done.told)
    tell(part, "suite", done.text)
    # a child exits with memory of threads that only its parent has, so only its accesses
    # are judged
    done = Done(
        [
            *VALGRIND,
            "--leak-check=no",
            forks,
            "hammer",
            new_directory(scratch, "valgrind-forks"),
            ONCE,
        ]
    )
    part.that("forks under valgrind", done.code == 0, done.text)
    tell(part, "forks", done.text)
    return None


def tell(part, name, text):
    """Returns valgrind's totals, in one line."""
    # children are silent, so the last summary is the parent's
    errors = re.findall(r"ERROR SUMMARY: (\d+) errors", text)
    allocated = re.findall(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees", text)
    lost = [
        f"{kind} {found[-1]} bytes"
        for kind in (
            "definitely lost",
            "indirectly lost",
            "possibly lost",
            "still reachable",
        )
        if (found := re.findall(rf"{kind}: ([\d,]+) bytes", text))
    ]
    checks = re.findall(r"^(\d+) passed, (\d+) failed", text, re.MULTILINE)
    part.say(
        f"valgrind, {name}: {checks[-1][0] if checks else '?'} checks, "
        f"{errors[-1] if errors else '?'} errors, "
        + (f"{allocated[-1][0]} allocations, " if allocated else "")
        + (", ".join(lost) or "leaks not asked for")
    )
    part.that(f"valgrind ends with no error ({name})", errors and errors[-1] == "0")


def sanitizers(part, scratch, libraries, compiler):
    """Runs AddressSanitizer, LeakSanitizer and UBSan, built by one compiler. They see the
    library's heap because it uses malloc.
    """
    if not has(compiler):
        return part.without(f"{compiler} is missing: no sanitizers of its")
    programs = {
        "suite": SUITE,
        "forks": ["forks.c", "check.c"],
        "controls": ["controls.c"],
    }
    for name, sources in programs.items():
        program = programs[name] = os.path.join(scratch, f"{name}-{compiler}")
        complaint = compiled(
            program,
            sources,
            libraries,
            SANITIZERS,
            "-fno-sanitize-recover=all",
            "-fno-omit-frame-pointer",
            cc=compiler,
        )
        if complaint and re.search(r"cannot find .*(asan|ubsan)", complaint):
            return part.without(
                f"{compiler} has no sanitizers here (package libclang-rt-dev, or gcc's libasan)"
            )
        if not part.that(
            f"{name} compiles with the sanitizers of {compiler}",
            not complaint,
            complaint,
        ):
            return None
    env = {
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    # not "beyond": this compiler did not compile the library, so only valgrind sees its
    # reads
    expected = {
        "leak": "LeakSanitizer: detected memory leaks",
        "overflow": "AddressSanitizer: heap-buffer-overflow",
        "overflow-int": "signed integer overflow",
    }
    for control, words in expected.items():
        done = Done([programs["controls"], control], **env)
        if "LeakSanitizer has encountered a fatal error" in done.text:
            part.without(
                f"LeakSanitizer of {compiler} may not trace here; valgrind looks for leaks, too"
            )
            env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace(
                "detect_leaks=1", "detect_leaks=0"
            )
            continue
        part.that(
            f"the sanitizers of {compiler} report {control}",
            done.code not in (0, None) and words in done.text,
            done.text,
        )
    done = Done(
        [programs["suite"], new_directory(scratch, f"suite-{compiler}-run"), MAPS, "4"],
        **env,
    )
    told(part, compiler, "suite", done)
    for mode in ("hammer", "names"):
        done = Done(
            [
                programs["forks"],
                mode,
                new_directory(scratch, f"forks-{compiler}-{mode}"),
                ONCE,
            ],
            **env,
        )
        told(part, compiler, f"forks {mode}", done)
    return None


def told(part, compiler, name, done):
    """Returns the totals of a program under the sanitizers, in one line."""
    reports = re.findall(r"ERROR: (?:Address|Leak)Sanitizer|runtime error:", done.text)
    checks = re.findall(r"^(\d+) passed, (\d+) failed", done.text, re.MULTILINE)
    part.say(
        f"sanitizers of {compiler}, {name}: {checks[-1][0] if checks else '?'} "
        f"checks, {len(reports)} errors"
    )
    part.that(
        f"the {name} under the sanitizers of {compiler}",
        done.code == 0 and not reports,
        done.told,
    )
