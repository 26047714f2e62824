"""The source beside a server that speaks MongoDB's protocol."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import bson
import pytest

from kafkapy.connect.connectors.mongodb.mongo_source import MongoSourceConnector, MongoSourceTask
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.databases.mongodb import MongoServer
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


class Source:
    """A started task with the offset of the last record that was committed."""

    def __init__(
        self, server: MongoServer, collection: str, offset: dict[str, Any] | None = None, **configs: str
    ) -> None:
        self.collection = server.client["source"][collection or "unused"]
        self.partitions: list[Any] = []
        self.now = 0.0

        def stored(partition: Any) -> dict[str, Any] | None:
            self.partitions.append(partition)
            return offset

        context: Any = SimpleNamespace(offset_storage_reader=lambda: SimpleNamespace(offset=stored))
        self.task = MongoSourceTask()
        self.task.initialize(context)
        given = {name.replace("_", "."): value for name, value in configs.items()}
        config = {
            "connection.uri": server.uri,
            "database": "source",
            "collection": collection,
            "poll.await.time.ms": "100",
            **given,
        }
        self.task.start(config)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.task.stop()

    def poll(self, count: int) -> list[SourceRecord]:
        """At least `count` records."""
        found: list[SourceRecord] = []

        def has_all() -> bool:
            found.extend(self.task.poll() or ())
            return len(found) >= count

        wait_until(has_all, lambda: f"{len(found)} records")
        return found


def numbers(records: list[SourceRecord]) -> list[int]:
    return [json.loads(record.value)["fullDocument"]["n"] for record in records]


def test_events_continue_after_the_stored_offset(mongodb: MongoServer) -> None:
    with Source(mongodb, "events") as source:
        assert source.task.poll() is None
        source.collection.insert_many([{"_id": i, "n": i} for i in range(3)])
        records = source.poll(3)
    assert numbers(records) == [0, 1, 2]
    first = records[0]
    assert (first.topic, first.key) == ("source.events", '{"_id": 0}')
    assert first.source_partition == {"ns": f"mongodb://127.0.0.1:{mongodb.port}/source.events"}
    assert json.loads(first.value)["operationType"] == "insert"
    offset: Any = first.source_offset
    with Source(mongodb, "events", offset) as source:
        assert numbers(source.poll(2)) == [1, 2]


def test_documents_alone_and_tombstones(mongodb: MongoServer) -> None:
    configs = {"publish_full_document_only": "true", "publish_full_document_only_tombstone_on_delete": "true"}
    names = {"topic_prefix": "p", "topic_suffix": "s", "topic_separator": "-", "output_format_key": "bson"}
    with Source(mongodb, "alone", None, **configs, **names) as source:
        source.task.poll()
        source.collection.insert_one({"_id": 1, "text": "ä", "long": bson.Int64(5)})
        source.collection.delete_one({"_id": 1})
        (inserted,) = source.poll(1)[:1]
    assert inserted.topic == "p-source-alone-s"
    assert inserted.value == '{"_id": 1, "text": "ä", "long": {"$numberLong": "5"}}'
    assert bson.decode(inserted.key) == {"_id": 1}


def test_existing_documents_come_first(mongodb: MongoServer) -> None:
    collection = mongodb.client["source"]["copied"]
    collection.insert_many([{"_id": i, "n": i} for i in range(5)])
    with Source(mongodb, "copied", None, startup_mode="copy_existing", poll_max_batch_size="2") as source:
        first = source.task.poll() or ()
        collection.insert_one({"_id": 10, "n": 10})
        rest = source.poll(4)
    copied = [*first, *rest]
    assert numbers(copied)[:5] == [0, 1, 2, 3, 4]
    assert 10 in numbers(copied)
    assert copied[1].source_offset is not None
    assert copied[1].source_offset["copy"] == "true"
    offset: Any = copied[1].source_offset
    with Source(mongodb, "copied", offset, startup_mode="copy_existing") as source:
        again = numbers(source.poll(4))
    assert again[:3] == [2, 3, 4]
    assert 10 in again


def test_a_copy_of_several_collections_continues_in_the_right_one(mongodb: MongoServer) -> None:
    for name in ("b", "a", "skipped"):
        mongodb.client["many"][name].insert_many([{"_id": each, "n": i} for i, each in enumerate([5, "text", 3])])
    configs = {
        "startup_mode": "copy_existing",
        "startup_mode_copy_existing_namespace_regex": r"\.[ab]$",
        "database": "many",
    }
    with Source(mongodb, "", None, **configs) as source:
        records = source.poll(6)
    assert [record.topic for record in records] == ["many.a"] * 3 + ["many.b"] * 3
    keys = [json.loads(record.key)["_id"] for record in records]
    assert keys == [3, 5, "text"] * 2  # numbers come before texts
    for done in range(5):
        offset: Any = records[done].source_offset
        with Source(mongodb, "", offset, **configs) as source:
            again = source.poll(5 - done)
        assert [(record.topic, record.key) for record in again] == [
            (record.topic, record.key) for record in records[done + 1 :]
        ]


def test_a_pipeline_filters_events_and_copies(mongodb: MongoServer) -> None:
    collection = mongodb.client["source"]["filtered"]
    collection.insert_many([{"_id": i, "n": i} for i in range(4)])
    pipeline = json.dumps([{"$match": {"fullDocument.n": {"$gte": 2}}}])
    with Source(mongodb, "filtered", None, startup_mode="copy_existing", pipeline=pipeline) as source:
        records = source.poll(2)
        assert numbers(records) == [2, 3]
        collection.insert_many([{"_id": i, "n": i % 3} for i in range(10, 13)])
        assert numbers(source.poll(1)) == [2]


def test_heartbeats_store_places_without_events(mongodb: MongoServer) -> None:
    with Source(mongodb, "quiet", None, heartbeat_interval_ms="1") as source:
        (beat,) = source.poll(1)
        assert (beat.topic, beat.value) == ("__mongodb_heartbeats", None)
        offset: Any = beat.source_offset
        assert json.loads(offset["_id"])["_data"]
        source.collection.insert_one({"_id": 1, "n": 1})
    with Source(mongodb, "quiet", offset) as source:
        assert numbers(source.poll(1)) == [1]


def test_a_server_that_cannot_be_reached_is_waited_for(mongodb: MongoServer) -> None:
    uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"
    with Source(mongodb, "gone", None, connection_uri=uri) as source:
        source.task._stopped.set()
        with pytest.raises(RetriableException, match="cannot be reached"):
            source.task.poll()


def test_offsets_are_checked(mongodb: MongoServer) -> None:
    connector = MongoSourceConnector()
    assert connector.alter_offsets({}, [({"ns": "a"}, {"_id": '{"_data": "00"}'}), ({"ns": "b"}, None)])
    with pytest.raises(ConnectException, match="resume token"):
        connector.alter_offsets({}, [({"ns": "a"}, {"_id": "x"})])
    with pytest.raises(ConnectException, match="source partition"):
        connector.alter_offsets({}, [({"x": "a"}, None)])


def test_killed_workers_lose_nothing(mongodb: MongoServer) -> None:
    collection = mongodb.client["source"]["killed"]
    collection.insert_many([{"_id": i, "n": i} for i in range(60)])
    expected = [b'{"_id": %d, "n": %d}' % (i, i) for i in range(60)]
    with KafkaCluster(topics="source.killed") as cluster:
        test = ConnectorTest(cluster.bootstrap_servers, timeout_s=HANG_SECONDS)
        config = {
            "connector.class": "com.mongodb.kafka.connect.MongoSourceConnector",
            "connection.uri": mongodb.uri,
            "database": "source",
            "collection": "killed",
            "startup.mode": "copy_existing",
            "publish.full.document.only": "true",
            "poll.max.batch.size": "20",
            "poll.await.time.ms": "100",
        }
        test.source(config, "source.killed", expected, [Kill("commit")]).check()
