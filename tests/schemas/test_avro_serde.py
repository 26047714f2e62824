from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastavro")

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas import (
    AvroDeserializer,
    AvroSerializer,
    Schema,
    SchemaDeserializationError,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    SchemaRegistryUnavailableError,
    SchemaSerializationError,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from kafkapy.schemas.avro import parse, read_value
from tests.schemas.registry_server import RegistryServer, guid_of

USER: dict[str, Any] = {
    "type": "record",
    "name": "User",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
USER_TEXT = json.dumps(USER)
ANN = {"id": 1, "name": "Ann"}


def with_field(**field: Any) -> str:
    return json.dumps({**USER, "fields": [*USER["fields"], field]})


def test_golden_bytes(registry: SchemaRegistryClient) -> None:
    serializer = AvroSerializer(registry, USER_TEXT)
    assert serializer.serialize("t", [], ANN) == b"\x00\x00\x00\x00\x01\x02\x06Ann"
    assert registry.get_latest_version("t-value").schema == Schema(USER_TEXT)
    assert AvroDeserializer(registry).deserialize("t", [], b"\x00\x00\x00\x00\x01\x02\x06Ann") == ANN


def test_the_registry_is_asked_once(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    serializer, deserializer = AvroSerializer(registry, USER_TEXT), AvroDeserializer(registry)
    for i in range(5):
        data = serializer.serialize("t", [], {"id": i, "name": ""})
        assert data is not None
        assert deserializer.deserialize("t", [], data)["id"] == i
    assert server.state.requests == ["POST /subjects/t-value/versions", "GET /schemas/ids/1"]


def test_null_is_null(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    assert AvroSerializer(registry, USER_TEXT).serialize("t", [], None) is None
    assert AvroDeserializer(registry).deserialize("t", [], None) is None
    assert server.state.requests == []


def test_subjects(registry: SchemaRegistryClient) -> None:
    AvroSerializer(registry, USER_TEXT, is_key=True).serialize("t", [], ANN)
    AvroSerializer(registry, USER_TEXT, subject_name_strategy=record_subject_name_strategy).serialize("t", [], ANN)
    AvroSerializer(registry, USER_TEXT, subject_name_strategy=topic_record_subject_name_strategy).serialize(
        "t", [], ANN
    )
    AvroSerializer(registry, USER_TEXT, subject_name_strategy=lambda topic, is_key, name: f"{name}@{topic}").serialize(
        "t", [], ANN
    )
    assert registry.get_subjects() == ["t-key", "shop.User", "t-shop.User", "shop.User@t"]
    with pytest.raises(SchemaSerializationError, match="needs a schema with a name"):
        AvroSerializer(registry, "long", subject_name_strategy=record_subject_name_strategy).serialize("t", [], 1)


def test_each_topic_has_its_subject(registry: SchemaRegistryClient) -> None:
    serializer = AvroSerializer(registry, USER_TEXT)
    for topic in ("t", "u", "t"):
        serializer.serialize(topic, [], ANN)
    assert registry.get_subjects() == ["t-value", "u-value"]


def test_without_registering(registry: SchemaRegistryClient) -> None:
    serializer = AvroSerializer(registry, USER_TEXT, auto_register_schemas=False)
    with pytest.raises(SchemaRegistryError, match="Subject 't-value' not found") as raised:
        serializer.serialize("t", [], ANN)
    assert raised.value.error_code == 40401
    registry.register_schema("t-value", Schema(USER_TEXT))
    assert serializer.serialize("t", [], ANN) is not None
    assert registry.get_versions("t-value") == [1]


def test_with_the_latest_version(registry: SchemaRegistryClient) -> None:
    registry.register_schema("t-value", Schema(USER_TEXT))
    registry.register_schema("t-value", Schema(with_field(name="age", type="int", default=7)))
    serializer = AvroSerializer(registry, use_latest_version=True)
    data = serializer.serialize("t", [], ANN)
    assert data == b"\x00\x00\x00\x00\x02\x02\x06Ann\x0e"


def test_with_an_id(registry: SchemaRegistryClient) -> None:
    registry.register_schema("elsewhere", Schema('"string"'))
    registry.register_schema("other", Schema(USER_TEXT))
    assert AvroSerializer(registry, use_schema_id=2).serialize("t", [], ANN) == b"\x00\x00\x00\x00\x02\x02\x06Ann"
    with pytest.raises(KafkaConfigurationError):
        AvroSerializer(registry)
    with pytest.raises(KafkaConfigurationError):
        AvroSerializer(registry, use_latest_version=True, use_schema_id=2)


def test_normalized(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    AvroSerializer(registry, USER_TEXT, normalize_schemas=True).serialize("t", [], ANN)
    assert server.state.requests == ["POST /subjects/t-value/versions?normalize=true"]


def test_references(registry: SchemaRegistryClient) -> None:
    registry.register_schema("user", Schema(USER_TEXT))
    order = '{"type":"record","name":"Order","fields":[{"name":"by","type":"shop.User"}]}'
    registry.register_schema("order", Schema(order, references=(SchemaReference("shop.User", "user", 1),)))
    schema = Schema('{"type":"array","items":"Order"}', references=(SchemaReference("Order", "order", 1),))
    data = AvroSerializer(registry, schema).serialize("t", [], [{"by": ANN}])
    assert data is not None
    registry.clear_caches()
    assert AvroDeserializer(registry).deserialize("t", [], data) == [{"by": ANN}]
    assert AvroDeserializer(registry, schema).deserialize("t", [], data) == [{"by": ANN}]


def test_references_are_written_out_once(registry: SchemaRegistryClient) -> None:
    """A field may be called as a type is."""
    registry.register_schema("id", Schema('{"type":"fixed","name":"Id","size":2}'))
    fields = [{"name": "Id", "type": ["null", "Id"]}, {"name": "all", "type": {"type": "map", "values": "Id"}}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    schema = Schema(text, references=(SchemaReference("Id", "id", 1),))
    value = {"Id": b"ab", "all": {"x": b"cd"}}
    data = AvroSerializer(registry, schema).serialize("t", [], value)
    assert data is not None
    assert AvroDeserializer(registry).deserialize("t", [], data) == value


@dataclass
class User:
    id: int
    name: str


def test_objects(registry: SchemaRegistryClient) -> None:
    data = AvroSerializer(registry, USER_TEXT, to_dict=asdict).serialize("t", [], User(1, "Ann"))
    assert data == b"\x00\x00\x00\x00\x01\x02\x06Ann"
    assert AvroDeserializer(registry, from_dict=lambda found: User(**found)).deserialize("t", [], data) == User(
        1, "Ann"
    )


def test_the_readers_schema(registry: SchemaRegistryClient) -> None:
    old = AvroSerializer(registry, USER_TEXT).serialize("t", [], ANN)
    new = AvroSerializer(registry, with_field(name="age", type="int", default=7)).serialize("t", [], {**ANN, "age": 8})
    assert old is not None and new is not None
    reader = AvroDeserializer(registry, with_field(name="age", type="long", default=0))
    assert reader.deserialize("t", [], old) == {**ANN, "age": 0}
    assert reader.deserialize("t", [], new) == {**ANN, "age": 8}
    plain = AvroDeserializer(registry)
    assert plain.deserialize("t", [], old) == ANN
    no_way = AvroDeserializer(registry, with_field(name="must", type="long"))
    with pytest.raises(SchemaDeserializationError, match="does not fit the schema that it names"):
        no_way.deserialize("t", [], old)


def test_logical_types(registry: SchemaRegistryClient) -> None:
    schema = {
        "type": "record",
        "name": "L",
        "fields": [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        ],
    }
    value = {
        "at": datetime.datetime(2026, 11, 23, 22, 0, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 11, 23),
        "price": Decimal("12.30"),
    }
    data = AvroSerializer(registry, json.dumps(schema)).serialize("t", [], value)
    assert data is not None
    assert AvroDeserializer(registry).deserialize("t", [], data) == value


def test_records_in_unions(registry: SchemaRegistryClient) -> None:
    union = json.dumps(["null", USER, {**USER, "name": "Admin"}])
    value = ("shop.Admin", ANN)
    data = AvroSerializer(registry, union).serialize("t", [], value)
    assert data == b"\x00\x00\x00\x00\x01\x04\x02\x06Ann"
    assert AvroDeserializer(registry).deserialize("t", [], data) == ANN
    assert AvroDeserializer(registry, return_record_name=True).deserialize("t", [], data) == value


def test_a_value_that_does_not_fit(registry: SchemaRegistryClient) -> None:
    serializer = AvroSerializer(registry, USER_TEXT)
    with pytest.raises(SchemaSerializationError, match="topic t does not fit schema 1 of subject t-value"):
        serializer.serialize("t", [], {"id": "no"})
    with pytest.raises(ValueError):
        AvroSerializer(registry, "{")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"plain", "These bytes begin with 0x70"),
        (b"\x00\x00\x00\x00\x63\x02", "does not know the schema 99 of this value: Schema 99 not found"),
        (b"\x00\x00\x00\x00\x01\x02", "does not fit the schema that it names"),
        (b"\x00\x00\x00\x00\x01\x02\x06Ann!", "1 bytes are left behind the value"),
    ],
)
def test_poison(registry: SchemaRegistryClient, data: bytes, sentence: str) -> None:
    registry.register_schema("t-value", Schema(USER_TEXT))
    with pytest.raises(SchemaDeserializationError, match=sentence):
        AvroDeserializer(registry).deserialize("t", [], data)


def test_an_unknown_id_is_not_asked_for_with_each_record(
    registry: SchemaRegistryClient, server: RegistryServer
) -> None:
    deserializer = AvroDeserializer(registry)
    for _ in range(3):
        with pytest.raises(SchemaDeserializationError):
            deserializer.deserialize("t", [], b"\x00\x00\x00\x00\x63\x02")
    assert server.state.requests == ["GET /schemas/ids/99"]


def test_a_schema_that_makes_no_sense_here(registry: SchemaRegistryClient) -> None:
    registry.register_schema("t-value", Schema('{"type":"nonsense"}'))
    with pytest.raises(SchemaDeserializationError, match="schema 1 of this value makes no sense"):
        AvroDeserializer(registry).deserialize("t", [], b"\x00\x00\x00\x00\x01\x02")


def test_a_registry_that_is_down_is_no_verdict_on_the_record(server: RegistryServer) -> None:
    registry = SchemaRegistryClient(server.url, max_retries=0)
    data = AvroSerializer(registry, USER_TEXT).serialize("t", [], ANN)
    assert data is not None
    registry.clear_caches()
    serializer, deserializer = AvroSerializer(registry, USER_TEXT), AvroDeserializer(registry)
    server.state.failures.extend([(503, {})] * 2)
    with pytest.raises(SchemaRegistryUnavailableError, match=server.url):
        deserializer.deserialize("t", [], data)
    with pytest.raises(SchemaRegistryUnavailableError, match=server.url):
        serializer.serialize("t", [], ANN)
    assert deserializer.deserialize("t", [], data) == ANN
    assert serializer.serialize("t", [], ANN) == data


def test_a_guid_in_a_header(registry: SchemaRegistryClient, server: RegistryServer) -> None:
    registry.register_schema("t-value", Schema(USER_TEXT))
    guid = bytes.fromhex(guid_of(server.state.schemas[1]).replace("-", ""))
    headers = [("__value_schema_id", b"\x01" + guid)]
    assert AvroDeserializer(registry).deserialize("t", headers, b"\x02\x06Ann") == ANN


leaves: Any = st.sampled_from(
    [
        ("long", st.integers(-(2**63), 2**63 - 1)),
        ("int", st.integers(-(2**31), 2**31 - 1)),
        ("double", st.floats(allow_nan=False)),
        ("boolean", st.booleans()),
        ("string", st.text()),
        ("bytes", st.binary()),
    ]
)


def nested(inner: Any) -> Any:
    """A schema and what values it has."""
    return st.one_of(
        inner.map(lambda each: ({"type": "array", "items": each[0]}, st.lists(each[1], max_size=3))),
        inner.map(
            lambda each: ({"type": "map", "values": each[0]}, st.dictionaries(st.text(max_size=3), each[1], max_size=3))
        ),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=st.lists(st.recursive(leaves, nested, max_leaves=3), min_size=1, max_size=5), data=st.data())
def test_values_come_back(registry: SchemaRegistryClient, fields: list[Any], data: Any) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": f"f{i}", "type": kind} for i, (kind, _) in enumerate(fields)],
    }
    value = {f"f{i}": data.draw(values) for i, (_, values) in enumerate(fields)}
    registry.set_compatibility("NONE")
    written = AvroSerializer(registry, json.dumps(schema)).serialize("t", [], value)
    assert written is not None
    assert AvroDeserializer(registry).deserialize("t", [], written) == value


def test_comments_and_large_defaults_in_schemas() -> None:
    fields = '[{"name": "f", "type": "double", "default": 1e400}]'
    text = '/* Licensed. */ {"type": "record", "name": "R", // the only one\n "fields": ' + fields + "}"
    parsed = parse(None, Schema(text))
    empty = parse(None, Schema('{"type": "record", "name": "R", "fields": []}'))
    assert read_value(b"", empty, parsed) == {"f": float("inf")}


def test_values_of_schemas_with_wrong_defaults(registry: SchemaRegistryClient) -> None:
    """An older registry took them, and what was written with them stays readable."""
    fields = [
        {"name": "n", "type": "int", "default": None},
        {"name": "m", "type": {"type": "array", "items": "int"}, "default": {}},
    ]
    schema_id = registry.register_schema(
        "t-value", Schema(json.dumps({"type": "record", "name": "R", "fields": fields}))
    )
    reader = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "n", "type": "int"}, {"name": "x", "type": "int", "default": 7}],
    }
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\x06\x00"
    assert AvroDeserializer(registry).deserialize("t", [], data) == {"n": 3, "m": []}
    assert AvroDeserializer(registry, json.dumps(reader)).deserialize("t", [], data) == {"n": 3, "x": 7}
