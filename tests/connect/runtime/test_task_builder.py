"""Tasks that cannot be built leave neither metrics nor clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.task_requests import TaskRequest
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.runtime import task_builder
from kafkapy.connect.runtime.file_offset_store import FileOffsetStore
from kafkapy.connect.runtime.memory_stores import MemoryStatusStore
from kafkapy.connect.runtime.worker import TASK_CLASS_CONFIG, Worker
from kafkapy.connect.runtime.worker_config import StandaloneConfig
from kafkapy.connect.sink import SinkTask
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, TargetState

ID = ConnectorTaskId("orders", 0)
SOURCE = {"name": "orders", "connector.class": "FileStreamSource", "topic": "t"}
SINK = {"name": "orders", "connector.class": "FileStreamSink", "topics": "t"}
SOURCE_TASK = "kafkapy.connect.connectors.file.file_stream_source:FileStreamSourceTask"
SINK_TASK = f"{__name__}:NoSink"


class NoSink(SinkTask):
    def version(self) -> str:
        return "1.0"

    def start(self, config: Mapping[str, str]) -> None: ...

    def put(self, records: Sequence[SinkRecord]) -> None: ...

    def stop(self) -> None: ...


class FailingKeyConverter(StringConverter):
    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        raise ConnectException("as the test wants")


class Failures:
    """A listener that keeps the errors."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []

    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None:
        self.errors.append(cause)


class Client:
    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(tmp_path / "offsets"),
    }
    store = FileOffsetStore(config["offset.storage.file.filename"])
    return Worker("localhost:0", StandaloneConfig.of(config), Plugins(), store, MemoryStatusStore())


def start(worker: Worker, task: str, config: dict[str, str]) -> BaseException:
    """Start a task that cannot be made; returns the error."""
    failures = Failures()
    listener: Any = failures
    begin = worker.start_source_task if task == SOURCE_TASK else worker.start_sink_task
    state = ClusterConfigState(task_counts={"orders": 1})
    assert not begin(TaskRequest(ID, state, config, {TASK_CLASS_CONFIG: task}, listener, TargetState.STARTED))
    (error,) = failures.errors
    return error


def names(worker: Worker) -> set[Any]:
    return set(worker.metrics.read())


@pytest.mark.parametrize(("task", "config"), [(SOURCE_TASK, SOURCE), (SINK_TASK, SINK)], ids=["source", "sink"])
def test_metrics_of_a_task_that_cannot_be_made_are_removed(worker: Worker, task: str, config: dict[str, str]) -> None:
    before = names(worker)
    error = start(worker, task, {**config, "key.converter": f"{__name__}:FailingKeyConverter"})
    assert "as the test wants" in str(error)
    assert names(worker) == before


def test_clients_of_a_task_that_cannot_be_made_are_closed(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = Client()

    def no_admin(configs: object) -> Any:
        raise ConnectException("no admin client")

    monkeypatch.setattr(task_builder, "make_producer", lambda configs: producer)
    monkeypatch.setattr(task_builder, "make_admin", no_admin)
    before = names(worker)
    error = start(
        worker,
        SOURCE_TASK,
        {**SOURCE, "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"},
    )
    assert "no admin client" in str(error)
    assert producer.is_closed
    assert names(worker) == before
