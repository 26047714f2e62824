"""A context that keeps what is forwarded, and stores that are plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from kafkapy.streams.processor import Cancellable, Duration, Processor, PunctuationType, TaskContext
from kafkapy.streams.records import (
    Change,
    Headers,
    Record,
    RecordContext,
    RecordMetadata,
    TimeWindow,
    ValueAndTimestamp,
    VersionedRecord,
    Windowed,
)
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state import state_store


class FakeContext(TaskContext):
    """Of one processor in the task 0_0."""

    def __init__(self, **stores: Any) -> None:
        self.application_id = "app"
        self.task_id = "0_0"
        self.state_dir = Path("unused")
        self.config: dict[str, Any] = {}
        self.default_key_serde = Serdes.string()
        self.default_value_serde = Serdes.string()
        self.record_context: RecordContext | None = None
        self.cache = None
        self.stores = stores
        self.forwarded: list[Record[Any, Any]] = []
        self.origins: list[RecordContext | None] = []
        self.dropped = 0
        self.now = 0
        self.metadata: dict[str, int] = {}
        self.node = "mine"

    @property
    def current_node(self) -> str:
        return self.node

    def set_current_node(self, node: str) -> None:
        self.node = node

    def forward(self, record: Any, child_name: str | None = None) -> None:
        assert self.node == "mine"
        self.forwarded.append(record)
        self.origins.append(self.record_context)

    def get_state_store(self, name: str) -> Any:
        return self.stores[name]

    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        raise NotImplementedError

    def record_metadata(self) -> RecordMetadata | None:
        origin = self.record_context
        return None if origin is None else RecordMetadata(origin.topic, origin.partition, origin.offset)

    def current_stream_time_ms(self) -> int:
        raise NotImplementedError

    def current_system_time_ms(self) -> int:
        return self.now

    def commit(self) -> None:
        raise NotImplementedError

    def register_store(self, store: Any, restore: Callable[[list[Any]], None]) -> None:
        raise NotImplementedError

    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        raise NotImplementedError

    def changelog_topic(self, store_name: str) -> str:
        raise NotImplementedError

    def record_dropped(self) -> None:
        self.dropped += 1

    def processor_metadata_for_key(self, key: str) -> int | None:
        return self.metadata.get(key)

    def add_processor_metadata_key_value(self, key: str, value: int) -> None:
        self.metadata[key] = value


class Driven:
    """A processor with its context."""

    def __init__(self, supplier: Callable[[], Processor], context: FakeContext) -> None:
        self.context = context
        self.processor = supplier()
        self.processor.init(context)

    def pipe(self, key: Any, value: Any, timestamp: int, headers: Headers | None = None) -> list[tuple[Any, ...]]:
        """Process a record; what it forwards as (key, value, timestamp)."""
        record = Record(key, value, timestamp, headers)
        self.context.record_context = RecordContext(timestamp, 7, 3, "topic", record.headers)
        before = len(self.context.forwarded)
        self.processor.process(record)
        return [(new.key, new.value, new.timestamp) for new in self.context.forwarded[before:]]

    def update_of(self, key: Any, value: Any, timestamp: int) -> list[tuple[Any, ...]]:
        """Process a record; the updates that it forwards as (key, new value, old value, timestamp)."""
        return [
            (key, change.new_value, change.old_value, time) for key, change, time in self.pipe(key, value, timestamp)
        ]

    def pipe_update(self, key: Any, new: Any, old: Any, timestamp: int) -> list[tuple[Any, ...]]:
        """Process an update; the records that it forwards as (key, value, timestamp)."""
        return self.pipe(key, Change(new, old), timestamp)

    def update(self, key: Any, new: Any, old: Any, timestamp: int, is_latest: bool = True) -> list[tuple[Any, ...]]:
        """Process an update; what it forwards as (key, new value, old value, timestamp)."""
        return [
            (key, change.new_value, change.old_value, time)
            for key, change, time in self.pipe(key, Change(new, old, is_latest), timestamp)
        ]


class FakeStore:
    """What all have."""

    caching = False

    def __init__(self) -> None:
        self.listener: Any = None
        self.entries: dict[Any, Any] = {}

    def set_flush_listener(self, listener: Any, send_old_values: bool) -> bool:
        self.listener = listener
        return self.caching


@state_store.TimestampedKeyValueStore.register
class TimestampedKeyValueStore(FakeStore):
    def get(self, key: Any) -> Any:
        return self.entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        if value is None:
            self.entries.pop(key, None)
        else:
            self.entries[key] = value

    def put_if_absent(self, key: Any, value: Any) -> None:
        """As Kafka's ListValueStore: None deletes."""
        assert value is None
        self.entries.pop(key, None)

    def delete(self, key: Any) -> None:
        self.entries.pop(key, None)

    def range(self, key_from: Any, key_to: Any) -> Iterator[tuple[Any, Any]]:
        return iter([(key, value) for key, value in sorted(self.entries.items()) if key_from <= key <= key_to])

    def all(self) -> Iterator[tuple[Any, Any]]:
        return iter(sorted(self.entries.items()))


