"""IQv2: each kind of question to the stores of a task, positions and their bounds, what may fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.streams import (
    Consumed,
    FailureReason,
    KeyQuery,
    Materialized,
    MultiVersionedKeyQuery,
    Position,
    PositionBound,
    Query,
    QueryResult,
    RangeQuery,
    Serdes,
    SessionWindows,
    StateQueryRequest,
    Stores,
    StreamsBuilder,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    TimeWindows,
    ValueAndTimestamp,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from kafkapy.streams.errors import UnknownStateStoreException
from kafkapy.streams.runtime.store_queries import StoreQueries
from kafkapy.streams.runtime.thread_tasks import QueriedTask
from kafkapy.streams.testing import TopologyTestDriver

SERDES = Consumed.with_(Serdes.string(), Serdes.string())


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    builder = StreamsBuilder()
    lines = builder.stream("in", SERDES)
    counted: Materialized[str, int] = Materialized.as_("counts")
    lines.group_by_key().count(materialized=counted.with_caching_disabled())
    windows: Materialized[str, int] = Materialized.as_("windows")
    sessions: Materialized[str, int] = Materialized.as_("sessions")
    grouped = lines.group_by_key()
    grouped.windowed_by(TimeWindows.of_size_with_no_grace(10)).count(materialized=windows.with_retention(1000))
    gap = SessionWindows.of_inactivity_gap_with_no_grace(5)
    grouped.windowed_by(gap).count(materialized=sessions.with_retention(1000))
    versioned: Materialized[str, str] = Materialized.as_(Stores.persistent_versioned_key_value_store("versions", 1000))
    builder.table("table", SERDES, versioned)
    config = {"default.key.serde": Serdes.string(), "default.value.serde": Serdes.string()}
    with TopologyTestDriver(builder.build(), {**config, "statestore.cache.max.bytes": 0}) as made:
        string = Serdes.string()
        source = made.create_input_topic("in", string.serializer(), string.serializer())
        for time, key in enumerate("aababcb"):
            source.pipe_input(key, "", time * 4)
        table = made.create_input_topic("table", string.serializer(), string.serializer())
        for time, value in (10, "x"), (20, "y"), (30, None), (40, "z"):
            table.pipe_input("k", value, time)
        yield made


class Instance:
    """One that has partition 0 of a driver's stores, as a task or a copy."""

    def __init__(self, driver: TopologyTestDriver, *, is_active: bool = True, is_running: bool = True) -> None:
        self._stores: Mapping[str, Any] = driver.get_all_state_stores()
        self._is_active = is_active
        self._is_running = is_running
        thread: Any = SimpleNamespace(name="t", tasks=self, is_alive=lambda: True)
        self.lock = threading.RLock()
        self._queries = StoreQueries(self._stores.keys(), lambda: [thread], lambda _: None)

    def queried_tasks(self, name: str) -> list[QueriedTask]:
        return [QueriedTask(0, self._stores[name], self._is_active, self._is_running, {("in", 0): 6})]

    def ask(
        self,
        store: str,
        query: Query[Any],
        more: Callable[[StateQueryRequest], StateQueryRequest] = lambda request: request,
    ) -> QueryResult:
        result = self._queries.query(more(StateQueryRequest.in_store(store).with_query(query)))
        return result.partition_results[0]


def test_keys(driver: TopologyTestDriver) -> None:
    instance = Instance(driver)
    assert instance.ask("counts", KeyQuery.with_key("a")).result == 3
    assert instance.ask("counts", KeyQuery.with_key("a").skip_cache()).result == 3
    assert instance.ask("counts", KeyQuery.with_key("unknown")).result is None
    assert instance.ask("counts", TimestampedKeyQuery.with_key("b")).result == ValueAndTimestamp(3, 24)


def test_ranges(driver: TopologyTestDriver) -> None:
    instance = Instance(driver)
    for query, keys in (
        (RangeQuery.with_no_bounds(), "abc"),
        (RangeQuery.with_range("a", "b").with_descending_keys(), "ba"),
        (RangeQuery.with_lower_bound("b"), "bc"),
        (RangeQuery.with_upper_bound("b"), "ab"),
    ):
        assert "".join(key for key, _ in instance.ask("counts", query).result) == keys
    assert list(instance.ask("counts", TimestampedRangeQuery.with_lower_bound("c")).result) == [
        ("c", ValueAndTimestamp(1, 20))
    ]


