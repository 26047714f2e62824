"""Appends the rows of Arrow tables to the accumulator, as whole batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.common.extras import need
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.partitioner.hashing import hashes_of
from kafkapy.producer.batch import RECORD_OVERHEAD, ProducerBatch, cuts_of_sums
from kafkapy.producer.bulk import BulkAppend, BulkSend
from kafkapy.producer.core import TopicView
from kafkapy.producer.intake import Intake
from kafkapy.record.batch_encoder import encoded_records, time_runs

if TYPE_CHECKING:
    from kafkapy.record.arrow_records import ArrowRecords, Numbers

_SENT = {"value", "key", "timestamp", "partition", "headers"}
_OF_WHERE_IT_WAS = {"topic", "offset", "timestampType"}
"""Columns of a consumer's table that say where a record was read; they are ignored when it is sent."""
_AT_ONCE = 4 << 20
"""Bytes of records that are encoded in one step, before the first of them is appended."""


def sends_of_arrow(
    intake: Intake, view: TopicView, topic: str, table: Any, partition: int | None = None
) -> list[BulkAppend]:
    """Return one bulk append for each chunk of a `pyarrow` Table or RecordBatch.

    A table that a consumer has read is accepted unchanged. Raises ValueError for unknown columns, and the errors of
    `BulkSend`.
    """
    need("arrow", "pyarrow", by="send_arrow")
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    unknown = set(table.column_names) - _SENT - _OF_WHERE_IT_WAS
    if unknown or not {"value", "key"} & set(table.column_names):
        raise ValueError(
            "A table to send has the columns value, key, timestamp, partition and headers, and at least one of the first "
            f"two (topic, offset and timestampType are passed over); this one has {', '.join(table.column_names)}"
        )
    found: list[BulkAppend] = []
    for batch in table.drop_columns(sorted(_OF_WHERE_IT_WAS.intersection(table.column_names))).to_batches():
        columns = {name: _plain(pa, name, batch.column(i)) for i, name in enumerate(batch.schema.names)}
        found.append(
            _send_of_columns(pa, intake, view, topic, columns, partition)
            or _send_of_objects(intake, view, topic, columns, batch.num_rows, partition)
        )
    return found


def _plain(pa: Any, name: str, column: Any) -> Any:
    """Convert a column: dictionaries are decoded, text becomes binary, timestamps become ms."""
    kinds = pa.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if name in ("value", "key"):
        if kinds.is_large_string(kind):
            return column.cast(pa.large_binary())
        if kinds.is_string(kind) or kinds.is_string_view(kind):
            return column.cast(pa.binary())
    elif name == "timestamp" and kinds.is_timestamp(kind):
        return column.cast(pa.timestamp("ms", kind.tz), safe=False).cast(pa.int64())
    return column


def _send_of_columns(
    pa: Any, intake: Intake, view: TopicView, topic: str, columns: dict[str, Any], partition: int | None
) -> ArrowSend | None:
    """Return the send that works on columns; None if the rows must become Python objects.

    Objects are needed for the user's serializers and partitioners, for headers, and for the error message of a column
    with a wrong type.
    """
    own = intake.value_serializer is None and intake.key_serializer is None and intake.own_choice
    numbers = [columns[name] for name in ("timestamp", "partition") if name in columns]
    contents = [columns[name] for name in ("value", "key") if name in columns]
    if (
        not own
        or not len(contents[0])
        or ("headers" in columns and _has_headers(columns["headers"]))
        or any(column.null_count or not pa.types.is_integer(column.type) for column in numbers)
        or not all(pa.types.is_binary(c.type) or pa.types.is_large_binary(c.type) for c in contents)
    ):
        return None
    from kafkapy.record.arrow_records import ArrowRecords

    keys = columns.get("key")
    if keys is not None and keys.null_count == len(keys):
        keys = None
    values = columns["value"] if "value" in columns else pa.nulls(len(contents[0]), pa.binary())
    stamps, partitions = (
        columns[name].cast(pa.int64()).to_numpy() if name in columns else None for name in ("timestamp", "partition")
    )
    records = ArrowRecords(values, keys, stamps)
    return ArrowSend(intake, view, topic, records, partition, partitions if partition is None else None)


def _has_headers(column: Any) -> bool:
    import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

    return column.null_count < len(column) and bool(pc.sum(pc.list_value_length(column)).as_py())


def _send_of_objects(
    intake: Intake, view: TopicView, topic: str, columns: dict[str, Any], count: int, partition: int | None
) -> BulkSend:
    objects = {name: column.to_pylist() for name, column in columns.items()}
    if "headers" in objects:
        objects["headers"] = [
            None if own is None else [(header["key"], header["value"]) for header in own] for own in objects["headers"]
        ]
    return BulkSend(
        intake,
        view,
        topic,
        objects.get("value", [None] * count),
        objects.get("key"),
        partition,
        objects.get("headers"),
        objects.get("timestamp"),
        objects.get("partition") if partition is None else None,
        empty_records=True,
    )


