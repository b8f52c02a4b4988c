"""What the runners in Python share: the vector files, and the lines that tests/run
reads.

A runner has a function that gets {file: its vectors} and returns {file: how many
passed}. `report` calls it with all files and prints its result.
"""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VECTORS = os.path.join(TESTS, "vectors")
sys.path.insert(0, TESTS)  # for the modules that all of tests/ shares


def vector_files(folder=VECTORS):
    """{file: its vectors}"""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = json.load(file)["vectors"]
    return found


def report(runner, run):
    """Runs all vectors and prints how many passed, in the words that tests/run reads."""
    for file, passed in run(vector_files()).items():
        print(f"vectors: {runner} {file} {passed} passed")
