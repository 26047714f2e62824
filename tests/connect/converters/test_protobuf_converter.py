from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.connect.converters.protobuf.proto_from_connect import ProtoFileMaker
from kafkapy.connect.converters.protobuf.protobuf_converter import ProtobufConverter
from kafkapy.connect.converters.protobuf.protobuf_options import ProtobufOptions
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.scalars import Instant, Int8
from kafkapy.connect.data.schema import (
    BOOLEAN_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.schemas.registry_client import SchemaRegistryClient
from tests.connect.converters.random_data import values
from tests.schemas.registry_server import RegistryServer, running_registry

_Field = descriptor_pb2.FieldDescriptorProto


@pytest.fixture(scope="module")
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


def _made(server: RegistryServer, /, **configs: Any) -> ProtobufConverter:
    converter = ProtobufConverter()
    own = {name.replace("_", "."): value for name, value in configs.items()}
    converter.configure({"schema.registry.url": server.url, "max.retries": "0", **own})
    return converter


def _struct(name: str | None, fields: dict[str, Schema], *, optional: bool = False) -> Schema:
    builder = SchemaBuilder(Type.STRUCT).name(name)
    for field, schema in fields.items():
        builder.field(field, schema)
    return builder.optional().build() if optional else builder.build()


def _message(schema: Schema, **options: Any) -> Any:
    return ProtoFileMaker(ProtobufOptions(**options)).convert(schema)[0].message_type[0]


PRICE = _struct("shop.Price", {"amount": decimal_schema(2)}, optional=True)
ORDER = _struct(
    "shop.Order",
    {
        "id": INT64_SCHEMA,
        "small": Schema(Type.INT8),
        "price": PRICE,
        "tags": SchemaBuilder.array(STRING_SCHEMA).build(),
        "counts": SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).name("Counts").build(),
        "day": DATE_SCHEMA,
        "time": TIME_SCHEMA,
        "at": TIMESTAMP_SCHEMA,
    },
)


def test_files_are_those_of_confluents_converter() -> None:
    file, name = ProtoFileMaker(ProtobufOptions()).convert(ORDER)
    message = file.message_type[0]
    assert (name, file.package, file.syntax, message.name) == ("shop.Order", "shop", "proto3", "Order")
    shown = {field.name: (field.number, field.type, field.label, field.type_name) for field in message.field}
    assert shown["id"] == (1, _Field.TYPE_INT64, _Field.LABEL_OPTIONAL, "")
    assert shown["small"][1] == _Field.TYPE_INT32
    assert shown["price"][3] == ".shop.Order.Price"
    assert shown["tags"] == (4, _Field.TYPE_STRING, _Field.LABEL_REPEATED, "")
    assert shown["counts"][2:] == (_Field.LABEL_REPEATED, ".shop.Order.CountsEntry")
    assert [shown[each][3] for each in ("day", "time", "at")] == [
        ".google.type.Date",
        ".google.type.TimeOfDay",
        ".google.protobuf.Timestamp",
    ]
    assert set(file.dependency) == {
        "confluent/meta.proto",
        "confluent/type/decimal.proto",
        "google/type/date.proto",
        "google/type/timeofday.proto",
        "google/protobuf/timestamp.proto",
    }