class ArrowSend(BulkAppend):
    """Rows without Python objects: they are encoded directly from Arrow's buffers, many batches at a time."""

    def __init__(
        self,
        intake: Intake,
        view: TopicView,
        topic: str,
        records: ArrowRecords,
        partition: int | None = None,
        partitions: Numbers = None,
    ) -> None:
        """`partitions`: one for each record. Raises ValueError for a partition that isn't there and for negative timestamps,
        MessageSizeTooLargeError."""
        super().__init__(intake)
        self._view = view
        self._topic = topic
        self._codec = intake.core.sender.config.codec
        if records.timestamps is not None and records.timestamps.min() < 0:
            raise ValueError(f"Invalid timestamp {records.timestamps.min()}: it must not be negative")
        self._accumulator.check_record_size(int(records.sizes().max()) + RECORD_OVERHEAD)
        records, groups = self._in_groups(records, partition, partitions)
        self._work = self._pieces(records, groups)

    def _put(self, topic_partition: TopicPartition, records: Any) -> ProducerBatch | None:
        return self._accumulator.append_encoded(topic_partition, *records)

    # --- partitions

    def _in_groups(
        self, records: ArrowRecords, partition: int | None, partitions: Numbers
    ) -> tuple[ArrowRecords, list[tuple[int | None, int]]]:
        """Return the records sorted by partition, and for each group its partition (None: any) and end index."""
        known = self._view.partitions
        asked = {partition} if partition is not None else set(partitions.tolist()) if partitions is not None else set()
        if asked - set(known):
            raise ValueError(f"Unrecognized partition {min(asked - set(known))} for topic {self._topic}")
        if partition is None and partitions is None:
            if len(known) == 1:
                partition = known[0]
            elif records.keys is not None:
                partitions = self._of_keys(records)
        if partitions is None:
            return records, [(partition, len(records))]
        import numpy as np

        order = np.argsort(partitions, kind="stable")
        ordered = partitions[order]
        ends = [*(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(ordered)]
        groups = [
            (None if p < 0 else p, end) for p, end in zip(ordered[np.array(ends) - 1].tolist(), ends, strict=True)
        ]
        return (records if len(groups) == 1 else records.take(order)), groups

    def _of_keys(self, records: ArrowRecords) -> Numbers:
        """Return each record's partition by the hash of its key; -1 for records without a key."""
        import numpy as np

        data, starts, lengths = records.key_bytes()
        partitions = np.array(self._view.partitions)[
            hashes_of(data, starts, np.maximum(lengths, 0)) % len(self._view.partitions)
        ]
        partitions[lengths < 0] = -1
        return partitions

    # --- batches

    def _pieces(
        self, records: ArrowRecords, groups: list[tuple[int | None, int]]
    ) -> Iterator[tuple[TopicPartition, Any]]:
        """Yield the arguments of `append_encoded` for one batch after the other."""
        sums = (records.sizes() + RECORD_OVERHEAD).cumsum()
        some: list[tuple[int | None, int, int]] = []
        start = 0
        for partition, end in groups:
            before = int(sums[start - 1]) if start else 0
            for first, last in cuts_of_sums(sums[start:end] - before, self._accumulator.piece_bytes):
                some.append((partition, start + first, start + last))
                if sums[start + last - 1] - sums[some[0][1]] > _AT_ONCE:
                    yield from self._encoded(records, some, sums)
                    some = []
            start = end
        yield from self._encoded(records, some, sums)

    def _encoded(
        self, records: ArrowRecords, some: Sequence[tuple[int | None, int, int]], sums: Numbers
    ) -> Iterator[tuple[TopicPartition, Any]]:
        """Encode consecutive batches; `some`: (partition, first, last) of each."""
        if not some:
            return
        bodies = records.slice(some[0][1], some[-1][2]).encode([last - first for _, first, last in some])
        for (partition, first, last), body in zip(some, bodies, strict=True):
            size = int(sums[last - 1]) - (int(sums[first - 1]) if first else 0)
            if partition is None:
                partition = self._accumulator.sticky_partition(self._topic, self._view.available, size, count=True)
            batch = records.slice(first, last)
            stamps = [int(self._accumulator.clock() * 1000)] if batch.timestamps is None else batch.timestamps.tolist()
            runs = time_runs(stamps)
            encoded = encoded_records(body, last - first, runs, self._codec)
            yield TopicPartition(self._topic, partition), (encoded, batch.lengths(), runs, size)
