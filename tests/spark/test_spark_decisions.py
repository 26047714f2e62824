"""What the driver of the exactly-once sink does, without Spark: crashes at each step, rivals, lost transactions, aborts."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from kafkapy.admin.types import TransactionState
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.range_reader import read_range
from kafkapy.spark import exactly_once
from kafkapy.spark.decision_store import DecisionStore, Turn
from kafkapy.spark.errors import SinkError
from kafkapy.spark.exactly_once import TaskDone, _prepare, abort, commit, new_write
from kafkapy.spark.options import SinkOptions, sink_options
from kafkapy.spark.sink_decision import Decision, SinkBatch, Stage, Todo, era_of, todo, transactional_id
from kafkapy.spark.sink_transactions import SinkTransactions, transactions_of
from kafkapy.structs import IsolationLevel, OffsetSpec

pytestmark = pytest.mark.integration

_numbers = itertools.count()


class CrashError(Exception):
    """The driver dies here."""


class Job:
    """A sink of two tasks, and what a driver does with a batch from its start to its end."""

    def __init__(self, kafka: Any, **options: str) -> None:
        self.sink = f"sink-{next(_numbers)}"
        self.kafka = kafka
        self.topic = kafka.topic(2, prefix="decisions")
        given = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": self.topic, "delivery": "exactly-once"}
        self.options: SinkOptions = sink_options(given | options)
        self.run = new_write()

    def restart(self) -> None:
        self.run = new_write()

    def tasks(self, batch: int, attempt: str | None = None) -> list[TaskDone]:
        write = new_write()
        place = SinkBatch(self.sink, batch, self.run)
        last = self.last()
        if todo(last, place, write) is Todo.SKIP:
            return [TaskDone(place, write, batch, True, None, skipped=True)] * 2
        era = era_of(last, place)
        done = []
        for partition in range(2):
            rows = pa.record_batch({"value": pa.array([b"%d-%d" % (batch, partition)])})
            name = transactional_id(place, era, partition, attempt)
            prepared = _prepare(name, rows, iter(()), self.options)
            done.append(TaskDone(place, write, era, attempt is None, prepared))
        return done

    def write(self, batch: int) -> None:
        """As Spark does it."""
        tasks = self.tasks(batch)
        try:
            commit(tasks, self.options)
        except SinkError:
            abort(tasks, self.options)
            raise

    def last(self) -> Decision | None:
        assert self.options.exactly_once is not None
        with transactions_of(self.options.kafka) as cluster:
            return DecisionStore(self.options.kafka, self.options.exactly_once.decision_topic, cluster).last(self.sink)

    def seen(self) -> list[str]:
        """What a reader of committed records sees now."""
        values: list[bytes] = []
        with self.kafka.admin() as admin:
            for n in range(2):
                partition = TopicPartition(self.topic, n)
                end = admin.list_offsets({partition: OffsetSpec.LATEST}, IsolationLevel.READ_COMMITTED)[
                    partition
                ].offset
                if end:
                    found = read_range(self.kafka.bootstrap, self.topic, n, 0, end, isolation_level="read_committed")
                    values += [v for batch in found for v in batch.column("value").to_pylist()]
        return sorted(value.decode() for value in values)

    def left_open(self) -> list[str]:
        with transactions_of(self.options.kafka) as cluster:
            return cluster.open_transactions(f"kafkapy-spark/{self.sink}/")


@pytest.fixture
def job(kafka: Any) -> Job:
    return Job(kafka)


def test_batches_one_after_the_other_use_their_ids_again(job: Job) -> None:
    for batch in range(3):
        job.write(batch)
    assert job.seen() == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]
    assert job.left_open() == []
    last = job.last()
    assert last is not None and (last.batch, last.stage, last.era) == (2, Stage.FINISHED, 0)


def crash_before(target: Any, name: str, count: int = 0) -> Callable[[pytest.MonkeyPatch], None]:
    def arm(monkeypatch: pytest.MonkeyPatch) -> None:
        original = getattr(target, name)
        calls = itertools.count()

        def dying(*args: Any, **kwargs: Any) -> Any:
            if next(calls) == count:
                raise CrashError
            return original(*args, **kwargs)

        monkeypatch.setattr(target, name, dying)

    return arm


def crash_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two transactions is committed."""
    original = SinkTransactions.end

    def dying(self: SinkTransactions, prepared: Any, committed: bool) -> Any:
        original(self, list(prepared)[:1], committed)
        raise CrashError

    monkeypatch.setattr(SinkTransactions, "end", dying)


