"""A source task whose polls, producer and stores a test holds in its hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkapy.connect.converters.simple_header_converter import SimpleHeaderConverter
from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.abstract_source_task import SourceTaskParts
from kafkapy.connect.runtime.connector_offset_store import ConnectorOffsetStore
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import ToleranceType
from kafkapy.connect.runtime.memory_stores import MemoryStatusStore
from kafkapy.connect.runtime.offset_storage import OffsetStorageWriter, StoredOffsetReader
from kafkapy.connect.runtime.task_contexts import WorkerSourceTaskContext
from kafkapy.connect.runtime.transformation_chain import TransformationChain, TransformationStage
from kafkapy.connect.source import SourceTask
from kafkapy.connect.storage import EMPTY_CONFIG_STATE, ConnectorTaskId, TargetState
from kafkapy.producer.future import BatchMetadata
from tests.connect.runtime.test_offset_storage import HeldStore
from tests.connect.runtime.test_worker_task import Listener

ID = ConnectorTaskId("lines", 0)


class FakeSend:
    """The future of one record."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[Any], None]] = []
        self._errbacks: list[Callable[[BaseException], None]] = []

    def add_callback(self, f: Callable[[Any], None]) -> None:
        self._callbacks.append(f)

    def add_errback(self, f: Callable[[BaseException], None]) -> None:
        self._errbacks.append(f)

    def succeed(self) -> None:
        for callback in self._callbacks:
            callback("metadata")

    def fail(self, error: BaseException) -> None:
        for errback in self._errbacks:
            errback(error)


class FakeProducer:
    """Notes what it is given. With `at_once` each record is in Kafka at once; `refusals` are raised one by one."""

    def __init__(self, at_once: bool = True) -> None:
        self.at_once = at_once
        self.values: list[bytes | None] = []
        self.calls: list[str] = []
        self.sends: list[FakeSend] = []
        self.refusals: list[BaseException] = []
        self.committed: list[bytes | None] = []
        self.closed = False

    def send(self, topic: str, value: bytes | None, *others: Any) -> Any:
        if self.refusals:
            raise self.refusals.pop(0)
        self.values.append(value)
        self.calls.append(f"send {(value or b'').decode()}")
        sent = FakeSend()
        self.sends.append(sent)
        return AtOnce() if self.at_once else sent

    def send_many(self, topic: str, values: Sequence[bytes | None], *others: Any) -> Any:
        if self.refusals:
            raise self.refusals.pop(0)
        self.values += values
        self.calls.append(f"send {len(values)} to {topic}")
        sent = FakeSend()
        self.sends.append(sent)
        return AtOnce([BatchMetadata(topic, 0, 0, -1, len(values))]) if self.at_once else sent

    def init_transactions(self) -> None:
        self.calls.append("init")

    def begin_transaction(self) -> None:
        self.calls.append("begin")

    def commit_transaction(self) -> None:
        self.calls.append("commit")

    def abort_transaction(self) -> None:
        self.calls.append("abort")

    def close(self, timeout: float | None = None) -> None:
        self.closed = True


class AtOnce:
    def __init__(self, outcome: Any = "metadata") -> None:
        self._outcome = outcome

    def add_callback(self, f: Callable[[Any], None]) -> None:
        f(self._outcome)

    def add_errback(self, f: Callable[[BaseException], None]) -> None:
        pass


class ScriptedTask(SourceTask):
    """Returns one batch a poll, then stops its worker's task; a batch can be an exception or a function."""

    def __init__(self, *batches: Any) -> None:
        self.batches = list(batches)
        self.when_done: Callable[[], None] = lambda: None
        self.told: list[tuple[str, Any]] = []
        self.commits = 0
        self.stopped = False

    def version(self) -> str:
        return "1"

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def stop(self) -> None:
        self.stopped = True

    def poll(self) -> Sequence[SourceRecord] | None:
        if not self.batches:
            self.when_done()
            return None
        batch = self.batches.pop(0)
        if callable(batch):
            batch = batch()
        if isinstance(batch, BaseException):
            raise batch
        found: Sequence[SourceRecord] | None = batch
        return found

    def commit(self) -> None:
        self.commits += 1

    def commit_record(self, record: SourceRecord, metadata: Any) -> None:
        self.told.append((record.value, metadata))


class QuietTask(ScriptedTask):
    """One that is not told of single records: they are sent in columns."""

    commit_record = SourceTask.commit_record


class RunsTask(ScriptedTask):
    """One that is told of records together: they are sent in columns."""

    def commit_records(self, records: Sequence[SourceRecord], batches: Sequence[BatchMetadata]) -> None:
        self.told.append(("+".join(record.value for record in records), batches))


def lines(*numbers: int) -> list[SourceRecord]:
    """Records of one source partition."""
    return [SourceRecord({"f": "a"}, {"n": number}, "t", value=f"v{number}") for number in numbers]


class Source:
    """All that a source task is made of."""

    def __init__(
        self,
        task: ScriptedTask,
        producer: FakeProducer,
        tolerance: ToleranceType = ToleranceType.NONE,
        stages: Sequence[TransformationStage] = (),
    ) -> None:
        self.task, self.producer = task, producer
        self.listener, self.store = Listener(), HeldStore()
        self.store.holds = False
        operator = RetryWithToleranceOperator(tolerance=tolerance)
        store = ConnectorOffsetStore(self.store, None, "offsets")
        reader = StoredOffsetReader(store, ID.connector)
        stub: Any = producer
        self.parts = SourceTaskParts(
            ID,
            task,
            self.listener,
            TargetState.STARTED,
            StringConverter(),
            StringConverter(),
            SimpleHeaderConverter(),
            TransformationChain(stages, operator),
            operator,
            tuple,
            WorkerSourceTaskContext(ID, EMPTY_CONFIG_STATE, reader),
            stub,
            None,
            None,
            reader,
            OffsetStorageWriter(store, ID.connector),
            store,
            MemoryStatusStore(),
            100,
            1000,
        )

    def run(self, worker_task: Any) -> None:
        """Let the task live on this thread, until its batches are used up."""
        self.task.when_done = worker_task.stop
        worker_task.initialize({})
        worker_task.run()

    @property
    def offsets(self) -> list[bytes | None]:
        return list(self.store.data.values())
