"""The coordinator of transactions around its machines: whose id, what is loaded, what time does."""

from __future__ import annotations

from itertools import count, islice

import pytest

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.transaction.metadata import TransactionMetadata, transaction_key, transaction_value
from kafkapy.coordinator.transaction.transaction import NEXT_START_MS, RETRY_MS, InitProducerIdResult, SendMarkers
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.coordinator.transaction.transaction_state import EMPTY
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.coordinator.held_turns import HeldTurns
from tests.coordinator.transaction.transaction_harness import (
    CONFIG,
    T0,
    T1,
    TIMEOUT,
    TX,
    TransactionHarness,
)

DAY_MS = 24 * 60 * 60 * 1000
ANYBODY = ProducerIdAndEpoch(7, 3)
SOON = CONFIG.abort_timed_out_interval_ms


def ongoing(h: TransactionHarness, transactional_id: str = TX) -> ProducerIdAndEpoch:
    producer = h.producer(transactional_id)
    assert h.add(producer, T0, T1, transactional_id=transactional_id) is NONE
    return producer


def everyones_error(h: TransactionHarness, transactional_id: str = TX) -> set[Errors]:
    """Of every request."""
    return {
        h.init(transactional_id).error,
        h.add(ANYBODY, transactional_id=transactional_id),
        h.end(ANYBODY, transactional_id=transactional_id),
        *h.verify(ANYBODY, transactional_id=transactional_id),
        Errors.for_code(h.describe(transactional_id).error_code),
    }


# ---------------------------------------------------------------------------------------------------- who speaks for it


def test_it_answers_between_startup_and_shutdown() -> None:
    h = TransactionHarness()
    h.coordinator.shutdown()
    assert everyones_error(h) == {Errors.COORDINATOR_NOT_AVAILABLE}
    assert h.list().error_code == Errors.COORDINATOR_NOT_AVAILABLE.code
    before = TransactionCoordinator(CONFIG, h.log, h.clock)
    assert before.describe_transaction(TX).error_code == Errors.COORDINATOR_NOT_AVAILABLE.code
    assert h.clock.pending == 0


def test_it_answers_for_partitions_that_it_leads_and_has_read() -> None:
    h = TransactionHarness()
    h.resign()
    assert everyones_error(h) == {Errors.NOT_COORDINATOR}
    assert h.list().error_code == 0
    h.elect()
    assert everyones_error(h) == {Errors.COORDINATOR_LOAD_IN_PROGRESS}
    assert h.list().error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS.code
    h.advance(0)
    assert h.init().error is NONE


def test_an_empty_id_is_refused() -> None:
    assert everyones_error(TransactionHarness(), "") == {Errors.INVALID_REQUEST}


def test_an_unknown_id() -> None:
    h = TransactionHarness()
    assert h.add(ANYBODY) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert h.end(ANYBODY) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert h.verify(ANYBODY) == {Errors.INVALID_PRODUCER_ID_MAPPING}
    assert h.describe().error_code == Errors.TRANSACTIONAL_ID_NOT_FOUND.code


