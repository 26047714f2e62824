"""The rules of the exactly-once sink, without I/O: tasks, the driver's decision, and its outcome.

A write has a sink (the query, or a name given by the user) and a batch. Each task sends its rows in a separate
transaction and leaves it open. The driver then decides once: it records the open transactions, and commits each of
them.

Invariants:
- The record of a sink's last decision is only changed in a transaction under the sink's id, by a process that has read
  it after
  it acquired that id's current epoch. So of two drivers one decides, and the other one reads its decision.
- A recorded transaction is always committed. Until then only its own attempt uses its transactional id: first attempts
  use the
  id of their partition and era, all other attempts a unique id.
- A new era begins if an attempt may still be running: in a new run, after a decision in which not all are first
  attempts, and after one that is not known to be finished.
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
"""Prefix of transactional ids and groups, for ACLs."""
MARGIN_MS = 30_000
"""Least remaining time of a transaction at the decision: needed to record the decision and commit all transactions."""


class SinkBatch(NamedTuple):
    """The batch that a task writes; `run` identifies one run of the driver."""

    sink: str
    batch: int
    run: str

    @property
    def name(self) -> str:
        """Return the name of the group with the pointer to the last decision, and of the transactional id that
        protects it."""
        return sink_id(self.sink)


class Prepared(NamedTuple):
    """A transaction that has all its records and is open."""

    transactional_id: str
    producer_id: int
    epoch: int


class Stage(StrEnum):
    """The progress of a decision."""

    DECIDED = "decided"
    """Its winners are being committed, or already were."""
    FINISHED = "finished"
    """All are committed; the record no longer lists them."""
    VOID = "void"
    """All were aborted, so nothing is visible, and the batch must be written again."""


@dataclass(frozen=True)
class Decision:
    """The last decision about a sink."""

    batch: int
    run: str
    write: str
    """The name of the write within its run."""
    era: int
    clean: bool
    """Whether all winners are first attempts, so that no other attempt has used their ids."""
    stage: Stage = Stage.DECIDED
    winners: tuple[Prepared, ...] = ()

    def summary(self) -> str:
        """Return the part that tasks need: everything except the winners."""
        fields = ("batch", "run", "write", "era", "clean", "stage")
        return json.dumps({name: getattr(self, name) for name in fields})

    def to_json(self, sink: str) -> bytes:
        start = len(sink_id(sink)) + 1
        winners = [[w.transactional_id[start:], w.producer_id, w.epoch] for w in self.winners]
        return json.dumps({**json.loads(self.summary()), "winners": winners}, separators=(",", ":")).encode()


def decision_of(text: bytes | str, sink: str) -> Decision:
    """Parse the text of `summary` or `to_json`. Raises SinkError."""
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
    """Return what to do with a batch. Raises SinkError if the batch is not a possible next one."""
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
    """Return the era in transactional ids: a new one if another process may still use the last era's ids."""
    goes_on = (
        last is not None
        and last.stage is Stage.FINISHED
        and last.clean
        and last.run == place.run
        and last.batch < place.batch
    )
    return last.era if last is not None and goes_on else place.batch


def transactional_id(place: SinkBatch, era: int, partition: int, attempt: str | None) -> str:
    """Return a transactional id. `attempt` None: the first attempt's, which is reused in each batch of the
    partition."""
    shared = f"{place.name}/{place.run}/{era}/{partition}"
    return shared if attempt is None else f"{shared}-{attempt}"


# --- the driver


class Standing(Enum):
    """The state of a winner's transaction."""

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
    """Check that all transactions are open with enough time left. Raises SinkError."""
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
    """Return whether nothing is visible, so that the batch can be written again."""
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
