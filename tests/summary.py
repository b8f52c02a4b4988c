"""What pytest prints after the tests: each skip with its reason, as scripts/suites.py
reads it, and the figures that tests recorded with `record_property`. When a test
failed, only the figures of the failed tests are printed, so that the failure is not
buried under those that are fine. A conftest.py imports the hook from here.
"""


def pytest_terminal_summary(terminalreporter):
    """The hook that pytest calls."""
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        terminalreporter.write_line(
            f"skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
        )
    for report in stats.get("failed", stats.get("passed", [])):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.head_line}: {name} {value}")
