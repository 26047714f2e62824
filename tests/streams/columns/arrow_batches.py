"""Batches as `KafkaConsumer.poll_arrow` reads them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafkapy.consumer.arrow import record_schema
from kafkapy.streams.task.consumed_record import ConsumedRecord


def arrow_batch(records: Sequence[ConsumedRecord]) -> pa.RecordBatch:
    """A batch of records, keys and values as bytes."""
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": 0,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
        }
        for record in records
    ]
    return pa.RecordBatch.from_pylist(rows, schema=record_schema())
