"""Hooks that the tests of Perl share."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# for the judge of answers and the publisher, the reference that reads the maps, and
# tests/built.py
sys.path[:0] = [str(TESTS), str(TESTS / "web"), str(TESTS / "reference")]


def pytest_terminal_summary(terminalreporter):
    """Prints each skip with its reason, as scripts/suites.py reads it, and the counts
    of the tests.
    """
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(
            f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
        )
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.head_line}: {name} {value}")
