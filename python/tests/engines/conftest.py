"""Hooks that the tests of the engines share."""

import pytest
from engine_case import Case


def pytest_terminal_summary(terminalreporter):
    """Prints the reasons of skips, one per line, as all suites of stead do."""
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    }
    for reason in sorted(reasons):
        terminalreporter.write_line(f"skipped: {reason}")


@pytest.fixture(scope="session")
def case():
    return Case()
