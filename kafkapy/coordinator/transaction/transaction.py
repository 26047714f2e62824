"""One transactional id as a state machine (Kafka's `TransactionMetadata`, with the rules of `TransactionCoordinator`).

Each event is a call: `init_producer`, `add_partitions`, `verify`, `end`, `time_out`, `expire`, `markers_written`,
`timer_fired`, `written`, `resume`. It changes the machine and returns effects (`runtime/effects.py`). `now_ms` is
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
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETED,
    DEAD,
    EMPTY,
    NOT_OPEN,
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
"""Runs until the failed write of Complete* is retried."""
RETRY_MS = 100
"""Delay of the retry of a failed write of Complete*: the default `retry.backoff.ms` of Java's clients."""
NEXT_START_TIMER = "next-start"
NEXT_START_MS = 100
"""How long the start of a producer's next transaction waits for the end of the last one. Kafka refuses it immediately,
and its clients then wait 20 ms or more for markers that take one."""

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
"""Errors for producers after a failed append."""


class InitProducerIdResult(NamedTuple):
    error: Errors
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True)
class SendMarkers:
    """Send markers of the producer's transaction to the leaders of these partitions; `markers_written` is called when
    they are written."""

    producer: ProducerIdAndEpoch
    commit: bool
    partitions: Collection[TopicPartition]


class Next(NamedTuple):
    """The first partitions of the next transaction, requested before the previous one has ended."""

    producer: ProducerIdAndEpoch
    partitions: Collection[TopicPartition]
    to: Recipient


@dataclass(slots=True)
class Forget:
    """Remove the expired id: its tombstone is in the log."""


@dataclass(slots=True)
class Transition:
    """Context of a write: the transition that it completes."""

    target: TransactionMetadata
    to: Recipient | None = None
    answer: Any = NONE
    """The response to `to` after the write."""
    is_fence: bool = False


