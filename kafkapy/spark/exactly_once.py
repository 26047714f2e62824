"""The exactly-once sink: the work of tasks and driver. The rules are in `sink_decision.py`."""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from kafkapy.errors import InvalidTransactionTimeoutError
from kafkapy.protocol.errors import KafkaError
from kafkapy.spark.decision_store import DecisionStore, Turn
from kafkapy.spark.delivery import ExactlyOnce
from kafkapy.spark.errors import OptionError, SinkError
from kafkapy.spark.kafka_params import KafkaParams, producer_configs
from kafkapy.spark.options import SinkOptions
from kafkapy.spark.sink_decision import (
    Decision,
    Prepared,
    SinkBatch,
    Stage,
    Standing,
    Todo,
    check_ready,
    era_of,
    finished,
    is_all_lost,
    lost_sentence,
    standing,
    todo,
    transactional_id,
    voided,
)
from kafkapy.spark.sink_rows import send_rows
from kafkapy.spark.sink_transactions import SinkTransactions, transactions_of

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("kafkapy.spark")

_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
_APP_ID, _JOB_GROUP = "spark.app.id", "spark.jobGroup.id"


@dataclass(frozen=True)
class TaskDone(WriterCommitMessage):
    """`prepared` None: the task had no rows, or had nothing to do."""

    place: SinkBatch
    write: str
    era: int
    is_first_attempt: bool
    prepared: Prepared | None
    skipped: bool = False


def new_write() -> str:
    """Return a name for one write, shared by its tasks."""
    return uuid.uuid4().hex[:12]


# --- a task


def write_transaction(batches: Iterator[pa.RecordBatch], options: SinkOptions, write: str) -> TaskDone:
    """Send all rows in a transaction and leave it open, unless the batch is decided already."""
    exactly_once = _of(options)
    context = TaskContext.get()
    if context is None:
        raise SinkError("A sink with delivery=exactly-once writes in Spark's tasks only")
    place = place_of(_properties(context), exactly_once, write)
    is_first = context.attemptNumber() == 0
    with transactions_of(options.kafka) as cluster:
        last = DecisionStore(options.kafka, exactly_once.decision_topic, cluster).last(place.sink)
        era = era_of(last, place)
        done = TaskDone(place, write, era, is_first, None, todo(last, place, write) is Todo.SKIP)
        rows = _with_rows(batches)
        first = None if done.skipped else next(rows, None)
        if first is None:
            for _ in rows:
                pass  # Spark's JVM expects a worker to read all of its input
            return done
        attempt = None if is_first else str(context.taskAttemptId())
        name = transactional_id(place, era, context.partitionId(), attempt)
    return TaskDone(place, write, era, is_first, _prepare(name, first, rows, options))


def _prepare(name: str, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], options: SinkOptions) -> Prepared:
    from kafkapy.producer.kafka_producer import KafkaProducer

    def rows() -> Iterator[pa.RecordBatch]:
        yield first
        yield from rest

    timeout_ms = _of(options).transaction_timeout_ms
    configs = producer_configs(options.kafka) | {"transactional_id": name, "transaction_timeout_ms": timeout_ms}
    with KafkaProducer(**configs) as producer:
        try:
            producer.init_transactions()
        except InvalidTransactionTimeoutError as error:
            raise SinkError(
                f"The brokers do not allow transactions of {timeout_ms} ms: set kafka.transaction.timeout.ms to at most their "
                "transaction.max.timeout.ms (and longer than a batch takes), or raise that"
            ) from error
        producer.begin_transaction()
        try:
            send_rows(producer, rows(), options.topic)
            prepared = producer.prepare_transaction()
        except BaseException:
            _abort_quietly(producer)
            raise
    return Prepared(name, prepared.producer_id, prepared.epoch)


def _abort_quietly(producer: Any) -> None:
    """Abort, ignoring errors: an open transaction is aborted by the sink's next decision, or by its time-out."""
    try:
        producer.abort_transaction()
    except KafkaError as error:
        _log.warning("The transaction of a failed task was not aborted: %s", error)


def _with_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch for batch in batches if batch.num_rows)


