"""Draws the pictures of docs/figures.md again, by the commands that the page itself prints.

    scripts/pictures.py                draws them into docs/figures
    scripts/pictures.py --check        exits with 1 and names them if any would change
    scripts/pictures.py --program P    with the program P instead of the one that cargo builds

The blocks of `sh` in the page are one script. It runs in a new directory that has `examples` and
`tests`, as the root of the repository has, so that anybody can type the same lines there.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "figures.md")
FIGURES = os.path.join(ROOT, "docs", "figures")


def script():
    """Returns the script that the page prints."""
    with open(PAGE, encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    return "".join(blocks)


def draw(program):
    """Runs the script with this program. Returns {name: picture}."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("examples", "tests"):
            os.symlink(os.path.join(ROOT, name), os.path.join(place, name))
        figures = os.path.join(place, "docs", "figures")
        os.makedirs(figures)
        path = (
            os.path.dirname(os.path.abspath(program)) + os.pathsep + os.environ["PATH"]
        )
        subprocess.run(
            ["sh", "-eu"],
            cwd=place,
            env={**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            input=script(),
            text=True,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return {name: read(os.path.join(figures, name)) for name in os.listdir(figures)}


def read(path):
    """Returns the bytes of a file; None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def stale(drawn):
    """Returns the names of the pictures in docs/figures that are missing or differ, and
    of those that nothing draws.
    """
    differ = [n for n, svg in drawn.items() if read(os.path.join(FIGURES, n)) != svg]
    return sorted(differ), sorted(set(os.listdir(FIGURES)) - set(drawn))


def program_of_tests():
    """Returns the path of the program as the tests build it."""
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    import built

    return built.program()


def main():
    """Draws or checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program")
    arguments = parser.parse_args()
    drawn = draw(arguments.program or program_of_tests())
    os.makedirs(FIGURES, exist_ok=True)
    differ, left = stale(drawn)
    if arguments.check:
        for name in differ:
            print(f"docs/figures/{name}: stale; run `make pictures` and commit it")
        for name in left:
            print(f"docs/figures/{name}: docs/figures.md does not draw it; delete it")
        sys.exit(1 if differ or left else 0)
    for name in differ:
        with open(os.path.join(FIGURES, name), "wb") as file:
            file.write(drawn[name])
    print(f"drew {len(drawn)} pictures, of which {len(differ)} are new or changed")


if __name__ == "__main__":
    main()