class Transaction:
    """Invariants:
    - `metadata` is the id's state in the log, except that an epoch is fenced already before its write is committed.
    - `pending` is the next state, from its write until that is committed; while markers are being written, it is
      Complete*.
    - `unmarked` are the partitions without a written marker yet; empty outside Prepare*.
    - `next` is a request that waits in Prepare* for Complete*, with a running timer; None in other states.
    """

    def __init__(self, transactional_id: str, metadata: TransactionMetadata) -> None:
        self.transactional_id = transactional_id
        self.metadata = metadata
        self.pending: TransactionMetadata | None = None
        self.unmarked: set[TopicPartition] = set()
        self.is_end_repeated = False
        """The write of Complete* has failed, and is retried."""
        self.next: Next | None = None
        self._ender: tuple[ProducerIdAndEpoch, int] | None = None
        """The last producer with an EndTxn request, and the newest of its connections with one."""
        self.is_gone = False
        """Another broker coordinates the id, or it has expired; events have no effect any more."""
        self._has_failed_fence = False
        """The write of a fenced epoch has failed: the next attempt does not raise the epoch again."""

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
        metadata = TransactionMetadata(EMPTY, producer_id, NO_PRODUCER_EPOCH, timeout_ms, frozenset(), -1, now_ms)
        return cls(transactional_id, metadata)

    @property
    def key(self) -> str:
        """The key, which determines the partition of `__transaction_state`."""
        return self.transactional_id

    # ------------------------------------------------------------------------------------------------ producers

    def needs_producer_id(self, expected: ProducerIdAndEpoch | None) -> bool:
        """Return whether `init_producer` needs a new producer id."""
        metadata = self.metadata
        return (
            metadata.is_epoch_exhausted
            and metadata.state in NOT_OPEN
            and (expected is None or expected.epoch == metadata.producer_epoch)
        )

    def init_producer(
        self, expected: ProducerIdAndEpoch | None, timeout_ms: int, new_producer_id: int, to: Recipient, now_ms: int
    ) -> Effects:
        """Initialize a producer; `expected`: its current id and epoch, to continue after an error (KIP-360)."""
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
        """Return whether a producer with this id may continue. Its epoch is checked later."""
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
        """Add partitions to the producer's transaction, which starts with the first ones. `to` gets the error."""
        now, error = self.metadata, self._check(producer)
        if error is NONE and now.state in PREPARING and self.next is None:
            self.next = Next(producer, partitions, to)
            return (StartTimer(NEXT_START_TIMER, "", NEXT_START_MS),)
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
        """Return whether each partition is in the producer's transaction (KIP-890), by the committed state: a pending
        write is ignored."""
        error = self._check(producer)
        if error is NONE and self.metadata.state in PREPARING:
            error = Errors.CONCURRENT_TRANSACTIONS
        if error is not NONE:
            return dict.fromkeys(partitions, error)
        # A completed transaction has no partitions.
        known = self.metadata.partitions
        return {name: NONE if name in known else Errors.TRANSACTION_ABORTABLE for name in partitions}

    # ------------------------------------------------------------------------------------------------ the end

    def end(
        self, producer: ProducerIdAndEpoch, commit: bool, to: Recipient, now_ms: int, connection: int = 0
    ) -> Effects:
        """End the transaction. `to` gets the error; NONE once the outcome is in the log. `connection`: greater for
        later connections."""
        error = self._check(producer)
        if error is NONE:
            self._ender = producer, max(connection, self._ended_from(producer))
            error = Errors.CONCURRENT_TRANSACTIONS if self.pending is not None else self._may_end(commit)
        if error is not NONE or self.metadata.state is not ONGOING:
            return (Reply(to, error),)
        state = PREPARE_COMMIT if commit else PREPARE_ABORT
        return self._write(self.metadata._replace(state=state, updated_ms=now_ms), to)

    def _ended_from(self, producer: ProducerIdAndEpoch) -> int:
        """Return the newest connection of this producer's EndTxn requests; -1: none."""
        return self._ender[1] if self._ender is not None and self._ender[0] == producer else -1

    def is_overtaken(self, producer: ProducerIdAndEpoch, connection: int) -> bool:
        """Return whether the request is obsolete: the producer has sent EndTxn over a later connection, and started
        its next transaction.

        After a time-out, a producer retries over another connection and continues. Its first request may arrive later,
        and would end the next transaction (KAFKA-17754).
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
        """Abort the transaction and fence its producer."""
        return self._fence(None, NONE, now_ms)

    def _fence(self, to: Recipient | None, answer: Any, now_ms: int) -> Effects:
        now = self.metadata
        epoch = now.producer_epoch if self._has_failed_fence else now.producer_epoch + 1
        # Valid immediately, even if the write fails: no producer ever gets this epoch, so it may be skipped.
        self.metadata = now._replace(producer_epoch=epoch, last_producer_epoch=NO_PRODUCER_EPOCH)
        target = self.metadata._replace(state=PREPARE_ABORT, updated_ms=now_ms)
        return self._write(target, to, answer, is_fence=True)

    def markers_written(self, partitions: Iterable[TopicPartition]) -> Effects:
        """Process written markers; partitions that have been deleted count as well."""
        if self.is_gone or not self.unmarked:
            return ()
        self.unmarked.difference_update(partitions)
        return () if self.unmarked else self._complete()

    def _complete(self) -> Effects:
        assert self.pending is not None
        self.is_end_repeated = False
        return self._write(self.pending)

    def _let_next_begin(self, now_ms: int) -> Effects:
        """Start the waiting transaction after Complete* was committed."""
        if self.next is None:
            return ()
        (producer, partitions, to), self.next = self.next, None
        return (CancelTimer(NEXT_START_TIMER), *self.add_partitions(producer, partitions, to, now_ms))

    def _turn_next_away(self, error: Errors) -> Effects:
        waiting, self.next = self.next, None
        return () if waiting is None else (CancelTimer(NEXT_START_TIMER), Reply(waiting.to, error))

    def leave(self) -> Effects:
        """Stop coordinating the id."""
        self.is_gone = True
        return self._turn_next_away(Errors.NOT_COORDINATOR)

    def resume(self, now_ms: int) -> Effects:
        """Start coordinating the loaded id. In Prepare*, send the markers."""
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
        return self.pending is None and now.state in NOT_OPEN and now.updated_ms <= now_ms - expiration_ms

    def expire(self) -> Effects:
        """Write a tombstone; `Forget` follows once that is in the log."""
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
            # The record has no start time. As in Kafka, responses have that of the last transaction until the next one
            # starts.
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
            # The markers are written. All other events are refused until Complete* is in the log.
            self.is_end_repeated = True
            return () if self.is_gone else (StartTimer(RETRY_TIMER, "", RETRY_MS),)
        self.pending = None
        self._has_failed_fence = step.is_fence
        if step.to is None:
            return ()
        answer = InitProducerIdResult(error) if isinstance(step.answer, InitProducerIdResult) else error
        return (Reply(step.to, answer),)

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Effects:
        if timer == NEXT_START_TIMER:
            return self._turn_next_away(Errors.CONCURRENT_TRANSACTIONS)
        return () if self.is_gone else self._complete()
