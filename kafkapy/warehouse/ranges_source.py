"""A streaming source whose rows are offset ranges; the tasks of the sink read the records of their ranges.

So records go from the broker's bytes to Parquet in one Python process and bypass the JVM. Offsets, limits, triggers
and the checkpoint are those of `kafkapy.spark`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from kafkapy.spark.options import Mode, source_options
from kafkapy.spark.stream_reader import KafkaStreamReader

if TYPE_CHECKING:
    import pyarrow as pa

RANGES = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("start", LongType()),
        StructField("until", LongType()),
    ]
)


class OffsetRangesSource(DataSource):
    """Format "kafkapy-ranges", with the options of "kafkapy"."""

    @classmethod
    def name(cls) -> str:
        return "kafkapy-ranges"

    def schema(self) -> StructType:
        return RANGES

    def streamReader(self, schema: StructType) -> OffsetRangesReader:
        return OffsetRangesReader(source_options(self.options, Mode.STREAM))


class OffsetRangesReader(KafkaStreamReader):
    """Emits a row for each range; a task has one or several."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield ranges_batch([(*each.partition, each.start, each.until) for each in partition.value or ()])


def ranges_batch(rows: list[tuple[str, int, int, int]]) -> Any:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    types = pa.string(), pa.int32(), pa.int64(), pa.int64()
    arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, RANGES.names)
