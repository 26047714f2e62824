"""Sequences, epochs and transactions of producers, as an append sees them (KIP-98, KIP-360)."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.log import AppendOrigin, FetchIsolation, Log, LogOffsetMetadata
from kafkapy.log.producers.producer_snapshot import decode_snapshot, encode_snapshot, read_snapshot
from kafkapy.log.producers.producer_state import MAX_SEQUENCE, ProducerStateEntry, RetainedBatch
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.protocol.errors import Errors, KafkaError
from tests.log.log_support import DATA, NOW, PARTITION, LogDirFixture, batch, marker

DAY_MS = 86_400_000


def append(
    log: Log,
    sequence: int,
    *,
    producer_id: int = 7,
    epoch: int = 0,
    count: int = 1,
    transactional: bool = False,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> int:
    data = batch(0, [b"x"] * count, producer=(producer_id, epoch, sequence), transactional=transactional)
    return log.append_as_leader(data, 0, origin).first_offset


def refused(error: Errors, log: Log, sequence: int, **arguments: Any) -> None:
    before = log.log_end_offset
    with pytest.raises(KafkaError) as info:
        append(log, sequence, **arguments)
    assert info.value.error is error
    assert log.log_end_offset == before


def test_sequences_must_follow_each_other(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    assert append(log, 0, count=3) == 0
    assert append(log, 3) == 3
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 5)
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 2)
    assert append(log, 4) == 4


def test_one_of_the_last_five_batches_again_is_a_duplicate(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    for sequence in range(0, 14, 2):
        append(log, sequence, count=2)
    for sequence in range(4, 14, 2):
        info = log.append_as_leader(batch(0, [b"x"] * 2, producer=(7, 0, sequence)), 0)
        assert info.duplicate
        assert (info.first_offset, info.last_offset) == (sequence, sequence + 1)
        assert info.log_append_time == NOW
    assert log.log_end_offset == 14
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 2, count=2)
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 12, count=1)


def test_sequences_wrap_around(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, MAX_SEQUENCE - 1, count=2)
    assert append(log, 0) == 2
    log = LogDirFixture(Path(log_dir.directory).parent / "other").open()
    append(log, MAX_SEQUENCE, count=3)
    assert log.producers.producers[7].last_seq == 1
    assert log.producers.producers[7].batches[0].first_seq == MAX_SEQUENCE
    assert append(log, 2) == 3
    assert log.append_as_leader(batch(0, [b"x"] * 3, producer=(7, 0, MAX_SEQUENCE)), 0).duplicate


def test_an_unknown_producer_may_begin_anywhere(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    assert append(log, 4711) == 0
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 4711 + 2)


def test_a_new_epoch_begins_at_zero_and_fences_the_old_one(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0)
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 1, epoch=1)
    append(log, 0, epoch=1)
    refused(Errors.INVALID_PRODUCER_EPOCH, log, 1, epoch=0)
    refused(Errors.INVALID_PRODUCER_EPOCH, log, 0, epoch=0)
    append(log, 1, epoch=1)
    assert [b.last_seq for b in log.producers.producers[7].batches] == [0, 1]


def test_coordinators_and_replication_are_not_held_to_sequences(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0)
    append(log, 10, origin=AppendOrigin.COORDINATOR)
    log.append_as_follower(batch(2, [b"x"], producer=(7, 0, 30)))
    assert log.producers.producers[7].last_seq == 30
    append(log, 8, epoch=2, origin=AppendOrigin.COORDINATOR)
    refused(Errors.INVALID_PRODUCER_EPOCH, log, 9, epoch=1, origin=AppendOrigin.COORDINATOR)


def test_idle_producers_expire_but_not_with_a_transaction_open(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0, producer_id=1)
    append(log, 0, producer_id=2, transactional=True)
    log.remove_expired_producers(NOW + DAY_MS - 1)
    assert {entry.producer_id for entry in log.active_producers()} == {1, 2}
    log.remove_expired_producers(NOW + DAY_MS)
    assert {entry.producer_id for entry in log.active_producers()} == {2}
    append(log, 99, producer_id=1)


def test_the_last_stable_offset_waits_for_markers_to_be_replicated(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0, producer_id=9)
    append(log, 0, transactional=True)
    append(log, 0, producer_id=8, transactional=True)
    log.update_high_watermark(3)
    assert log.last_stable_offset == 1
    stable = log.end_offset_metadata(FetchIsolation.TXN_COMMITTED)
    assert stable.relative_position_in_segment == len(batch(0, [b"x"]))
    log.append_as_leader(marker(0, 7, commit=True), 0, AppendOrigin.COORDINATOR)
    assert log.last_stable_offset == 1, "the marker is above the high watermark"
    log.update_high_watermark(4)
    assert log.last_stable_offset == 2
    log.append_as_leader(marker(0, 8, commit=False), 0, AppendOrigin.COORDINATOR)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 5
    assert log.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED, True).aborted_transactions == [(8, 2)]
    assert log.read(0, 1 << 20, FetchIsolation.HIGH_WATERMARK, True).aborted_transactions is None
    nothing = log.read(0, 0, FetchIsolation.TXN_COMMITTED, False)
    assert (len(nothing.records), nothing.aborted_transactions) == (0, [(8, 2)]), "as with Apache's broker"


def _state(log: Log) -> tuple[list[tuple[int, int, int, int]], list[int]]:
    entries = sorted(
        (entry.producer_id, entry.last_seq, entry.current_txn_first_offset, entry.coordinator_epoch)
        for entry in log.active_producers()
    )
    return entries, list(log.producers.ongoing_txns)


def test_what_is_left_of_interleaved_transactions_is_replayed_without_sorting(log_dir: LogDirFixture) -> None:
    """With many producers that would take long, and hold up everybody else."""
    log, chance = log_dir.open(), Random(1)
    states = {}
    for end in range(300):
        states[end] = _state(log)
        producer = chance.randrange(8)
        if log.producers.has_ongoing_txn(producer, 0) and chance.random() < 0.4:
            records = marker(end, producer, commit=chance.random() < 0.5)
        else:
            records = batch(end, [b"x"], producer=(producer, 0, end), transactional=True)
        log.append_as_follower(records)
    ongoing = log.producers.ongoing_txns
    for offset in sorted(chance.sample(sorted(states), 40), reverse=True):
        log.truncate_to(offset)
        assert _state(log) == states[offset]
        assert log.producers.ongoing_txns is ongoing, "sorted ones would be others"


def test_read_committed_stops_at_the_open_transaction(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0, producer_id=9)
    append(log, 0, transactional=True)
    append(log, 1, producer_id=9)
    log.update_high_watermark(3)
    assert len(log.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED, True).records) == len(batch(0, [b"x"]))
    assert log.read(1, 1 << 20, FetchIsolation.TXN_COMMITTED, True).records == b""
    assert log.read(2, 1 << 20, FetchIsolation.TXN_COMMITTED, True).records == b""


def test_a_marker_without_a_transaction_leaves_no_trace_in_the_index(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.append_as_leader(marker(0, 7, commit=False), 0, AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 1
    assert not any(name.endswith(".txnindex") for name in log_dir.files())


def test_markers_fence_old_coordinators_and_producers(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0, transactional=True)
    log.append_as_leader(marker(0, 7, commit=True, coordinator_epoch=5), 0, AppendOrigin.COORDINATOR)
    with pytest.raises(KafkaError) as info:
        log.append_as_leader(marker(0, 7, commit=True, coordinator_epoch=4), 0, AppendOrigin.COORDINATOR)
    assert info.value.error is Errors.TRANSACTION_COORDINATOR_FENCED
    log.append_as_leader(marker(0, 7, commit=True, coordinator_epoch=5, producer_epoch=3), 0, AppendOrigin.COORDINATOR)
    refused(Errors.INVALID_PRODUCER_EPOCH, log, 1, epoch=2)
    with pytest.raises(KafkaError) as info:
        log.append_as_leader(marker(0, 7, commit=True, coordinator_epoch=5), 0, AppendOrigin.COORDINATOR)
    assert info.value.error is Errors.INVALID_PRODUCER_EPOCH


def test_plain_records_in_an_open_transaction_are_refused(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0, transactional=True)
    refused(Errors.INVALID_TXN_STATE, log, 1)
    append(log, 1, transactional=True)


def test_snapshot_format() -> None:
    golden = (DATA / "d-txn-0/00000000000000000001.snapshot").read_bytes()
    (entry,) = decode_snapshot(golden)
    assert (entry.producer_id, entry.producer_epoch, entry.last_seq, entry.last_data_offset) == (1004, 0, 0, 0)
    assert entry.current_txn_first_offset == 0
    assert encode_snapshot([entry]) == golden
    assert len(encode_snapshot([])) == 10
    bare = ProducerStateEntry(5)
    assert decode_snapshot(encode_snapshot([bare]))[0].batches == []


def test_of_several_entries_of_a_producer_the_last_is_what_kafka_takes() -> None:
    producer = ProducerStateEntry(5, 1, last_timestamp=40, current_txn_first_offset=11)
    producer.batches = [RetainedBatch(1, 11, 1, 20), RetainedBatch(4, 14, 2, 40)]
    content = encode_snapshot([producer])
    kafkas = ProducerStateEntry(5, 1, last_timestamp=40, current_txn_first_offset=11, batch=producer.batches[-1])
    assert content[6:10] == struct.pack(">i", 2)
    assert content[-46:] == encode_snapshot([kafkas])[-46:]
    (read,) = decode_snapshot(content)
    assert (read.batches, read.last_timestamp, read.current_txn_first_offset) == (producer.batches, 40, 11)


def test_entries_of_an_older_epoch_do_not_count() -> None:
    old, new = (ProducerStateEntry(5, epoch, -1, 20, batch=RetainedBatch(epoch, epoch, 0, 20)) for epoch in (0, 1))
    (read,) = decode_snapshot(encode_snapshot([old, new]))
    assert read.batches == [RetainedBatch(1, 1, 0, 20)]


@pytest.mark.parametrize("length", range(56))
def test_a_torn_snapshot_is_refused(length: int) -> None:
    golden = (DATA / "d-txn-0/00000000000000000001.snapshot").read_bytes()
    with pytest.raises(MalformedFileError):
        decode_snapshot(golden[:length])


def test_a_snapshot_with_any_bit_flipped_is_refused() -> None:
    golden = (DATA / "d-txn-0/00000000000000000001.snapshot").read_bytes()
    for position in range(len(golden)):
        damaged = bytearray(golden)
        damaged[position] ^= 0x10
        with pytest.raises(MalformedFileError):
            decode_snapshot(bytes(damaged))


def _manager(path: Path) -> ProducerStateManager:
    return ProducerStateManager(PARTITION, str(path), DAY_MS)


def test_snapshots_hold_the_last_five_batches_of_each_producer(tmp_path: Path) -> None:
    manager = _manager(tmp_path)
    for offset in range(7):
        info = manager.prepare_update(3, AppendOrigin.CLIENT)
        info.append_data_batch(0, offset, offset, NOW, _at(offset), offset, False)
        manager.update(info)
    manager.map_end_offset = 7
    path = manager.take_snapshot()
    assert path is not None and path.endswith("/00000000000000000007.snapshot")
    assert manager.take_snapshot() is None, "one for each offset"
    (entry,) = read_snapshot(path)
    assert entry.batches == [RetainedBatch(offset, offset, 0, NOW) for offset in range(2, 7)]
    again = _manager(tmp_path)
    again.truncate_and_reload(0, 10, NOW)
    assert again.map_end_offset == 7
    assert again.producers[3].last_seq == 6


def test_a_corrupt_snapshot_is_dropped_for_an_older_one(tmp_path: Path) -> None:
    manager = _manager(tmp_path)
    for offset in (5, 9):
        manager.map_end_offset = offset
        manager.take_snapshot()
    (tmp_path / "00000000000000000009.snapshot").write_bytes(b"torn")
    again = _manager(tmp_path)
    again.truncate_and_reload(0, 20, NOW)
    assert again.map_end_offset == 5
    assert [path.name for path in tmp_path.iterdir()] == ["00000000000000000005.snapshot"]


def test_stray_snapshots_go_except_the_newest_behind_all_segments(tmp_path: Path) -> None:
    manager = _manager(tmp_path)
    for offset in (1, 2, 4, 5, 8, 9):
        manager.map_end_offset = offset
        manager.take_snapshot()
    manager.remove_stray_snapshots([0, 4, 8])
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [4, 8, 9]
    manager.remove_stray_snapshots([0, 4, 20])
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [4]


def test_open_transactions_of_batches_that_came_together_are_in_order(log_dir: LogDirFixture) -> None:
    """As a follower and a scan of the log meet them: each producer's batches are taken over at once."""
    log = log_dir.open()
    one = [b"x"]
    batches = [
        batch(0, one, producer=(1, 0, 0), transactional=True),
        marker(1, 1, commit=True),
        batch(2, one, producer=(2, 0, 0), transactional=True),
        batch(3, one, producer=(1, 0, 1), transactional=True),
    ]
    log.append_as_follower(b"".join(batches))
    log.update_high_watermark(4)
    assert log.last_stable_offset == 2


