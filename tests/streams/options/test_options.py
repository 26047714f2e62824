"""Options are values: a `with_…` gives a new one, and the old stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kafkapy.streams.errors import TopologyException
from kafkapy.streams.offset_reset import AutoOffsetReset
from kafkapy.streams.options.branched import Branched
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.grouped import Grouped
from kafkapy.streams.options.joined import Joined
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.options.repartitioned import Repartitioned
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.options.stream_joined import StreamJoined
from kafkapy.streams.options.suppressed import UNLIMITED, BufferConfig, BufferFullStrategy, Suppressed
from kafkapy.streams.options.table_joined import TableJoined
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.timestamps import FailOnInvalidTimestamp

KEY, VALUE = Serdes.string(), Serdes.long()


@pytest.mark.parametrize("kind", [Consumed, Produced, Grouped, Repartitioned, Joined, StreamJoined])
def test_serdes_and_names(kind: Any) -> None:
    options = kind.with_(KEY, VALUE)
    named = options.with_name("name")
    assert (options.name, named.name) == (None, "name")
    assert (named.key_serde, named.value_serde) == (KEY, VALUE)
    assert named.with_key_serde(None).with_value_serde(KEY) == kind.with_(None, KEY).with_name("name")


def test_consumed() -> None:
    extractor = FailOnInvalidTimestamp()
    options = Consumed.as_("in").with_timestamp_extractor(extractor).with_offset_reset_policy(AutoOffsetReset.LATEST)
    assert options == Consumed.with_(None, None, extractor, AutoOffsetReset.LATEST).with_name("in")


def test_joins() -> None:
    assert Joined.with_(KEY, VALUE, KEY).with_grace_period(timedelta(seconds=1)).grace_ms == 1000
    joined = StreamJoined.as_("store").with_logging_enabled({"retention.ms": "5"})
    assert (joined.store_name, joined.log_config) == ("store", {"retention.ms": "5"})
    assert joined.with_logging_disabled().log_config == {}
    assert joined.with_dsl_store_suppliers(StoreType.IN_MEMORY).store_type is StoreType.IN_MEMORY
    assert TableJoined.with_(None, None).with_name("join") == TableJoined.as_("join")


def test_materialized() -> None:
    options = Materialized.as_("store").with_key_serde(KEY).with_caching_disabled().with_retention(timedelta(days=1))
    assert (options.store_name, options.key_serde, options.caching_enabled) == ("store", KEY, False)
    assert options.retention_ms == 86_400_000
    assert Materialized.as_(StoreType.IN_MEMORY).store_type is StoreType.IN_MEMORY
    assert options.with_logging_enabled({"a": "b"}).with_logging_disabled().log_config == {}
    with pytest.raises(TopologyException):
        Materialized.as_("a b")
    with pytest.raises(ValueError, match="negative"):
        options.with_retention(-1)
    with pytest.raises(ValueError, match="pre-configured"):
        Materialized.as_(object()).with_store_type(StoreType.IN_MEMORY)
    with pytest.raises(TypeError):
        Materialized.as_(None)


def test_buffers() -> None:
    eager = BufferConfig.max_records(5)
    assert (eager.record_limit, eager.byte_limit, eager.full_strategy) == (5, UNLIMITED, BufferFullStrategy.EMIT)
    assert eager.shut_down_when_full().full_strategy is BufferFullStrategy.SHUT_DOWN
    assert eager.with_no_bound() == BufferConfig.unbounded()
    assert BufferConfig.max_bytes(9).with_max_records(5) == eager.with_max_bytes(9)
    assert not eager.with_logging_disabled().logging_enabled
    assert BufferConfig.unbounded().emit_early_when_full().full_strategy is BufferFullStrategy.EMIT


def test_suppressed() -> None:
    assert Suppressed.until_time_limit(timedelta(seconds=2), BufferConfig.unbounded()).wait_ms == 2000
    assert Suppressed.until_window_closes(BufferConfig.unbounded()).with_name("final").name == "final"


def test_branched() -> None:
    assert Branched.with_function(len, "name") == Branched.with_function(len).with_name("name")
    assert Branched.with_consumer(len).consumer is len
    with pytest.raises(TypeError):
        Branched.as_(None)  # type: ignore[arg-type]
