"""A coordinator of counters, to see what the runtime does without groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.runtime.effects import (
    CancelTimer,
    Effect,
    Performer,
    Reply,
    StartTimer,
    Write,
)
from kafkapy.coordinator.runtime.owned_topic import LOAD_RETRY_MS, CoordinatorTopic, OwnedTopic
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.record.record_batch import RecordBatch
from kafkapy.runtime.chunks import CHUNK
from kafkapy.runtime.clock import MockClock
from tests.coordinator.held_turns import HeldTurns

log = logging.getLogger("test")

TURN = 2


class MemoryLog:
    def __init__(self) -> None:
        self.data: dict[TopicPartition, bytearray] = {}
        self.error: Exception | None = None
        self.append_error = Errors.NONE

    def append(
        self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None], timeout_ms: int
    ) -> None:
        data = self.data.setdefault(partition, bytearray())
        if self.append_error is Errors.NONE:
            view = RecordBatch(bytearray(batch))
            view.set_offset_and_epoch(max((b.next_offset for b in batches(bytes(data))), default=0), 0)
            data.extend(view.buffer)
        done(self.append_error, 0)

    def max_batch_size(self, partition: TopicPartition) -> int | None:
        return None

    def partition_count(self, topic: str) -> int | None:
        return 2

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        if self.error is not None:
            raise self.error
        yield memoryview(bytes(self.data.get(partition, b"")))


class Counts:
    def __init__(self) -> None:
        self.values: dict[bytes, int] = {}
        self.pending: dict[int, dict[bytes, int]] = {}

    def put(self, key: bytes | None, value: bytes | None, base_offset: int, producer_id: int) -> None:
        if key is None:
            raise SchemaError("no key")
        values = self.values if producer_id < 0 else self.pending.setdefault(producer_id, {})
        values.pop(key, None)
        if value is not None:
            values[key] = int(value)

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        ended = self.pending.pop(producer_id, {})
        if commit:
            self.values.update(ended)


class Coordinator:
    def __init__(self, clock: MockClock) -> None:
        self.clock = clock
        self.log = MemoryLog()
        topic = CoordinatorTopic("counters", 5, CompressionType.NONE, 1_000)
        self.topic: OwnedTopic[Counts] = OwnedTopic(topic, self.log, self, clock, log)
        self.kept: dict[bytes, int] = {}
        self.told: list[str] = []

    def new_replayed(self) -> Counts:
        return Counts()

    def install(self, partition: int, replayed: Counts) -> Iterator[None]:
        for number, (key, value) in enumerate(replayed.values.items()):
            if number and number % TURN == 0:
                yield
            self.kept[key] = value

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        self.told.append(f"active {partition.partition}")

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        self.told.append(f"failed {error}")

    def unload(self, partition: int) -> None:
        self.kept.clear()
        self.told.append(f"unloaded {partition}")

    def store(self, key: str, count: int) -> None:
        for number in range(count):
            self.topic.append(key, [(f"{key}{number}".encode(), b"%d" % number)], lambda error, offset: None)


@pytest.fixture
def c() -> Coordinator:
    return coordinator(MockClock())


def coordinator(clock: MockClock) -> Coordinator:
    made = Coordinator(clock)
    made.topic.startup(2)
    return made


def test_who_may_be_asked(c: Coordinator) -> None:
    partition = c.topic.partition_for("x")
    assert c.topic.status("x") is Errors.NOT_COORDINATOR
    c.topic.on_election(partition, 1)
    assert c.topic.status("x") is Errors.COORDINATOR_LOAD_IN_PROGRESS
    c.clock.advance(0)
    assert (c.topic.status("x"), c.told) == (Errors.NONE, [f"active {partition}"])
    c.topic.on_resignation(partition, 2)
    assert c.topic.status("x") is Errors.NOT_COORDINATOR
    c.topic.on_resignation(partition, 3)
    assert c.told == [f"active {partition}", f"unloaded {partition}"]


def test_one_partition_is_read_at_a_time(c: Coordinator) -> None:
    """Fifty threads that read would leave the reactor a fiftieth of the interpreter."""
    for partition in range(2):
        c.topic.on_election(partition, 1)
    assert c.clock.pending == 1
    c.clock.advance(0)
    assert c.told == ["active 0", "active 1"]
    c.log.error = OSError("cable")
    c.topic.on_resignation(0, 2)
    c.topic.on_election(0, 3)
    c.clock.advance(0)
    assert c.told[2:] == ["unloaded 0", "failed cable"]


def test_a_failed_load_is_retried(c: Coordinator) -> None:
    c.log.error = OSError("cable")
    c.topic.on_election(0, 1)
    c.clock.advance(0)
    assert (c.told, c.topic.is_loading) == (["failed cable"], True)
    c.log.error = None
    c.clock.advance(LOAD_RETRY_MS)
    assert (c.told, c.topic.is_loading) == (["failed cable", "active 0"], False)


def test_a_partition_is_taken_over_in_parts_and_given_up_in_between() -> None:
    clock = HeldTurns()
    c = coordinator(clock)
    c.store("x", 2 * TURN + 1)
    partition = c.topic.partition_for("x")
    c.topic.on_election(partition, 1)
    clock.advance(0)
    sizes = []
    while not c.told:
        sizes.append(len(c.kept))
        clock.go_on()
    assert (sizes, len(c.kept)) == ([TURN, 2 * TURN], 2 * TURN + 1)

    c.topic.on_resignation(partition, 2)
    c.topic.on_election(partition, 3)
    clock.advance(0)
    assert len(c.kept) == TURN
    c.topic.on_resignation(partition, 4)
    clock.go_on()
    assert (c.kept, c.topic.status("x")) == ({}, Errors.NOT_COORDINATOR)


@pytest.mark.parametrize("commit", [True, False])
def test_records_of_transactions_hold_when_their_marker_says_so(c: Coordinator, commit: bool) -> None:
    c.topic.append("x", [(b"a", b"1"), (b"b", b"2")], lambda error, offset: None)
    c.topic.append("x", [(b"a", b"3")], lambda error, offset: None, producer_id=7, producer_epoch=0, base_sequence=0)
    partition = TopicPartition("counters", c.topic.partition_for("x"))
    marker = EndTransactionMarker(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT, 0)
    control = build_end_transaction_marker(timestamp=1, producer_id=7, producer_epoch=0, marker=marker)
    c.log.append(partition, control, lambda error, offset: None, 0)
    c.topic.append("x", [(b"b", None)], lambda error, offset: None)
    c.topic.on_election(partition.partition, 1)
    c.clock.advance(0)
    assert c.kept == {b"a": 3 if commit else 1}


# -------------------------------------------------------------------------------------------------- effects


class Echo:
    """A machine that has the effects it is given."""

    key = "x"

    def __init__(self) -> None:
        self.events: list[object] = []
        self.next: list[Effect] = []

    def timer_fired(self, timer: str, of: str, now_ms: int) -> list[Effect]:
        self.events.append((timer, of))
        return self.next

    def written(self, then: object, error: Errors, base_offset: int, now_ms: int) -> list[Effect]:
        self.events.append((then, error))
        return self.next


def test_answers_leave_last_and_in_order(c: Coordinator) -> None:
    performer, machine = Performer(c.topic, c.clock, log), Echo()
    sent: list[int] = []

    def to(response: HeartbeatResponse) -> None:
        assert machine.events
        sent.append(response.error_code)
        if response.error_code == 1:  # the network handles the next request at once
            performer.perform(machine, [Reply(to, HeartbeatResponse(error_code=4))])
            performer.reply(to, HeartbeatResponse(error_code=5))

    machine.next = [Reply(to, HeartbeatResponse(error_code=2))]
    performer.perform(
        machine,
        [
            Reply(to, HeartbeatResponse(error_code=1)),
            Write([(b"k", b"1")], "stored"),
            Reply(to, HeartbeatResponse(error_code=3)),
        ],
    )
    assert machine.events == [("stored", Errors.NONE)]
    assert sent == [1, 2, 3, 4, 5]


def test_very_many_answers_take_turns_and_others_pass_them(c: Coordinator) -> None:
    performer, machine = Performer(c.topic, c.clock, log), Echo()
    sent: list[int] = []

    def to(response: HeartbeatResponse) -> None:
        sent.append(response.error_code)

    performer.perform(machine, [Reply(to, HeartbeatResponse(error_code=n)) for n in range(3 * CHUNK)])
    assert sent == list(range(CHUNK))
    performer.reply(to, HeartbeatResponse(error_code=-1))
    assert sent[-1] == -1
    c.clock.advance(0)
    assert sent == [*range(CHUNK), -1, *range(CHUNK, 3 * CHUNK)]


def test_timers_come_back_as_events(c: Coordinator) -> None:
    performer, machine = Performer(c.topic, c.clock, log), Echo()
    performer.perform(machine, [StartTimer("t", "a", 10), StartTimer("t", "b", 10), StartTimer("u", "", 20)])
    performer.perform(machine, [CancelTimer("t", "a"), StartTimer("u", "", 30)])
    c.clock.advance(100)
    assert machine.events == [("t", "b"), ("u", "")]


def test_a_write_that_fails_comes_back_with_the_logs_error(c: Coordinator) -> None:
    performer, machine = Performer(c.topic, c.clock, log), Echo()
    c.log.append_error = Errors.NOT_ENOUGH_REPLICAS
    performer.perform(machine, [Write([(b"k", None)], "gone")])
    assert machine.events == [("gone", Errors.NOT_ENOUGH_REPLICAS)]


def test_an_answer_that_fails_keeps_nobody_from_theirs(c: Coordinator) -> None:
    performer, machine = Performer(c.topic, c.clock, log), Echo()
    sent: list[object] = []

    def broken(response: object) -> None:
        raise OSError

    performer.perform(machine, [Reply(broken, HeartbeatResponse()), Reply(sent.append, HeartbeatResponse())])
    assert len(sent) == 1