@pytest.mark.parametrize(
    ("timeout_ms", "expected"),
    [
        (0, Errors.INVALID_TRANSACTION_TIMEOUT),
        (-1, Errors.INVALID_TRANSACTION_TIMEOUT),
        (1, NONE),
        (CONFIG.max_timeout_ms, NONE),
        (CONFIG.max_timeout_ms + 1, Errors.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_time_outs_have_limits(timeout_ms: int, expected: Errors) -> None:
    h = TransactionHarness()
    assert h.init(timeout_ms=timeout_ms).error is expected
    assert h.init("", timeout_ms=timeout_ms).error is Errors.INVALID_REQUEST
    h.resign()
    elsewhere = Errors.NOT_COORDINATOR if expected is NONE else expected
    assert h.init(timeout_ms=timeout_ms).error is elsewhere


# ---------------------------------------------------------------------------------------------------- producer ids


def test_each_new_transactional_id_has_a_producer_id_of_its_own() -> None:
    h = TransactionHarness()
    assert h.init("a") == InitProducerIdResult(NONE, 1000, 0)
    assert h.init("b") == InitProducerIdResult(NONE, 1001, 0)
    assert h.init("a") == InitProducerIdResult(NONE, 1000, 1)


def test_no_producer_id_can_be_had() -> None:
    h = TransactionHarness()
    h.producer_ids.error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert h.init() == InitProducerIdResult(Errors.COORDINATOR_LOAD_IN_PROGRESS)
    assert not h.coordinator.transactions


def test_two_producers_wait_for_the_first_producer_id() -> None:
    h = TransactionHarness()
    h.producer_ids.hold = h.log.hold = True
    first, second = h.start_init(), h.start_init()
    assert not first.done
    h.producer_ids.release()
    assert second.result().error is Errors.CONCURRENT_TRANSACTIONS
    h.log.release()
    assert first.result() == InitProducerIdResult(NONE, 1000, 0)


def test_the_id_moves_while_a_producer_id_is_awaited() -> None:
    h = TransactionHarness()
    h.producer_ids.hold = True
    waiting = h.start_init()
    h.resign()
    h.producer_ids.release()
    assert waiting.result().error is Errors.NOT_COORDINATOR
    assert not h.coordinator.transactions


def test_a_producer_id_is_changed_after_the_last_epoch() -> None:
    h = TransactionHarness()
    h.producer()
    transaction = h.transaction()
    transaction.metadata = transaction.metadata._replace(producer_epoch=32766)
    assert h.init(expected=ProducerIdAndEpoch(1000, 32766)) == InitProducerIdResult(NONE, 1001, 0)


@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, InitProducerIdResult(NONE, 1000, 1)), (32766, InitProducerIdResult(NONE, 1001, 0))]
)
def test_another_producer_was_first_while_a_producer_id_was_awaited(epoch: int, expected: InitProducerIdResult) -> None:
    """What was awaited is used if it is needed."""
    h = TransactionHarness()
    h.producer_ids.hold = True
    waiting = h.start_init()
    h.producer_ids.hold = False
    h.producer()
    transaction = h.transaction()
    transaction.metadata = transaction.metadata._replace(producer_epoch=epoch)
    h.producer_ids.release()
    assert h.producer_ids.next == 1002
    assert waiting.result() == expected


# ---------------------------------------------------------------------------------------------------- a transaction


@pytest.mark.parametrize(("commit", "name"), [(True, "Commit"), (False, "Abort")])
def test_a_transaction(commit: bool, name: str) -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    assert h.verify(producer, [T0, T1]) == {NONE}
    h.log.hold = True
    reply = h.start_end(producer, commit)
    assert not reply.done
    assert not h.markers.held, "the outcome must be in the log before anybody hears of it"
    h.log.release()
    assert reply.result() is NONE
    assert h.markers.held == [(h.transaction(), SendMarkers(producer, commit, frozenset({T0, T1})), 1)]
    h.log.hold = False
    assert h.state() == f"Prepare{name}"
    h.coordinator.markers_written(h.transaction(), [T0])
    assert h.state() == f"Prepare{name}"
    h.write_markers()
    assert h.state() == f"Complete{name}"
    assert [step.state.value for step in h.history() if step] == [
        "Empty", "Ongoing", f"Prepare{name}", f"Complete{name}"
    ]  # fmt: skip


def test_an_end_that_could_not_be_written_is_tried_again() -> None:
    h = TransactionHarness()
    h.end(ongoing(h))
    h.log.error = Errors.NOT_ENOUGH_REPLICAS
    h.write_markers()
    h.advance(1_000)
    assert h.state() == "PrepareCommit"
    h.log.error = NONE
    h.advance(100)
    assert h.state() == "CompleteCommit"


# ---------------------------------------------------------------------------------------------------- time


