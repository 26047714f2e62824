"""The sink beside a server that speaks MongoDB's protocol."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from kafkapy.connect.connectors.mongodb.mongo_sink import MongoSinkTask
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import decimal_schema, timestamp_builder
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import BYTES_SCHEMA, INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.connect.connectors.sink_driver import SinkDriver, sink_record
from tests.databases.mongodb import MongoServer
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration

IDS = "com.mongodb.kafka.connect.sink.processor.id.strategy."
WRITES = "com.mongodb.kafka.connect.sink.writemodel.strategy."
FULL_KEY = {"document.id.strategy": f"{IDS}FullKeyStrategy"}
PLACE = {"document.id.strategy": f"{IDS}KafkaMetaDataStrategy"}


def sink(server: MongoServer, configs: dict[str, str], *, reports: bool = False) -> SinkDriver:
    config = {"connection.uri": server.uri, "database": "sink", **configs}
    return SinkDriver(MongoSinkTask(), config, reports=reports)


def found(server: MongoServer, collection: str) -> list[dict[str, Any]]:
    return list(server.client["sink"][collection].find())


def test_documents_have_the_types_of_values(mongodb: MongoServer) -> None:
    schema = SchemaBuilder(Type.STRUCT).field("n", INT64_SCHEMA).field("price", decimal_schema(2))
    schema.field("at", timestamp_builder().build()).field("data", BYTES_SCHEMA).field("none", OPTIONAL_STRING_SCHEMA)
    value = Struct(schema.build(), {"n": 5, "price": Decimal("2.50"), "at": Instant(1000), "data": b"\0"})
    driver = sink(mongodb, PLACE)
    text = json.dumps({"at": {"$date": "1970-01-01T00:00:01Z"}, "list": [1, {"a": None}]})
    driver.put(sink_record(0, None, value, topic="types"), sink_record(1, None, text, topic="types"))
    struct, parsed = found(mongodb, "types")
    assert struct.pop("price").to_decimal() == Decimal("2.50")
    assert struct == {"_id": "types#0#0", "n": 5, "at": dt.datetime(1970, 1, 1, 0, 0, 1), "data": b"\0", "none": None}
    assert parsed == {"_id": "types#0#1", "at": dt.datetime(1970, 1, 1, 0, 0, 1), "list": [1, {"a": None}]}


def test_keys_replace_and_tombstones_delete(mongodb: MongoServer) -> None:
    driver = sink(mongodb, {**FULL_KEY, "delete.on.null.values": "true"})
    driver.put(
        sink_record(0, {"k": 1}, {"n": 1}, topic="keys"),
        sink_record(1, {"k": 2}, {"n": 2}, topic="keys"),
        sink_record(2, {"k": 1}, {"n": 3}, topic="keys"),
        sink_record(3, {"k": 2}, None, topic="keys"),
        sink_record(4, None, None, topic="keys"),
    )
    assert found(mongodb, "keys") == [{"_id": {"k": 1}, "n": 3}]


@pytest.mark.parametrize(
    ("strategy", "key", "value", "identity"),
    [
        ("ProvidedInKeyStrategy", {"_id": "k"}, {"n": 1}, "k"),
        ("ProvidedInValueStrategy", None, {"_id": 7, "n": 1}, 7),
        ("PartialKeyStrategy", {"a": 1, "b": 2}, {"n": 1}, {"a": 1}),
        ("PartialValueStrategy", None, {"a": 1, "n": 1}, {"a": 1}),
    ],
)
def test_strategies_make_ids(mongodb: MongoServer, strategy: str, key: Any, value: Any, identity: Any) -> None:
    configs = {"document.id.strategy": f"{IDS}{strategy}", "document.id.strategy.overwrite.existing": "true"}
    if strategy.startswith("Partial"):
        side = "key" if "Key" in strategy else "value"
        configs |= {f"{side}.projection.type": "AllowList", f"{side}.projection.list": "a"}
    sink(mongodb, configs).put(sink_record(0, key, value, topic=strategy))
    (document,) = found(mongodb, strategy)
    assert document == {**value, "_id": identity}


def test_uuids_and_object_ids(mongodb: MongoServer) -> None:
    text = str(uuid.uuid4())
    given = {"document.id.strategy": f"{IDS}UuidProvidedInKeyStrategy", "collection": "uuids"}
    sink(mongodb, given).put(sink_record(0, {"_id": text}, {}))
    made = {"document.id.strategy": f"{IDS}UuidStrategy", "collection": "uuids"}
    sink(mongodb, made).put(sink_record(1, None, {}))
    sink(mongodb, {"collection": "uuids"}).put(sink_record(2, None, {}))
    first, second, third = (each["_id"] for each in found(mongodb, "uuids"))
    assert (first.subtype, bytes(first)) == (4, uuid.UUID(text).bytes)
    assert uuid.UUID(second).version == 4
    assert len(str(third)) == 24
    with pytest.raises(DataException, match="no UUID"):
        sink(mongodb, given).put(sink_record(0, {"_id": "x"}, {}))


def test_updates_merge_fields(mongodb: MongoServer) -> None:
    driver = sink(mongodb, {**FULL_KEY, "writemodel.strategy": f"{WRITES}UpdateOneDefaultStrategy"})
    driver.put(sink_record(0, {"k": 1}, {"a": 1}, topic="merged"), sink_record(1, {"k": 1}, {"b": 2}, topic="merged"))
    assert found(mongodb, "merged") == [{"_id": {"k": 1}, "a": 1, "b": 2}]


def test_business_keys_keep_the_ids_of_documents(mongodb: MongoServer) -> None:
    partial = {
        "document.id.strategy": f"{IDS}PartialValueStrategy",
        "value.projection.type": "allowlist",
        "value.projection.list": "a",
    }
    driver = sink(mongodb, {**partial, "writemodel.strategy": f"{WRITES}ReplaceOneBusinessKeyStrategy"})
    driver.put(sink_record(0, None, {"a": 1, "n": 1}, topic="business"))
    driver.put(sink_record(1, None, {"a": 1, "n": 2}, topic="business"))
    (document,) = found(mongodb, "business")
    assert (document["n"], len(str(document["_id"]))) == (2, 24)
    timed = sink(mongodb, {**partial, "writemodel.strategy": f"{WRITES}UpdateOneBusinessKeyTimestampStrategy"})
    timed.put(sink_record(2, None, {"a": 1, "m": 3}, topic="business"))
    (document,) = found(mongodb, "business")
    assert (document["n"], document["m"], "_modifiedTS" in document) == (2, 3, True)
    gone = sink(mongodb, {**partial, "writemodel.strategy": f"{WRITES}DeleteOneBusinessKeyStrategy"})
    gone.put(sink_record(3, None, {"a": 1}, topic="business"))
    assert found(mongodb, "business") == []


def test_repeated_inserts_of_a_place_are_no_error(mongodb: MongoServer) -> None:
    driver = sink(mongodb, {**PLACE, "writemodel.strategy": f"{WRITES}InsertOneDefaultStrategy"})
    records = [sink_record(i, None, {"n": i}, topic="inserted") for i in range(3)]
    driver.put(*records[:2])
    driver.put(*records)
    assert [each["n"] for each in found(mongodb, "inserted")] == [0, 1, 2]


def test_processors_project_and_add_places(mongodb: MongoServer) -> None:
    package = "com.mongodb.kafka.connect.sink.processor."
    chain = ",".join(f"{package}{name}" for name in ("DocumentIdAdder", "BlockListValueProjector", "KafkaMetaAdder"))
    projected = {"value.projection.type": "BlockList", "value.projection.list": "secret,in.secret"}
    driver = sink(mongodb, {**PLACE, **projected, "post.processor.chain": chain})
    driver.put(sink_record(0, None, {"a": 1, "secret": 2, "in": [{"secret": 3, "b": 4}]}, topic="projected"))
    assert found(mongodb, "projected") == [
        {"_id": "projected#0#0", "a": 1, "in": [{"b": 4}], "topic-partition-offset": "projected-0-0"}
    ]


def test_topics_may_have_configs_of_their_own(mongodb: MongoServer) -> None:
    configs = {"topic.override.a.b.collection": "mine", "topic.override.a.b.max.batch.size": "1", **PLACE}
    driver = sink(mongodb, configs)
    driver.put(*(sink_record(i, None, {"n": i}, topic=topic) for i, topic in enumerate(["a.b", "other", "a.b"])))
    assert [each["_id"] for each in found(mongodb, "mine")] == ["a.b#0#0", "a.b#0#2"]
    assert [each["_id"] for each in found(mongodb, "other")] == ["other#0#1"]


@pytest.mark.parametrize("ordered", ["true", "false"])
def test_a_refused_document_is_reported_and_others_are_written(mongodb: MongoServer, ordered: str) -> None:
    collection = f"refused-{ordered}"
    mongodb.client["sink"][collection].create_index("n", unique=True)
    driver = sink(mongodb, {**PLACE, "bulk.write.ordered": ordered, "collection": collection}, reports=True)
    rows: list[Any] = [{"n": 1}, {"n": 1}, "no JSON", {"n": 3}, 5, {"n": 4}]
    driver.put(*(sink_record(i, None, value) for i, value in enumerate(rows)))
    assert [each["n"] for each in found(mongodb, collection)] == [1, 3, 4]
    assert sorted(driver.reported) == [1, 2, 4]
    assert "11000" in driver.reported[1]


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_tolerance_decides_without_reports(mongodb: MongoServer, tolerance: str) -> None:
    collection = f"tolerated-{tolerance}"
    mongodb.client["sink"][collection].create_index("n", unique=True)
    driver = sink(mongodb, {**PLACE, "mongo.errors.tolerance": tolerance, "collection": collection})
    records = [sink_record(i, None, {"n": n}) for i, n in enumerate([1, 1, 2])]
    if tolerance == "none":
        with pytest.raises(ConnectException, match="11000"):
            driver.put(*records)
    else:
        driver.put(*records)
        assert [each["n"] for each in found(mongodb, collection)] == [1, 2]


def test_a_document_that_is_too_large_is_an_error_of_its_record(mongodb: MongoServer) -> None:
    driver = sink(mongodb, PLACE, reports=True)
    driver.put(
        sink_record(0, None, {"n": "x" * (17 << 20)}, topic="large"), sink_record(1, None, {"n": 1}, topic="large")
    )
    assert [each["n"] for each in found(mongodb, "large")] == [1]
    assert "bytes" in driver.reported[0]


def test_a_server_that_cannot_be_reached_is_waited_for() -> None:
    uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"
    driver = SinkDriver(MongoSinkTask(), {"connection.uri": uri, "database": "sink", "connection.retry.delay.ms": "7"})
    with pytest.raises(RetriableException, match="cannot be reached"):
        driver.put(sink_record(0, None, {"n": 1}))
    assert driver.pauses == [7]


def test_killed_workers_lose_nothing_and_write_nothing_twice(mongodb: MongoServer) -> None:
    values = [f'{{"n":{i}}}' for i in range(100)]
    with KafkaCluster(topics="numbers") as cluster:
        cluster.produce_many("numbers", [value.encode() for value in values])
        test = ConnectorTest(cluster.bootstrap_servers, timeout_s=HANG_SECONDS)
        config = {
            "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
            "topics": "numbers",
            "connection.uri": mongodb.uri,
            "database": "sink",
            "consumer.override.max.poll.records": "20",
            **PLACE,
        }

        def written() -> list[int]:
            return sorted(each["n"] for each in found(mongodb, "numbers"))

        test.sink(config, range(100), written, [Kill("put", 3)]).check(exactly_once=True)