@state_store.VersionedKeyValueStore.register
class VersionedKeyValueStore(FakeStore):
    """Takes nothing older than the latest value by more than the grace period."""

    def __init__(self, grace_ms: int) -> None:
        super().__init__()
        self.grace_ms = grace_ms

    def get(self, key: Any, as_of_timestamp: int = 2**63 - 1) -> VersionedRecord | None:
        valid = [(time, value) for time, value in self.entries.get(key, {}).items() if time <= as_of_timestamp]
        if not valid:
            return None
        time, value = max(valid)
        return None if value is None else VersionedRecord(value, time)

    def put(self, key: Any, value: Any, timestamp: int) -> int:
        versions = self.entries.setdefault(key, {})
        later = [time for time in versions if time > timestamp]
        if later and max(later) - timestamp > self.grace_ms:
            return -(2**63)
        versions[timestamp] = value
        return min(later) if later else -1


class WindowStore(FakeStore):
    """Keeps all that is put; duplicates if it is told so."""

    def __init__(self, size_ms: int = 10, *, duplicates: bool = False, backwards: bool = True) -> None:
        super().__init__()
        self.size_ms = size_ms
        self.duplicates = duplicates
        self.backwards = backwards
        self.count = 0

    def put(self, key: Any, value: Any, start: int) -> None:
        self.count += self.duplicates
        if value is None:
            self.entries.pop((start, key, self.count), None)
        else:
            self.entries[start, key, self.count] = value

    def fetch(self, key: Any, time_from: int, time_to: int | None = None) -> Any:
        if time_to is None:
            return self.entries.get((time_from, key, 0))
        assert time_from >= 0
        return iter(
            [
                (start, value)
                for (start, of, _), value in sorted(self.entries.items(), key=lambda item: item[0])
                if of == key and time_from <= start <= time_to
            ]
        )

    def backward_fetch(self, key: Any, time_from: int, time_to: int) -> Any:
        if not self.backwards:
            raise NotImplementedError
        return reversed(list(self.fetch(key, time_from, time_to)))

    def fetch_all(self, time_from: int, time_to: int) -> Any:
        return iter(
            [
                (Windowed(key, TimeWindow(start, start + self.size_ms)), value)
                for (start, key, _), value in sorted(self.entries.items(), key=lambda item: item[0])
                if time_from <= start <= time_to
            ]
        )


class SessionStore(FakeStore):
    def put(self, session: Windowed[Any], value: Any) -> None:
        if value is None:
            self.entries.pop(session, None)
        else:
            self.entries[session] = value

    def remove(self, session: Windowed[Any]) -> None:
        del self.entries[session]

    def _sorted(self) -> list[tuple[Windowed[Any], Any]]:
        return sorted(self.entries.items(), key=lambda item: (item[0].window.end, item[0].window.start))

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Any:
        return iter(
            [
                (session, value)
                for session, value in self._sorted()
                if session.key == key and session.window.end >= earliest_end and session.window.start <= latest_start
            ]
        )

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Any:
        return iter([item for item in self._sorted() if earliest_end <= item[0].window.end <= latest_end])

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        return next(
            (
                value
                for session, value in self.entries.items()
                if (session.key, session.window.start, session.window.end) == (key, start, end)
            ),
            None,
        )


class Eviction(NamedTuple):
    key: Any
    value: Any
    record_context: RecordContext


class Buffer(FakeStore):
    """Entries by key, each with its time and size of one byte; with a grace period, it says itself which are due."""

    def __init__(self, grace_ms: int | None = None) -> None:
        super().__init__()
        self.grace_ms = grace_ms
        self.latest = -1
        self.count = 0

    def set_serdes_if_null(self, context: Any) -> None:
        assert context.default_key_serde is not None

    def put(self, time: int, record: Record[Any, Any], record_context: RecordContext) -> bool:
        if self.grace_ms is None:
            before = self.entries.get(record.key)
            time = time if before is None else before[0]
            prior = record.value.old_value if before is None else before[2]
            self.entries[record.key] = (time, Eviction(record.key, record.value, record_context), prior)
            return True
        self.latest = time
        if record.timestamp < time - self.grace_ms:
            return False
        self.count += 1
        self.entries[self.count] = (record.timestamp, Eviction(record.key, record.value, record_context), None)
        return True

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Any], None]) -> None:
        while self.entries and predicate():
            key, (time, eviction, _) = min(self.entries.items(), key=lambda item: (item[1][0], str(item[0])))
            if self.grace_ms is not None and time > self.latest - self.grace_ms:
                return
            del self.entries[key]
            callback(eviction)

    def prior_value_for_buffered(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        if key not in self.entries:
            return False, None
        prior = self.entries[key][2]
        return True, None if prior is None else ValueAndTimestamp(prior, -1)

    def num_records(self) -> int:
        return len(self.entries)

    def buffer_size(self) -> int:
        return len(self.entries)

    def min_timestamp(self) -> int:
        return int(min(entry[0] for entry in self.entries.values()))


class FakeTable:
    """A parent table with a store, or one that is only asked whether it sends old values."""

    def __init__(self, store_name: str = "parent", materialized: bool = True) -> None:
        self.store_name = store_name
        self.materialized = materialized
        self.sends_old_values = False

    def value_getter_supplier(self) -> Any:
        from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier

        self.materialized = True
        return KTableMaterializedValueGetterSupplier(self.store_name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        self.materialized = self.materialized or force_materialization
        self.sends_old_values = self.sends_old_values or self.materialized
        return self.sends_old_values


def fails(*_: Any) -> NoReturn:
    """A user's function that fails."""
    raise ZeroDivisionError
