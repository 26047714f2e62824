"""The source reads what the sink has written, and files by patterns."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.object_source import ObjectSourceConnector, ObjectSourceTask
from kafkapy.connect.connectors.objects.stores import ObjectStore
from kafkapy.connect.data.schema import STRING_SCHEMA
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.plugins import Plugins, class_name_of
from tests.connect.connectors.objects.sink_harness import SinkHarness, record
from tests.connect.connectors.objects.test_formats import ROW, row


class Source:
    """A task with a clock of its own, and the offsets of a worker."""

    def __init__(self, root: Path, stored: Mapping[str, Any] | None = None, **configs: Any) -> None:
        self.offsets: dict[str, Any] = dict(stored or {})
        self.now = 0.0
        reader = SimpleNamespace(offset=lambda partition: self.offsets.get(partition["object"]))
        context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
        self.task = ObjectSourceTask()
        self.task._clock = lambda: self.now
        self.task._stopped.set()  # it does not wait
        self.task.initialize(context)
        names = {name.replace("_", "."): text for name, text in configs.items()}
        self.task.start({"store.url": f"file://{root}", "s3.poll.interval.ms": "1000", **names})

    def poll(self) -> list[Any]:
        records = self.task.poll() or []
        for each in records:
            assert each.source_partition is not None
            self.offsets[each.source_partition["object"]] = each.source_offset
        return list(records)

    def poll_all(self) -> list[Any]:
        self.now += 1
        found = []
        while True:
            found += self.poll()
            if not self.task._waiting:
                return found


@pytest.mark.parametrize("format", ["Avro", "Parquet"])
def test_values_with_schemas_come_back_as_they_were(tmp_path: Path, format: str) -> None:
    SinkHarness(tmp_path, {"format.class": format}).put(*(record(i, row(), ROW) for i in range(3)))
    found = Source(tmp_path).poll_all()
    assert [each.topic for each in found] == ["t"] * 3
    expected = row()
    for field in ROW.fields:
        if field.name not in ("inner", "same"):
            assert found[0].value[field.name] == expected[field.name], field.name
        else:
            assert found[0].value[field.name]["x"] == 5
    if format == "Avro":
        assert found[0].value_schema.name == "org.example.Row"
        assert found[0].value_schema.field("money").schema == ROW.field("money").schema  # type: ignore[union-attr]


def test_keys_headers_and_partitions_come_back(tmp_path: Path) -> None:
    stores = {"store.kafka.keys": "true", "store.kafka.headers": "true"}
    formats = {"keys.format.class": "Avro", "headers.format.class": "Json", "s3.compression.type": "gzip"}
    sink = SinkHarness(tmp_path, {**stores, **formats})
    records = [record(i, {"n": i}, partition=2, key=f"k{i}", key_schema=STRING_SCHEMA) for i in range(3)]
    records[1].headers.add("h", "v", STRING_SCHEMA)
    sink.put(*records)
    names: dict[str, Any] = {name.replace(".", "_"): text for name, text in stores.items()}
    found = Source(tmp_path, **names).poll_all()
    assert [(each.kafka_partition, each.key, each.value) for each in found] == [
        (2, f"k{i}", {"n": i}) for i in range(3)
    ]
    assert [[header.value for header in each.headers] for each in found] == [[], ["v"], []]
    assert Source(tmp_path, keep_partitions="false").poll_all()[0].kafka_partition is None


def test_files_of_a_partition_are_read_in_order_and_new_ones_later(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "1", "partitioner.class": "Field", "partition.field.name": "k"})
    sink.put(*(record(i, {"k": -i}) for i in range(12)))
    source = Source(tmp_path)
    assert [each.value["k"] for each in source.poll_all()] == [-i for i in range(12)]
    assert source.poll_all() == []
    sink.put(record(12, {"k": 5}))
    assert [each.value["k"] for each in source.poll_all()] == [5]


def test_a_restarted_task_goes_on_in_a_file(tmp_path: Path) -> None:
    SinkHarness(tmp_path, {"flush.size": "5"}).put(*(record(i, i) for i in range(10)))
    source = Source(tmp_path, record_batch_max_size="3")
    assert [[each.value for each in source.poll()] for _ in range(2)] == [[0, 1, 2], [3, 4]]
    again = Source(tmp_path, source.offsets, record_batch_max_size="3")
    assert [each.value for each in again.poll_all()] == [5, 6, 7, 8, 9]
    first = next(iter(source.offsets))
    half = Source(tmp_path, {first: {"records": 3, "size": source.offsets[first]["size"], "complete": False}})
    assert [each.value for each in half.poll_all()] == list(range(3, 10))


def test_files_by_patterns_may_be_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.txt"
    path.parent.mkdir()
    path.write_text("1\n2\n")
    (tmp_path / "in" / "b.log.gz").write_bytes(gzip.compress(b"3\n"))
    configs: dict[str, Any] = {
        "mode": "GENERIC",
        "topics_dir": "in",
        "topic_regex_list": r"texts:\.txt$,logs:\.log",
        "format_class": "String",
    }
    source = Source(tmp_path, **configs)
    assert [(each.topic, each.value) for each in source.poll_all()] == [("logs", "3"), ("texts", "1"), ("texts", "2")]
    with path.open("a") as file:
        file.write("4\n")
    assert [each.value for each in source.poll_all()] == ["4"]


def test_a_failure_in_a_file_loses_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SinkHarness(tmp_path, {"flush.size": "4"}).put(*(record(i, i) for i in range(4)))
    source = Source(tmp_path, record_batch_max_size="2")
    assert [each.value for each in source.task.poll() or ()] == [0, 1]
    records = source.task._records(source.task._waiting[0])

    def fails() -> Any:
        yield next(records)
        raise RetriableException("no network")

    source.task._current = fails()
    with pytest.raises(RetriableException):
        source.poll()
    assert [each.value for each in source.poll()] == [2, 3]


def test_tasks_share_partitions(tmp_path: Path) -> None:
    sink = SinkHarness(tmp_path, {"flush.size": "1"})
    sink.put(*(record(0, number, partition=number) for number in range(8)))
    sources = [Source(tmp_path, task_number=str(number), task_count="2") for number in range(2)]
    found = [[each.value for each in source.poll_all()] for source in sources]
    assert sorted(found[0] + found[1]) == list(range(8))
    assert all(found)


def test_errors_name_the_file_and_the_config(tmp_path: Path) -> None:
    folder = tmp_path / "topics" / "t" / "partition=0"
    folder.mkdir(parents=True)
    (folder / "t+0+0000000000.json").write_text("{")
    with pytest.raises(DataException, match="is no JSON"):
        Source(tmp_path).poll_all()
    with pytest.raises(ConnectException, match="no file with keys"):
        Source(tmp_path, store_kafka_keys="true", format_class="String").poll_all()
    with pytest.raises(ConfigException, match="needs it"):
        ObjectSourceConnector().start({"store.url": "memory://x", "mode": "GENERIC"})
    with pytest.raises(ConfigException, match="topic:pattern"):
        ObjectSourceConnector().start({"store.url": "memory://x", "topic.regex.list": "a"})
    assert list(ObjectStore(f"file://{tmp_path}", {}).files("none")) == []


@pytest.mark.parametrize("name", ["kafkapy.connect.ObjectSource", "io.confluent.connect.s3.source.S3Source"])
def test_java_names_find_connectors_and_tasks(name: str) -> None:
    plugins = Plugins()
    connector = plugins.new_connector(f"{name}Connector")
    task = connector.task_class()
    assert plugins.find_class(class_name_of(task)) is task
