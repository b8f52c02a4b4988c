"""What the tests of Perl share."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# the judge of answers and what publishes, the reference that reads the maps,
# tests/built.py
sys.path[:0] = [str(TESTS), str(TESTS / "web"), str(TESTS / "reference")]


def pytest_terminal_summary(terminalreporter):
    """Each skip with its reason, as scripts/suites.py reads it; and what the tests
    counted.
    """
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(
            f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
        )
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.head_line}: {name} {value}")
