"""What the topic holds, counted by Spark through the connector."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.quickstart.source import IDENTIFIER, NOT_COUNTED, WORD, Counts, QuickstartError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKAGES = "packages.parquet"
IDENTIFIERS = "identifiers.parquet"

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.filter.fatal.type = ThresholdFilter
appender.console.filter.fatal.level = fatal
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""
"""What goes wrong in a job comes as an exception; what Spark says of itself is not for a newcomer.
The level of the root logger is the one that a Spark of Python sets anyway; another makes it talk about that."""


def count_with_spark(bootstrap: str, topic: str, directory: Path) -> Counts:
    """Count the topic's lines by package and its identifiers; both tables go to Parquet files in `directory`."""
    spark = _session(directory)
    try:
        lines = _lines(spark, bootstrap, topic)
        packages, identifiers = _by_package(lines), _identifiers(lines)
        packages.write.mode("overwrite").parquet(str(directory / PACKAGES))
        identifiers.write.mode("overwrite").parquet(str(directory / IDENTIFIERS))
        return _read_back(spark, directory)
    finally:
        spark.stop()


def _session(directory: Path) -> SparkSession:
    from kafkapy.spark.java_home import NoJavaError, prepare_environment

    try:
        prepare_environment(directory / "java")
    except NoJavaError as error:
        raise QuickstartError(str(error)) from error
    from pyspark.sql import SparkSession

    from kafkapy.spark import KafkaDataSource

    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # Ctrl-C is no error
    log4j = directory / "spark-log4j2.properties"
    log4j.write_text(_LOG4J)
    builder: Any = SparkSession.builder
    spark: SparkSession = (
        builder.master("local[2]")
        .appName("kafkapy quick start")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(directory / "spark-warehouse"))
        .config("spark.local.dir", str(directory / "spark-local"))
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log4j.as_uri()}")
        .getOrCreate()
    )
    spark.dataSource.register(KafkaDataSource)
    return spark


def _lines(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    records = (
        spark.read.format("kafkapy").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    )
    return records.selectExpr("cast(key as string) file", "cast(value as string) line")


def _by_package(lines: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    name = f.col("file")
    package = (
        f.when(name.startswith("/"), f.regexp_replace(name, "/[^/]*$", ""))
        .when(name.contains("/"), f.substring_index(name, "/", 1))
        .otherwise(f.lit("(modules)"))
    )
    return (
        lines.groupBy(package.alias("package"))
        .agg(
            f.count_distinct("file").alias("files"),
            f.count("*").alias("lines"),
            f.sum(f.regexp_count("line", f.lit(WORD.decode()))).cast("long").alias("words"),
        )
        .orderBy(f.desc("lines"))
    )


def _identifiers(lines: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    found = f.explode(f.regexp_extract_all("line", f.lit(IDENTIFIER.decode()), f.lit(0))).alias("identifier")
    keywords = [word.decode() for word in NOT_COUNTED]
    return (
        lines.select(found)
        .where(~f.col("identifier").isin(keywords))
        .groupBy("identifier")
        .count()
        .orderBy(f.desc("count"))
    )


def _read_back(spark: SparkSession, directory: Path) -> Counts:
    packages = spark.read.parquet(str(directory / PACKAGES)).collect()
    identifiers = spark.read.parquet(str(directory / IDENTIFIERS)).collect()
    return Counts(
        {row["package"]: (row["files"], row["lines"], row["words"]) for row in packages},
        Counter({row["identifier"]: row["count"] for row in identifiers}),
    )