def test_values_go_through_the_registry(server: RegistryServer) -> None:
    converter = _made(server)
    price = Struct(PRICE, {"amount": Decimal("-12.50")})
    times = {"day": Instant(-86_400_000), "time": Instant(3_723_004), "at": Instant(-5)}
    value = Struct(ORDER, {"id": -1, "small": 5, "price": price, "tags": ["a"], "counts": {"x": 2}, **times})
    data = converter.from_connect_data("orders", ORDER, value)
    assert data is not None and data[5] == 0
    found = converter.to_connect_data("orders", data)
    assert found.schema is not None and (found.schema.name, found.schema.version) == ("Order", 1)
    read = found.value
    assert (read["id"], read["small"], type(read["small"])) == (-1, 5, Int8)
    assert str(read["price"]["amount"]) == "-12.50" and read["tags"] == ["a"] and read["counts"] == {"x": 2}
    assert {name: read[name] for name in times} == times
    assert found.schema.fields[0].schema.parameters == {"io.confluent.connect.protobuf.Tag": "1"}
    assert SchemaRegistryClient(server.url).get_latest_version("orders-value").schema.schema_type == "PROTOBUF"
    again = converter.from_connect_data("again", found.schema, read)
    assert again is not None and converter.to_connect_data("again", again).value["counts"] == {"x": 2}
    assert converter.from_connect_data("orders", None, None) is None


def test_versions_of_a_message_are_told_apart(server: RegistryServer) -> None:
    converter = _made(server)
    first, second = _struct("V", {"a": INT32_SCHEMA}), _struct("V", {"a": INT32_SCHEMA, "b": STRING_SCHEMA})
    written = [
        converter.from_connect_data("versions", first, Struct(first, {"a": 1})),
        converter.from_connect_data("versions", second, Struct(second, {"a": 2, "b": "x"})),
    ]
    read = [converter.to_connect_data("versions", data) for data in written * 2]
    assert [(each.value["a"], each.schema.version if each.schema else None) for each in read] == [(1, 1), (2, 2)] * 2
    assert read[1].value["b"] == "x"


def test_primitives_are_wrapped(server: RegistryServer) -> None:
    converter = _made(server)
    data = converter.from_connect_data("words", STRING_SCHEMA, "héllo")
    assert converter.to_connect_data("words", data).value == "héllo"
    number = converter.from_connect_data("numbers", INT64_SCHEMA, -5)
    assert converter.to_connect_data("numbers", number).value == -5


def test_nulls_have_three_forms(server: RegistryServer) -> None:
    schema = _struct("N", {"t": OPTIONAL_STRING_SCHEMA, "n": OPTIONAL_INT64_SCHEMA})
    value = Struct(schema, {"t": ""})
    plain = _made(server)
    read = plain.to_connect_data("plain", plain.from_connect_data("plain", schema, value)).value
    assert (read["t"], read["n"]) == ("", 0)
    for topic, option in (("optional", "optional_for_nullables"), ("wrapper", "wrapper_for_nullables")):
        converter = _made(server, **{option: "true"})
        found = converter.to_connect_data(topic, converter.from_connect_data(topic, schema, value))
        assert (found.value["t"], found.value["n"]) == ("", None)
        assert found.schema is not None and found.schema.fields[0].schema.optional
    assert _message(schema, optional_for_nullables=True).field[0].proto3_optional
    assert _message(schema, wrapper_for_nullables=True).field[1].type_name == ".google.protobuf.Int64Value"


def test_oneofs_are_structs(server: RegistryServer) -> None:
    union = _struct(
        "io.confluent.connect.protobuf.Union.kind", {"a": OPTIONAL_STRING_SCHEMA, "b": OPTIONAL_INT64_SCHEMA}
    )
    schema = _struct("U", {"kind_0": union, "flag": BOOLEAN_SCHEMA})
    value = Struct(schema, {"kind_0": Struct(union, {"b": 5}), "flag": True})
    converter = _made(server)
    found = converter.to_connect_data("u", converter.from_connect_data("u", schema, value))
    assert found.value["kind_0"]["b"] == 5 and found.value["kind_0"]["a"] is None and found.value["flag"] is True
    flat = _made(server, flatten_unions="true")
    data = converter.from_connect_data("u", schema, value)
    assert flat.to_connect_data("u", data).value["b"] == 5


