"""Creates the Spark session of a warehouse: with a metastore, in UTC, with the connector."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kafkapy.spark.java_home import prepare_environment
from kafkapy.warehouse.config import WarehouseConfig


def metastore_directory(config: WarehouseConfig) -> Path:
    """Return the directory of the embedded metastore."""
    if config.metastore_directory:
        return Path(unquote(urlsplit(config.metastore_directory).path))
    root = urlsplit(config.root)
    return (
        Path(unquote(root.path)) / "metastore" if root.scheme in ("", "file") else Path("kafkapy-metastore").absolute()
    )


def spark_configs(config: WarehouseConfig) -> dict[str, str]:
    """Return the defaults of Spark's configs. Each query lists files anew, since other processes add files."""
    place = metastore_directory(config)
    found = {
        "spark.app.name": f"kafkapy-warehouse {config.database}",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(place / "spark-warehouse"),
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.variable.substitute": "false",  # names of fields may look like ${variables}
        "spark.sql.adaptive.enabled": "true",
        "spark.scheduler.mode": "FAIR",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
    }
    if config.metastore:
        found["spark.hadoop.hive.metastore.uris"] = config.metastore
    else:
        url = f"jdbc:derby:;databaseName={place / 'derby'};create=true"
        found["spark.hadoop.javax.jdo.option.ConnectionURL"] = url
        found["spark.driver.extraJavaOptions"] = f"-Dderby.system.home={place}"
    return {**found, **config.spark}


class SparkJobs:
    """Spark jobs of one kind, in a scheduler pool of their own; they can be cancelled together."""

    def __init__(self, spark: Any, kind: str) -> None:
        self._spark = spark
        self._kind = kind

    def naming(self, step: Callable[[], float | None]) -> Callable[[], float | None]:
        """Wrap `step` so that its jobs are of this kind; Spark has that setting by thread."""

        def named() -> float | None:
            context = self._spark.sparkContext
            context.setJobGroup(f"warehouse {self._kind}", f"The warehouse's {self._kind}")
            context.setLocalProperty("spark.scheduler.pool", self._kind)
            return step()

        return named

    def cancel(self) -> None:
        if not session_has_ended(self._spark):
            self._spark.sparkContext.cancelJobGroup(f"warehouse {self._kind}")


def session_has_ended(spark: Any) -> bool:
    """Return whether Spark's context was stopped, or its JVM has ended."""
    from py4j.protocol import Py4JError

    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except (AttributeError, Py4JError, OSError):
        return True


def session(config: WarehouseConfig) -> Any:
    """Create the session. Under spark-submit its master and memory apply; else `local[*]`. The configuration overrides
    both."""
    place = metastore_directory(config)
    place.mkdir(parents=True, exist_ok=True)
    prepare_environment(place / "java")
    package = str(Path(__file__).parents[2])
    others = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each and each != package]
    os.environ["PYTHONPATH"] = os.pathsep.join([package, *others])
    from pyspark.sql import SparkSession

    from kafkapy.spark import KafkaDataSource

    builder = SparkSession.builder
    for name, value in spark_configs(config).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(KafkaDataSource)
    return spark