def test_a_transaction_is_aborted_when_its_time_is_over() -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    h.advance(TIMEOUT)
    assert h.state() == "Ongoing"
    h.advance(SOON)
    assert h.state() == "PrepareAbort"
    (_, order, _), = h.markers.held  # fmt: skip
    assert order.producer == ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    assert h.end(producer) is Errors.PRODUCER_FENCED
    h.write_markers()
    assert h.state() == "CompleteAbort"


def test_an_abort_that_could_not_be_written_is_tried_with_the_next_scan() -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    h.log.error = Errors.NOT_ENOUGH_REPLICAS
    h.advance(TIMEOUT + 3 * SOON)
    assert h.state() == "Ongoing"
    h.log.error = NONE
    h.advance(SOON)
    assert h.markers.held[0][1].producer.epoch == producer.epoch + 1


def test_ids_expire() -> None:
    h = TransactionHarness()
    h.producer("empty")
    h.end(ongoing(h, "complete"), False, "complete")
    h.write_markers()
    h.end(ongoing(h, "preparing"), False, "preparing")
    h.advance(CONFIG.transactional_id_expiration_ms - DAY_MS)
    h.producer("young")
    h.advance(DAY_MS + CONFIG.remove_expired_interval_ms)
    assert set(h.coordinator.transactions) == {"preparing", "young"}
    assert h.history("empty")[-1] is None
    assert h.history("complete")[-1] is None
    assert h.init("empty") == InitProducerIdResult(NONE, 1004, 0)


def test_an_expiry_that_could_not_be_written_is_tried_with_the_next_scan() -> None:
    h = TransactionHarness()
    h.producer()
    h.log.error = Errors.NOT_ENOUGH_REPLICAS
    h.advance(CONFIG.transactional_id_expiration_ms + CONFIG.remove_expired_interval_ms)
    assert h.state() == "Empty"
    h.log.error = NONE
    h.advance(CONFIG.remove_expired_interval_ms)
    assert TX not in h.coordinator.transactions


def test_an_id_whose_expiry_is_being_written_is_not_shown() -> None:
    h = TransactionHarness()
    h.producer()
    h.log.hold = True
    h.advance(CONFIG.transactional_id_expiration_ms + CONFIG.remove_expired_interval_ms)
    assert h.describe().error_code == Errors.TRANSACTIONAL_ID_NOT_FOUND.code
    assert h.list().transaction_states == []
    assert h.init().error is Errors.CONCURRENT_TRANSACTIONS
    h.log.release()
    assert TX not in h.coordinator.transactions


# ---------------------------------------------------------------------------------------------------- coming and going


def test_all_is_found_again_in_the_log() -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    h.producer("other")
    before = {key: found.metadata for key, found in h.coordinator.transactions.items()}
    after = TransactionHarness(h.log)
    assert {key: found.metadata for key, found in after.coordinator.transactions.items()} == {
        key: metadata._replace(last_producer_id=-1, last_producer_epoch=-1) for key, metadata in before.items()
    }
    assert after.end(producer) is NONE


@pytest.mark.parametrize("commit", [True, False])
def test_a_decision_is_carried_out_by_the_next_coordinator(commit: bool) -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    h.end(producer, commit)
    h.resign()
    h.write_markers(T0)  # nobody is interested any more
    h.elect()
    h.advance(0)
    assert h.markers.held == [(h.transaction(), SendMarkers(producer, commit, frozenset({T0, T1})), 3)]
    assert h.end(producer, commit) is Errors.CONCURRENT_TRANSACTIONS
    h.write_markers()
    assert h.end(producer, commit) is NONE


def ended(h: TransactionHarness, *, log_is_held: bool = False) -> ProducerIdAndEpoch:
    """The markers are still to be written."""
    producer = ongoing(h)
    assert h.end(producer) is NONE
    h.log.hold = log_is_held
    return producer


