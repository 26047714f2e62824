"""`kafkapy.connect.runtime.sink_task`: what a sink task is given, and what is committed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.errors import ConnectException, IllegalWorkerStateException, RetriableException
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.stage import Stage, ToleranceType
from kafkapy.connect.runtime.transformation_chain import TransformationStage
from kafkapy.connect.storage import TargetState
from kafkapy.connect.transforms.routers import RegexRouter
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import TimestampType
from kafkapy.structs import OffsetAndMetadata
from tests.connect.runtime.sink_world import TP, SinkWorld, consumed

OTHER = TopicPartition("lines", 1)


@pytest.fixture
def world() -> SinkWorld:
    made = SinkWorld()
    made.consumer.gets_partitions(TP)
    return made


class Reports:
    """Notes what is reported; `future` is what `report` returns."""

    def __init__(self) -> None:
        self.contexts: list[ProcessingContext] = []
        self.stages: list[Stage | None] = []
        self.future: Future[Any] = Future()
        self.waits = 0

    def report(self, context: ProcessingContext) -> Future[Any]:
        self.contexts.append(context)
        self.stages.append(context.stage)
        return self.future

    def await_pending(self) -> None:
        self.waits += 1

    def close(self) -> None: ...


def test_records_are_put_and_committed_at_the_end(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0, b"a"), consumed(1, b"b"))
    assert world.run() == ["start", "open", ["a", "b"], ("pre_commit", [2]), "close", "stop"]
    assert world.consumer.commits == [{TP: 2}]
    assert world.listener.told == ["startup", "shutdown"]
    assert world.consumer.closed
    assert [status.topic for status in world.topics.puts] == ["lines"]


def test_a_record_has_all_that_was_read(world: SinkWorld) -> None:
    seen: list[SinkRecord] = []
    world.notes.on_put = seen.extend
    world.consumer.gets(consumed(7, b"a", [("n", b"5")], 99), consumed(8, timestamp=-1))
    world.run()
    record = seen[0]
    assert (record.topic, record.kafka_partition, record.kafka_offset, record.timestamp) == ("lines", 0, 7, 99)
    assert record.timestamp_type is TimestampType.CREATE_TIME
    assert [(header.key, header.value) for header in record.headers] == [("n", 5)]
    assert seen[1].timestamp is None


def test_the_interval_commits_without_waiting(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0))
    world.consumer.does(lambda: world.time.advance(60_000))
    world.consumer.gets()
    world.run()
    assert world.consumer.commits == [{TP: 1}]
    assert world.metric("offset-commit-completion-total") == 2  # the last one had nothing to commit
    assert world.metric("offset-commit-seq-no") == 2
    assert world.consumer.waits[0] == 60_000


def test_a_requested_commit_is_done_soon_and_only_once(world: SinkWorld) -> None:
    world.notes.on_put = lambda records: world.task.context.request_commit() if records else None
    world.consumer.gets(consumed(0))
    world.consumer.gets()
    world.consumer.gets()
    calls = world.run()
    assert calls.count(("pre_commit", [1])) == 2  # once on request, once at the end
    assert world.consumer.commits == [{TP: 1}]


def test_a_commit_without_an_answer_is_given_up_and_its_answer_ignored(world: SinkWorld) -> None:
    world.consumer.holds_commits = True
    world.notes.on_put = lambda records: world.task.context.request_commit() if records else None
    world.consumer.gets(consumed(0))
    world.consumer.gets()
    world.consumer.does(lambda: world.time.advance(5_000))
    world.consumer.gets(consumed(1))
    world.consumer.gets()
    world.consumer.does(lambda: setattr(world.consumer, "holds_commits", False))
    world.consumer.gets()
    world.run()
    assert world.consumer.commits[:2] == [{TP: 1}, {TP: 2}]
    assert world.metric("offset-commit-skip-total") == 1


def test_a_retriable_error_puts_the_same_records_again(world: SinkWorld) -> None:
    world.notes.errors = [None, RetriableException("later"), None]
    paused: list[set[TopicPartition]] = []
    world.notes.on_put = lambda records: world.task.context.timeout(250) if records else None
    world.consumer.gets(consumed(0, b"a"))
    world.consumer.does(lambda: paused.append(set(world.consumer.paused)))
    world.consumer.does(lambda: paused.append(set(world.consumer.paused)))
    calls = world.run()
    assert [call for call in calls if isinstance(call, list)] == [["a"], ["a"]]
    assert paused == [{TP}, set()]
    assert 250 in world.consumer.waits
    assert world.consumer.commits == [{TP: 1}]


def test_another_error_fails_the_task_and_commits_only_what_was_taken(world: SinkWorld) -> None:
    world.notes.errors = [None, None, ValueError("disk full")]
    world.consumer.gets(consumed(0))
    world.consumer.gets(consumed(1))
    calls = world.run()
    assert calls[-3:] == [("pre_commit", [1]), "close", "stop"]
    assert world.consumer.commits == [{TP: 1}]
    assert world.listener.told == ["startup", "failure"]
    assert str(world.listener.cause) == "Exiting WorkerSinkTask due to unrecoverable exception."
    assert isinstance(world.listener.cause.__cause__ if world.listener.cause else None, ValueError)
    assert world.metric("status") == "failed"


def test_only_what_the_task_allows_is_committed(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0), consumed(1))
    world.notes.allows = lambda offsets: {
        TP: OffsetAndMetadata(1),
        TopicPartition("others", 0): OffsetAndMetadata(5),
    }
    world.run()
    assert world.consumer.commits == [{TP: 1}]


@pytest.mark.parametrize("allowed", [{}, {TP: OffsetAndMetadata(9)}])
def test_nothing_is_committed_that_was_not_read_or_not_allowed(world: SinkWorld, allowed: Any) -> None:
    world.consumer.gets(consumed(0))
    world.notes.allows = lambda offsets: allowed
    world.run()
    assert world.consumer.commits == []


def test_a_flush_that_fails_reads_again_from_the_last_commit(world: SinkWorld) -> None:
    def refuse(offsets: Any) -> Any:
        world.notes.allows = lambda offsets: offsets
        raise OSError("no space")

    world.notes.allows = refuse
    world.notes.on_put = lambda records: world.task.context.request_commit() if records else None
    world.consumer.gets(consumed(0))
    world.consumer.does(lambda: positions.append(world.consumer.positions[TP]))
    positions: list[int] = []
    world.consumer.positions[TP] = 1
    world.run()
    assert positions == [0]
    assert world.consumer.commits == []
    assert world.metric("offset-commit-failure-percentage") == 0.5


def test_a_commit_that_fails_at_the_end_is_only_logged(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0))
    world.consumer.commit_error = KafkaError(Errors.REBALANCE_IN_PROGRESS)
    world.run()
    assert world.listener.told == ["startup", "shutdown"]


def test_revoked_partitions_are_committed_and_lost_ones_are_not(world: SinkWorld) -> None:
    world.consumer.gets_partitions(OTHER)
    world.consumer.gets(consumed(0))
    world.consumer.loses_partitions(TP)
    world.consumer.loses_partitions(OTHER, lost=True)
    calls = world.run()
    assert calls == ["start", "open", "open", ["x"], ("pre_commit", [1]), "close", "close", "stop"]
    assert world.consumer.commits == [{TP: 1}]
    assert world.metric("sink-record-active-count") == 0


def test_records_of_a_partition_that_goes_are_not_put_again(world: SinkWorld) -> None:
    world.notes.errors = [None, RetriableException("later"), None]
    world.consumer.gets(consumed(0))
    world.consumer.loses_partitions(TP)
    calls = world.run()
    assert calls.count(["x"]) == 1
    assert world.consumer.commits == []


def test_an_error_of_open_fails_the_task(world: SinkWorld) -> None:
    def refuse(partitions: Any) -> None:
        raise ConnectException("cannot open")

    world.notes.open = refuse  # type: ignore[method-assign]
    world.run()
    assert world.listener.told == ["startup", "failure"]
    assert str(world.listener.cause) == "cannot open"


def test_the_task_may_read_from_elsewhere(world: SinkWorld) -> None:
    world.notes.on_put = lambda records: world.task.context.offset(TP, 3) if records else None
    world.consumer.gets(consumed(0))
    world.consumer.gets()
    world.run()
    assert world.consumer.positions[TP] == 3
    assert world.consumer.commits == []


def test_a_pause_commits_and_stops_reading(world: SinkWorld) -> None:
    task, paused = world.task, []
    world.consumer.gets(consumed(0))
    world.consumer.does(lambda: task.transition_to(TargetState.PAUSED))
    world.consumer.wakes()
    world.consumer.does(lambda: paused.append(set(world.consumer.paused)))
    world.consumer.does(lambda: task.transition_to(TargetState.STARTED))
    world.consumer.wakes()
    world.consumer.does(lambda: paused.append(set(world.consumer.paused)))
    world.run()
    assert world.listener.told == ["startup", "pause", "resume", "shutdown"]
    assert paused == [{TP}, set()]
    assert world.consumer.commits == [{TP: 1}]


def test_what_the_task_has_paused_stays_paused(world: SinkWorld) -> None:
    world.notes.open = lambda partitions: world.task.context.pause(TP)  # type: ignore[method-assign]
    world.consumer.wakes()
    world.run()
    assert world.consumer.paused == {TP}
    with pytest.raises(IllegalWorkerStateException, match="not currently assigned"):
        world.task.context.pause(OTHER)


def test_a_record_that_cannot_be_converted_fails_the_task() -> None:
    world = SinkWorld()
    world.consumer.gets_partitions(TP)
    world.consumer.gets(consumed(0), consumed(1, b"bad"))
    world.run()
    assert str(world.listener.cause) == "Tolerance exceeded in error handler"
    assert world.consumer.commits == []


def test_a_tolerated_record_is_reported_skipped_and_committed() -> None:
    reports = Reports()
    world = SinkWorld(ToleranceType.ALL, [reports])
    world.consumer.gets_partitions(TP)
    world.consumer.gets(consumed(0), consumed(1, b"bad"), consumed(2))
    calls = world.run()
    assert ["x", "x"] in calls
    assert world.consumer.commits == [{TP: 3}]
    (context,) = reports.contexts
    assert (context.original.offset, str(context.error)) == (1, "bad value")
    assert reports.stages == [Stage.VALUE_CONVERTER]
    assert reports.waits  # before the commit
    assert world.metric("total-records-skipped") == 1


def test_a_task_reports_a_record_and_its_offset_waits_for_the_report() -> None:
    reports = Reports()
    world = SinkWorld(ToleranceType.ALL, [reports], reports=True)
    router = RegexRouter()
    router.configure({"regex": ".*", "replacement": "elsewhere"})

    def put(records: Any) -> None:
        for record in records:
            reporter = world.task.context.errant_record_reporter()
            assert reporter is not None
            routed = router.apply(record)
            assert routed is not None
            reporter.report(routed, ValueError("no"))

    world.notes.on_put = put
    world.consumer.gets_partitions(TP)
    world.consumer.gets(consumed(4, b"raw"))
    world.consumer.does(lambda: reports.future.set_exception(KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)))
    world.consumer.does(world.task.context.request_commit)
    world.consumer.gets()
    world.run()
    (context,) = reports.contexts
    assert (context.original.topic, context.original.offset, context.original.value) == ("lines", 4, b"raw")
    assert world.consumer.commits == []
    assert world.listener.told == ["startup", "failure"]


def test_a_report_that_is_not_tolerated_fails_a_task_that_has_caught_it() -> None:
    world = SinkWorld(ToleranceType.NONE, reports=True)

    def put(records: Any) -> None:
        for record in records:
            reporter = world.task.context.errant_record_reporter()
            assert reporter is not None
            with pytest.raises(ConnectException, match="Tolerance exceeded"):
                reporter.report(record, ValueError("no"))

    world.notes.on_put = put
    world.consumer.gets_partitions(TP)
    world.consumer.gets(consumed(0))
    world.run()
    assert world.listener.told == ["startup", "failure"]
    assert world.consumer.commits == []


def test_transforms_change_records_and_the_origin_stays() -> None:
    router = RegexRouter()
    router.configure({"regex": "(.*)", "replacement": "$1-2"})
    world = SinkWorld(stages=[TransformationStage(router)])
    seen: list[SinkRecord] = []
    world.notes.on_put = seen.extend
    world.consumer.gets_partitions(TP)
    world.consumer.gets(consumed(0))
    world.run()
    assert [(record.topic, record.original_topic) for record in seen] == [("lines-2", "lines")]
    assert [status.topic for status in world.topics.puts] == ["lines"]


def test_a_pattern_must_match_the_whole_name() -> None:
    world = SinkWorld(config={"topics.regex": "lin|lines"})
    world.run()
    pattern = world.consumer.pattern
    assert [bool(pattern.match(name)) for name in ("lines", "lin", "line", "lines2")] == [True, True, False, False]


def test_topics_are_listed_once(world: SinkWorld) -> None:
    world.task.initialize({"topics": " lines , b,,lines"})
    world.run()
    assert world.consumer.topics == ["lines", "b"]


def test_a_cancelled_task_commits_nothing(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0))
    world.consumer.does(world.task.cancel)
    world.run()
    assert world.consumer.commits == []
    assert world.listener.told == ["startup"]


def test_metrics_count_and_go_with_the_task(world: SinkWorld) -> None:
    world.consumer.gets(consumed(0), consumed(1))
    world.run()
    names = {
        "sink-record-read-total": 2,
        "sink-record-send-total": 2,
        "partition-count": 0,
        "sink-record-active-count": 0,
        "total-record-errors": 0,
        "batch-size-max": 2,
    }
    assert {name: world.metric(name) for name in names} == names
    world.task.remove_metrics()
    assert world.metrics.read() == {}
