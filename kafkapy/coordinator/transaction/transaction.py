"""One transactional id (Kafka's `TransactionMetadata` and what `TransactionCoordinator` decides of it) as a machine.

Each event is a call: `init_producer`, `add_partitions`, `verify`, `end`, `time_out`, `expire`, `markers_written`,
`timer_fired`, `written`, `resume`. It changes the machine and returns what is to be done (`runtime/effects.py`). `now_ms` is
the wall clock. `transaction_state.py` has the table of states.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.runtime.effects import CancelTimer, Effect, Order, Recipient, Reply, StartTimer, Write
from kafkapy.coordinator.transaction.metadata import (
    TransactionMetadata,
    is_exhausted,
    transaction_key,
    transaction_value,
)
from kafkapy.coordinator.transaction.transaction_state import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETED,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARING,
    TRANSITIONS,
)
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionCoordinator")

Effects = Sequence[Effect]

RETRY_TIMER = "complete"
"""The end of a transaction could not be written; it is tried again."""
RETRY_MS = 100
"""Until a write that failed after the markers were written is tried again: as long as Java's clients wait by default
(`retry.backoff.ms`)."""
PATIENCE_TIMER = "patience"
PATIENCE_MS = 100
"""So long a producer that begins its next transaction waits for the end of the last one. Kafka tells it at once to come back,
and its clients then lose 20 ms or more for markers that take one."""

APPEND_ERRORS = {
    **dict.fromkeys(
        (
            Errors.UNKNOWN_TOPIC_OR_PARTITION,
            Errors.NOT_ENOUGH_REPLICAS,
            Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            Errors.REQUEST_TIMED_OUT,
        ),
        Errors.COORDINATOR_NOT_AVAILABLE,
    ),
    **dict.fromkeys((Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR), Errors.NOT_COORDINATOR),
    **dict.fromkeys(
        (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE),
        Errors.UNKNOWN_SERVER_ERROR,
    ),
}
"""What producers may hear of an append that failed."""


class InitProducerIdResult(NamedTuple):
    error: Errors
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True)
class SendMarkers:
    """Tell the leaders of these partitions how the producer's transaction ends there; `markers_written` says of which it is
    done."""

    producer: ProducerIdAndEpoch
    commit: bool
    partitions: Collection[TopicPartition]


class Next(NamedTuple):
    """The beginning of a transaction that came before the one before had ended."""

    producer: ProducerIdAndEpoch
    partitions: Collection[TopicPartition]
    to: Recipient


@dataclass(slots=True)
class Forget:
    """The id has expired, and the log says so."""


@dataclass(slots=True)
class Transition:
    """What a write stands for."""

    target: TransactionMetadata
    to: Recipient | None = None
    answer: Any = NONE
    """The response to `to` when it is done."""
    is_fence: bool = False


class Transaction:
    """Invariants:
    - `metadata` is what the log has of the id, but for an epoch that is being fenced off: that holds at once.
    - `pending` is what comes next, from its write on until it is committed; while markers are written, their end.
    - `unmarked` are the partitions whose markers are still to be written; empty outside Prepare*.
    - `next` waits for the end of what is in Prepare*; None outside of it. Its timer runs.
    """

    def __init__(self, transactional_id: str, metadata: TransactionMetadata) -> None:
        self.transactional_id = transactional_id
        self.metadata = metadata
        self.pending: TransactionMetadata | None = None
        self.unmarked: set[TopicPartition] = set()
        self.is_end_repeated = False
        """The write that says that all markers are written has failed, and is made again."""
        self.next: Next | None = None
        self._ender: tuple[ProducerIdAndEpoch, int] | None = None
        """The producer that has asked for an end last, and the newest of its connections over which it did."""
        self.is_gone = False
        """Another broker coordinates it, or it has expired; nothing changes it any more."""
        self._has_failed_fence = False
        """An epoch was fenced off here, and that could not be written: the next time it is not raised again."""

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
        metadata = TransactionMetadata(EMPTY, producer_id, NO_PRODUCER_EPOCH, timeout_ms, frozenset(), -1, now_ms)
        return cls(transactional_id, metadata)

    @property
    def key(self) -> str:
        """Decides the partition of `__transaction_state`."""
        return self.transactional_id

    # ------------------------------------------------------------------------------------------------ producers

    def needs_producer_id(self, expected: ProducerIdAndEpoch | None) -> bool:
        """Has `init_producer` to be given a new producer id?"""
        metadata = self.metadata
        return (
            metadata.is_epoch_exhausted
            and metadata.state in AT_REST
            and (expected is None or expected.epoch == metadata.producer_epoch)
        )

    def init_producer(
        self, expected: ProducerIdAndEpoch | None, timeout_ms: int, new_producer_id: int, to: Recipient, now_ms: int
    ) -> Effects:
        """A producer begins, or goes on after an error as the one it expects to be (KIP-360)."""
        error, now = NONE, self.metadata
        if self.pending is not None or now.state in PREPARING:
            error = Errors.CONCURRENT_TRANSACTIONS
        elif expected is not None and not self._may_be(expected):
            error = Errors.PRODUCER_FENCED
        if error is not NONE:
            return (Reply(to, InitProducerIdResult(error)),)
        if now.state is ONGOING:
            return self._fence(to, InitProducerIdResult(Errors.CONCURRENT_TRANSACTIONS), now_ms)
        target = now._replace(
            state=EMPTY, timeout_ms=timeout_ms, partitions=frozenset(), start_ms=-1, updated_ms=now_ms,
            last_producer_id=now.producer_id,
        )  # fmt: skip
        if self.needs_producer_id(expected):
            last_epoch = NO_PRODUCER_EPOCH if expected is None else now.producer_epoch
            target = target._replace(producer_id=new_producer_id, producer_epoch=0, last_producer_epoch=last_epoch)
        elif expected is None:
            target = target._replace(producer_epoch=now.producer_epoch + 1, last_producer_epoch=NO_PRODUCER_EPOCH)
        elif now.producer_epoch in (NO_PRODUCER_EPOCH, expected.epoch):
            target = target._replace(producer_epoch=now.producer_epoch + 1, last_producer_epoch=now.producer_epoch)
        elif expected.epoch != now.last_producer_epoch:  # otherwise it has not received the response, and retries
            return (Reply(to, InitProducerIdResult(Errors.PRODUCER_FENCED)),)
        return self._write(target, to, InitProducerIdResult(NONE, target.producer_id, target.producer_epoch))

    def _may_be(self, expected: ProducerIdAndEpoch) -> bool:
        """Could a producer with this id go on? Its epoch is looked at later."""
        now = self.metadata
        return (
            now.producer_epoch == NO_PRODUCER_EPOCH
            or expected.producer_id == now.producer_id
            or (expected.producer_id == now.last_producer_id and is_exhausted(expected.epoch))
        )

    def _check(self, producer: ProducerIdAndEpoch) -> Errors:
        if producer.producer_id != self.metadata.producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        if producer.epoch != self.metadata.producer_epoch:
            return Errors.PRODUCER_FENCED
        return NONE

    # ------------------------------------------------------------------------------------------------ partitions

    def add_partitions(
        self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition], to: Recipient, now_ms: int
    ) -> Effects:
        """They belong to the producer's transaction, which begins with the first. `to` hears the error."""
        now, error = self.metadata, self._check(producer)
        if error is NONE and now.state in PREPARING and self.next is None:
            self.next = Next(producer, partitions, to)
            return (StartTimer(PATIENCE_TIMER, "", PATIENCE_MS),)
        if error is NONE and (self.pending is not None or now.state in PREPARING):
            error = Errors.CONCURRENT_TRANSACTIONS
        if error is not NONE or (now.state is ONGOING and now.partitions.issuperset(partitions)):
            return (Reply(to, error),)
        before = now.partitions if now.state is ONGOING else frozenset[TopicPartition]()
        start_ms = now.start_ms if now.state is ONGOING else now_ms
        target = now._replace(
            state=ONGOING, partitions=before.union(partitions), start_ms=start_ms, updated_ms=now_ms
        )  # fmt: skip
        return self._write(target, to)

    def verify(
        self, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Errors]:
        """Do they belong to the producer's transaction (KIP-890)? What is under way is not looked at: the log decides."""
        error = self._check(producer)
        if error is NONE and self.metadata.state in PREPARING:
            error = Errors.CONCURRENT_TRANSACTIONS
        if error is not NONE:
            return dict.fromkeys(partitions, error)
        # After its end a transaction keeps no partitions.
        known = self.metadata.partitions
        return {name: NONE if name in known else Errors.TRANSACTION_ABORTABLE for name in partitions}

    # ------------------------------------------------------------------------------------------------ the end

    def end(
        self, producer: ProducerIdAndEpoch, commit: bool, to: Recipient, now_ms: int, connection: int = 0
    ) -> Effects:
        """`to` hears the error; NONE once the outcome is in the log. `connection`: of a later one it is greater."""
        error = self._check(producer)
        if error is NONE:
            self._ender = producer, max(connection, self._ended_from(producer))
            error = Errors.CONCURRENT_TRANSACTIONS if self.pending is not None else self._may_end(commit)
        if error is not NONE or self.metadata.state is not ONGOING:
            return (Reply(to, error),)
        state = PREPARE_COMMIT if commit else PREPARE_ABORT
        return self._write(self.metadata._replace(state=state, updated_ms=now_ms), to)

    def _ended_from(self, producer: ProducerIdAndEpoch) -> int:
        """The newest connection over which this producer has asked for an end; -1: none."""
        return self._ender[1] if self._ender is not None and self._ender[0] == producer else -1

    def is_overtaken(self, producer: ProducerIdAndEpoch, connection: int) -> bool:
        """Has the producer asked for an end over a later connection, and begun its next transaction?

        One that has given up waiting asks again over another connection, and goes on. What it said first may still be on its
        way, and would end the transaction after that (KAFKA-17754).
        """
        return self.metadata.state is ONGOING and connection < self._ended_from(producer)

    def _may_end(self, commit: bool) -> Errors:
        state = self.metadata.state
        if state is ONGOING or state is (COMPLETE_COMMIT if commit else COMPLETE_ABORT):
            return NONE
        if state is (PREPARE_COMMIT if commit else PREPARE_ABORT):
            return Errors.CONCURRENT_TRANSACTIONS
        log.warning("TransactionalId: %s's state is %s, but received transaction marker result to send: %s",
                    self.transactional_id, state.value, "COMMIT" if commit else "ABORT")  # fmt: skip
        return Errors.INVALID_TXN_STATE

    def is_timed_out(self, now_ms: int) -> bool:
        now = self.metadata
        return self.pending is None and now.state is ONGOING and now.start_ms + now.timeout_ms < now_ms

    def time_out(self, now_ms: int) -> Effects:
        """Abort it. Its producer is fenced off."""
        return self._fence(None, NONE, now_ms)

    def _fence(self, to: Recipient | None, answer: Any, now_ms: int) -> Effects:
        now = self.metadata
        epoch = now.producer_epoch if self._has_failed_fence else now.producer_epoch + 1
        # From now on, whatever becomes of the write: no producer is ever told of this epoch, so it may be passed over.
        self.metadata = now._replace(producer_epoch=epoch, last_producer_epoch=NO_PRODUCER_EPOCH)
        target = self.metadata._replace(state=PREPARE_ABORT, updated_ms=now_ms)
        return self._write(target, to, answer, is_fence=True)

    def markers_written(self, partitions: Iterable[TopicPartition]) -> Effects:
        """The outcome is known in the logs of these partitions, or they exist no more."""
        if self.is_gone or not self.unmarked:
            return ()
        self.unmarked.difference_update(partitions)
        return () if self.unmarked else self._complete()

    def _complete(self) -> Effects:
        assert self.pending is not None
        self.is_end_repeated = False
        return self._write(self.pending)

    def _let_next_begin(self, now_ms: int) -> Effects:
        """The end is in the log."""
        if self.next is None:
            return ()
        (producer, partitions, to), self.next = self.next, None
        return (CancelTimer(PATIENCE_TIMER), *self.add_partitions(producer, partitions, to, now_ms))

    def _turn_next_away(self, error: Errors) -> Effects:
        waiting, self.next = self.next, None
        return () if waiting is None else (CancelTimer(PATIENCE_TIMER), Reply(waiting.to, error))

    def leave(self) -> Effects:
        """Another broker coordinates it from now on."""
        self.is_gone = True
        return self._turn_next_away(Errors.NOT_COORDINATOR)

    def resume(self, now_ms: int) -> Effects:
        """This broker coordinates it from now on. An outcome that the log says is carried out."""
        return self._send_markers(now_ms) if self.metadata.state in PREPARING else ()

    def _send_markers(self, now_ms: int) -> Effects:
        now = self.metadata
        self._has_failed_fence = False
        self.unmarked = set(now.partitions)
        self.pending = now._replace(state=COMPLETED[now.state], partitions=frozenset(), updated_ms=now_ms)
        if not self.unmarked:
            return self._complete()
        producer = ProducerIdAndEpoch(now.producer_id, now.producer_epoch)
        return (Order(SendMarkers(producer, now.state is PREPARE_COMMIT, now.partitions)),)

    # ------------------------------------------------------------------------------------------------ expiry

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        now = self.metadata
        return self.pending is None and now.state in AT_REST and now.updated_ms <= now_ms - expiration_ms

    def expire(self) -> Effects:
        """A tombstone; `Forget` once that is in the log."""
        self.pending = self.metadata._replace(state=DEAD, partitions=frozenset())
        return (Write([(transaction_key(self.transactional_id), None)], Transition(self.pending)),)

    # ------------------------------------------------------------------------------------------------ the log

    def _write(
        self, target: TransactionMetadata, to: Recipient | None = None, answer: Any = NONE, is_fence: bool = False
    ) -> Effects:
        if target.state not in TRANSITIONS[self.metadata.state]:
            raise AssertionError(
                f"{self.transactional_id} cannot go from {self.metadata.state.value} to {target.state.value}"
            )
        self.pending = target
        record = transaction_key(self.transactional_id), transaction_value(target)
        return (Write([record], Transition(target, to, answer, is_fence)),)

    def written(self, then: Any, error: Errors, base_offset: int, now_ms: int) -> Effects:
        step: Transition = then
        error = Errors.NOT_COORDINATOR if self.is_gone else APPEND_ERRORS.get(error, error)
        if error is not NONE:
            return self._failed(step, error)
        before = self.metadata
        self.metadata, self.pending = step.target, None
        if self.metadata.state is EMPTY:
            # The record has none. As in Kafka, responses have the time of the last one, until the next begins.
            self.metadata = self.metadata._replace(start_ms=before.start_ms)
        answer = () if step.to is None else (Reply(step.to, step.answer),)
        if self.metadata.state is DEAD:
            self.is_gone = True
            return (Order(Forget()),)
        if self.metadata.state in PREPARING:
            return (*answer, *self._send_markers(now_ms))
        return (*answer, *self._let_next_begin(now_ms)) if self.next is not None else answer

    def _failed(self, step: Transition, error: Errors) -> Effects:
        log.info("Could not write that %s is %s: %s", self.transactional_id, step.target.state.value, error.name)
        if step.target.state in (COMPLETE_COMMIT, COMPLETE_ABORT):
            # The markers are written. Until that stands in the log, too, nothing else can happen.
            self.is_end_repeated = True
            return () if self.is_gone else (StartTimer(RETRY_TIMER, "", RETRY_MS),)
        self.pending = None
        self._has_failed_fence = step.is_fence
        if step.to is None:
            return ()
        answer = InitProducerIdResult(error) if isinstance(step.answer, InitProducerIdResult) else error
        return (Reply(step.to, answer),)

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Effects:
        if timer == PATIENCE_TIMER:
            return self._turn_next_away(Errors.CONCURRENT_TRANSACTIONS)
        return () if self.is_gone else self._complete()
