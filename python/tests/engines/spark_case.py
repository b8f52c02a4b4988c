"""How Spark runs in these tests."""

import os
import sys

# Spark listens only on this machine, and its workers have the same modules as the tests
LOCAL = {
    # Spark's snappy takes a machine that has musl beside glibc for one that has only musl
    "spark.sql.parquet.compression.codec": "gzip",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
}
ENV = dict(
    os.environ,
    PYSPARK_PYTHON=sys.executable,
    PYSPARK_DRIVER_PYTHON=sys.executable,
    SPARK_LOCAL_IP="127.0.0.1",
)