def _properties(context: TaskContext) -> dict[str, str]:
    names = (_QUERY_ID, _BATCH_ID, _APP_ID, _JOB_GROUP)
    found = {name: context.getLocalProperty(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def place_of(properties: dict[str, str], options: ExactlyOnce, write: str) -> SinkBatch:
    """Return sink and batch from a task's local properties, which have a streaming query's ids. Raises OptionError."""
    query, batch = properties.get(_QUERY_ID), properties.get(_BATCH_ID)
    batch_id = options.batch_id if options.batch_id is not None else batch
    if (query is None and options.sink_name is None) or batch_id is None:
        raise OptionError(
            "Option delivery=exactly-once needs the options sinkName (the same for all runs of a job) and batchId (a number that "
            "grows from run to run, and is the same when a run is repeated) where no streaming query writes"
        )
    if query is not None and batch is not None and int(batch_id) != int(batch):
        raise OptionError(f"Option batchId is {batch_id} in batch {batch} of the streaming query: leave it out")
    sink = "-".join(part for part in (query, options.sink_name) if part)
    if query is None:
        return SinkBatch(sink, int(batch_id), write)
    run = hashlib.sha256(f"{properties.get(_APP_ID, write)} {properties.get(_JOB_GROUP, write)}".encode()).hexdigest()
    return SinkBatch(sink, int(batch_id), run[:12])


# --- the driver


def commit(messages: Sequence[WriterCommitMessage | None], options: SinkOptions) -> None:
    """Decide, and commit the transactions of all tasks. Raises SinkError if the batch is not completely visible."""
    tasks = [message for message in messages if isinstance(message, TaskDone)]
    if len(tasks) != len(messages):
        raise SinkError(f"{len(messages) - len(tasks)} of {len(messages)} tasks have not said what they wrote")
    prepared = tuple(task.prepared for task in tasks if task.prepared is not None)
    is_clean = all(task.is_first_attempt for task in tasks)
    if not tasks or (not prepared and is_clean and not any(task.skipped for task in tasks)):
        return  # no rows
    driver = _Driver(tasks[0], options)
    try:
        driver.commit(tasks, prepared, is_clean)
    finally:
        driver.close()


def abort(messages: Sequence[WriterCommitMessage | None], options: SinkOptions) -> None:
    """Abort the tasks' open transactions; but if the batch is decided already, finish the decision."""
    tasks = [message for message in messages if isinstance(message, TaskDone)]
    if not tasks:
        return
    driver = _Driver(tasks[0], options)
    try:
        driver.abort([task.prepared for task in tasks if task.prepared is not None])
    finally:
        driver.close()


class _Driver:
    def __init__(self, task: TaskDone, options: SinkOptions) -> None:
        self._place, self._write, self._era = task.place, task.write, task.era
        self._exactly_once = _of(options)
        self._kafka: KafkaParams = options.kafka
        self._cluster: SinkTransactions = transactions_of(options.kafka)
        self._store = DecisionStore(options.kafka, self._exactly_once.decision_topic, self._cluster)

    def close(self) -> None:
        self._cluster.close()

    def commit(self, tasks: Sequence[TaskDone], prepared: tuple[Prepared, ...], is_clean: bool) -> None:
        place = self._place
        with self._store.turn(place.sink) as turn:
            if todo(turn.last, place, self._write) is Todo.SKIP:
                assert turn.last is not None
                self._end(set(prepared) - set(turn.last.winners))
                self._finish(turn)
                return
            if any(task.skipped for task in tasks):
                raise SinkError(
                    f"Batch {place.batch} of sink {place.sink} was decided on, but there is no record of it any more"
                )
            if turn.last is not None:
                self._finish(turn)  # the previous batch, if a run of this job ended in the middle of it
            check_ready(prepared, self._cluster.described(prepared), int(time.time() * 1000))
            left_over = set(self._cluster.open_transactions(f"{place.name}/")) - {p.transactional_id for p in prepared}
            turn.decide(Decision(place.batch, place.run, self._write, self._era, is_clean, winners=prepared))
            self._finish(turn)
            self._fence(left_over)

    def abort(self, prepared: list[Prepared]) -> None:
        place = self._place
        with self._store.turn(place.sink) as turn:
            last = turn.last
            if last is not None and (last.batch, last.write) == (place.batch, self._write):
                self._finish(turn)
            else:
                self._end(set(prepared))
            self._fence(self._cluster.open_transactions(f"{place.name}/{place.run}/"))

    def _finish(self, turn: Turn) -> None:
        """Commit the decision's transactions that are still open."""
        decision = turn.last
        if decision is None or decision.stage is not Stage.DECIDED:
            return
        found = self._cluster.described(decision.winners)
        standings = {winner: standing(winner, found[winner.transactional_id]) for winner in decision.winners}
        still_open = [winner for winner, what in standings.items() if what is Standing.OPEN]
        for winner, error in self._cluster.end(still_open, True).items():
            standings[winner] = Standing.DONE if error is None else self._after(winner, error)
        lost = [winner for winner, what in standings.items() if what is Standing.LOST]
        if lost:
            self._tell(turn, decision, lost, list(standings.values()))
        self._mark_finished(turn, decision)

    def _mark_finished(self, turn: Turn, decision: Decision) -> None:
        """Mark the decision as finished, so that the next write need not check the transactions and can reuse their
        ids."""
        try:
            turn.decide(finished(decision))
        except (KafkaError, SinkError) as error:
            _log.warning(
                "Batch %d of sink %s is visible, which could not be recorded: %s",
                decision.batch,
                self._place.sink,
                error,
            )

    def _after(self, winner: Prepared, error: KafkaError) -> Standing:
        """Interpret a failure of EndTxn. Raises it if the transaction may still be committed."""
        found = self._cluster.described([winner])[winner.transactional_id]
        if isinstance(found, KafkaError):
            raise error
        now = standing(winner, found)
        if now is Standing.OPEN:
            raise error
        return now

    def _tell(self, turn: Turn, decision: Decision, lost: list[Prepared], standings: list[Standing]) -> None:
        place = self._place._replace(batch=decision.batch)
        if decision.batch == self._place.batch and is_all_lost(standings):
            turn.decide(voided(decision))
            raise SinkError(
                f"All transactions of batch {place.batch} of sink {place.sink} were aborted before they could be "
                "committed; nothing of it is visible. Start the query again: the batch is written anew."
            )
        if self._exactly_once.fail_on_data_loss:
            raise SinkError(lost_sentence(place, lost))
        _log.error("%s", lost_sentence(place, lost))

    def _end(self, prepared: set[Prepared]) -> None:
        """Abort transactions; those already aborted or fenced are unchanged."""
        for one, error in self._cluster.end(prepared, False).items():
            if error is not None:
                _log.warning("Transaction %s was not aborted: %s", one.transactional_id, error)

    def _fence(self, transactional_ids: Sequence[str] | set[str]) -> None:
        """Fence failed attempts, whose open transactions would block readers of committed records."""
        timeout_ms = self._exactly_once.transaction_timeout_ms
        for name, error in self._cluster.fence(transactional_ids, timeout_ms).items():
            if error is not None:
                _log.warning("Transaction %s, which will never be committed, was not aborted: %s", name, error)


def _of(options: SinkOptions) -> ExactlyOnce:
    assert options.exactly_once is not None
    return options.exactly_once
