"""The data source to register with Spark: `spark.dataSource.register(KafkaDataSource)`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from kafkapy.spark.errors import OptionError
from kafkapy.spark.options import Mode, SourceOptions, check_read, include_headers, sink_options, source_options
from kafkapy.spark.schema import check_sink_schema, source_schema
from kafkapy.spark.worker import spare_collections

if TYPE_CHECKING:
    from kafkapy.spark.batch_reader import KafkaBatchReader
    from kafkapy.spark.stream_reader import KafkaStreamReader

_log = logging.getLogger("kafkapy.spark")


class KafkaDataSource(DataSource):
    """Format "kafkapy". Wrong options of a read are reported when the DataFrame is created.

    Example:
        >>> KafkaDataSource.name()
        'kafkapy'
    """

    @classmethod
    def name(cls) -> str:
        return "kafkapy"

    def schema(self) -> StructType:
        check_read(self.options)
        spare_collections()
        return source_schema(include_headers(self.options))

    def reader(self, schema: StructType) -> KafkaBatchReader:
        """Return the reader of a batch query.

        Args:
            schema: Columns of the DataFrame.
        """
        from kafkapy.spark.batch_reader import KafkaBatchReader

        return KafkaBatchReader(self._source_options(schema, Mode.BATCH))

    def streamReader(self, schema: StructType) -> KafkaStreamReader:
        """Return the reader of a streaming query.

        Args:
            schema: Columns of the DataFrame.
        """
        from kafkapy.spark.stream_reader import KafkaStreamReader

        return KafkaStreamReader(self._source_options(schema, Mode.STREAM))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer of a batch query.

        Args:
            schema: Columns of the DataFrame.
            overwrite: Has no effect: a topic is appended to.
        """
        from kafkapy.spark.writer import KafkaBatchWriter

        if overwrite:
            raise OptionError(
                'Save mode Overwrite not allowed for Kafka: a topic is only appended to. Write with .mode("append").'
            )
        options = sink_options(self.options)
        check_sink_schema(schema, options.topic)
        _warn(options.warnings)
        spare_collections()
        return KafkaBatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """`overwrite` is the output mode "complete": each result is appended whole, as Spark's sink does.

        Args:
            schema: Columns of the DataFrame.
            overwrite: Whether the output mode is "complete".
        """
        from kafkapy.spark.writer import KafkaStreamWriter

        options = sink_options(self.options)
        check_sink_schema(schema, options.topic)
        _warn(options.warnings)
        return KafkaStreamWriter(options)

    def _source_options(self, schema: StructType, mode: Mode) -> SourceOptions:
        options = source_options(self.options, mode)
        if schema != source_schema(options.include_headers):
            raise OptionError("Kafka source has a fixed schema and cannot be set with a custom one")
        _warn(options.warnings)
        return options


def _warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        _log.warning("%s", warning)
