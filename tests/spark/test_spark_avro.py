from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

import fastavro

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas import AvroSerializer, JSONSerializer, SchemaRegistryClient
from kafkapy.spark import from_avro
from tests.schemas.registry_server import RegistryServer, running_registry

pytestmark = pytest.mark.integration

ID: dict[str, Any] = {"name": "id", "type": "long"}
TAGS = {"name": "tags", "type": {"type": "array", "items": "string"}}
AT = {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None}
NOON = datetime.datetime(2026, 11, 23, 12, 0, tzinfo=datetime.UTC)


def record(*fields: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


def frame(spark: Any, values: list[bytes | None]) -> Any:
    return spark.createDataFrame([(value,) for value in values], "value binary")


def test_each_value_is_read_by_its_own_schema(spark: Any, server: RegistryServer) -> None:
    registry = SchemaRegistryClient(server.url)
    old = AvroSerializer(registry, record(ID)).serialize("t", [], {"id": 1})
    newer = AvroSerializer(registry, record(ID, AT, {**TAGS, "default": []}))
    new = newer.serialize("t", [], {"id": 2, "at": NOON, "tags": ["a"]})
    found = frame(spark, [old, None, new]).select(from_avro("value", server.url, subject="t-value").alias("v"))
    assert found.schema["v"].dataType.simpleString() == "struct<id:bigint,at:timestamp,tags:array<string>>"
    rows = found.selectExpr("v.id", "unix_millis(v.at) at", "v.tags").collect()
    assert [tuple(row) for row in rows] == [
        (1, None, []),
        (None, None, None),
        (2, int(NOON.timestamp() * 1000), ["a"]),
    ]
    narrow = from_avro("value", registry, reader_schema=record(ID))
    assert [row.v and row.v.id for row in frame(spark, [old, new]).select(narrow.alias("v")).collect()] == [1, 2]


def test_values_without_a_prefix(spark: Any) -> None:
    out = BytesIO()
    fastavro.schemaless_writer(out, json.loads(record(ID, TAGS)), {"id": 7, "tags": ["x", "y"]})
    found = frame(spark, [out.getvalue(), None]).select(from_avro("value", record(ID, TAGS)).alias("v"))
    assert found.selectExpr("v.id", "v.tags[1] tag").collect() == [(7, "y"), (None, None)]


def test_json(spark: Any, server: RegistryServer) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    data = JSONSerializer(SchemaRegistryClient(server.url), json.dumps(schema)).serialize(
        "t", [], {"id": 1, "name": "Ann"}
    )
    found = frame(spark, [data]).select(from_avro("value", server.url, subject="t-value").alias("v"))
    assert found.select("v.*").collect() == [(1, "Ann")]


def test_what_cannot_be_read(spark: Any, server: RegistryServer) -> None:
    data = AvroSerializer(SchemaRegistryClient(server.url), record(ID)).serialize("t", [], {"id": 1})
    values = frame(spark, [data, b"plain"])
    lenient = from_avro("value", server.url, subject="t-value", mode="PERMISSIVE")
    assert [row.v and row.v.id for row in values.select(lenient.alias("v")).collect()] == [1, None]
    with pytest.raises(Exception, match="begin with 0x70"):
        values.select(from_avro("value", server.url, subject="t-value")).collect()


def test_times_are_of_the_types_that_sparks_own_has(spark: Any) -> None:
    names = ("date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "local-timestamp-micros")
    kinds = ["int" if name in ("date", "time-millis") else "long" for name in names]
    fields = [
        {"name": f"f{number}", "type": {"type": kind, "logicalType": name}}
        for number, (kind, name) in enumerate(zip(kinds, names, strict=True))
    ]
    found = frame(spark, [b"\x02" * 6]).select(from_avro("value", record(*fields)).alias("v"))
    types = [field.dataType.simpleString() for field in found.schema["v"].dataType]
    assert types == ["date", "int", "bigint", "timestamp", "timestamp", "timestamp_ntz"]
    assert found.selectExpr("unix_date(v.f0)", "v.f1", "v.f2", "unix_micros(v.f3)").collect() == [(1, 1, 1, 1000)]


def test_a_time_out_of_bounds_is_null_or_an_error(spark: Any) -> None:
    out = BytesIO()
    fastavro.schemaless_writer(out, "long", 9_223_372_036_825_200_000)
    schema = record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}})
    values = frame(spark, [b"\x02", out.getvalue(), None])
    lenient = values.select(from_avro("value", schema, mode="PERMISSIVE").alias("v"))
    assert lenient.selectExpr("unix_micros(v.at)", "v IS NULL").collect() == [(1000, False), (None, True), (None, True)]
    with pytest.raises(Exception, match=r"cannot be read: .*out of bounds timestamp: 9223372036825200000"):
        values.select(from_avro("value", schema)).collect()


def test_json_is_held_against_its_schema(spark: Any, server: RegistryServer) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    write = JSONSerializer(SchemaRegistryClient(server.url), json.dumps(schema), validate=False).serialize
    events: list[Any] = [{"id": 1}, {"id": 1.5}, {}, []]
    values = frame(spark, [write("t", [], each) for each in events])
    lenient = from_avro("value", server.url, subject="t-value", mode="PERMISSIVE")
    assert [row.v and row.v.id for row in values.select(lenient.alias("v")).collect()] == [1, None, None, None]


def test_arguments(server: RegistryServer) -> None:
    with pytest.raises(KafkaConfigurationError, match="reader_schema or subject"):
        from_avro("value", server.url)
    with pytest.raises(KafkaConfigurationError, match="go with a registry"):
        from_avro("value", record(ID), subject="t-value")
    with pytest.raises(KafkaConfigurationError, match="FAILFAST"):
        from_avro("value", record(ID), mode="DROPMALFORMED")  # type: ignore[arg-type]
