"""Exactly once, the rules without I/O: what a task does, what the driver decides, and what became of it.

A write has a sink (the query, or a name that the user gives) and a batch. Each task writes in a transaction of its own, sends all
and leaves it open. The driver then decides once: it records the open transactions, and ends each of them with a commit.

Invariants:
- The record of a sink's last decision is changed in a transaction of the sink's own id alone, by one who has read it since he
  took that id's epoch. So of two drivers one decides, and the other one learns of it.
- A transaction that a record names is ended with a commit and nothing else. Nobody but the attempt that has it takes its
  transactional id before that: the id is the partition's in an era for first attempts, any other attempt's is its own alone.
- An era ends where an attempt may have been left behind: with another run, with a decision in which not all are first
  attempts, and with one that is not known to be finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import NamedTuple

from kafkapy.admin.types import TransactionDescription
from kafkapy.common.transaction_states import TransactionState
from kafkapy.protocol.errors import KafkaError
from kafkapy.spark.errors import SinkError

PREFIX = "kafkapy-spark/"
"""Of transactional ids and groups, for ACLs."""
MARGIN_MS = 30_000
"""Time that a transaction should have left when the driver decides: to record that and to end them all."""


class SinkBatch(NamedTuple):
    """What a task writes: `run` is the same for all batches between a start of the driver and its end."""

    sink: str
    batch: int
    run: str

    @property
    def name(self) -> str:
        """The group that has the pointer to the last decision, and the transactional id that protects it."""
        return sink_id(self.sink)


class Prepared(NamedTuple):
    """A transaction that has all its records and is open."""

    transactional_id: str
    producer_id: int
    epoch: int


class Stage(StrEnum):
    """How far a decision has come."""

    DECIDED = "decided"
    """Its winners are to be committed, or are already."""
    FINISHED = "finished"
    """All are committed; the record does without them."""
    VOID = "void"
    """All were aborted, so nothing is visible, and the batch is to be written again."""


@dataclass(frozen=True)
class Decision:
    """The last decision about a sink."""

    batch: int
    run: str
    write: str
    """Which of a run's writes it was."""
    era: int
    clean: bool
    """All winners are first attempts, so no other attempt has had their ids."""
    stage: Stage = Stage.DECIDED
    winners: tuple[Prepared, ...] = ()

    def summary(self) -> str:
        """What a task needs to know: all but the winners."""
        fields = ("batch", "run", "write", "era", "clean", "stage")
        return json.dumps({name: getattr(self, name) for name in fields})

    def to_json(self, sink: str) -> bytes:
        start = len(sink_id(sink)) + 1
        winners = [[w.transactional_id[start:], w.producer_id, w.epoch] for w in self.winners]
        return json.dumps({**json.loads(self.summary()), "winners": winners}, separators=(",", ":")).encode()


def decision_of(text: bytes | str, sink: str) -> Decision:
    """From `summary` or `to_json`. Raises SinkError."""
    try:
        found = json.loads(text)
        winners = [Prepared(f"{sink_id(sink)}/{name}", pid, epoch) for name, pid, epoch in found.pop("winners", ())]
        return Decision(**{**found, "stage": Stage(found["stage"])}, winners=tuple(winners))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SinkError(f"The record of the last decision of sink {sink} cannot be read ({error}): {text!r}") from None


def sink_id(sink: str) -> str:
    return f"{PREFIX}{sink}"


# --- a task


class Todo(Enum):
    WRITE = "the batch is to be written"
    SKIP = "the batch has been decided on"


def todo(last: Decision | None, place: SinkBatch, write: str) -> Todo:
    """Raises SinkError if the batch is none that can come now."""
    if last is None or last.batch < place.batch:
        return Todo.WRITE
    if last.batch > place.batch:
        raise SinkError(
            f"Batch {place.batch} of sink {place.sink} is to be written, but batch {last.batch} has been already: either the "
            "checkpoint is older than the sink, or the batch id of a job does not grow. Begin with a new checkpoint or sinkName."
        )
    if last.stage is Stage.VOID:
        return Todo.WRITE
    if last.run == place.run and last.write != write:
        raise SinkError(
            f"Batch {place.batch} of sink {place.sink} has been written by this run of the query already: where a batch is "
            "written more than once (foreachBatch), each write needs a sinkName of its own."
        )
    return Todo.SKIP


