"""Checks the module's types with stubtest, mypy and pyright, all strict. The last line
is the total.

rights.py must pass, and every marked line of wrongs.py must be an error, to each
checker. pyright comes from npm into target/pyright.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TARGET = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
CACHE = os.path.join(TARGET, "mypy")
PYRIGHT = os.path.join(TARGET, "pyright")
WRONGS = os.path.join(HERE, "wrongs.py")
RIGHTS = os.path.join(HERE, "rights.py")


def run(*command, cwd=ROOT):
    """Returns the exit code and the output of a command."""
    # pyright --verifytypes uses the first python in PATH, whatever --pythonpath says
    env = {
        **os.environ,
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def good(ran):
    """Returns whether a command exited with 0, and its output."""
    code, said = ran
    return code == 0, said


def mypy(*arguments):
    return run(
        sys.executable, "-m", "mypy", "--strict", "--cache-dir", CACHE, *arguments
    )


def marked():
    """The numbers of the lines of wrongs.py that must be errors."""
    with open(WRONGS, encoding="utf-8") as file:
        return {
            number
            for number, line in enumerate(file, 1)
            if re.search(r"# type: ignore\[[a-z-]+\]$", line)
        }


def no_ignores_are_honoured():
    """Checks wrongs.py without its marks with mypy. This counts the errors in another
    way, and is the control that the ignores have an effect.
    """
    copy = os.path.join(CACHE, "wrongs_unmarked.py")
    with (
        open(WRONGS, encoding="utf-8") as file,
        open(copy, "w", encoding="utf-8") as out,
    ):
        out.write(re.sub(r"  # type: ignore\[[a-z-]+\]", "", file.read()))
    _, said = mypy(copy)
    found = {
        int(line) for line in re.findall(r"wrongs_unmarked\.py:(\d+): error", said)
    }
    return (
        found == marked(),
        f"errors in lines {sorted(found ^ marked())} of wrongs.py are too many or missing\n{said}",
    )


def find_pyright():
    """Returns the command, or the reason why there is none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None, "node or npm is not installed, so pyright did not run"
    index = os.path.join(PYRIGHT, "node_modules", "pyright", "index.js")
    wanted = os.path.join(HERE, "package.json")
    have = os.path.join(PYRIGHT, "package.json")
    same = (
        os.path.exists(index)
        and os.path.exists(have)
        and filecmp.cmp(have, wanted, shallow=False)
    )
    if not same:
        shutil.rmtree(PYRIGHT, ignore_errors=True)
        os.makedirs(PYRIGHT)
        shutil.copy(wanted, have)
        code, said = run(
            npm,
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--ignore-scripts",
            "--fetch-retries=1",
            cwd=PYRIGHT,
        )
        if code:
            shutil.rmtree(PYRIGHT)
            print(said[-2000:])
            return None, "npm could not install pyright, so it did not run"
    return [node, index], ""


def pyright(command, file, **settings):
    """The errors, as {line: messages}."""
    # a separate folder, because a project includes every file in its folder
    project = os.path.join(PYRIGHT, os.path.basename(file)[:-3])
    os.makedirs(project, exist_ok=True)
    shutil.copy(file, project)
    with open(
        os.path.join(project, "pyrightconfig.json"), "w", encoding="utf-8"
    ) as out:
        json.dump({"typeCheckingMode": "strict", **settings}, out)
    _, said = run(
        *command, "--outputjson", "--pythonpath", sys.executable, "--project", project
    )
    try:
        answer = json.loads(said[said.index("{") :])
    except ValueError:
        return {0: [said]}
    if answer["summary"]["filesAnalyzed"] != 1:
        return {0: [said]}
    errors = {}
    for one in answer["generalDiagnostics"]:
        errors.setdefault(one["range"]["start"]["line"] + 1, []).append(one["message"])
    return errors


def main():
    subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "python-module")], check=True
    )
    os.makedirs(CACHE, exist_ok=True)
    passed = failed = skipped = 0

    def count(what, ok, said):
        nonlocal passed, failed
        passed, failed = passed + bool(ok), failed + (not ok)
        if not ok:
            print(f"FAILED: {what}\n{said}")

    # in another folder, so that the installed module is checked, not its source
    # stead.django and stead.spark have their types in their source; modules that they
    # import only for types, or that need a site's settings, are missing here
    beside = os.path.join(CACHE, "beside.txt")
    with open(beside, "w", encoding="ascii") as file:
        file.write(
            "stead\\.django.*\nstead\\.spark\\.(DataFrame|pa)\n"
            "stead\\.polars\\.(Frame|pl)\nstead\\.duckdb\\.DuckDBPyConnection\n"
            "stead\\._columns\\..*\nstead(\\._stead)?\\.(Map|Plan)\\.__new__\n"
        )
    count(
        "stubtest",
        *good(
            run(
                sys.executable,
                "-m",
                "mypy.stubtest",
                "stead",
                "--concise",
                "--allowlist",
                beside,
                "--ignore-unused-allowlist",
                cwd=CACHE,
            )
        ),
    )
    count(
        "the docstrings of the stub",
        *good(run(sys.executable, os.path.join(HERE, "stub_docs.py"))),
    )
    count("mypy --strict of the module", *good(mypy("-p", "stead")))
    count("mypy --strict of rights.py", *good(mypy(RIGHTS)))
    count("mypy --strict of wrongs.py", *good(mypy("--warn-unused-ignores", WRONGS)))
    count("the lines of wrongs.py", *no_ignores_are_honoured())
    count("rights.py runs", *good(run(sys.executable, RIGHTS, cwd=CACHE)))
    command, why = find_pyright()
    if command:
        errors = pyright(command, RIGHTS)
        count("pyright, strict, of rights.py", not errors, errors)
        # wrongs.py consists of lines without effect
        errors = pyright(
            command,
            WRONGS,
            enableTypeIgnoreComments=False,
            reportUnusedExpression=False,
        )
        count(
            "pyright of wrongs.py",
            set(errors) == marked(),
            {line: errors.get(line) for line in set(errors) ^ marked()},
        )
        count(
            "pyright --verifytypes",
            *good(
                run(*command, "--verifytypes", "stead", "--ignoreexternal", cwd=CACHE)
            ),
        )
    else:
        skipped += 3
        print(f"skipped: {why}")
    print(
        f"{len(marked())} wrong lines; {passed} passed, {failed} failed, {skipped} skipped"
    )
    return 1 if failed else 0


sys.exit(main())
