"""One transactional id, event by event, without coordinator and log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.transaction_states import TransactionState
from kafkapy.coordinator.runtime.effects import Effect, Order, Reply, StartTimer, Write
from kafkapy.coordinator.transaction.metadata import TransactionMetadata, read_key, read_value
from kafkapy.coordinator.transaction.transaction import (
    NEXT_START_MS,
    NEXT_START_TIMER,
    RETRY_MS,
    RETRY_TIMER,
    Forget,
    InitProducerIdResult,
    SendMarkers,
    Transaction,
    Transition,
)
from kafkapy.coordinator.transaction.transaction_state import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARING,
)
from kafkapy.protocol.errors import NONE, Errors

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER = ProducerIdAndEpoch(7, 3)
NOBODY = ProducerIdAndEpoch()
START = 1_000
NOW = 2_000
TIMEOUT = 60_000
LATE = START + TIMEOUT + 1

CONCURRENT = Errors.CONCURRENT_TRANSACTIONS
WAITS = StartTimer(NEXT_START_TIMER, "", NEXT_START_MS)
FENCED = Errors.PRODUCER_FENCED
ABORTABLE = Errors.TRANSACTION_ABORTABLE
INVALID = Errors.INVALID_TXN_STATE

STATES = [EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT]
OPEN = [ONGOING, PREPARE_COMMIT, PREPARE_ABORT]

Outcome = TransactionState | Errors | StartTimer | None


def at(
    state: TransactionState,
    epoch: int = PRODUCER.epoch,
    last: ProducerIdAndEpoch = NOBODY,
    partitions: Sequence[TopicPartition] = (T0,),
) -> Transaction:
    """As it is after the log says so."""
    metadata = TransactionMetadata(
        state,
        PRODUCER.producer_id,
        epoch,
        TIMEOUT,
        frozenset(partitions if state in OPEN else ()),
        -1 if state is EMPTY else START,
        START,
        last.producer_id,
        last.epoch,
    )
    transaction = Transaction("tx", metadata)
    transaction.resume(NOW)
    return transaction


def nobody(response: object) -> None:
    raise AssertionError("a machine answers nobody itself")


def init(transaction: Transaction, expected: ProducerIdAndEpoch | None = None, new_id: int = -1) -> Sequence[Effect]:
    return transaction.init_producer(expected, 5_000, new_id, nobody, NOW)


EVENTS: dict[str, Callable[[Transaction], Sequence[Effect]]] = {
    "init producer id": init,
    "add partitions": lambda t: t.add_partitions(PRODUCER, [T1], nobody, NOW),
    "add known partitions": lambda t: t.add_partitions(PRODUCER, [T0], nobody, NOW),
    "commit": lambda t: t.end(PRODUCER, True, nobody, NOW),
    "abort": lambda t: t.end(PRODUCER, False, nobody, NOW),
    "time is over": lambda t: t.time_out(LATE) if t.is_timed_out(LATE) else (),
    "markers written": lambda t: t.markers_written([T0]),
    "id expires": lambda t: t.expire() if t.is_expired(LATE, 1_000) else (),
}

TABLE: dict[str, list[Outcome]] = {
    # in the order of STATES
    "init producer id": [EMPTY, PREPARE_ABORT, CONCURRENT, CONCURRENT, EMPTY, EMPTY],
    "add partitions": [ONGOING, ONGOING, WAITS, WAITS, ONGOING, ONGOING],
    "add known partitions": [ONGOING, NONE, WAITS, WAITS, ONGOING, ONGOING],
    "commit": [INVALID, PREPARE_COMMIT, CONCURRENT, CONCURRENT, NONE, INVALID],
    "abort": [INVALID, PREPARE_ABORT, CONCURRENT, CONCURRENT, INVALID, NONE],
    "time is over": [None, PREPARE_ABORT, None, None, None, None],
    "markers written": [None, None, COMPLETE_COMMIT, COMPLETE_ABORT, None, None],
    "id expires": [DEAD, None, None, None, DEAD, DEAD],
}


def error_of(response: object) -> Errors:
    error = response.error if isinstance(response, InitProducerIdResult) else response
    assert isinstance(error, Errors)
    return error


def outcome(effects: Sequence[Effect]) -> Outcome:
    """The state that is written, the error that is answered, or what is waited for."""
    if not effects:
        return None
    (effect,) = effects
    if isinstance(effect, Reply):
        return error_of(effect.response)
    if isinstance(effect, StartTimer):
        return effect
    return step(effects).target.state


def step(effects: Sequence[Effect]) -> Transition:
    """What is being written, which is also what the record says."""
    (write,) = effects
    assert isinstance(write, Write)
    assert isinstance(write.then, Transition)
    assert not isinstance(write.records, bytes)
    ((key, value),) = write.records
    assert read_key(key) == "tx"
    target = write.then.target
    if target.state is DEAD:
        assert value is None
    else:
        assert isinstance(value, bytes)
        assert read_value(value) == target._replace(last_producer_id=-1, last_producer_epoch=-1)
    return write.then


def written(transaction: Transaction, effects: Sequence[Effect], error: Errors = NONE) -> Sequence[Effect]:
    return transaction.written(step(effects), error, 0, NOW)


def answer(effects: Sequence[Effect]) -> object:
    (reply,) = effects
    assert isinstance(reply, Reply)
    assert reply.to is nobody
    return reply.response


def markers(effects: Sequence[Effect]) -> SendMarkers:
    order = effects[-1]
    assert isinstance(order, Order)
    assert isinstance(order.what, SendMarkers)
    return order.what


# ---------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize(
    ("event", "state", "expected"),
    [(event, state, cell) for event, row in TABLE.items() for state, cell in zip(STATES, row, strict=True)],
)
def test_every_event_in_every_state(event: str, state: TransactionState, expected: Outcome) -> None:
    transaction = at(state)
    before = transaction.metadata.state
    effects = EVENTS[event](transaction)
    assert outcome(effects) == expected
    assert transaction.metadata.state is before, "nothing holds before it is in the log"
    if isinstance(expected, TransactionState):
        written(transaction, effects)
        assert transaction.metadata.state is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    list(zip(STATES, [ABORTABLE, NONE, CONCURRENT, CONCURRENT, ABORTABLE, ABORTABLE], strict=True)),
)
def test_verification_in_every_state(state: TransactionState, expected: Errors) -> None:
    assert at(state).verify(PRODUCER, [T0]) == {T0: expected}


def test_verification_says_which_partitions_are_known() -> None:
    transaction = at(ONGOING)
    assert transaction.verify(PRODUCER, [T0, T1]) == {T0: NONE, T1: ABORTABLE}
    adding = EVENTS["add partitions"](transaction)
    assert transaction.verify(PRODUCER, [T0, T1]) == {T0: NONE, T1: ABORTABLE}, "it is not in the log yet"
    written(transaction, adding)
    assert transaction.verify(PRODUCER, [T0, T1]) == {T0: NONE, T1: NONE}


@pytest.mark.parametrize(
    ("state", "first"),
    [
        (EMPTY, "init producer id"),
        (EMPTY, "add partitions"),
        (EMPTY, "id expires"),
        (ONGOING, "add partitions"),
        (ONGOING, "commit"),
        (ONGOING, "abort"),
        (PREPARE_COMMIT, "markers written"),
    ],
)
def test_one_write_at_a_time(state: TransactionState, first: str) -> None:
    transaction = at(state)
    write = EVENTS[first](transaction)
    if state is PREPARE_COMMIT:
        assert outcome(EVENTS["add partitions"](transaction)) == WAITS, "one may wait for the end"
    for event in ("init producer id", "add partitions", "add known partitions", "commit", "abort"):
        assert outcome(EVENTS[event](transaction)) is CONCURRENT
    for event in ("time is over", "markers written", "id expires"):
        assert outcome(EVENTS[event](transaction)) is None
    written(transaction, write)
    assert transaction.metadata.state is step(write).target.state


# ---------------------------------------------------------------------------------------------------- who is it


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("producer", "expected"),
    [
        (ProducerIdAndEpoch(8, 3), Errors.INVALID_PRODUCER_ID_MAPPING),
        (ProducerIdAndEpoch(7, 2), FENCED),
        (ProducerIdAndEpoch(7, 4), FENCED),
    ],
)
def test_another_producer_is_refused_in_any_state(
    state: TransactionState, producer: ProducerIdAndEpoch, expected: Errors
) -> None:
    transaction = at(state)
    assert answer(transaction.add_partitions(producer, [T0], nobody, NOW)) is expected
    assert answer(transaction.end(producer, True, nobody, NOW)) is expected
    assert transaction.verify(producer, [T0, T1]) == {T0: expected, T1: expected}


def test_the_first_init_gives_epoch_0() -> None:
    transaction = Transaction.new("tx", 7, 5_000, NOW)
    assert transaction.metadata.producer_epoch == -1
    assert answer(written(transaction, init(transaction))) == InitProducerIdResult(NONE, 7, 0)
    assert transaction.metadata == TransactionMetadata(EMPTY, 7, 0, 5_000, frozenset(), -1, NOW, 7, -1)


@pytest.mark.parametrize("state", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_a_new_producer_takes_the_next_epoch(state: TransactionState) -> None:
    transaction = at(state, last=ProducerIdAndEpoch(7, 2))
    assert answer(written(transaction, init(transaction))) == InitProducerIdResult(NONE, 7, 4)
    told_ms = -1 if state is EMPTY else START
    assert transaction.metadata == TransactionMetadata(EMPTY, 7, 4, 5_000, frozenset(), told_ms, NOW, 7, -1)


def test_a_producer_goes_on_with_the_next_epoch_and_may_ask_twice() -> None:
    transaction = at(COMPLETE_ABORT)
    told = InitProducerIdResult(NONE, 7, 4)
    assert answer(written(transaction, init(transaction, PRODUCER))) == told
    assert answer(written(transaction, init(transaction, PRODUCER))) == told
    assert transaction.metadata.last_producer_epoch == 3
    # Once a new producer has begun, the former one's repetition comes too late.
    written(transaction, init(transaction))
    assert outcome(init(transaction, PRODUCER)) is FENCED


def test_a_lost_producer_goes_on_with_an_id_that_was_forgotten() -> None:
    transaction = Transaction.new("tx", 9, 5_000, NOW)
    assert answer(written(transaction, init(transaction, PRODUCER))) == InitProducerIdResult(NONE, 9, 0)


@pytest.mark.parametrize(
    "expected",
    [ProducerIdAndEpoch(7, 1), ProducerIdAndEpoch(7, 4), ProducerIdAndEpoch(8, 3), ProducerIdAndEpoch(6, 3)],
)
def test_an_unexpected_producer_is_fenced(expected: ProducerIdAndEpoch) -> None:
    transaction = at(EMPTY, last=ProducerIdAndEpoch(6, 2))
    assert answer(init(transaction, expected)) == InitProducerIdResult(FENCED)
    assert transaction.pending is None


def test_another_id_cannot_end_an_open_transaction() -> None:
    assert outcome(init(at(ONGOING), ProducerIdAndEpoch(8, 3))) is FENCED


# ---------------------------------------------------------------------------------------------------- epochs end


@pytest.mark.parametrize("epoch", [32766, 32767])
def test_after_the_last_epoch_comes_a_new_producer_id(epoch: int) -> None:
    transaction = at(COMPLETE_COMMIT, epoch)
    assert transaction.needs_producer_id(None)
    assert answer(written(transaction, init(transaction, None, 8))) == InitProducerIdResult(NONE, 8, 0)
    assert transaction.metadata[7:] == (7, -1)
    assert not transaction.needs_producer_id(None)


def test_the_epoch_before_the_last_is_still_given() -> None:
    transaction = at(EMPTY, 32765)
    assert not transaction.needs_producer_id(None)
    assert answer(written(transaction, init(transaction))) == InitProducerIdResult(NONE, 7, 32766)


def test_a_producer_that_goes_on_after_the_last_epoch_may_ask_twice() -> None:
    transaction = at(EMPTY, 32766)
    had = ProducerIdAndEpoch(7, 32766)
    assert transaction.needs_producer_id(had)
    told = InitProducerIdResult(NONE, 8, 0)
    assert answer(written(transaction, init(transaction, had, 8))) == told
    assert transaction.metadata[7:] == had
    assert not transaction.needs_producer_id(had)
    assert answer(written(transaction, init(transaction, had))) == told
    assert outcome(init(transaction, ProducerIdAndEpoch(7, 32765))) is FENCED


def test_no_new_id_for_a_producer_that_is_fenced() -> None:
    transaction = at(EMPTY, 32766)
    had = ProducerIdAndEpoch(7, 5)
    assert not transaction.needs_producer_id(had)
    assert outcome(init(transaction, had)) is FENCED


@pytest.mark.parametrize("state", OPEN)
def test_no_new_id_while_a_transaction_is_open(state: TransactionState) -> None:
    assert not at(state, 32766).needs_producer_id(None)


def test_the_last_epoch_is_kept_for_fencing() -> None:
    transaction = at(ONGOING, 32766)
    effects = written(transaction, transaction.time_out(LATE))
    assert markers(effects).producer == ProducerIdAndEpoch(7, 32767)
    written(transaction, transaction.markers_written([T0]))
    assert transaction.metadata.state is COMPLETE_ABORT
    assert transaction.needs_producer_id(None)


# ---------------------------------------------------------------------------------------------------- a whole life


def test_a_transaction_from_its_first_partition_to_its_end() -> None:
    transaction = at(EMPTY)
    assert answer(written(transaction, transaction.add_partitions(PRODUCER, [T0], nobody, 3_000))) is NONE
    written(transaction, transaction.add_partitions(PRODUCER, [T1], nobody, 4_000))
    now = transaction.metadata
    assert (now.partitions, now.start_ms, now.updated_ms) == (frozenset({T0, T1}), 3_000, 4_000)
    effects = written(transaction, transaction.end(PRODUCER, True, nobody, 5_000))
    assert answer(effects[:1]) is NONE, "nothing can change the outcome any more"
    assert markers(effects) == SendMarkers(PRODUCER, True, frozenset({T0, T1}))
    assert transaction.markers_written([T1]) == ()
    assert transaction.unmarked == {T0}
    assert answer(transaction.end(PRODUCER, True, nobody, NOW)) is CONCURRENT
    complete = transaction.markers_written([T0])
    assert written(transaction, complete) == ()
    now = transaction.metadata
    assert (now.state, now.partitions, now.start_ms, now.updated_ms) == (COMPLETE_COMMIT, frozenset(), 3_000, NOW)
    assert answer(transaction.end(PRODUCER, True, nobody, NOW)) is NONE, "it may not have heard the answer"
    written(transaction, transaction.add_partitions(PRODUCER, [T1], nobody, 8_000))
    assert (transaction.metadata.partitions, transaction.metadata.start_ms) == (frozenset({T1}), 8_000)


def test_an_open_transaction_is_aborted_for_a_new_producer_that_has_to_come_back() -> None:
    transaction = at(ONGOING)
    effects = init(transaction)
    assert transaction.metadata.producer_epoch == 4, "the former producer is fenced off at once"
    assert answer(transaction.end(PRODUCER, True, nobody, NOW)) is FENCED
    after = written(transaction, effects)
    assert answer(after[:1]) == InitProducerIdResult(CONCURRENT)
    assert markers(after) == SendMarkers(ProducerIdAndEpoch(7, 4), False, frozenset({T0}))
    assert outcome(init(transaction)) is CONCURRENT
    written(transaction, transaction.markers_written([T0]))
    assert answer(written(transaction, init(transaction))) == InitProducerIdResult(NONE, 7, 5)


@pytest.mark.parametrize(("now_ms", "expected"), [(LATE - 1, False), (LATE, True)])
def test_time_is_over_after_the_time_out(now_ms: int, expected: bool) -> None:
    assert at(ONGOING).is_timed_out(now_ms) is expected


def test_a_transaction_whose_time_is_over_is_aborted_with_the_next_epoch() -> None:
    transaction = at(ONGOING)
    effects = written(transaction, transaction.time_out(LATE))
    assert effects == (Order(SendMarkers(ProducerIdAndEpoch(7, 4), False, frozenset({T0}))),)
    assert transaction.metadata.updated_ms == LATE
    assert answer(transaction.add_partitions(PRODUCER, [T0], nobody, NOW)) is FENCED


@pytest.mark.parametrize(("now_ms", "expected"), [(START + 99, False), (START + 100, True)])
def test_an_id_expires_when_it_has_not_been_used(now_ms: int, expected: bool) -> None:
    assert at(EMPTY).is_expired(now_ms, 100) is expected


def test_an_expired_id_is_forgotten_when_the_log_says_so() -> None:
    transaction = at(COMPLETE_COMMIT)
    effects = transaction.expire()
    assert not transaction.is_gone
    assert written(transaction, effects) == (Order(Forget()),)
    assert transaction.is_gone


# ---------------------------------------------------------------------------------------------------- failed writes

APPEND_ERRORS = [
    (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.REQUEST_TIMED_OUT, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
    (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
    (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    (Errors.RECORD_LIST_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    (Errors.INVALID_FETCH_SIZE, Errors.UNKNOWN_SERVER_ERROR),
    (Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
]


@pytest.mark.parametrize(("error", "expected"), APPEND_ERRORS)
@pytest.mark.parametrize(
    ("state", "event"),
    [(EMPTY, "init producer id"), (COMPLETE_ABORT, "add partitions"), (ONGOING, "add partitions"), (ONGOING, "commit"),
     (ONGOING, "abort")],
)  # fmt: skip
def test_what_could_not_be_written_has_not_happened(
    state: TransactionState, event: str, error: Errors, expected: Errors
) -> None:
    transaction = at(state)
    before = transaction.metadata
    response = answer(written(transaction, EVENTS[event](transaction), error))
    assert response == (InitProducerIdResult(expected) if event == "init producer id" else expected)
    assert transaction.metadata == before
    effects = EVENTS[event](transaction)
    written(transaction, effects)
    assert transaction.metadata == step(effects).target


def test_an_epoch_that_was_fenced_off_stays_so_when_that_could_not_be_written() -> None:
    transaction = at(ONGOING)
    assert answer(written(transaction, init(transaction), Errors.REQUEST_TIMED_OUT)) == InitProducerIdResult(
        Errors.COORDINATOR_NOT_AVAILABLE
    )
    assert (transaction.metadata.state, transaction.metadata.producer_epoch) == (ONGOING, 4)
    assert answer(transaction.end(PRODUCER, True, nobody, NOW)) is FENCED
    # Nobody has been told of epoch 4, so it does.
    assert written(transaction, transaction.time_out(LATE), Errors.NOT_ENOUGH_REPLICAS) == ()
    effects = written(transaction, init(transaction))
    assert markers(effects).producer == ProducerIdAndEpoch(7, 4)
    written(transaction, transaction.markers_written([T0]))
    # With the next transaction it begins anew.
    assert answer(written(transaction, init(transaction))) == InitProducerIdResult(NONE, 7, 5)
    written(transaction, transaction.add_partitions(ProducerIdAndEpoch(7, 5), [T0], nobody, NOW))
    assert markers(written(transaction, transaction.time_out(LATE))).producer == ProducerIdAndEpoch(7, 6)


def test_fencing_at_the_last_epoch_may_fail_as_often_as_it_likes() -> None:
    transaction = at(ONGOING, 32766)
    for _ in range(3):
        written(transaction, init(transaction), Errors.REQUEST_TIMED_OUT)
        assert transaction.metadata.producer_epoch == 32767
    assert markers(written(transaction, init(transaction))).producer == ProducerIdAndEpoch(7, 32767)


@pytest.mark.parametrize("error", [error for error, _ in APPEND_ERRORS])
def test_the_end_is_written_until_it_is_in_the_log(error: Errors) -> None:
    transaction = at(PREPARE_COMMIT)
    effects = transaction.markers_written([T0])
    for _ in range(2):
        assert written(transaction, effects, error) == (StartTimer(RETRY_TIMER, "", RETRY_MS),)
        assert outcome(init(transaction)) is CONCURRENT
        effects = transaction.timer_fired(RETRY_TIMER, "", NOW + RETRY_MS)
        assert step(effects).target.updated_ms == NOW
    written(transaction, effects)
    assert transaction.metadata.state is COMPLETE_COMMIT


def test_an_id_whose_tombstone_could_not_be_written_lives_on() -> None:
    transaction = at(EMPTY)
    assert written(transaction, transaction.expire(), Errors.NOT_ENOUGH_REPLICAS) == ()
    assert not transaction.is_gone
    assert outcome(EVENTS["add partitions"](transaction)) is ONGOING


# ---------------------------------------------------------------------------------------------------- coming and going


@pytest.mark.parametrize("state", STATES)
def test_only_a_decision_is_carried_out_after_a_load(state: TransactionState) -> None:
    transaction = at(state)
    effects = transaction.resume(NOW)
    if state in PREPARING:
        assert markers(effects) == SendMarkers(PRODUCER, state is PREPARE_COMMIT, frozenset({T0}))
        assert transaction.unmarked == {T0}
    else:
        assert effects == ()
        assert transaction.pending is None


def test_a_decision_without_partitions_is_complete_after_a_load() -> None:
    transaction = at(PREPARE_ABORT, partitions=())
    effects = transaction.resume(NOW)
    assert outcome(effects) is COMPLETE_ABORT
    written(transaction, effects)
    assert transaction.pending is None


@pytest.mark.parametrize(
    ("state", "event"), [(EMPTY, "init producer id"), (EMPTY, "add partitions"), (ONGOING, "init producer id"),
                         (ONGOING, "commit"), (ONGOING, "abort")],
)  # fmt: skip
def test_a_write_that_ends_after_it_is_gone_is_answered_all_the_same(state: TransactionState, event: str) -> None:
    transaction = at(state)
    effects = EVENTS[event](transaction)
    transaction.is_gone = True
    assert error_of(answer(written(transaction, effects))) is Errors.NOT_COORDINATOR


def test_nothing_more_is_done_once_it_is_gone() -> None:
    transaction = at(PREPARE_COMMIT)
    complete = transaction.markers_written([T0])
    transaction.is_gone = True
    assert written(transaction, complete) == ()
    assert written(transaction, complete, Errors.NOT_LEADER_OR_FOLLOWER) == ()
    assert transaction.timer_fired(RETRY_TIMER, "", NOW) == ()
    other = at(PREPARE_COMMIT)
    other.is_gone = True
    assert other.markers_written([T0]) == ()
    ending = at(ONGOING)
    timing_out = ending.time_out(LATE)
    ending.is_gone = True
    assert written(ending, timing_out) == ()


def test_markers_that_come_late_change_nothing() -> None:
    transaction = at(COMPLETE_COMMIT)
    assert transaction.markers_written([T0]) == ()
    written(transaction, transaction.add_partitions(PRODUCER, [T0], nobody, NOW))
    assert transaction.markers_written([T0]) == ()
    assert transaction.metadata.state is ONGOING
