"""Hooks that the tests of the engines share."""

import os

import pytest
from engine_case import Case
from spark_case import ENV, LOCAL


def pytest_terminal_summary(terminalreporter):
    """Prints the reasons of skips, one per line, as all suites of stead do."""
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    }
    for reason in sorted(reasons):
        terminalreporter.write_line(f"skipped: {reason}")


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A session of Spark; tests that ask for it have made sure that there is one."""
    from pyspark.sql import SparkSession

    os.environ.update(ENV)
    builder = SparkSession.builder.master("local[2]").appName("stead's tests")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    spark = builder.config(
        "spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))
    ).getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def case():
    return Case()