def era_of(last: Decision | None, place: SinkBatch) -> int:
    """The part of transactional ids that is another one where somebody else may still have the last era's."""
    goes_on = (
        last is not None
        and last.stage is Stage.FINISHED
        and last.clean
        and last.run == place.run
        and last.batch < place.batch
    )
    return last.era if last is not None and goes_on else place.batch


def transactional_id(place: SinkBatch, era: int, partition: int, attempt: str | None) -> str:
    """`attempt` None: of the first attempt, which uses the partition's id again from batch to batch."""
    shared = f"{place.name}/{place.run}/{era}/{partition}"
    return shared if attempt is None else f"{shared}-{attempt}"


# --- the driver


class Standing(Enum):
    """What has become of a winner."""

    OPEN = "it can be committed"
    DONE = "it is committed"
    LOST = "it was aborted, or its id taken by another"


_COMMITTED = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


def standing(winner: Prepared, found: TransactionDescription | KafkaError) -> Standing:
    if isinstance(found, KafkaError) or (found.producer_id, found.producer_epoch) != winner[1:]:
        return Standing.LOST
    if found.state is TransactionState.ONGOING:
        return Standing.OPEN
    return Standing.DONE if found.state in _COMMITTED else Standing.LOST


def check_ready(
    prepared: Iterable[Prepared], found: Mapping[str, TransactionDescription | KafkaError], now_ms: int
) -> None:
    """All open, with time left to end them. Raises SinkError."""
    for one in prepared:
        state = found[one.transactional_id]
        if isinstance(state, KafkaError) or standing(one, state) is not Standing.OPEN:
            what = state.message if isinstance(state, KafkaError) else f"{state.state}, epoch {state.producer_epoch}"
            raise SinkError(
                f"The transaction {one.transactional_id} (epoch {one.epoch}) is not open any more: {what}. Nothing of the batch "
                "becomes visible. If the batch took longer than kafka.transaction.timeout.ms, raise that and the brokers' "
                "transaction.max.timeout.ms, or make batches smaller."
            )
        timeout = state.transaction_timeout_ms
        left = state.transaction_start_time_ms + timeout - now_ms
        if left < min(MARGIN_MS, timeout // 4):
            raise SinkError(
                f"The transaction {one.transactional_id} has been open for {(timeout - left) / 1000:g} s of the "
                f"{timeout / 1000:g} s that it may (kafka.transaction.timeout.ms): too little is left to commit the batch. "
                "Nothing of it becomes visible. Raise the time-out and the brokers' transaction.max.timeout.ms, or make "
                "batches smaller."
            )


def is_all_lost(standings: Sequence[Standing]) -> bool:
    """Nothing has become visible: the batch can be written again."""
    return bool(standings) and all(one is Standing.LOST for one in standings)


def lost_sentence(place: SinkBatch, lost: Sequence[Prepared]) -> str:
    names = ", ".join(one.transactional_id for one in lost[:10]) + (", …" if len(lost) > 10 else "")
    return (
        f"Batch {place.batch} of sink {place.sink} was decided on, but {len(lost)} of its transactions were aborted before they "
        f"could be committed, and the records of those tasks are LOST: {names}. The number after the last slash is the task's "
        "partition. The others are visible. They were left open for longer than kafka.transaction.timeout.ms, or "
        "another program has used their transactional ids. To go on without these records set the option failOnDataLoss to false."
    )


def finished(decision: Decision) -> Decision:
    return replace(decision, stage=Stage.FINISHED, winners=())


def voided(decision: Decision) -> Decision:
    return replace(decision, stage=Stage.VOID, winners=())
