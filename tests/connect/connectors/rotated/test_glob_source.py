"""Files that grow, are renamed, truncated, compressed."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.rotated.followed_file import zstd_file
from kafkapy.connect.connectors.rotated.glob_source import FileGlobSourceConnector, FileGlobSourceTask
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.plugins import Plugins, class_name_of


class Source:
    """A task with a clock of its own, and the offsets of a worker."""

    def __init__(self, files: str, stored: Mapping[str, Any] | None = None, **configs: Any) -> None:
        self.offsets: dict[str, Any] = dict(stored or {})
        self.now = 0.0
        reader = SimpleNamespace(offset=lambda partition: self.offsets.get(partition["inode"]))
        context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
        self.task = FileGlobSourceTask()
        self.task._clock = lambda: self.now
        self.task._stopped.set()  # it does not wait
        self.task.initialize(context)
        plain = {"files": files, "topic": "t", **{name.replace("_", "."): text for name, text in configs.items()}}
        self.task.start(plain)
        self.records: list[Any] = []

    def poll(self, after_s: float = 1.0) -> list[Any]:
        self.now += after_s
        self.records = self.task.poll() or []
        for record in self.records:
            self.offsets[(record.source_partition or {})["inode"]] = record.source_offset
        return [record.value for record in self.records]


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_is_followed_when_it_is_renamed_and_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "1\n2\nha")
    source = Source(f"{tmp_path}/app.log")
    assert [source.poll(), source.poll()] == [["1", "2"], []]
    append(path, "lf\n")
    path.rename(tmp_path / "app.log.1")
    append(path, "3\n")
    assert sorted(source.poll()) == ["3", "half"]
    assert source.poll() == []


def test_a_restarted_task_finds_renamed_files_by_their_inodes(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "1\n2\n")
    source = Source(f"{tmp_path}/app.log*")
    assert source.poll() == ["1", "2"]
    source.task.stop()
    path.rename(tmp_path / "app.log.1")
    append(tmp_path / "app.log.1", "3\n")
    append(path, "4\n")
    again = Source(f"{tmp_path}/app.log*", source.offsets)
    assert sorted(again.poll()) == ["3", "4"]


def test_an_inode_of_another_file_and_a_truncated_file_are_read_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "one\ntwo\n")
    source = Source(str(path))
    assert source.poll() == ["one", "two"]
    os.truncate(path, 0)
    append(path, "3\n")
    assert source.poll() == ["3"]
    source.task.stop()
    os.truncate(path, 0)
    append(path, "other\nlines\n")
    assert Source(str(path), source.offsets).poll() == ["other", "lines"]


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed_files_are_read_once_and_on_after_a_restart(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"old.log.{kind}"
    text = b"1\n2\n3"
    if kind == "gz":
        path.write_bytes(gzip.compress(text))
    else:
        with path.open("wb") as raw, zstd_file(raw, "wb") as file:
            file.write(text)
    source = Source(f"{tmp_path}/*", batch_size="1")
    assert [source.poll() + source.poll(), source.poll()] == [["1", "2", "3"], []]
    first = {next(iter(source.offsets)): {**next(iter(source.offsets.values())), "position": 2}}
    again = Source(f"{tmp_path}/*", first)
    assert [again.poll() + again.poll(), again.poll()] == [["2", "3"], []]


def test_a_compressed_file_that_is_still_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(b"%d\n" % i for i in range(30_000)))
    path = tmp_path / "a.gz"
    path.write_bytes(data[:5000])
    source = Source(str(path))
    found = source.poll() + source.poll()
    path.write_bytes(data)
    for _ in range(40):
        found += source.poll()
    assert found == [str(i) for i in range(30_000)]


def test_records_of_several_lines_end_by_the_next_or_by_time(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    append(path, "E one\n  at x\nE two\n  at y\n")
    source = Source(str(path), multiline_pattern="^E", multiline_timeout_ms="5000")
    assert [source.poll(), source.poll(4.9), source.poll(0.2)] == [["E one\n  at x"], [], ["E two\n  at y"]]


def test_csv_has_its_header_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    append(path, "a,b\n1,2\n")
    source = Source(str(path), format="csv", path_header="file")
    assert source.poll() == [{"a": "1", "b": "2"}]
    assert source.records[0].headers.last_with_name("file").value == str(path)
    append(path, "3,4\n")
    assert Source(str(path), source.offsets, format="csv").poll() == [{"a": "3", "b": "4"}]


def test_lines_that_are_no_json_fail_or_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    append(path, '{"a":1}\nbad\n2\n')
    with pytest.raises(ConnectException, match="before position 12"):
        Source(str(path), format="json").poll()
    assert Source(str(path), format="json", behavior_on_error="log").poll() == [{"a": 1}, 2]


def test_tasks_share_files_and_few_are_open(tmp_path: Path) -> None:
    for number in range(8):
        append(tmp_path / f"{number}.log", f"{number}\n")
    pattern = f"{tmp_path}/**/*.log"
    excluded: dict[str, Any] = {"files_exclude": f"{tmp_path}/7.log", "max_open_files": "1"}
    sources = [Source(pattern, task_number=str(number), task_count="2", **excluded) for number in range(2)]
    found = [sorted(source.poll()) for source in sources]
    assert sorted(found[0] + found[1]) == [str(number) for number in range(7)]
    append(tmp_path / "3.log", "more\n")
    assert [value for source in sources for value in source.poll()] == ["more"]


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"files": ""}, "files"),
        ({"multiline.pattern": "("}, "for configuration"),
        ({"multiline.pattern": "a", "format": "json"}, "Only format=lines"),
        ({"csv.delimiter": "ab"}, "one character"),
    ],
)
def test_wrong_configs_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        FileGlobSourceConnector().start({"files": "/a", "topic": "t", **configs})


@pytest.mark.parametrize("name", ["FileGlobSource", "FileRotatingSink"])
def test_names_find_connectors_and_tasks(name: str) -> None:
    plugins = Plugins()
    connector = plugins.new_connector(f"kafkapy.connect.{name}Connector")
    task = connector.task_class()
    assert plugins.find_class(class_name_of(task)) is task