def test_open_transactions_come_back_from_a_snapshot_in_order(tmp_path: Path) -> None:
    manager = _manager(tmp_path)
    manager.load_entries([ProducerStateEntry(1, 0, -1, NOW, 30), ProducerStateEntry(2, 0, -1, NOW, 10)])
    first = manager.first_unstable_offset()
    assert first is not None and first.message_offset == 10


def _at(offset: int) -> LogOffsetMetadata:
    return LogOffsetMetadata(offset)


# -- verified transactions (KIP-890)


def end_transaction(log: Log, commit: bool = True) -> None:
    log.append_as_leader(marker(0, 7, commit), 0, AppendOrigin.COORDINATOR)


def test_a_transaction_begins_once_it_is_verified(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    verification = log.producers.begin_verification(7, 0)
    assert verification is not None
    refused(Errors.INVALID_TXN_STATE, log, 0, transactional=True)
    verification.holds = True
    append(log, 0, transactional=True)
    assert log.producers.begin_verification(7, 0) is None, "it has begun"
    append(log, 1, transactional=True)
    assert log.producers.begin_verification(7, 1) is not None, "that of the next epoch has not"


def test_a_transaction_begins_with_no_sequence_behind_one_that_was_refused(log_dir: LogDirFixture) -> None:
    """KAFKA-14920: the first batch comes again, and would be out of order then. Any sequence is a beginning otherwise."""
    log = log_dir.open()
    for sequence in (5, 3, 4):
        verification = log.producers.begin_verification(7, 0, sequence)
    assert verification is not None
    verification.holds = True
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 4, transactional=True)
    append(log, 3, transactional=True)
    append(log, 4, transactional=True)


