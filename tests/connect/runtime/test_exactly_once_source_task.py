"""`kafkapy.connect.runtime.exactly_once_source_task`: where transactions begin and end, and what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.common.time import MockTime
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.task_requests import ExactlyOnceChecks
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.exactly_once_source_task import ExactlyOnceWorkerSourceTask
from kafkapy.connect.runtime.transaction_boundaries import BoundaryManager, boundaries_of
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.source import TransactionBoundary
from kafkapy.protocol.errors import Errors, KafkaError
from tests.connect.runtime.fake_source import FakeProducer, ScriptedTask, Source, lines


def nothing() -> None:
    pass


def made(
    source: Source,
    boundaries: BoundaryManager | None = None,
    transactions: WorkerTransactionContext | None = None,
    before: Callable[[], None] = nothing,
    after: Callable[[], None] = nothing,
) -> ExactlyOnceWorkerSourceTask:
    checks = ExactlyOnceChecks(before, after)
    return ExactlyOnceWorkerSourceTask(source.parts, boundaries or BoundaryManager(), checks, transactions)


def test_each_poll_is_a_transaction_with_its_offsets() -> None:
    source = Source(ScriptedTask(lines(1, 2), lines(3)), FakeProducer())
    source.run(made(source))
    calls = ["init", "begin", "send v1", "send v2", "commit", "begin", "send v3", "commit"]
    assert source.producer.calls == calls
    assert source.offsets == [b'{"n":3}'] and source.listener.told == ["startup", "shutdown"]
    assert [value for value, _ in source.task.told] == ["v1", "v2", "v3"]


def test_the_checks_come_before_and_after_the_fencing() -> None:
    source = Source(ScriptedTask(), FakeProducer())
    calls = source.producer.calls
    source.run(made(source, before=lambda: calls.append("before"), after=lambda: calls.append("after")))
    assert calls == ["before", "init", "after"]


def test_a_check_that_fails_leaves_newer_tasks_alone() -> None:
    source = Source(ScriptedTask(lines(1)), FakeProducer())

    def refuse() -> None:
        raise ConnectException("a newer task runs")

    source.run(made(source, before=refuse))
    assert source.producer.calls == [] and source.listener.told == ["failure"]


def test_a_transaction_lasts_for_an_interval() -> None:
    time = MockTime()
    boundaries = boundaries_of(TransactionBoundary.INTERVAL, 100, None, time)

    def later() -> list[SourceRecord]:
        time.advance(100)
        return lines(3)

    source = Source(ScriptedTask(lines(1), lines(2), later, lines(4)), FakeProducer())
    source.run(made(source, boundaries))
    sent = [call for call in source.producer.calls if call != "begin"]
    assert sent == ["init", "send v1", "send v2", "send v3", "commit", "send v4", "commit"]


class TestOfTheConnector:
    """`transaction.boundary=connector`"""

    def run(self, ask: Callable[[WorkerTransactionContext, list[SourceRecord]], Any]) -> Source:
        context = WorkerTransactionContext()
        records = lines(1, 2, 3)

        def poll() -> list[SourceRecord]:
            ask(context, records)
            return records

        source = Source(ScriptedTask(poll), FakeProducer())
        boundaries = boundaries_of(TransactionBoundary.CONNECTOR, 0, context, MockTime())
        source.run(made(source, boundaries, context))
        return source

    def test_it_ends_after_a_record(self) -> None:
        source = self.run(lambda context, records: context.commit_transaction(records[1]))
        assert source.producer.calls == ["init", "begin", "send v1", "send v2", "commit", "begin", "send v3"]
        assert source.offsets == [b'{"n":2}']

    def test_it_ends_after_a_batch(self) -> None:
        source = self.run(lambda context, records: context.commit_transaction())
        assert source.producer.calls[-1] == "commit" and source.offsets == [b'{"n":3}']

    def test_an_abort_commits_the_offsets_of_what_it_drops(self) -> None:
        source = self.run(lambda context, records: context.abort_transaction())
        assert source.producer.calls[-3:] == ["abort", "begin", "commit"] and source.offsets == [b'{"n":3}']

    def test_what_was_not_asked_for_is_not_committed(self) -> None:
        source = self.run(lambda context, records: None)
        assert "commit" not in source.producer.calls and source.offsets == []


def test_a_commit_that_fails_fails_the_task_and_says_why() -> None:
    class Fenced(FakeProducer):
        def commit_transaction(self) -> None:
            raise KafkaError(Errors.INVALID_PRODUCER_EPOCH)

    source = Source(ScriptedTask(lines(1)), Fenced())
    source.run(made(source))
    assert source.listener.told == ["startup", "failure"]
    assert "before its producer transaction expired" in str(source.listener.cause)
    assert source.task.told == []


def test_a_task_cannot_write_into_its_own_offsets_topic() -> None:
    record = SourceRecord({"f": "a"}, {"n": 1}, "offsets", value="v")
    source = Source(ScriptedTask([record]), FakeProducer())
    source.run(made(source))
    assert "may not produce to their own offsets topics" in str(source.listener.cause)
