"""A versioned key-value store on disk (KIP-889)."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.streams.errors import InvalidStateStoreException
from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import VersionedBytesStore
from kafkapy.streams.state.rocksdb_database import Table
from kafkapy.streams.state.segments import Segments
from kafkapy.streams.state.state_store import (
    PUT_RETURN_CODE_NOT_PUT,
    PUT_RETURN_CODE_VALID_TO_UNDEFINED,
    StateStore,
)
from kafkapy.streams.state.value_and_timestamp import raw_value_of, timestamp_of, with_timestamp
from kafkapy.streams.state.versioned_segment_value import SegmentValue, min_timestamp_of, next_timestamp_of

_LATEST_VALUES: Final = -1


class RocksDBVersionedStore(VersionedBytesStore):
    """The latest value of each key in one place, earlier ones in segments.

    Invariant: a version is in the segment of the end of its validity. A deleted key has no latest value; the time of
    the deletion is in the latest segment that has the key.
    """

    def __init__(self, name: str, history_retention: int, segment_interval: int) -> None:
        self._name = name
        self._history_retention = history_retention
        self._segments = Segments(name, history_retention, segment_interval)
        self._latest_values: Table
        self._observed_stream_time = -1
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        if not self._segments.database.is_open:
            self._segments.open(context)
            self._latest_values = self._segments.reserved(_LATEST_VALUES)
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        end_time = self._observed_stream_time
        for record in records:
            end_time = max(end_time, record.timestamp)
        for record in records:
            if record.timestamp < self._observed_stream_time - self._history_retention:
                continue
            self._observed_stream_time = max(self._observed_stream_time, record.timestamp)
            self._put(end_time, record.key, record.value, record.timestamp)

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        self._check_open()
        if timestamp < self._observed_stream_time - self._history_retention:
            self._context.record_dropped()
            return PUT_RETURN_CODE_NOT_PUT
        self._observed_stream_time = max(self._observed_stream_time, timestamp)
        valid_to = self._put(self._observed_stream_time, key, value, timestamp)
        # As in Kafka: a version found too old at this point is reported as the latest.
        return PUT_RETURN_CODE_VALID_TO_UNDEFINED if valid_to in (None, PUT_RETURN_CODE_NOT_PUT) else valid_to

    def delete(self, key: bytes, timestamp: int) -> bytes | None:
        self._check_open()
        if timestamp < self._observed_stream_time - self._history_retention:
            self._context.record_dropped()
            return None
        existing = self.get_as_of(key, timestamp)
        self._observed_stream_time = max(self._observed_stream_time, timestamp)
        self._put(self._observed_stream_time, key, None, timestamp)
        return existing

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        return self._latest_values.get(key)

    def get_as_of(self, key: bytes, as_of_timestamp: int) -> bytes | None:
        self._check_open()
        latest = self._latest_values.get(key)
        if latest is not None and timestamp_of(latest) <= as_of_timestamp:
            return latest
        if as_of_timestamp < self._observed_stream_time - self._history_retention:
            return None
        for segment_id in self._segments.ids_from(as_of_timestamp):
            data = self._segments.with_id(segment_id).get(key)
            if data is None:
                continue
            if next_timestamp_of(data) <= as_of_timestamp:
                return None
            if min_timestamp_of(data) <= as_of_timestamp:
                found = SegmentValue.read(data).find(as_of_timestamp)
                return with_timestamp(found.value, found.valid_from)
        return None

    def versions(self, key: bytes, time_from: int, time_to: int) -> list[tuple[bytes, int, int | None]]:
        self._check_open()
        oldest = self._observed_stream_time - self._history_retention
        if time_to < oldest or time_to < time_from:
            return []
        time_from = max(time_from, oldest)
        found: list[tuple[bytes, int, int | None]] = []
        latest = self._latest_values.get(key)
        if latest is not None and timestamp_of(latest) <= time_to:
            found.append((raw_value_of(latest) or b"", timestamp_of(latest), None))
        for segment_id in self._segments.ids_from(time_from):
            data = self._segments.with_id(segment_id).get(key)
            if data is None:
                continue
            if next_timestamp_of(data) <= time_from:
                break
            if min_timestamp_of(data) <= time_to:
                found.extend(SegmentValue.read(data).valid_in(time_from, time_to))
        return found

    def _put(self, stream_time: int, key: bytes, value: bytes | None, timestamp: int) -> int | None:
        """Put a version; return the end of its validity, None for the latest."""
        self._segments.drop_expired(stream_time)
        latest = self._latest_values.get(key)
        if latest is not None and timestamp >= timestamp_of(latest):
            self._put_latest(stream_time, key, value, timestamp, latest)
            return None
        found = None if latest is None else timestamp_of(latest)
        for segment_id in self._segments.ids_from(timestamp):
            segment = self._segments.with_id(segment_id)
            data = segment.get(key)
            if data is None:
                continue
            if next_timestamp_of(data) <= timestamp:
                break
            earliest = min_timestamp_of(data)
            if earliest <= timestamp:
                return self._put_to_segment(stream_time, segment_id, data, key, value, timestamp)
            if earliest < stream_time - self._history_retention:
                return PUT_RETURN_CODE_NOT_PUT
            found = earliest
        if found is None:
            return self._put_as_latest(stream_time, key, value, timestamp)
        return self._put_before(stream_time, key, value, timestamp, found)

    def _put_latest(self, stream_time: int, key: bytes, value: bytes | None, timestamp: int, latest: bytes) -> None:
        """Replace the latest value, and move it to the segment of the end of its validity."""
        valid_from = timestamp_of(latest)
        if timestamp > valid_from:
            segment = self._live_segment(timestamp, stream_time)
            if segment is not None:
                _insert_as_latest(segment, key, raw_value_of(latest), valid_from, timestamp)
        self._latest_values.put(key, with_timestamp(value, timestamp))

    def _put_as_latest(self, stream_time: int, key: bytes, value: bytes | None, timestamp: int) -> int | None:
        """Put a version of a key that has none, or only earlier ones."""
        if value is not None:
            self._latest_values.put(key, with_timestamp(value, timestamp))
            return None
        segment = self._live_segment(timestamp, stream_time)
        if segment is None:
            return PUT_RETURN_CODE_NOT_PUT
        data = segment.get(key)
        if data is None:
            segment.put(key, SegmentValue.of_record(None, timestamp, timestamp).write())
        elif next_timestamp_of(data) != timestamp:
            versions = SegmentValue.read(data)
            versions.insert_as_latest(versions.next_timestamp, timestamp, None)
            segment.put(key, versions.write())
        return None

    def _put_to_segment(
        self, stream_time: int, segment_id: int, data: bytes, key: bytes, value: bytes | None, timestamp: int
    ) -> int:
        """Put a version among those of a segment."""
        segment = self._segments.with_id(segment_id)
        versions = SegmentValue.read(data)
        found = versions.find(timestamp)
        own_segment_id = self._segments.segment_id(timestamp)
        if found.valid_from == timestamp:
            versions.update(timestamp, value, found.position)
        elif own_segment_id == segment_id:
            versions.insert(timestamp, value, found.position)
        else:
            older = self._live_segment(timestamp, stream_time)
            if older is not None:
                _insert_as_latest(older, key, found.value, found.valid_from, timestamp)
            versions.update(timestamp, value, found.position)
        segment.put(key, versions.write())
        return found.valid_to

    def _put_before(self, stream_time: int, key: bytes, value: bytes | None, timestamp: int, valid_to: int) -> int:
        """Put a version that is valid until the earliest known one."""
        segment = self._live_segment(valid_to, stream_time)
        if segment is None:
            return PUT_RETURN_CODE_NOT_PUT
        data = segment.get(key)
        if data is not None and next_timestamp_of(data) > timestamp:
            versions = SegmentValue.read(data)
            versions.insert_as_earliest(timestamp, value)
            segment.put(key, versions.write())
        else:
            _insert_as_latest(segment, key, value, timestamp, valid_to)
        return valid_to

    def _live_segment(self, timestamp: int, stream_time: int) -> Table | None:
        return self._segments.get_or_create_if_live(self._segments.segment_id(timestamp), stream_time)

    def _check_open(self) -> None:
        if not self._segments.database.is_open:
            raise InvalidStateStoreException(f"Store {self._name} is currently closed")

    def flush(self) -> None:
        self._segments.database.flush()

    def close(self) -> None:
        self._segments.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._segments.database.is_open


def _insert_as_latest(segment: Table, key: bytes, value: bytes | None, valid_from: int, valid_to: int) -> None:
    data = segment.get(key)
    if data is None:
        versions = SegmentValue.of_record(value, valid_from, valid_to)
    else:
        versions = SegmentValue.read(data)
        versions.insert_as_latest(valid_from, valid_to, value)
    segment.put(key, versions.write())
