"""`kafkapy.connect.runtime.source_task`: nothing that was not delivered is committed."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.errors.stage import ToleranceType
from kafkapy.connect.runtime.source_task import WorkerSourceTask
from kafkapy.connect.runtime.transformation_chain import TransformationStage
from kafkapy.connect.transforms.header_transforms import FilterRecords
from kafkapy.connect.transforms.transformation import Predicate
from kafkapy.errors import KafkaTimeoutError
from kafkapy.producer.future import BatchMetadata
from tests.connect.runtime.fake_source import FakeProducer, QuietTask, RunsTask, ScriptedTask, Source, lines


def test_records_are_sent_and_their_last_offset_is_committed() -> None:
    source = Source(ScriptedTask(lines(1, 2), None, lines(3)), FakeProducer())
    source.run(WorkerSourceTask(source.parts))
    assert source.producer.values == [b"v1", b"v2", b"v3"]
    assert source.offsets == [b'{"n":3}']
    assert source.task.told == [("v1", "metadata"), ("v2", "metadata"), ("v3", "metadata")]
    assert source.task.commits == 1 and source.task.stopped and source.producer.closed
    assert source.listener.told == ["startup", "shutdown"]


def test_the_offset_of_a_record_that_is_not_in_kafka_is_not_committed() -> None:
    source = Source(ScriptedTask(lines(1, 2, 3)), FakeProducer(at_once=False))
    task = WorkerSourceTask(source.parts)

    def two_of_three() -> None:
        source.producer.sends[0].succeed()
        source.producer.sends[2].succeed()

    source.task.batches.append(two_of_three)
    source.run(task)
    assert source.offsets == [b'{"n":1}']


def test_a_record_that_the_producer_loses_fails_the_task() -> None:
    source = Source(ScriptedTask(lines(1, 2)), FakeProducer(at_once=False))
    task = WorkerSourceTask(source.parts)

    def lose() -> None:
        source.producer.sends[0].succeed()
        source.producer.sends[1].fail(KafkaTimeoutError("too late"))

    source.task.batches += [lose, lines(3)]
    source.run(task)
    assert source.listener.told == ["startup", "failure"]
    assert str(source.listener.cause) == "Unrecoverable exception from producer send callback"
    assert source.offsets == [b'{"n":1}'] and len(source.producer.values) == 2


def test_a_lost_record_that_is_tolerated_counts_as_delivered() -> None:
    source = Source(ScriptedTask(lines(1)), FakeProducer(at_once=False), ToleranceType.ALL)
    task = WorkerSourceTask(source.parts)
    source.task.batches.append(lambda: source.producer.sends[0].fail(KafkaTimeoutError("too late")))
    source.run(task)
    assert source.listener.told == ["startup", "shutdown"]
    assert source.offsets == [b'{"n":1}'] and source.task.told == [("v1", None)]


def test_a_poll_that_can_be_tried_again_is() -> None:
    source = Source(ScriptedTask(RetriableException("later"), lines(1)), FakeProducer())
    source.run(WorkerSourceTask(source.parts))
    assert source.producer.values == [b"v1"] and source.listener.told == ["startup", "shutdown"]


def test_a_poll_that_fails_fails_the_task_after_a_commit() -> None:
    source = Source(ScriptedTask(lines(1), ValueError("no such table")), FakeProducer())
    source.run(WorkerSourceTask(source.parts))
    assert source.listener.told == ["startup", "failure"] and isinstance(source.listener.cause, ValueError)
    assert source.offsets == [b'{"n":1}']


def test_a_send_that_can_be_tried_again_is_and_in_order() -> None:
    producer = FakeProducer()
    producer.refusals = [KafkaTimeoutError("no metadata")]
    source = Source(ScriptedTask(lines(1, 2)), producer)
    source.run(WorkerSourceTask(source.parts))
    assert producer.values == [b"v1", b"v2"] and source.offsets == [b'{"n":2}']


def test_a_send_that_cannot_be_tried_again_fails_the_task() -> None:
    producer = FakeProducer()
    producer.refusals = [ValueError("no such partition")]
    source = Source(ScriptedTask(lines(1)), producer)
    source.run(WorkerSourceTask(source.parts))
    assert isinstance(source.listener.cause, ConnectException)
    assert str(source.listener.cause) == "Unrecoverable exception trying to send"


def test_a_record_that_cannot_be_converted_is_dropped_where_that_is_tolerated() -> None:
    bad = SourceRecord({"f": "a"}, {"n": 1}, "t", value="v1", timestamp=5)
    source = Source(ScriptedTask([bad, *lines(2)]), FakeProducer(), ToleranceType.ALL)
    source.parts.value_converter = Failing()
    source.run(WorkerSourceTask(source.parts))
    assert source.producer.values == [] and source.task.told == [("v1", None), ("v2", None)]


class Failing(StringConverter):
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        raise ConnectException("no")


class IsOdd(Predicate):
    def test(self, record: SourceRecord) -> bool:  # type: ignore[override]
        return int(record.value[1:]) % 2 == 1


def test_a_record_that_a_transform_drops_is_told_to_the_task() -> None:
    stage = TransformationStage(FilterRecords(), IsOdd())
    source = Source(ScriptedTask(lines(1, 2, 3)), FakeProducer(), stages=[stage])
    source.run(WorkerSourceTask(source.parts))
    assert source.producer.values == [b"v2"] and source.offsets == [b'{"n":2}']
    assert source.task.told == [("v1", None), ("v2", "metadata"), ("v3", None)]


def test_a_task_can_be_told_of_records_together() -> None:
    producer = FakeProducer()
    stage = TransformationStage(FilterRecords(), IsOdd())
    source = Source(RunsTask(lines(1, 2, 3, 4), lines(6)), producer, stages=[stage])
    source.run(WorkerSourceTask(source.parts))
    assert producer.calls == ["send 2 to t", "send 1 to t"]
    run, other = [BatchMetadata("t", 0, 0, -1, 2)], [BatchMetadata("t", 0, 0, -1, 1)]
    assert source.task.told == [("v1", None), ("v2+v4", run), ("v3", None), ("v6", other)]


def test_by_default_it_is_told_of_each() -> None:
    task = ScriptedTask()
    task.commit_records(lines(1, 2, 3), [BatchMetadata("t", 1, 7, 5, 2), BatchMetadata("t", 1, -1, 5, 1)])
    assert [value for value, _ in task.told] == ["v1", "v2", "v3"]
    assert [(at.topic, at.partition, at.offset, at.timestamp) for _, at in task.told] == [
        ("t", 1, 7, 5),
        ("t", 1, 8, 5),
        ("t", 1, -1, 5),
    ]


def test_an_error_of_the_tasks_own_commit_is_only_logged() -> None:
    class Touchy(ScriptedTask):
        def commit(self) -> None:
            raise ValueError("no")

    source = Source(Touchy(lines(1)), FakeProducer())
    source.run(WorkerSourceTask(source.parts))
    assert source.listener.told == ["startup", "shutdown"] and source.offsets == [b'{"n":1}']


def test_offsets_that_cannot_be_written_stay_for_the_next_commit() -> None:
    source = Source(ScriptedTask(), FakeProducer())
    task = WorkerSourceTask(source.parts)
    source.store.holds = True

    def fail_once() -> None:
        assert not task.commit_offsets()
        source.store.holds = False

    source.task.batches += [lines(1), fail_once]
    source.run(task)
    assert source.offsets == [b'{"n":1}']


class TestColumns:
    """A task that is not told of single records."""

    def test_a_batch_is_one_send(self) -> None:
        source = Source(QuietTask(lines(1, 2), lines(3)), FakeProducer())
        source.run(WorkerSourceTask(source.parts))
        assert source.producer.calls == ["send 2 to t", "send 1 to t"]
        assert source.producer.values == [b"v1", b"v2", b"v3"] and source.offsets == [b'{"n":3}']

    def test_another_topic_is_another_send_in_the_records_order(self) -> None:
        batch = [*lines(1, 2), SourceRecord({"f": "b"}, {"n": 9}, "u", value="w"), *lines(3)]
        source = Source(QuietTask(batch), FakeProducer())
        source.run(WorkerSourceTask(source.parts))
        assert source.producer.calls == ["send 2 to t", "send 1 to u", "send 1 to t"]
        assert source.offsets == [b'{"n":3}', b'{"n":9}']

    def test_what_is_not_in_kafka_is_not_committed(self) -> None:
        source = Source(QuietTask(lines(1, 2), lines(3)), FakeProducer(at_once=False))
        task = WorkerSourceTask(source.parts)
        source.task.batches.append(lambda: source.producer.sends[1].succeed())
        source.run(task)
        assert source.offsets == []

    def test_records_before_one_that_fails_are_delivered(self) -> None:
        class Touchy(StringConverter):
            def from_connect_data(
                self, topic: str, schema: Schema | None, value: Any, headers: Any = None
            ) -> bytes | None:
                if value == "v3":
                    raise ConnectException("no")
                return super().from_connect_data(topic, schema, value, headers)

        source = Source(QuietTask(lines(1, 2, 3, 4)), FakeProducer())
        source.parts.value_converter = Touchy()
        source.run(WorkerSourceTask(source.parts))
        assert source.producer.values == [b"v1", b"v2"] and source.offsets == [b'{"n":2}']
        assert str(source.listener.cause) == "Tolerance exceeded in error handler"

    def test_records_that_are_lost_fail_the_task(self) -> None:
        source = Source(QuietTask(lines(1), lines(2)), FakeProducer(at_once=False))
        source.task.batches.append(lambda: source.producer.sends[0].fail(KafkaTimeoutError("too late")))
        source.task.batches.append(lines(3))
        source.run(WorkerSourceTask(source.parts))
        assert source.listener.told == ["startup", "failure"] and source.offsets == []

    def test_a_send_that_can_be_tried_again_is(self) -> None:
        producer = FakeProducer()
        producer.refusals = [KafkaTimeoutError("no metadata")]
        source = Source(QuietTask(lines(1, 2), lines(3)), producer)
        source.run(WorkerSourceTask(source.parts))
        assert producer.values == [b"v1", b"v2", b"v3"] and source.offsets == [b'{"n":3}']

    def test_a_record_without_key_and_value_is_sent(self) -> None:
        record = SourceRecord({"f": "a"}, {"n": 1}, "t")
        for task in (QuietTask([record]), ScriptedTask([record])):
            source = Source(task, FakeProducer())
            source.run(WorkerSourceTask(source.parts))
            assert source.producer.calls == ["send 1 to t"] and source.offsets == [b'{"n":1}']
