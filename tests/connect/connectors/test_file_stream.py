"""The file source and sink, without a worker."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.file import file_stream_source
from kafkapy.connect.connectors.file.file_stream_sink import FileStreamSinkConnector, FileStreamSinkTask
from kafkapy.connect.connectors.file.file_stream_source import FileStreamSourceConnector, FileStreamSourceTask
from kafkapy.connect.connectors.file.line_reader import LineReader
from kafkapy.connect.data.schema import STRING_SCHEMA
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.plugins import Plugins, class_name_of
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.source import ExactlyOnceSupport


class _Reader:
    def __init__(self, position: Any = None) -> None:
        self.position = position

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return None if self.position is None else {"position": self.position}

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stream_source, "_WAIT_S", 0)


def started(path: Path | None, position: Any = None, **configs: str) -> FileStreamSourceTask:
    task = FileStreamSourceTask()
    reader = _Reader(position)
    context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
    task.initialize(context)
    task.start({"topic": "lines", **({"file": str(path)} if path else {}), **configs})
    return task


def texts(task: FileStreamSourceTask) -> list[tuple[str, int | None]]:
    return [(record.value, (record.source_offset or {})["position"]) for record in task.poll() or ()]


def test_lines_end_with_any_of_three_ends() -> None:
    reader = LineReader(10)
    assert [tuple(line) for line in reader.feed(b"a\rb\r\nc\n\nd\r")] == [("a", 12), ("b", 15), ("c", 17), ("", 18)]
    assert reader.feed(b"") == []
    assert [tuple(line) for line in reader.feed(b"\ne\n")] == [("d", 21), ("e", 23)]
    reader = LineReader(0)
    assert reader.feed(b"a\r") == []
    assert [tuple(line) for line in reader.feed(b"b\n")] == [("a", 2), ("b", 4)]


def test_a_line_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkapy.connect.connectors.file.line_reader.MAX_LINE_BYTES", 10)
    with pytest.raises(ConnectException, match="position 3 is longer than 10 bytes"):
        LineReader(3).feed(b"x" * 11)


def test_a_file_that_grows_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    task = started(path)
    assert task.poll() is None
    path.write_bytes("käse\nhalf".encode())
    records = task.poll()
    assert records is not None
    (record,) = records
    assert (record.topic, record.key, record.key_schema, record.value_schema) == ("lines", None, None, STRING_SCHEMA)
    assert (record.value, record.source_partition, record.source_offset) == (
        "käse",
        {"filename": str(path)},
        {"position": 6},
    )
    assert task.poll() is None
    with path.open("ab") as file:
        file.write(b" line\n")
    assert texts(task) == [("half line", 16)]
    task.stop()


def test_a_restarted_task_goes_on_at_its_position(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes("käse\nbrot\n".encode())
    assert texts(started(path, 6)) == [("brot", 11)]
    with pytest.raises(ConnectException, match="Offset position is the incorrect type"):
        started(path, "6").poll()


def test_batches_are_cut_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{i}\n" for i in range(5)))
    task = started(path, **{"batch.size": "2"})
    assert [texts(task) for _ in range(4)] == [[("0", 2), ("1", 4)], [("2", 6), ("3", 8)], [("4", 10)], []]


def test_standard_input_has_no_position(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as stdin, os.fdopen(write, "wb", 0) as out:
        monkeypatch.setattr(sys, "stdin", stdin)
        task = started(None)
        assert task.poll() is None
        out.write(b"typed\n")
        assert texts(task) == [("typed", None)]
        task.stop()


def test_exactly_once_needs_a_file() -> None:
    connector = FileStreamSourceConnector()
    assert connector.exactly_once_support({"topic": "t", "file": "f"}) is ExactlyOnceSupport.SUPPORTED
    assert connector.exactly_once_support({"topic": "t"}) is ExactlyOnceSupport.UNSUPPORTED
    with pytest.raises(ConfigException, match='Missing required configuration "topic"'):
        connector.start({})


@pytest.mark.parametrize(
    ("partition", "offset", "error"),
    [
        ({"filename": "f"}, {}, "contain the key 'position'"),
        ({"filename": "f"}, {"position": "1"}, "expected to be a Long"),
        ({"filename": "f"}, {"position": True}, "expected to be a Long"),
        ({"filename": "f"}, {"position": -1}, "non-negative"),
        ({}, {"position": 1}, "contain the key 'filename'"),
        (None, {"position": 1}, "cannot be null"),
    ],
)
def test_offsets_that_are_wrong_are_refused(partition: Any, offset: Any, error: str) -> None:
    connector = FileStreamSourceConnector()
    with pytest.raises(ConnectException, match=error):
        connector.alter_offsets({"topic": "t", "file": "f"}, [(partition, offset)])


def test_offsets_that_are_right_or_reset_are_taken() -> None:
    connector = FileStreamSourceConnector()
    offsets: list[tuple[Any, Any]] = [({"filename": "f"}, {"position": 5}), ({"rubbish": 1}, None)]
    assert connector.alter_offsets({"topic": "t", "file": "f"}, offsets)
    with pytest.raises(ConnectException, match="stdin is used"):
        connector.alter_offsets({"topic": "t"}, offsets)
    assert FileStreamSinkConnector().alter_offsets({}, {})


def record(value: Any) -> SinkRecord:
    return SinkRecord("t", 0, None, None, None, value, 0)


def test_values_are_appended_as_java_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before\n")
    task = FileStreamSinkTask()
    task.start({"file": str(path)})
    task.put([record("käse"), record(None), record({"a": 1.0}), record(True)])
    task.flush({})
    assert path.read_text("utf-8") == "before\nkäse\nnull\n{a=1.0}\ntrue\n"
    task.stop()


def test_without_a_file_lines_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    task = FileStreamSinkTask()
    task.start({})
    task.put([record("x")])
    task.flush({})
    task.stop()
    assert out.getvalue() == "x\n"


def test_a_file_that_cannot_be_made_fails_the_task(tmp_path: Path) -> None:
    with pytest.raises(ConnectException, match="Couldn't find or create file"):
        FileStreamSinkTask().start({"file": str(tmp_path / "none" / "out")})


def test_java_names_find_connectors_and_tasks() -> None:
    plugins = Plugins()
    for name, found in (("FileStreamSink", FileStreamSinkConnector), ("FileStreamSource", FileStreamSourceConnector)):
        assert plugins.connector_class(f"org.apache.kafka.connect.file.{name}Connector") is found
        assert plugins.connector_class(name) is found
        task = found().task_class()
        assert plugins.find_class(class_name_of(task)) is task