def test_the_next_transaction_begins_when_the_last_one_has_ended() -> None:
    h = TransactionHarness()
    producer = ended(h)
    reply = h.start_add(producer, T1)
    assert not reply.done
    assert h.add(producer, T0) is Errors.CONCURRENT_TRANSACTIONS, "only one may wait"
    h.write_markers()
    assert reply.result() is NONE
    assert h.state() == "Ongoing"
    assert h.transaction().metadata.partitions == {T1}
    h.advance(NEXT_START_MS)
    assert h.end(producer) is NONE


def test_the_next_transaction_does_not_wait_for_long() -> None:
    h = TransactionHarness()
    producer = ended(h)
    reply = h.start_add(producer)
    h.advance(NEXT_START_MS - 1)
    assert not reply.done
    h.advance(1)
    assert reply.result() is Errors.CONCURRENT_TRANSACTIONS
    h.write_markers()
    assert h.state() == "CompleteCommit", "who was turned away has begun nothing"
    assert h.add(producer) is NONE


def test_who_waits_for_the_end_when_the_id_moves_hears_so() -> None:
    h = TransactionHarness()
    producer = ended(h)
    reply = h.start_add(producer)
    h.resign()
    assert reply.result() is Errors.NOT_COORDINATOR


def test_the_end_could_not_be_written_and_the_next_waits_on() -> None:
    h = TransactionHarness()
    producer = ended(h, log_is_held=True)
    h.write_markers()
    h.log.hold = False
    h.log.release(Errors.NOT_ENOUGH_REPLICAS)
    h.advance(RETRY_MS // 2)
    reply = h.start_add(producer)
    assert not reply.done
    h.advance(RETRY_MS // 2)
    assert reply.result() is NONE


def test_who_waits_for_the_log_when_the_id_moves_hears_so() -> None:
    h = TransactionHarness()
    producer = ongoing(h)
    h.log.hold = True
    reply = h.start_end(producer)
    old = h.transaction()
    h.resign()
    assert old.is_gone
    h.log.release()
    assert reply.result() is Errors.NOT_COORDINATOR
    assert not h.markers.held, "the next coordinator finds the decision in the log"
    h.elect()
    h.advance(0)
    assert h.markers.held[0][0] is h.transaction()
    assert h.transaction() is not old


def test_only_the_ids_of_the_partition_go() -> None:
    h = TransactionHarness()
    h.producer("a")
    h.producer("b")
    h.coordinator.on_resignation(h.partition("a").partition, None)
    assert set(h.coordinator.transactions) == {"b"}


def test_an_old_resignation_is_ignored() -> None:
    h = TransactionHarness()
    h.producer()
    h.coordinator.on_resignation(h.partition().partition, 0)
    assert h.state() == "Empty"


def test_a_load_that_fails_is_tried_again() -> None:
    h = TransactionHarness()
    h.producer()
    h.resign()
    h.log.read_error = KafkaError(Errors.KAFKA_STORAGE_ERROR)
    h.elect()
    h.advance(1_000)
    assert h.init().error is Errors.COORDINATOR_LOAD_IN_PROGRESS
    h.log.read_error = None
    h.advance(10_000)
    assert h.init() == InitProducerIdResult(NONE, 1000, 1)


def test_a_record_that_cannot_be_read_is_left_out() -> None:
    h = TransactionHarness()
    producer = h.producer()
    builder = MemoryRecordsBuilder()
    for key, value in [(None, b""), (b"\0", b""), (b"\0\7", b""), (transaction_key(TX), b"\0\7")]:
        builder.append(1, key, value)
    h.log.append(h.partition(), builder.build(), lambda error, offset: None, 5_000)
    after = TransactionHarness(h.log)
    assert after.add(producer) is NONE


def test_ids_are_taken_over_in_parts() -> None:
    """Between two of them others are served, and the partition may move on."""
    clock = HeldTurns()
    h = TransactionHarness(clock=clock)
    h.resign()
    value = transaction_value(TransactionMetadata(EMPTY, 7, 3, TIMEOUT, frozenset(), -1, 1))
    builder = MemoryRecordsBuilder()
    here = (key for key in map(str, count()) if h.coordinator.partition_for(key) == h.partition().partition)
    for key in islice(here, 70):
        builder.append(1, transaction_key(key), value)
    h.log.append(h.partition(), builder.build(), lambda error, offset: None, 5_000)
    for epoch, moves in ((11, False), (13, True)):
        h.coordinator.on_election(h.partition().partition, epoch)
        h.advance(0)
        assert 0 < len(h.coordinator.transactions) < 70
        assert h.init().error is Errors.COORDINATOR_LOAD_IN_PROGRESS
        if moves:
            h.coordinator.on_resignation(h.partition().partition, None)
        clock.go_on()
        clock.go_on()
        assert len(h.coordinator.transactions) == (0 if moves else 70)
        assert h.init().error is (Errors.NOT_COORDINATOR if moves else NONE)
        h.coordinator.on_resignation(h.partition().partition, None)


# ---------------------------------------------------------------------------------------------------- administration


def described(h: TransactionHarness, transactional_id: str = TX) -> dict[str, list[int]]:
    return {topic.topic: topic.partitions for topic in h.describe(transactional_id).topics}


def test_describe() -> None:
    h = TransactionHarness()
    producer = h.producer()
    shown = h.describe()
    assert (shown.error_code, shown.transactional_id, shown.transaction_state) == (0, TX, "Empty")
    assert (shown.producer_id, shown.producer_epoch) == producer
    assert (shown.transaction_timeout_ms, shown.transaction_start_time_ms, shown.topics) == (TIMEOUT, -1, [])
    h.add(producer, TopicPartition("b", 1), TopicPartition("a", 2), TopicPartition("b", 0))
    start_ms = h.clock.milliseconds()
    h.advance(100)
    assert (h.describe().transaction_state, h.describe().transaction_start_time_ms) == ("Ongoing", start_ms)
    assert described(h) == {"a": [2], "b": [0, 1]}


def test_describe_shows_the_partitions_that_have_no_marker_yet() -> None:
    h = TransactionHarness()
    h.end(ongoing(h))
    assert described(h) == {"t": [0, 1]}
    h.coordinator.markers_written(h.transaction(), [T0])
    assert described(h) == {"t": [1]}
    h.log.hold = True
    h.write_markers()
    assert (h.describe().transaction_state, described(h)) == ("PrepareCommit", {})
    h.log.release()
    assert (h.describe().transaction_state, described(h)) == ("CompleteCommit", {})


def names(h: TransactionHarness, **filters: object) -> set[str]:
    return {state.transactional_id for state in h.list(**filters).transaction_states}  # type: ignore[arg-type]


def test_list() -> None:
    h = TransactionHarness()
    first = ongoing(h, "a")
    h.advance(5_000)
    second = ongoing(h, "b")
    h.end(second, transactional_id="b")
    third = h.producer("c")
    shown = {s.transactional_id: (s.producer_id, s.transaction_state) for s in h.list().transaction_states}
    assert shown == {
        "a": (first.producer_id, "Ongoing"),
        "b": (second.producer_id, "PrepareCommit"),
        "c": (third.producer_id, "Empty"),
    }
    assert names(h, states=["Ongoing", "Empty"]) == {"a", "c"}
    assert names(h, producer_ids=[second.producer_id, 5]) == {"b"}
    assert names(h, states=["Ongoing"], producer_ids=[second.producer_id]) == set()
    assert names(h, duration_ms=0) == {"a", "c"}, "who has not begun has done so for ever, as in Kafka"
    assert names(h, states=["Ongoing", "PrepareCommit"], duration_ms=4_999) == {"a"}
    assert names(h, states=["Ongoing", "PrepareCommit"], duration_ms=5_000) == set()


def test_states_that_nobody_knows_are_named() -> None:
    h = TransactionHarness()
    ongoing(h)
    response = h.list(states=["Ongoing", "Sleeping", "ongoing"])
    assert response.unknown_state_filters == ["Sleeping", "ongoing"]
    assert [state.transactional_id for state in response.transaction_states] == [TX]
    assert h.list(states=["Sleeping"]).transaction_states == []
