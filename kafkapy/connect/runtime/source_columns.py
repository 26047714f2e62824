"""Records of one topic and partition that are sent together, as columns for the producer."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.partition_key import partition_key
from kafkapy.connect.runtime.source_conversion import OutgoingRecord
from kafkapy.connect.runtime.submitted_records import Offset, Partition


class SourceColumns:
    """Invariant: all columns have `count` values; `_runs` has for each source partition its last offset and its number
    of records."""

    def __init__(self, outgoing: OutgoingRecord, first: int) -> None:
        """
        Args:
            outgoing: The first record, which must still be added by `add`.
            first: Its index in the batch.

        Attributes:
            records: Those added, before transforms.
        """
        self.topic = outgoing.topic
        self.first = first
        self.records: list[SourceRecord] = []
        self._partition = outgoing.partition
        self._has_time = outgoing.timestamp is not None
        self._values: list[bytes | None] = []
        self._keys: list[bytes | None] = []
        self._headers: list[list[tuple[str, bytes | None]] | None] = []
        self._timestamps: list[int] = []
        self._runs: dict[Any, tuple[Partition, Offset, int]] = {}
        self._last: Partition = None
        self._last_key: Any = None

    def takes(self, outgoing: OutgoingRecord) -> bool:
        """Return whether the record can be sent with the others."""
        return (
            outgoing.topic == self.topic
            and outgoing.partition == self._partition
            and (outgoing.timestamp is not None) is self._has_time
        )

    def add(self, record: SourceRecord, outgoing: OutgoingRecord) -> None:
        """Add a record that `takes` accepts. `record`: the record before transforms, for its source partition and
        offset."""
        self.records.append(record)
        self._values.append(outgoing.value)
        self._keys.append(outgoing.key)
        self._headers.append(outgoing.headers)
        if outgoing.timestamp is not None:
            self._timestamps.append(outgoing.timestamp)
        partition = record.source_partition
        if partition is not self._last or self._last_key is None:
            self._last, self._last_key = partition, partition_key(partition)
        run = self._runs.get(self._last_key)
        self._runs[self._last_key] = (partition, record.source_offset, 1 if run is None else run[2] + 1)

    @property
    def count(self) -> int:
        return len(self._values)

    @property
    def runs(self) -> list[tuple[Partition, Offset, int]]:
        """Return source partition, last offset and number of records for each partition."""
        return list(self._runs.values())

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments for the producer's `send_many`."""
        keys = None if self._keys.count(None) == len(self._keys) else self._keys
        headers = None if self._headers.count(None) == len(self._headers) else self._headers
        return self.topic, self._values, keys, self._partition, headers, self._timestamps if self._has_time else None