def test_windows_and_sessions(driver: TopologyTestDriver) -> None:
    instance = Instance(driver)
    windows = instance.ask("windows", WindowKeyQuery.with_key_and_window_start_range("a", 0, 10)).result
    assert [(start, value.value) for start, value in windows] == [(0, 2), (10, 1)]
    all_windows = instance.ask("windows", WindowRangeQuery.with_window_start_range(20, 30)).result
    assert [(one.key, one.window.start, value.value) for one, value in all_windows] == [("b", 20, 1), ("c", 20, 1)]
    sessions = instance.ask("sessions", WindowRangeQuery.with_key("a")).result
    assert [(one.window.start, one.window.end, value) for one, value in sessions] == [(0, 4, 2), (12, 12, 1)]


def test_versions(driver: TopologyTestDriver) -> None:
    instance = Instance(driver)

    def versions(query: MultiVersionedKeyQuery) -> list[tuple[str, int, int | None]]:
        return [tuple(version) for version in instance.ask("versions", query).result]

    assert instance.ask("versions", VersionedKeyQuery.with_key("k")).result.value == "z"
    assert instance.ask("versions", VersionedKeyQuery.with_key("k").as_of(25)).result.value == "y"
    assert instance.ask("versions", VersionedKeyQuery.with_key("k").as_of(35)).result is None
    every = MultiVersionedKeyQuery.with_key("k")
    assert versions(every) == [("z", 40, None), ("y", 20, 30), ("x", 10, 20)]
    assert versions(every.from_time(20).to_time(39)) == [("y", 20, 30)]
    assert versions(every.from_time(15).to_time(20).with_ascending_timestamps()) == [("x", 10, 20), ("y", 20, 30)]
    assert versions(every.to_time(5)) == []


def test_a_question_that_the_store_does_not_know(driver: TopologyTestDriver) -> None:
    failed = Instance(driver).ask("windows", KeyQuery.with_key("a"))
    assert failed.failure_reason is FailureReason.UNKNOWN_QUERY_TYPE
    with pytest.raises(ValueError, match="Cannot get result for failed query"):
        _ = failed.result
    with pytest.raises(TypeError):
        KeyQuery.with_key(None)
    with pytest.raises(UnknownStateStoreException):
        Instance(driver).ask("unknown", KeyQuery.with_key("a"))


def test_positions(driver: TopologyTestDriver) -> None:
    instance = Instance(driver)
    query = KeyQuery.with_key("a")
    position = instance.ask("counts", query).position
    assert position == Position.from_map({"in": {0: 6}})
    assert instance.ask("counts", query, lambda it: it.with_position_bound(PositionBound.at(position))).is_success()
    later = PositionBound.at(position.with_component("in", 0, 7))
    failed = instance.ask("counts", query, lambda it: it.with_position_bound(later))
    assert failed.failure_reason is FailureReason.NOT_UP_TO_BOUND
    assert failed.failure_message is not None
    assert "Position{position={in={0=6}}} is not yet up to the bound" in failed.failure_message
    elsewhere = PositionBound.at(Position.from_map({"in": {1: 99}}))
    assert instance.ask("counts", query, lambda it: it.with_position_bound(elsewhere)).is_success()


def test_copies_and_partitions_that_are_not_here(driver: TopologyTestDriver) -> None:
    copy = Instance(driver, is_active=False, is_running=False)
    query = KeyQuery.with_key("a")
    assert copy.ask("counts", query).result == 3
    refused = copy.ask("counts", query, lambda request: request.require_active())
    assert refused.failure_reason is FailureReason.NOT_ACTIVE
    request = StateQueryRequest.in_store("counts").with_query(query).with_partitions({0, 4}).enable_execution_info()
    result = copy._queries.query(request)
    assert result.partition_results[4].failure_reason is FailureReason.NOT_PRESENT
    assert "Handled in" in result.partition_results[0].execution_info[0]
