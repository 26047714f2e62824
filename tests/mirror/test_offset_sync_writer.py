"""Which offset syncs are written, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.mirror import OffsetSync
from kafkapy.mirror.offset_sync_writer import OffsetSyncWriter, PartitionSyncState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Sent:
    """A record that was handed over; `end` says what became of it."""

    def __init__(self, key: bytes, value: bytes) -> None:
        self.sync = OffsetSync.from_record(key, value)
        self._callbacks: list[Callable[[Any], None]] = []
        self._errbacks: list[Callable[[Any], None]] = []

    def add_callback(self, callback: Callable[[Any], None]) -> None:
        self._callbacks.append(callback)

    def add_errback(self, errback: Callable[[Any], None]) -> None:
        self._errbacks.append(errback)

    def end(self, error: KafkaError | None = None) -> None:
        for callback in self._callbacks if error is None else self._errbacks:
            callback(error)


class SyncsProducer:
    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.error: KafkaError | None = None
        self.is_closed = False

    def send(self, topic: str, *, key: bytes, value: bytes, partition: int) -> Sent:
        assert (topic, partition) == ("syncs", 0)
        if self.error is not None:
            raise self.error
        self.sent.append(Sent(key, value))
        return self.sent[-1]

    def close(self) -> None:
        self.is_closed = True

    def syncs(self) -> list[tuple[int, int, int]]:
        return [(s.sync.topic_partition.partition, *s.sync[1:]) for s in self.sent]


def state_after(*offsets: tuple[int, int], lag: int = 50) -> list[bool]:
    state = PartitionSyncState(lag)
    found = []
    for upstream, downstream in offsets:
        found.append(state.update(upstream, downstream))
        state.reset()
    return found


def test_when_a_sync_is_due() -> None:
    assert state_after((0, 100)) == [True]
    assert state_after((0, 100), (1, 101), (2, 102)) == [True, False, False]
    assert state_after((0, 100), (2, 102)) == [True, True], "a gap in the source"
    assert state_after((0, 100), (1, 152), (2, 153)) == [True, True, False], "too far behind"
    assert state_after((0, 100), (1, 150)) == [True, False]
    assert state_after((5, 100), (6, 3), (7, 4)) == [True, True, False], "the remote topic was made anew"
    assert state_after((0, 5), (1, 6), (2, 7), lag=0) == [True, True, True]


def test_a_sync_stays_due_until_it_is_taken() -> None:
    state = PartitionSyncState(50)
    assert [state.update(0, 0), state.update(1, 1)] == [True, True]
    state.reset()
    assert not state.update(2, 2)


def test_delayed_syncs_are_written_at_a_commit() -> None:
    producer = SyncsProducer()
    writer = OffsetSyncWriter(producer, "syncs", 100)
    for offset in range(5):
        writer.maybe_queue(T0, 10 + offset, offset)
    writer.fire_pending()
    assert producer.syncs() == [(0, 10, 0)]
    writer.promote_delayed()
    writer.fire_pending()
    assert producer.syncs() == [(0, 10, 0), (0, 14, 4)]
    writer.promote_delayed()
    writer.fire_pending()
    assert len(producer.sent) == 2


def test_a_later_sync_takes_the_place_of_a_delayed_one() -> None:
    producer = SyncsProducer()
    writer = OffsetSyncWriter(producer, "syncs", 100)
    for upstream in (10, 11, 20):
        writer.maybe_queue(T0, upstream, upstream)
    writer.promote_delayed()
    writer.fire_pending()
    assert producer.syncs() == [(0, 20, 20)]


@pytest.mark.parametrize("error", [None, KafkaError(Errors.REQUEST_TIMED_OUT)])
def test_syncs_under_way_are_limited(error: KafkaError | None) -> None:
    producer = SyncsProducer()
    writer = OffsetSyncWriter(producer, "syncs", 0, max_outstanding=1)
    writer.maybe_queue(T0, 1, 1)
    writer.maybe_queue(T1, 2, 2)
    writer.fire_pending()
    writer.fire_pending()
    assert producer.syncs() == [(0, 1, 1)]
    producer.sent[0].end(error)
    writer.fire_pending()
    assert producer.syncs() == [(0, 1, 1), (1, 2, 2)]
    writer.close()
    assert producer.is_closed


def test_a_sync_that_cannot_be_sent_blocks_no_others() -> None:
    producer = SyncsProducer()
    writer = OffsetSyncWriter(producer, "syncs", 0, max_outstanding=1)
    producer.error = KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
    writer.maybe_queue(T0, 1, 1)
    writer.fire_pending()
    producer.error = None
    writer.maybe_queue(T0, 2, 2)
    writer.fire_pending()
    assert producer.syncs() == [(0, 2, 2)]


@settings(max_examples=100)
@given(st.integers(0, 5), st.lists(st.tuples(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.integers(0, 2))))
def test_runs_are_synced_as_their_records_one_by_one(lag: int, runs: list[tuple[list[int], int]]) -> None:
    one_by_one, together = SyncsProducer(), SyncsProducer()
    single, many = (OffsetSyncWriter(each, "syncs", lag, max_outstanding=1000) for each in (one_by_one, together))
    upstream = downstream = 0
    for gaps, lost in runs:
        offsets = []
        for gap in gaps:
            upstream += gap
            offsets.append(upstream)
        for at, offset in enumerate(offsets):
            single.maybe_queue(T0, offset, downstream + at)
            single.fire_pending()
        many.queue_run(T0, offsets, downstream)
        downstream += len(offsets) + lost
    for writer in (single, many):
        writer.promote_delayed()
        writer.fire_pending()
    assert together.syncs() == one_by_one.syncs()
