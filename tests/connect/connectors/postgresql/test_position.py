"""Offsets, Debezium's too, and what is filtered out after a restart."""

from __future__ import annotations

import pytest

from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.postgresql.position import ReplayFilter, StreamPosition
from kafkapy.connect.connectors.postgresql.snapshot import SnapshotProgress
from kafkapy.connect.errors import ConnectException


def test_events_of_earlier_transactions_and_the_begun_one_are_filtered_out() -> None:
    replay = ReplayFilter(StreamPosition(100, 130, 7, 2))
    replay.begin(5, 90)
    assert replay.is_emitted(1, 80)
    replay.begin(7, 140)
    assert [replay.is_emitted(number, 120) for number in (1, 2, 3)] == [True, True, False]
    replay.begin(7, 200)
    assert [replay.is_emitted(number, 180) for number in (1, 2, 3)] == [True, True, False]


def test_the_next_transaction_is_new() -> None:
    replay = ReplayFilter(StreamPosition(100, 130, 7, 2))
    replay.begin(8, 140)
    assert not replay.is_emitted(1, 135)
    replay.begin(7, 300)
    assert not replay.is_emitted(1, 290)


def test_an_offset_of_debezium() -> None:
    offset = {"transaction_id": None, "lsn_proc": 130, "lsn_commit": 100, "lsn": 130, "txId": 7, "ts_usec": 5}
    position = StreamPosition.of(offset)
    assert position == StreamPosition(100, 130, 7, None, 5)
    replay = ReplayFilter(position)
    replay.begin(7, 140)
    assert [replay.is_emitted(1, lsn) for lsn in (120, 130, 131)] == [True, True, False]
    with pytest.raises(ConnectException, match="has no lsn"):
        StreamPosition.of({"txId": 7})


def test_progress_of_a_snapshot_is_kept_in_offsets() -> None:
    for progress in (
        SnapshotProgress(5, TableId("a", "b"), ("1", "x,y")),
        SnapshotProgress(5, TableId("a", "b")),
        SnapshotProgress(5),
    ):
        assert SnapshotProgress.of(progress.offset()) == progress
    assert SnapshotProgress.of(StreamPosition(5, 5).offset()) is None
