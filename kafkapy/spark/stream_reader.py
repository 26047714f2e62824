"""Reads streams: offsets of micro-batches, and commits for lag tools (Spark's `KafkaMicroBatchStream`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafkapy.common.time import SystemTime, Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import KafkaError
from kafkapy.spark.errors import DATA_LOSS_WARNING, DataLossError, OffsetError
from kafkapy.spark.offset_limits import START, Offsets, PartitionOffsets, end_and_start, names, offsets_to_json
from kafkapy.spark.offset_ranges import limit_offsets, new_offsets, ranges_of_micro_batch
from kafkapy.spark.offset_reader import OffsetReader
from kafkapy.spark.options import SourceOptions
from kafkapy.spark.partition_reader import PartitionReader, plan_tasks

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("kafkapy.spark")


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Exists on the driver as long as the query; only `read` runs in tasks, on a copy."""

    def __init__(self, options: SourceOptions, time: Time | None = None) -> None:
        self._options = options
        self._time: Time = time or SystemTime()
        self._partition_reader = PartitionReader(options)
        self._offset_reader = OffsetReader(options, time)
        self._initial: PartitionOffsets | None = None
        self._latest: PartitionOffsets | None = None
        self._available_now = False
        self._target: PartitionOffsets | None = None
        """The end of a Trigger.AvailableNow query: the latest offsets at its first request."""
        self._last_trigger_ms = 0
        self._committed: Mapping[TopicPartition, int] = {}

    # --- offsets

    def initialOffset(self) -> Offsets:
        """Return the first offsets; Spark calls this repeatedly before the first batch, and the result must not
        change."""
        if self._initial is None:
            self._initial = self._offset_reader.resolve(self._options.start, starting=True)
        return dict(offsets_to_json(self._initial))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the read limit. PySpark has no composite limit: with both options, `latestOffset` applies the lower
        one itself."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = True

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        begin, _ = end_and_start(start)
        # Spark asks for the next batch only after it has run the last one, which ended here.
        self._commit_to_group(begin)
        end = self._end_of_batch(begin, limit)
        if START not in start and begin == self._initial:
            return {START: start, **offsets_to_json(end)}
        return start if end == begin else dict(offsets_to_json(end))

    def _end_of_batch(self, begin: PartitionOffsets, limit: ReadLimit) -> PartitionOffsets:
        latest = self._fetch_latest(begin)
        if not latest:
            return begin
        if isinstance(limit, ReadAllAvailable):
            return latest
        if self._wait_for_more(begin, latest):
            return begin
        if isinstance(limit, ReadMaxRows):
            return limit_offsets(limit.max_rows, begin, latest, self._offset_reader.earliest)
        return latest

    def reportLatestOffset(self) -> Offsets | None:
        return dict(offsets_to_json(self._latest)) if self._latest else None

    def _fetch_latest(self, begin: PartitionOffsets) -> PartitionOffsets:
        if self._available_now:
            if self._target is None:
                self._target = self._offset_reader.latest(begin)
            self._latest = self._target
        else:
            self._latest = self._offset_reader.latest(begin)
        return self._latest

    def _wait_for_more(self, begin: PartitionOffsets, latest: PartitionOffsets) -> bool:
        """Return whether to wait, by minOffsetsPerTrigger and maxTriggerDelay; never for Trigger.AvailableNow."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._available_now:
            return False
        now = self._time.milliseconds()
        late = now - self._last_trigger_ms >= self._options.max_trigger_delay_ms
        if not late and new_offsets(begin, latest) < least:
            return True
        self._last_trigger_ms = now
        return False

    # --- batches

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        begin, _ = end_and_start(start)
        until, first = end_and_start(end)
        begin = begin if first is None else first
        if self._target is not None:
            self._verify_available_now(until, self._target)
        ranges = ranges_of_micro_batch(
            begin, until, self._offset_reader.earliest, self._report_data_loss, self._options.kafka["group.id"]
        )
        return plan_tasks(ranges, self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._partition_reader.read(partition)

    def commit(self, end: Offsets) -> None:
        self._commit_to_group(end_and_start(end)[0])

    def stop(self) -> None:
        self._offset_reader.close()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle for tasks, without connections."""
        return {"_options": self._options, "_partition_reader": self._partition_reader}

    def _commit_to_group(self, offsets: PartitionOffsets) -> None:
        """Commit progress for lag tools. Failures are ignored, because the stream relies on its checkpoint."""
        group = self._options.commit_offsets_to_group
        if group is None or not offsets or offsets == self._committed:
            return
        try:
            self._offset_reader.commit(group, offsets)
            self._committed = offsets
        except KafkaError as error:
            _log.warning("The offsets could not be committed to the group %s: %s", group, error)

    def _report_data_loss(self, reason: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(reason)
        _log.warning("%s %s", reason, DATA_LOSS_WARNING)

    def _verify_available_now(self, end: PartitionOffsets, target: PartitionOffsets) -> None:
        """Check that partitions and ends are those of the query's start; a recreated topic fails the check."""
        if end.keys() != target.keys():
            raise OffsetError(
                "Kafka data source in Trigger.AvailableNow should provide the same topic partitions in pre-fetched "
                f"offset to end offset for each microbatch. {_TRANSIENT} topic-partitions for pre-fetched offset: "
                f"{names(target)}, topic-partitions for end offset: {names(end)}."
            )
        if any(end[p] > target[p] for p in end):
            raise OffsetError(
                "For Kafka data source with Trigger.AvailableNow, end offset should have lower or equal offset per "
                f"each topic partition than pre-fetched offset. {_TRANSIENT} pre-fetched offset: "
                f"{offsets_to_json(target)}, end offset: {offsets_to_json(end)}."
            )
        latest = self._offset_reader.latest(end)
        if not end.keys() <= latest.keys():
            raise OffsetError(
                "Some of partitions in Kafka topic(s) have been lost during running query with Trigger.AvailableNow. "
                f"{_TRANSIENT} topic-partitions for latest offset: {names(latest)}, topic-partitions for end offset: "
                f"{names(end)}"
            )
        if any(end[p] > latest[p] for p in end):
            raise OffsetError(
                "Some of partitions in Kafka topic(s) report available offset which is less than end offset during "
                f"running query with Trigger.AvailableNow. {_TRANSIENT} latest offset: {offsets_to_json(latest)}, end "
                f"offset: {offsets_to_json(end)}"
            )


_TRANSIENT = "The error could be transient - restart your query, and report if you still see the same issue."
