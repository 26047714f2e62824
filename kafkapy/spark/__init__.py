"""The Spark connector: a PySpark data source named "kafkapy" that reads and writes Kafka topics.

    from kafkapy.spark import KafkaDataSource

    spark.dataSource.register(KafkaDataSource)
    spark.read.format("kafkapy").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "events").load()

Options, schema and semantics are those of Spark's own Kafka source; `options.py` has the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.common.extras import need

if TYPE_CHECKING:
    from kafkapy.spark.avro import from_avro as from_avro
    from kafkapy.spark.data_source import KafkaDataSource as KafkaDataSource

__all__ = ["KafkaDataSource", "from_avro"]


def __getattr__(name: str) -> Any:
    # Late, since PySpark is slow to import and `kafkapy.spark.java_home` is there for before Spark starts.
    if name == "KafkaDataSource":
        need("spark", "pyspark", "pyarrow", "numpy", by="The Spark connector")
        from kafkapy.spark.data_source import KafkaDataSource

        return KafkaDataSource
    if name == "from_avro":
        need("spark", "pyspark", "pyarrow", "numpy", by="from_avro")
        from kafkapy.spark.avro import from_avro

        return from_avro
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
