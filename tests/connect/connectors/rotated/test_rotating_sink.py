"""Files that end by size or time."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connectors.rotated.followed_file import zstd_file
from kafkapy.connect.connectors.rotated.rotating_sink import FileRotatingSinkConnector, FileRotatingSinkTask
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.records import SinkRecord
from kafkapy.structs import OffsetAndMetadata

PARTITION = TopicPartition("t", 0)


class Sink:
    def __init__(self, folder: Path, **configs: str) -> None:
        self.now = 0.0
        self.task = FileRotatingSinkTask()
        self.task._clock = lambda: self.now
        self.rewound: dict[TopicPartition, int] = {}
        context: Any = SimpleNamespace(
            timeout=lambda ms: None, errant_record_reporter=lambda: None, offset=self.rewound.__setitem__
        )
        self.task.initialize(context)
        self.task.start({"directory": str(folder), **{name.replace("_", "."): text for name, text in configs.items()}})

    def put(self, *offsets: int) -> None:
        self.task.put([SinkRecord("t", 0, None, None, None, f"v{offset}", offset) for offset in offsets])

    def committed(self, read: int) -> int:
        return self.task.pre_commit({PARTITION: OffsetAndMetadata(read)})[PARTITION].offset


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


def test_files_end_by_size_and_time_and_only_then_appear(tmp_path: Path) -> None:
    sink = Sink(tmp_path, rotate_size_bytes="6", rotate_interval_ms="5000")
    sink.put(0, 1, 2)
    assert (texts(tmp_path), sink.committed(3)) == ({"t+0+0000000000+0000000001.txt": "v0\nv1\n"}, 2)
    sink.now = 5
    sink.put()
    assert (texts(tmp_path)["t+0+0000000002+0000000002.txt"], sink.committed(3)) == ("v2\n", 3)


def test_a_second_attempt_writes_each_record_once(tmp_path: Path) -> None:
    first = Sink(tmp_path, rotate_size_bytes="6")
    first.put(0, 1, 2, 3, 4)  # the process ends here, and no offset was committed
    again = Sink(tmp_path, rotate_size_bytes="9")
    again.put(0, 1, 2)
    again.put(3, 4, 5, 6)
    assert "".join(texts(tmp_path).values()) == "".join(f"v{offset}\n" for offset in range(7))
    assert len(list(tmp_path.iterdir())) == 3


def test_when_the_consumer_goes_back_records_come_once(tmp_path: Path) -> None:
    sink = Sink(tmp_path, rotate_size_bytes="9")
    sink.put(0, 1)
    sink.put(0, 1, 2)
    assert list(texts(tmp_path).values()) == ["v0\nv1\nv2\n"]
    sink.put(3)
    sink.task.stop()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_task_that_has_lost_its_partition_waits_until_it_hears_of_that(tmp_path: Path) -> None:
    paused, owner = Sink(tmp_path, rotate_size_bytes="9"), Sink(tmp_path, rotate_size_bytes="9")
    others = [SinkRecord("u", 0, None, None, None, f"u{offset}", offset) for offset in range(3)]
    paused.put(0, 1)
    paused.task.put(others[:1])
    owner.put(0, 1)  # its consumer group has given it the partition
    late = SinkRecord("t", 0, None, None, None, "v2", 2)
    for _ in range(2):
        with pytest.raises(RetriableException, match="another task has the partition now"):
            paused.task.put([others[1], late])
    paused.task.close([PARTITION])
    paused.task.put(others[1:])  # the worker has taken the lost partition's record out
    owner.put(2)
    assert texts(tmp_path) == {
        "t+0+0000000000+0000000002.txt": "v0\nv1\nv2\n",
        "u+0+0000000000+0000000002.txt": "u0\nu1\nu2\n",
    }


def test_records_that_a_failed_attempt_has_written_come_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paused, owner = Sink(tmp_path, rotate_size_bytes="9"), Sink(tmp_path, rotate_size_bytes="9")
    paused.put(0, 1)
    first = SinkRecord("u", 0, None, None, None, "u0", 0)
    batch = [SinkRecord("u", 0, None, None, None, "u1", 1), SinkRecord("t", 0, None, None, None, "v2", 2)]
    paused.task.put([first])
    removed = [path for path in tmp_path.iterdir() if path.name.startswith(".t+")]

    def remove_late(record: SinkRecord) -> bytes:
        if removed:
            owner.put(0)
            removed.clear()
        return b"%s\n" % record.value.encode()

    with monkeypatch.context() as patched, pytest.raises(RetriableException):
        patched.setattr(paused.task, "_line", remove_late)
        paused.task.put(batch)
    paused.task.close([PARTITION])
    paused.task.put([batch[0], SinkRecord("u", 0, None, None, None, "u2", 2)])
    assert texts(tmp_path)["u+0+0000000000+0000000002.txt"] == "u0\nu1\nu2\n"


def test_records_that_another_task_has_written_meanwhile_are_not_written_again(tmp_path: Path) -> None:
    paused, owner = Sink(tmp_path, rotate_size_bytes="6"), Sink(tmp_path, rotate_size_bytes="12")
    paused.put(0, 1)
    owner.put(2, 3)  # it has the partition now
    paused.put(2, 3)  # but the other task has not heard of that
    owner.put(4, 5, 6)
    assert (owner.rewound, owner.committed(7)) == ({PARTITION: 4}, 4)
    owner.put(4, 5)
    owner.put(6, 7)
    assert list(texts(tmp_path).values()) == ["v0\nv1\n", "v2\nv3\n", "v4\nv5\nv6\nv7\n"]


def test_a_file_that_was_removed_by_something_else_fails_the_task_at_last(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    sink.put(0)
    for path in tmp_path.iterdir():
        path.unlink()
    for _ in range(60):
        with pytest.raises(RetriableException):
            sink.put(1)
    with pytest.raises(ConnectException, match="not by another task"):
        sink.put(1)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_files_are_compressed(tmp_path: Path, kind: str) -> None:
    Sink(tmp_path, rotate_size_bytes="3", compression_type=kind, format="json").put(0)
    (path,) = tmp_path.iterdir()
    if kind == "gzip":
        assert (path.suffixes, gzip.decompress(path.read_bytes())) == ([".json", ".gz"], b'"v0"\n')
    else:
        with path.open("rb") as raw:
            assert (path.suffixes, zstd_file(raw, "rb").read()) == ([".json", ".zst"], b'"v0"\n')


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ConfigException, match="absolute path"):
        FileRotatingSinkConnector().start({"directory": "out"})