@pytest.mark.parametrize(
    ("arm", "decided"),
    [
        (crash_before(exactly_once, "check_ready"), False),
        (crash_before(Turn, "decide"), False),
        (crash_before(SinkTransactions, "end"), True),
        (crash_within, True),
        (crash_before(Turn, "decide", 1), True),
    ],
    ids=["before the check", "before the decision", "after it", "in the middle of the commits", "before the end"],
)
def test_a_driver_dies(job: Job, arm: Any, decided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    job.write(0)
    with monkeypatch.context() as patch, pytest.raises(CrashError):
        arm(patch)
        job.write(1)
    job.restart()
    tasks = job.tasks(1)
    assert all(task.skipped is decided for task in tasks)
    commit(tasks, job.options)
    job.write(2)
    assert job.seen() == ["0-0", "0-1", "1-0", "1-1", "2-0", "2-1"]
    assert job.left_open() == []


def test_a_failed_job_is_aborted(job: Job) -> None:
    tasks = job.tasks(0)
    assert len(job.left_open()) == 2
    abort([tasks[0], None], job.options)
    assert job.left_open() == []
    with pytest.raises(SinkError, match="is not open any more"):
        commit(tasks, job.options)
    job.write(0)
    assert job.seen() == ["0-0", "0-1"]


def test_an_abort_after_the_decision_finishes_it(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = job.tasks(0)
    with monkeypatch.context() as patch, pytest.raises(CrashError):
        crash_before(SinkTransactions, "end")(patch)
        commit(tasks, job.options)
    abort(tasks, job.options)
    assert job.seen() == ["0-0", "0-1"]


def test_of_two_drivers_one_decides(job: Job) -> None:
    tasks = job.tasks(0)
    job.restart()
    rival = job.tasks(0)
    commit(rival, job.options)
    commit(tasks, job.options)  # it learns that the batch has been decided
    abort(tasks, job.options)
    assert job.seen() == ["0-0", "0-1"]
    assert job.left_open() == []


def test_a_driver_that_was_asleep_does_not_decide(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look at the last decision and its own, another driver decides."""
    tasks, original = job.tasks(0), Turn.decide
    sleeper = threading.current_thread()
    job.restart()
    rival = job.tasks(0)

    def late(self: Turn, decision: Decision) -> None:
        if decision.winners and threading.current_thread() is sleeper and decision.winners[0] == tasks[0].prepared:
            other = threading.Thread(target=commit, args=(rival, job.options))
            other.start()
            other.join()
        original(self, decision)

    monkeypatch.setattr(Turn, "decide", late)
    with pytest.raises(SinkError, match="Another driver writes to sink"):
        commit(tasks, job.options)
    abort(tasks, job.options)
    assert job.seen() == ["0-0", "0-1"]
    assert job.left_open() == []


def test_attempts_that_came_to_nothing_leave_nothing(job: Job) -> None:
    job.tasks(0, attempt="7")  # their processes were killed
    job.write(0)
    assert job.seen() == ["0-0", "0-1"]
    assert job.left_open() == []


def test_winners_that_are_no_first_attempts_end_the_era(job: Job) -> None:
    commit(job.tasks(0, attempt="3"), job.options)
    job.write(1)
    last = job.last()
    assert last is not None and last.era == 1
    assert job.seen() == ["0-0", "0-1", "1-0", "1-1"]


def lose(job: Job, tasks: list[TaskDone], arm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver dies after its decision, and what is open then is aborted, as by its time-out."""
    with monkeypatch.context() as patch, pytest.raises(CrashError):
        arm(patch)
        commit(tasks, job.options)
    with transactions_of(job.options.kafka) as cluster:
        cluster.fence(job.left_open(), 10_000)
    job.restart()


def test_all_transactions_are_lost_after_the_decision(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    lose(job, job.tasks(0), crash_before(SinkTransactions, "end"), monkeypatch)
    with pytest.raises(SinkError, match="the batch is written anew"):
        job.write(0)
    job.restart()
    job.write(0)
    assert job.seen() == ["0-0", "0-1"]


def test_some_transactions_are_lost_after_the_decision(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    lose(job, job.tasks(0), crash_within, monkeypatch)
    with pytest.raises(SinkError, match=r"1 of its transactions were aborted .* LOST: kafkapy-spark/.*/0/1\. "):
        job.write(0)
    given = {"kafka.bootstrap.servers": job.kafka.bootstrap, "topic": job.topic, "delivery": "exactly-once"}
    job.options = sink_options(given | {"failOnDataLoss": "false"})
    job.restart()
    job.write(0)
    job.write(1)
    assert job.seen() == ["0-0", "1-0", "1-1"]


def test_a_transaction_that_has_too_little_time_left(kafka: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(kafka, **{"kafka.transaction.timeout.ms": "60000"})
    tasks = job.tasks(0)
    now = time.time() + 50
    with monkeypatch.context() as patch:
        patch.setattr("kafkapy.spark.exactly_once.time.time", lambda: now)
        with pytest.raises(SinkError, match="of the 60 s that it may"):
            commit(tasks, job.options)
    abort(tasks, job.options)
    assert (job.seen(), job.left_open()) == ([], [])


def test_a_write_that_is_done_twice_in_a_run(job: Job) -> None:
    job.write(0)
    with pytest.raises(SinkError, match="each write needs a sinkName of its own"):
        job.write(0)


def test_a_time_out_that_brokers_do_not_allow(kafka: Any) -> None:
    with pytest.raises(SinkError, match=r"at most their transaction\.max\.timeout\.ms"):
        Job(kafka, **{"kafka.transaction.timeout.ms": "3600000"}).tasks(0)


def test_the_offset_of_the_group_has_expired(job: Job) -> None:
    job.write(0)
    with job.kafka.admin() as admin:
        admin.delete_groups([f"kafkapy-spark/{job.sink}"])
    job.restart()
    assert all(task.skipped for task in job.tasks(0))


def test_a_decision_that_nobody_ends_is_waited_for_and_prevented(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author has written it, and died before the commit."""
    tasks = job.tasks(0)
    from kafkapy.producer.kafka_producer import KafkaProducer

    with monkeypatch.context() as patch, pytest.raises(CrashError):
        crash_before(KafkaProducer, "commit_transaction")(patch)
        commit(tasks, job.options)
    job.restart()
    assert not any(task.skipped for task in job.tasks(0))
    with job.kafka.admin() as admin:
        listed = admin.list_transactions(states=[TransactionState.ONGOING]).values()
    assert f"kafkapy-spark/{job.sink}" not in {one.transactional_id for found in listed for one in found}