@pytest.mark.parametrize("general", ["false", "true"])
def test_enums_are_text_with_their_numbers(server: RegistryServer, general: str) -> None:
    parameter = "org.apache.kafka.connect.data.Enum" if general == "true" else "io.confluent.connect.protobuf.Enum"
    builder = SchemaBuilder(Type.STRING).name("Color").parameter(parameter, "Color")
    enum = builder.parameter(f"{parameter}.RED", "0").parameter(f"{parameter}.BLUE", "7").build()
    schema = _struct("E", {"color": enum})
    converter = _made(server, generalized_sum_type_support=general)
    found = converter.to_connect_data(
        f"e{general}", converter.from_connect_data(f"e{general}", schema, Struct(schema, {"color": "BLUE"}))
    )
    assert found.value["color"] == "BLUE"
    assert found.schema is not None and (found.schema.fields[0].schema.parameters or {})[f"{parameter}.BLUE"] == "7"
    with pytest.raises(DataException, match="no symbol of the enum"):
        converter.from_connect_data(f"e{general}", schema, Struct(schema, {"color": "GREEN"}))


def test_what_protobuf_lacks_is_refused(server: RegistryServer) -> None:
    converter = _made(server)
    nested = _struct("A", {"a": SchemaBuilder.array(SchemaBuilder.array(INT32_SCHEMA).build()).build()})
    with pytest.raises(DataException, match="no array of arrays"):
        converter.from_connect_data("t", nested, Struct(nested, {"a": [[1]]}))
    with pytest.raises(DataException, match="scrub"):
        converter.from_connect_data(
            "t", _struct("a-b", {"a": INT32_SCHEMA}), Struct(_struct("a-b", {"a": INT32_SCHEMA}), {"a": 1})
        )
    with pytest.raises(DataException, match="without a schema"):
        converter.from_connect_data("t", None, {"a": 1})
    with pytest.raises(DataException, match="Unsupported root schema"):
        converter.from_connect_data("t", SchemaBuilder.array(INT32_SCHEMA).build(), [1])
    holey = _struct("H", {"a": SchemaBuilder.array(OPTIONAL_STRING_SCHEMA).build()})
    with pytest.raises(DataException, match="no null in arrays"):
        converter.from_connect_data("h", holey, Struct(holey, {"a": [None]}))


_LEAVES = st.sampled_from(
    [*(Schema(each) for each in Type if each.is_primitive), decimal_schema(3), DATE_SCHEMA, TIMESTAMP_SCHEMA]
)


@st.composite
def _structs(draw: st.DrawFn, depth: int = 2, counter: list[int] | None = None) -> Schema:
    counter = [0] if counter is None else counter
    counter[0] += 1
    fields = {}
    for index in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["leaf", "array", "map", "struct"] if depth else ["leaf"]))
        leaf = draw(_LEAVES)
        if kind == "array":
            leaf = SchemaBuilder.array(leaf).build()
        elif kind == "map":
            counter[0] += 1
            leaf = SchemaBuilder.map(STRING_SCHEMA, leaf).name(f"M{counter[0]}").build()
        elif kind == "struct":
            leaf = draw(_structs(depth - 1, counter))
        fields[f"f{index}"] = leaf
    return _struct(f"some.S{counter[0]}", fields)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.name: _plain(value[field.name]) for field in value.schema.fields}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Decimal) else value


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_random_data_come_back(server: RegistryServer, data: st.DataObject) -> None:
    schema = data.draw(_structs())
    value = data.draw(values(schema))
    converter = _made(server, auto_register_schemas="true", value_subject_name_strategy=_RECORDS)
    server.state.subjects.clear()
    found = converter.to_connect_data("t", converter.from_connect_data("t", schema, value))
    assert _plain(found.value) == _plain(value)
    again = _made(server)
    server.state.subjects.clear()
    second = again.to_connect_data("t", again.from_connect_data("t", found.schema, found.value))
    assert _plain(second.value) == _plain(value) and second.schema is not None and found.schema is not None
    assert [field.schema.type for field in second.schema.fields] == [field.schema.type for field in found.schema.fields]


_RECORDS = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