def test_a_fenced_producer_does_not_let_sequences_pass_behind_one_that_was_refused(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    for epoch, sequence in ((1, 3), (0, 0), (1, 4)):
        verification = log.producers.begin_verification(7, epoch, sequence)
    assert verification is not None
    verification.holds = True
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 4, transactional=True, epoch=1)
    append(log, 3, transactional=True, epoch=1)


def test_no_batch_outside_of_a_transaction_passes_one_that_was_refused(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    append(log, 0)
    append(log, 1)
    log.producers.begin_verification(7, 0, 1)
    refused(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 2)
    log.append_as_leader(marker(0, 7, True), 0, AppendOrigin.COORDINATOR)
    append(log, 2)


def test_a_marker_that_is_refused_ends_no_verification(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.append_as_leader(marker(0, 7, True, coordinator_epoch=5), 0, AppendOrigin.COORDINATOR)
    verification = log.producers.begin_verification(7, 0, 0)
    assert verification is not None
    verification.holds = True
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(marker(0, 7, True, coordinator_epoch=4), 0, AppendOrigin.COORDINATOR)
    assert caught.value.error is Errors.TRANSACTION_COORDINATOR_FENCED
    append(log, 0, transactional=True)


def test_the_lowest_sequence_is_that_of_an_epoch_and_a_transaction(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.producers.begin_verification(7, 0, 3)
    verification = log.producers.begin_verification(7, 1, 6)
    assert verification is not None
    verification.holds = True
    append(log, 6, transactional=True, epoch=1)
    log.append_as_leader(marker(0, 7, True, producer_epoch=1), 0, AppendOrigin.COORDINATOR)
    verification = log.producers.begin_verification(7, 1, 7)
    assert verification is not None
    verification.holds = True
    append(log, 7, transactional=True, epoch=1)


def test_what_is_not_transactional_needs_no_verification(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.producers.begin_verification(7, 0)
    append(log, 0)
    append(log, 0, producer_id=8, transactional=True)


def test_an_answer_holds_for_the_epoch_that_was_asked_about(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    verification = log.producers.begin_verification(7, 0)
    assert verification is not None
    verification.holds = True
    refused(Errors.INVALID_TXN_STATE, log, 0, transactional=True, epoch=1)


def test_a_marker_ends_what_was_verified(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    verification = log.producers.begin_verification(7, 0)
    assert verification is not None
    verification.holds = True
    append(log, 0, transactional=True)
    end_transaction(log)
    refused(Errors.INVALID_TXN_STATE, log, 1, transactional=True)


def test_a_marker_between_question_and_answer(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    verification = log.producers.begin_verification(7, 0)
    assert verification is not None
    end_transaction(log, commit=False)
    verification.holds = True
    refused(Errors.INVALID_TXN_STATE, log, 0, transactional=True)


def test_a_marker_ends_a_transaction_that_was_begun_before_the_log_was_opened(log_dir: LogDirFixture) -> None:
    """Records that were under way then must not begin another one, which nobody would end."""
    log = log_dir.open()
    append(log, 0, transactional=True)
    log.close()
    log = log_dir.open()
    assert log.producers.begin_verification(7, 0) is None
    append(log, 1, transactional=True)
    end_transaction(log)
    refused(Errors.INVALID_TXN_STATE, log, 2, transactional=True)


def test_verifications_of_forgotten_producers_go_after_a_while(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    producers = log.producers
    verification = producers.begin_verification(7, 0)
    assert verification is not None
    producers.remove_expired_producers(NOW)
    assert producers.verifications == {7: verification}, "its question may be on its way"
    verification.holds = True
    append(log, 0, transactional=True)
    producers.remove_expired_producers(NOW)
    assert producers.verifications == {7: verification}, "its transaction is open"
    end_transaction(log)
    for _ in range(2):
        producers.remove_expired_producers(NOW + 30 * DAY_MS)
    assert producers.verifications == {}
