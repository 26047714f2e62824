"""The transactional half of a producer (KIP-98, KIP-360, KIP-447; Kafka's `TransactionManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from kafkapy.clients.driver import wait_for
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    ClusterAuthorizationFailedError,
    IllegalStateError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
    as_client_error,
    error_for,
)
from kafkapy.group_member.coordinator_lookup import CoordinatorType, find_coordinators
from kafkapy.producer.record_accumulator import RecordAccumulator
from kafkapy.producer.sender import Sender
from kafkapy.producer.sequences import UNKNOWN_PRODUCER, Sequences
from kafkapy.producer.transaction_errors import ABORT, CLOSE, explained
from kafkapy.producer.transaction_requests import (
    add_offsets_request,
    add_partitions_errors,
    add_partitions_request,
    offset_commit_errors,
    offset_commit_request,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.runtime.completion import Completion, spawn, when_done
from kafkapy.structs import ConsumerGroupMetadata, OffsetAndMetadata

_log = logging.getLogger("kafkapy.producer")


class TransactionsState(Enum):
    UNINITIALIZED = "init_transactions has not been called"
    INITIALIZING = "it is being initialized"
    READY = "no transaction is open"
    IN_TRANSACTION = "a transaction is open"
    COMMITTING = "a transaction is being committed"
    ABORTING = "a transaction is being aborted"
    ABORTABLE_ERROR = "a transaction has failed and has to be aborted"
    FATAL_ERROR = "it has failed for good"


_GROWS = (TransactionsState.IN_TRANSACTION, TransactionsState.COMMITTING)
"""States in which partitions are added to the transaction."""
_FENCED = (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH)
_FIND_AGAIN = (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE)
_FATAL = (
    ProducerFencedError,
    ClusterAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
_ABORTABLE = (
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.GROUP_AUTHORIZATION_FAILED,
    Errors.FENCED_INSTANCE_ID,
    Errors.UNKNOWN_MEMBER_ID,
    Errors.ILLEGAL_GENERATION,
    Errors.UNKNOWN_PRODUCER_ID,
    Errors.INVALID_PRODUCER_ID_MAPPING,
    Errors.OPERATION_NOT_ATTEMPTED,
    Errors.TRANSACTION_ABORTABLE,
    Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
)
_QUICK_RETRY_MS = 20
"""Retry delay after CONCURRENT_TRANSACTIONS: the previous transaction is about to be completed."""


class _Step(NamedTuple):
    """One request to a coordinator: its kind, its subject, and the errors in the response."""

    request: Any
    key_type: CoordinatorType
    key: str
    errors: Callable[[Any], list[tuple[Errors, str | None]]]
    max_version: int = 32767


class Transactions:
    """The state machine of a transactional producer, and its requests to the coordinators.

    Invariant: records are sent only to partitions in `_added`, which the coordinator has confirmed; `_pending` are
    those that must be added first. `_error` is set exactly in the two error states.
    """

    def __init__(
        self,
        network: NetworkClient,
        sequences: Sequences,
        sender: Sender,
        accumulator: RecordAccumulator,
        transactional_id: str,
        timeout_ms: int,
        max_block_ms: float,
    ) -> None:
        self.transactional_id = transactional_id
        self.state = TransactionsState.UNINITIALIZED
        self._network = network
        self._driver = network.driver
        self._sequences = sequences
        self._sender = sender
        self._accumulator = accumulator
        self._timeout_ms = timeout_ms
        self._max_block_ms = max_block_ms
        self._error: BaseException | None = None
        self._added: set[TopicPartition] = set()
        self._pending: set[TopicPartition] = set()
        self._has_offsets = False
        self._sending_offsets: set[Completion[None]] = set()
        self._ending: tuple[bool, Completion[None]] | None = None
        """The running commit or abort, from its start until its outcome is retrieved."""
        self._adding: Completion[None] | None = None
        self._initializing: Completion[None] | None = None
        self._coordinators: dict[tuple[CoordinatorType, str], int] = {}
        self._bump_wanted = False

    # --- for the sender

    @property
    def is_completing(self) -> bool:
        return self.state in (TransactionsState.COMMITTING, TransactionsState.ABORTING)

    def may_send(self, topic_partition: TopicPartition) -> bool:
        if topic_partition in self._added:
            return self.state is not TransactionsState.FATAL_ERROR
        if topic_partition in self._pending and self._adding is None and self.state in _GROWS:
            self._adding = spawn(self._add_partitions())
        return False

    def explained(self, error: BaseException) -> BaseException:
        """Return the error with this producer's transactional id and advice."""
        return explained(error, self.transactional_id, self._timeout_ms)

    def batch_failed(self, error: BaseException) -> None:
        """Put the transaction into an error state, because a record of it was lost."""
        if self.state in (TransactionsState.FATAL_ERROR, TransactionsState.UNINITIALIZED, TransactionsState.READY):
            return
        if isinstance(error, _FATAL):
            self._fail_for_good(error)
        elif self.state is not TransactionsState.ABORTING:
            if isinstance(error, InvalidProducerEpochError) or self._sequences.bump_required:
                self._bump_wanted = True
            self._fail_transaction(error)

    def register(self, topic_partition: TopicPartition) -> None:
        """Register a partition before a record is sent to it. Thread-safe. Raises if no transaction is open."""
        if self.state is not TransactionsState.IN_TRANSACTION:
            self._raise_error("send")
        if topic_partition not in self._added:
            self._pending.add(topic_partition)

    def producer_closes(self) -> None:
        """Fail an open transaction: the coordinator aborts it at its time-out, or for the next producer of its id."""
        if self.state is TransactionsState.IN_TRANSACTION:
            self._fail_transaction(self._aborted("the producer was closed"))
            self._sender.abort(self._aborted("the producer was closed"), only_unsent=True)

    # --- the user's verbs

    async def initialize(self) -> None:
        """init_transactions: end a predecessor's open transaction, get producer id and epoch.

        Raises KafkaTimeoutError after max_block_ms; another call continues to wait.
        """
        if self._initializing is None:
            if self.state is not TransactionsState.UNINITIALIZED:
                self._raise_error("init_transactions")
            self.state = TransactionsState.INITIALIZING
            self._initializing = spawn(self._initialize())
        try:
            await wait_for(self._driver, self._initializing, self._max_block_ms)
        except KafkaTimeoutError:
            if not self._initializing.done:
                sentence = f"Timeout expired while initializing transactional state in {self._max_block_ms:g} ms."
                raise KafkaTimeoutError(sentence) from None
            raise

    async def _initialize(self) -> None:
        try:
            await self._init_producer_id(UNKNOWN_PRODUCER)
        except BaseException as error:
            self._initializing = None
            if self.state is TransactionsState.INITIALIZING:
                self.state = TransactionsState.UNINITIALIZED
            if isinstance(error, _FATAL):
                self._fail_for_good(error)
            raise
        self.state = TransactionsState.READY

    def begin(self) -> None:
        """begin_transaction."""
        if self.state is not TransactionsState.READY:
            self._raise_error("begin_transaction")
        self._ending = None
        self._added = set()
        self._pending = set()
        self._has_offsets = False
        self.state = TransactionsState.IN_TRANSACTION

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata | str
    ) -> None:
        """send_offsets_to_transaction."""
        if self.state is not TransactionsState.IN_TRANSACTION:
            self._raise_error("send_offsets_to_transaction")
        metadata = ConsumerGroupMetadata(group_id=group) if isinstance(group, str) else group
        if not offsets:
            return
        sending = spawn(self._send_offsets(offsets, metadata))
        self._sending_offsets.add(sending)
        sending.add_callback(self._sending_offsets.discard)
        await sending

    async def _send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], metadata: ConsumerGroupMetadata
    ) -> None:
        producer, transactional_id = self._sequences.producer, self.transactional_id
        group_id = metadata.group_id or ""
        try:
            await self._ask(
                _Step(
                    add_offsets_request(transactional_id, producer, group_id),
                    CoordinatorType.TRANSACTION,
                    transactional_id,
                    _top_level,
                )
            )
            self._has_offsets = True
            request = offset_commit_request(transactional_id, producer, metadata, offsets)
            await self._ask(_Step(request, CoordinatorType.GROUP, group_id, offset_commit_errors))
        except KafkaError as error:
            self._failed(error)
            raise

    async def prepare(self) -> ProducerIdAndEpoch:
        """prepare_transaction: flush all records and leave the transaction open. Raises the transaction's error."""
        if self.state is TransactionsState.IN_TRANSACTION:
            await self._all_done()
        if self.state is not TransactionsState.IN_TRANSACTION:
            self._raise_error("prepare_transaction")
        return self._sequences.producer

    async def commit(self) -> None:
        """commit_transaction: flush all records, then commit. Raises the transaction's error."""
        await self._end_with(True)

    async def abort(self) -> None:
        """abort_transaction: unsent records fail with TransactionAbortedError."""
        await self._end_with(False)

    async def _end_with(self, committed: bool) -> None:
        ending = self.end(committed)
        await when_done(ending)
        self.end_seen(ending)

    def end(self, committed: bool) -> Completion[None]:
        """Start a commit or abort, or return the running one.

        One that has ended is returned, too, if its caller was cancelled before it retrieved the outcome. Call
        `end_seen` afterwards.
        """
        if self._ending is None or self._ending[0] is not committed:
            self._ending = committed, spawn(self._commit() if committed else self._abort())
        return self._ending[1]

    def end_seen(self, ending: Completion[None]) -> None:
        """Mark the outcome as retrieved; raise its error."""
        if self._ending is not None and self._ending[1] is ending:
            self._ending = None
        ending.result()

    async def settled(self) -> None:
        """Wait for the running commit or abort, if there is one."""
        if self._ending is not None:
            await when_done(self._ending[1])

    async def _commit(self) -> None:
        if self.state is not TransactionsState.IN_TRANSACTION:
            self._raise_error("commit_transaction")
        self.state = TransactionsState.COMMITTING
        await self._all_done()
        if self.state is not TransactionsState.COMMITTING:
            self._raise_error("commit_transaction")
        await self._end(True)

    async def _abort(self) -> None:
        if self.state not in (TransactionsState.IN_TRANSACTION, TransactionsState.ABORTABLE_ERROR):
            self._raise_error("abort_transaction")
        self.state = TransactionsState.ABORTING
        self._error = None
        self._sender.abort(self._aborted("abort_transaction was called"), only_unsent=True)
        await self._all_done()
        if self.state is not TransactionsState.ABORTING:
            self._raise_error("abort_transaction")
        await self._end(False)

    async def _all_done(self) -> None:
        """Wait for all batches and offset commits."""
        self._sender.run()
        while self._sending_offsets:
            await when_done(next(iter(self._sending_offsets)))
        while self._accumulator.incomplete:
            done: Completion[None] = Completion()
            next(iter(self._accumulator.incomplete)).when_done(lambda done=done: done.set_result(None))  # type: ignore[misc]
            await done
        if self._adding is not None:
            await self._adding

    async def _end(self, committed: bool) -> None:
        if self._added or self._has_offsets:
            request = EndTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self._sequences.producer.producer_id,
                producer_epoch=self._sequences.producer.epoch,
                committed=committed,
            )
            try:
                await self._ask(_Step(request, CoordinatorType.TRANSACTION, self.transactional_id, _top_level, 4))
            except KafkaError as error:
                if not (self._bump_wanted and not isinstance(error, _FATAL)):
                    self._failed(error)
                    raise
        if self._bump_wanted or self._sequences.bump_required:
            await self._bump_epoch()
        self._added = set()
        self._pending = set()
        self.state = TransactionsState.READY

    async def _bump_epoch(self) -> None:
        """Get the next epoch from the coordinator and restart the sequences, because they may have gaps (KIP-360)."""
        self._bump_wanted = False
        try:
            await self._init_producer_id(self._sequences.producer)
        except KafkaError as error:
            self._fail_for_good(error)
            raise

    # --- requests

    async def _init_producer_id(self, current: ProducerIdAndEpoch) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=current.producer_id,
            producer_epoch=current.epoch,
        )
        answer = await self._ask(_Step(request, CoordinatorType.TRANSACTION, self.transactional_id, _top_level))
        self._sequences.reset(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))

    async def _add_partitions(self) -> None:
        """Add pending partitions to the transaction at the coordinator, until there are none."""
        try:
            while self._pending and self.state in _GROWS:
                partitions = frozenset(self._pending)
                request = add_partitions_request(self.transactional_id, self._sequences.producer, partitions)
                await self._ask(
                    _Step(request, CoordinatorType.TRANSACTION, self.transactional_id, add_partitions_errors, 3)
                )
                self._added |= partitions
                self._pending -= partitions
        except KafkaError as error:
            self._pending.clear()
            self._failed(error)
        finally:
            self._adding = None
        self._sender.wakeup()

    async def _ask(self, step: _Step) -> Any:
        """Send the request, with retries, until it succeeds; return the response. Raises errors that must not be
        retried."""
        attempts = 0
        while True:
            if self._network.closed:
                raise IllegalStateError("The producer is closed")
            try:
                node = await self._coordinator(step.key_type, step.key)
                answer = await self._network.send(node, step.request, max_version=step.max_version)
                found = [failure for failure in step.errors(answer) if failure[0] is not Errors.NONE]
                if not found:
                    return answer
                error, message = _worst(found)
            except KafkaError as failure:
                client_error = as_client_error(failure)
                if not client_error.retriable:
                    raise self.explained(client_error) from None
                self._coordinators.pop((step.key_type, step.key), None)
                error, message = Errors.NOT_COORDINATOR, str(client_error)
            if error in _FENCED:
                raise self.explained(ProducerFencedError(message or Errors.PRODUCER_FENCED.message))
            if not error.retriable:
                raise self.explained(error_for(error, message))
            if error in _FIND_AGAIN:
                self._coordinators.pop((step.key_type, step.key), None)
            attempts += 1
            config = self._network.config
            backoff = min(config.retry_backoff_ms * 2.0 ** min(attempts - 1, 20), config.retry_backoff_max_ms)
            await self._driver.sleep(_QUICK_RETRY_MS if error is Errors.CONCURRENT_TRANSACTIONS else backoff)

    async def _coordinator(self, key_type: CoordinatorType, key: str) -> int:
        """Return the coordinator's node. Raises the errors of `find_coordinators`; explains that a broker lacks
        transactions."""
        node_id = self._coordinators.get((key_type, key))
        if node_id is None:
            node_id = (await find_coordinators(self._network, (key,), key_type))[key]
            self._coordinators[key_type, key] = node_id
        return node_id

    # --- errors

    def _failed(self, error: KafkaError) -> None:
        if isinstance(error, _FATAL) or error.error not in _ABORTABLE:
            self._fail_for_good(error)
        else:
            if error.error in (Errors.UNKNOWN_PRODUCER_ID, Errors.INVALID_PRODUCER_ID_MAPPING):
                self._bump_wanted = True
            self._fail_transaction(error)

    def _fail_transaction(self, error: BaseException) -> None:
        self.state = TransactionsState.ABORTABLE_ERROR
        self._error = error
        self._driver.call_soon(self._abort_unsent)

    def _fail_for_good(self, error: BaseException) -> None:
        self.state = TransactionsState.FATAL_ERROR
        self._error = error
        self._driver.call_soon(self._abort_unsent)

    def _abort_unsent(self) -> None:
        """Fail unsent records of a transaction that can't be committed; after a fatal error, those that wait for a
        retry, too."""
        if self.state in (TransactionsState.ABORTABLE_ERROR, TransactionsState.FATAL_ERROR) and self._error is not None:
            error = self._error if isinstance(self._error, KafkaError) else TransactionAbortedError(str(self._error))
            self._sender.abort(error, only_unsent=self.state is TransactionsState.ABORTABLE_ERROR)

    def _raise_error(self, verb: str) -> None:
        if self.state is TransactionsState.FATAL_ERROR:
            error = self._error
            if isinstance(error, ProducerFencedError | InvalidProducerEpochError):
                raise error
            raise self._failed_state(
                f"{verb} is not possible: the producer has failed for good: {error}", CLOSE
            ) from error
        if self.state is TransactionsState.ABORTABLE_ERROR:
            error = self._error
            if isinstance(error, KafkaError):
                raise error
            raise self._failed_state(f"{verb} is not possible: {error}", ABORT) from error
        raise IllegalStateError(
            f"{verb} is not possible (transactional_id {self.transactional_id!r}): {self.state.value}"
        )

    def _failed_state(self, sentence: str, advice: str) -> InvalidTxnStateError:
        return InvalidTxnStateError(f"{sentence} (transactional_id {self.transactional_id!r}). {advice}")

    def _aborted(self, why: str) -> TransactionAbortedError:
        sentence = f"The transaction of transactional_id {self.transactional_id!r} was aborted, since {why}"
        return TransactionAbortedError(f"{sentence}: send the record again in a new one")


def _top_level(answer: Any) -> list[tuple[Errors, str | None]]:
    return [(Errors.for_code(answer.error_code), None)]


def _worst(found: list[tuple[Errors, str | None]]) -> tuple[Errors, str | None]:
    """Return the decisive error: a final one before a retriable one; OPERATION_NOT_ATTEMPTED only results from
    others."""
    found.sort(key=lambda e: (e[0].retriable, e[0] is Errors.OPERATION_NOT_ATTEMPTED))
    return found[0]
