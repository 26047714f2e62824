"""Suppliers, builders, and serdes of windowed keys."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafkapy.streams.records import SessionWindow, TimeWindow, Windowed
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.store_suppliers import (
    RocksDbIndexedTimeOrderedWindowBytesStoreSupplier,
    VersionedBytesStoreSupplier,
)
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.windowed_serdes import SessionWindowedSerde, TimeWindowedSerde
from kafkapy.streams.topology.store_factory import ChangelogKind


def key_value() -> StoreBuilder:
    return Stores.key_value_store_builder(Stores.in_memory_key_value_store("kv"), Serdes.string(), Serdes.long())


def test_builders_are_values() -> None:
    plain = key_value()
    logged = plain.with_logging_enabled({"a": "1"}).with_logging_enabled({"b": "2"})
    assert (plain.log_config, logged.log_config) == ({}, {"a": "1", "b": "2"})
    silent = logged.with_logging_disabled().with_caching_enabled()
    assert (silent.logging_enabled, silent.log_config, silent.caching_enabled) == (False, {}, True)
    assert not silent.with_caching_disabled().caching_enabled
    assert plain.is_compatible_with(silent)
    assert not plain.is_compatible_with(key_value())
    with pytest.raises(TypeError):
        plain.with_logging_enabled(None)  # type: ignore[arg-type]


def test_what_changelogs_go_by() -> None:
    window = Stores.window_store_builder(
        Stores.persistent_window_store("w", timedelta(minutes=5), 10, True), Serdes.string(), Serdes.long()
    )
    session = Stores.session_store_builder(Stores.in_memory_session_store("s", 7), Serdes.string(), Serdes.long())
    assert (key_value().changelog_kind, key_value().retention_ms) == (ChangelogKind.KEY_VALUE, 0)
    assert (window.changelog_kind, window.retention_ms) == (ChangelogKind.WINDOWED, 300_000)
    assert window.log_config == {"cleanup.policy": "delete"}
    assert (session.changelog_kind, session.retention_ms) == (ChangelogKind.WINDOWED, 7)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Stores.in_memory_key_value_store(None), TypeError),  # type: ignore[arg-type]
        (lambda: Stores.lru_map("x", -1), ValueError),
        (lambda: Stores.persistent_window_store("x", 10, 11, False), ValueError),
        (lambda: Stores.persistent_window_store("x", -1, 0, False), ValueError),
        (lambda: Stores.in_memory_window_store("x", 10, -1, False), ValueError),
        (lambda: Stores.persistent_session_store("x", -1), ValueError),
        (lambda: Stores.persistent_versioned_key_value_store("x", -1), ValueError),
        (lambda: Stores.persistent_versioned_key_value_store("x", 1, 0), ValueError),
        (lambda: Stores.key_value_store_builder(None, None, None), TypeError),  # type: ignore[arg-type]
        (lambda: Stores.persistent_session_store("x", None), TypeError),  # type: ignore[arg-type]
    ],
)
def test_nonsense_is_refused(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_segments_are_javas() -> None:
    window = RocksDbIndexedTimeOrderedWindowBytesStoreSupplier.create
    assert [window("w", retention, 1, False, True).segment_interval_ms for retention in (10, 200_000)] == [
        60_000,
        100_000,
    ]
    assert [
        VersionedBytesStoreSupplier("v", retention).segment_interval_ms
        for retention in (0, 30_000, 200_000, 1_200_000, 86_400_000)
    ] == [2_000, 10_000, 40_000, 100_000, 3_600_000]


def test_windowed_keys_in_topics() -> None:
    serde = TimeWindowedSerde(Serdes.string(), timedelta(milliseconds=10))
    key = Windowed("a", TimeWindow(5, 15))
    raw = serde.serialize("t", key)
    assert raw == b"a" + (5).to_bytes(8, "big")
    assert serde.deserialize("t", raw) == key
    assert serde.for_changelog(True).deserialize("t", raw + bytes(4)) == key
    assert (serde.serialize("t", None), serde.deserialize("t", b"")) == (None, None)
    assert serde.serialize_base_key("t", key) == b"a"


def test_session_keys_in_topics() -> None:
    serde = SessionWindowedSerde(Serdes.string())
    key = Windowed("a", SessionWindow(5, 15))
    raw = serde.serialize("t", key)
    assert raw == b"a" + (15).to_bytes(8, "big") + (5).to_bytes(8, "big")
    assert serde.deserialize("t", raw) == key
    assert (serde.serialize("t", None), serde.deserialize("t", None)) == (None, None)


def test_inner_serdes_may_come_from_the_configuration() -> None:
    serde: TimeWindowedSerde[str] = TimeWindowedSerde(None, 10)
    with pytest.raises(TypeError):
        serde.serialize("t", Windowed("a", TimeWindow(5, 15)))
    with pytest.raises(ValueError, match=r"default\.key\.serde"):
        serde.set_if_unset(None, None)
    serde.set_if_unset(Serdes.string(), None)
    assert serde.serialize("t", Windowed("a", TimeWindow(5, 15))) is not None
