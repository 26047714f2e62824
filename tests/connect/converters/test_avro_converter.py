from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.converters.avro.avro_anything import ANYTHING_TYPE
from kafkapy.connect.converters.avro.avro_converter import AvroConverter
from kafkapy.connect.converters.avro.avro_encoding import AvroInput
from kafkapy.connect.converters.avro.avro_from_connect import AvroSchemaMaker
from kafkapy.connect.converters.avro.avro_options import AvroOptions, scrubbed
from kafkapy.connect.converters.avro.avro_reader import reader
from kafkapy.connect.converters.avro.avro_to_connect import ConnectSchemas
from kafkapy.connect.converters.avro.avro_type import avro_text, avro_type
from kafkapy.connect.converters.avro.avro_writer import AvroWriters
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import DATE_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.scalars import Instant, Int32, Int64
from kafkapy.connect.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException, RetriableException
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema as RegistrySchema
from tests.connect.converters.random_data import same, schemas, values
from tests.schemas.registry_server import RegistryServer, running_registry

OPTIONS = AvroOptions()


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


def _made(server: RegistryServer, /, *, is_key: bool = False, **configs: Any) -> AvroConverter:
    converter = AvroConverter()
    own = {name.replace("_", "."): value for name, value in configs.items()}
    converter.configure({"schema.registry.url": server.url, "max.retries": "0", **own}, is_key)
    return converter


def _text(schema: Schema, **options: bool) -> str:
    return avro_text(AvroSchemaMaker(AvroOptions(**options)).convert(schema))


def _to_connect(text: str, **options: bool) -> Schema:
    return ConnectSchemas(AvroOptions(**options)).convert(avro_type(json.loads(text), {}))


def _cycle(schema: Schema, value: Any, **options: bool) -> tuple[Schema, Any]:
    chosen = AvroOptions(**options)
    made = avro_type(json.loads(avro_text(AvroSchemaMaker(chosen).convert(schema))), {})
    AvroWriters(chosen).writer(schema, made)(out := bytearray(), value)
    found = ConnectSchemas(chosen).convert(made)
    source = AvroInput(bytes(out))
    read = reader(found, made)(source)
    assert source.at == len(out)
    return found, read


DECIMAL_TEXT = (
    '{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},'
    '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}'
)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (INT32_SCHEMA, '"int"'),
        (Schema(Type.INT16), '{"type":"int","connect.type":"int16"}'),
        (OPTIONAL_STRING_SCHEMA, '["null","string"]'),
        (decimal_schema(2), DECIMAL_TEXT),
        (
            DATE_SCHEMA,
            '{"type":"int","connect.version":1,"connect.name":"org.apache.kafka.connect.data.Date","logicalType":"date"}',
        ),
        (
            SchemaBuilder(Type.STRING).optional().default("x").doc("why").build(),
            '[{"type":"string","connect.doc":"why","connect.default":"x"},"null"]',
        ),
        (
            SchemaBuilder(Type.STRUCT).field("a", OPTIONAL_INT32_SCHEMA).build(),
            '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro",'
            '"fields":[{"name":"a","type":["null","int"],"default":null}]}',
        ),
        (
            SchemaBuilder(Type.STRUCT).name("shop.Order").version(3).field("id", INT64_SCHEMA).build(),
            '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}],'
            '"connect.version":3,"connect.name":"shop.Order"}',
        ),
        (
            SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build(),
            '{"type":"array","items":{"type":"record","name":"MapEntry","namespace":"io.confluent.connect.avro",'
            '"fields":[{"name":"key","type":"int"},{"name":"value","type":"string"}]}}',
        ),
        (SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(), '{"type":"map","values":"int"}'),
    ],
)
def test_schemas_are_those_of_confluents_converter(schema: Schema, text: str) -> None:
    assert _text(schema) == text


def test_a_type_that_occurs_twice_is_defined_once() -> None:
    inner = SchemaBuilder(Type.STRUCT).name("shop.Price").field("amount", decimal_schema(2))
    optional = SchemaBuilder(Type.STRUCT).name("shop.Price").field("amount", decimal_schema(2)).optional()
    outer = SchemaBuilder(Type.STRUCT).name("shop.Order").field("net", inner.build()).field("tax", optional.build())
    fields = json.loads(_text(outer.build()))["fields"]
    assert fields[0]["type"]["name"] == "Price" and "namespace" not in fields[0]["type"]
    assert fields[1]["type"] == ["null", "Price"]


def test_two_schemas_of_one_name_are_refused() -> None:
    one = SchemaBuilder(Type.STRUCT).name("a.B").field("x", INT32_SCHEMA).build()
    other = SchemaBuilder(Type.STRUCT).name("a.B").field("y", INT32_SCHEMA).build()
    with pytest.raises(DataException, match=r"Two different schemas have the name a\.B"):
        _text(SchemaBuilder(Type.STRUCT).name("a.C").field("one", one).field("other", other).build())


def test_names_are_scrubbed_if_wanted() -> None:
    schema = SchemaBuilder(Type.STRUCT).name("my-db.Some Table").field("1st", INT32_SCHEMA).build()
    with pytest.raises(DataException, match=r"scrub\.invalid\.names=true"):
        _text(schema)
    found = json.loads(_text(schema, scrub_invalid_names=True))
    assert (found["namespace"], found["name"], found["fields"][0]["name"]) == ("my_db", "Some_Table", "x1st")
    assert scrubbed("ä") == "_C3_A4"
    value = Struct(schema, {"1st": 5})
    assert _cycle(schema, value, scrub_invalid_names=True)[1]["x1st"] == 5


def test_enums_and_unions_of_avro() -> None:
    text = (
        '{"type":"record","name":"R","namespace":"n","fields":['
        '{"name":"e","type":{"type":"enum","name":"Color","symbols":["RED","BLUE"]}},'
        '{"name":"u","type":["null","int",{"type":"record","name":"X","fields":[{"name":"a","type":"string"}]}]}]}'
    )
    plain = _to_connect(text)
    enum, union = plain.fields[0].schema, plain.fields[1].schema
    assert enum.type is Type.STRING and (enum.parameters or {})["io.confluent.connect.avro.Enum.RED"] == "RED"
    assert union.name == "io.confluent.connect.avro.Union" and union.optional
    assert [field.name for field in union.fields] == ["int", "X"]
    enhanced = _to_connect(text, enhanced_avro_schema_support=True)
    assert [field.name for field in enhanced.fields[1].schema.fields] == ["int", "n.X"]
    general = _to_connect(text, generalized_sum_type_support=True).fields[1].schema
    assert [field.name for field in general.fields] == ["connect_union_field_1", "connect_union_field_2"]


@pytest.mark.parametrize("options", [{"enhanced_avro_schema_support": True}, {"generalized_sum_type_support": True}])
def test_enums_and_unions_come_back(options: dict[str, bool]) -> None:
    text = (
        '{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"Color","symbols":["RED","BLUE"]}},'
        '{"name":"u","type":["null","string",{"type":"fixed","name":"Two","size":2},{"type":"array","items":"int"}]}]}'
    )
    schema = _to_connect(text, **options)
    union = schema.fields[1].schema
    for index, member in enumerate(("x", b"ab", [1, 2])):
        value = Struct(schema, {"e": "BLUE", "u": Struct(union, {union.fields[index].name: member})})
        found, read = _cycle(schema, value, **options)
        assert read["e"] == "BLUE" and read["u"].get(found.fields[1].schema.fields[index].name) == member
    assert _cycle(schema, Struct(schema, {"e": "RED"}), **options)[1]["u"] is None


def test_docs_and_defaults_of_avro_become_parameters() -> None:
    text = (
        '{"type":"record","name":"R","doc":"rows","fields":[{"name":"a","type":"int","doc":"first","default":5},'
        '{"name":"b","type":["null","string"],"default":null}]}'
    )
    found = _to_connect(text)
    assert found.parameters == {
        "io.confluent.connect.avro.record.doc": "rows",
        "io.confluent.connect.avro.field.doc.a": "first",
    }
    assert found.fields[0].schema.default == 5
    assert found.fields[0].schema.parameters == {"io.confluent.connect.avro.field.default": "true"}
    again = json.loads(_text(found))
    assert (again["doc"], again["fields"][0]["doc"], again["fields"][0]["default"]) == ("rows", "first", 5)
    assert "connect.default" not in json.dumps(again)


def test_fixed_decimals_are_padded() -> None:
    text = '{"type":"fixed","name":"D","size":4,"logicalType":"decimal","precision":8,"scale":2}'
    schema = _to_connect(text)
    assert (schema.parameters or {})["connect.decimal.precision"] == "8"
    AvroWriters(OPTIONS).writer(schema, avro_type(json.loads(text), {}))(out := bytearray(), Decimal("-1.28"))
    assert bytes(out).hex() == "ffffff80"


def test_recursive_schemas_are_refused_with_their_name() -> None:
    with pytest.raises(DataException, match="The Avro schema Node refers to itself"):
        _to_connect('{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}')


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_random_data_come_back(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    found, read = _cycle(schema, value)
    assert found == schema
    assert read == value or same(read, value)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**31), 2**31 - 1).map(Int32)
        | st.integers(-(2**63), 2**63 - 1).map(Int64)
        | st.floats(allow_nan=False)
        | st.text(st.characters(codec="utf-8"))
        | st.binary(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_data_without_schema_come_back(value: Any) -> None:
    AvroWriters(OPTIONS).writer(None, ANYTHING_TYPE)(out := bytearray(), value)
    assert reader(None, ANYTHING_TYPE)(AvroInput(bytes(out))) == value


@given(st.binary(max_size=40))
@settings(max_examples=100, deadline=None)
def test_damaged_bytes_raise_data_exceptions(damaged: bytes) -> None:
    schema = SchemaBuilder(Type.STRUCT).name("R")
    schema.field("a", SchemaBuilder.array(OPTIONAL_STRING_SCHEMA).build()).field("b", TIMESTAMP_SCHEMA)
    made = AvroSchemaMaker(OPTIONS).convert(schema.build())
    try:
        reader(schema.build(), made)(AvroInput(damaged))
    except DataException:
        pass


def test_fastavro_reads_what_is_written() -> None:
    fastavro = pytest.importorskip("fastavro")
    from io import BytesIO

    schema = SchemaBuilder(Type.STRUCT).name("a.R").field("n", INT64_SCHEMA).field("t", OPTIONAL_STRING_SCHEMA).build()
    text = _text(schema)
    AvroWriters(OPTIONS).writer(schema, avro_type(json.loads(text), {}))(out := bytearray(), Struct(schema, {"n": -7}))
    parsed = fastavro.parse_schema(json.loads(text))
    assert fastavro.schemaless_reader(BytesIO(bytes(out)), parsed, None) == {"n": -7, "t": None}


def test_values_go_through_the_registry(server: RegistryServer) -> None:
    converter = _made(server)
    schema = SchemaBuilder(Type.STRUCT).name("shop.Order").field("at", TIMESTAMP_SCHEMA).build()
    data = converter.from_connect_data("orders", schema, Struct(schema, {"at": Instant(5)}))
    assert data is not None and data[:5] == struct.pack(">bI", 0, 1) and data[5:] == b"\x0a"
    registry = SchemaRegistryClient(server.url)
    assert registry.get_subjects() == ["orders-value"]
    found = converter.to_connect_data("orders", data)
    assert found.value["at"] == Instant(5)
    assert found.schema is not None and (found.schema.name, found.schema.version) == ("shop.Order", 1)
    before = len(server.state.requests)
    converter.to_connect_data("orders", data)
    converter.from_connect_data("orders", schema, Struct(schema, {"at": Instant(6)}))
    assert len(server.state.requests) == before
    assert converter.to_connect_data("orders", None).value is None
    assert converter.from_connect_data("orders", None, None) is None


def test_versions_are_not_needed_for_reading(server: RegistryServer) -> None:
    converter = _made(server)
    data = converter.from_connect_data("t", INT32_SCHEMA, 5)
    converter.registry.get_schema(1)
    server.state.failures.append((404, {"error_code": 404, "message": "no such path"}))
    found = converter.to_connect_data("t", data)
    assert found.value == 5 and found.schema is not None and found.schema.version is None


def test_subjects_follow_the_strategy(server: RegistryServer) -> None:
    strategy = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
    converter = _made(server, value_subject_name_strategy=strategy)
    schema = SchemaBuilder(Type.STRUCT).name("shop.Order").field("id", INT32_SCHEMA).build()
    data = converter.from_connect_data("t", schema, Struct(schema, {"id": 1}))
    assert SchemaRegistryClient(server.url).get_subjects() == ["t-shop.Order"]
    assert converter.to_connect_data("t", data).value["id"] == 1
    keys = _made(server, is_key=True)
    keys.from_connect_data("t", INT32_SCHEMA, 5)
    assert "t-key" in SchemaRegistryClient(server.url).get_subjects()


def test_the_latest_version_decides_what_is_written(server: RegistryServer) -> None:
    latest = (
        '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"extra","type":"string","default":"none"},'
        '{"name":"id","type":"long"}]}'
    )
    SchemaRegistryClient(server.url).register_schema("t-value", RegistrySchema(latest))
    converter = _made(server, auto_register_schemas="false", use_latest_version="true")
    schema = SchemaBuilder(Type.STRUCT).name("shop.Order").field("id", INT64_SCHEMA).build()
    data = converter.from_connect_data("t", schema, Struct(schema, {"id": 3}))
    found = converter.to_connect_data("t", data)
    assert (found.value["extra"], found.value["id"]) == ("none", 3)


def test_an_unknown_schema_is_a_data_exception_and_a_silent_registry_is_retriable(server: RegistryServer) -> None:
    converter = _made(server, auto_register_schemas="false")
    with pytest.raises(DataException, match="Failed to serialize Avro data from topic t"):
        converter.from_connect_data("t", INT32_SCHEMA, 5)
    with pytest.raises(DataException, match="Failed to deserialize data for topic t to Avro"):
        converter.to_connect_data("t", b"no prefix")
    silent = AvroConverter()
    silent.configure({"schema.registry.url": "http://127.0.0.1:9", "max.retries": "0"})
    with pytest.raises(RetriableException):
        silent.from_connect_data("t", INT32_SCHEMA, 5)


def test_wrong_settings_are_refused(server: RegistryServer, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigException, match=r"schema\.registry\.url"):
        AvroConverter().configure({})
    with pytest.raises(ConfigException, match=r"value\.subject\.name\.strategy"):
        _made(server, value_subject_name_strategy="my.Strategy")
    with pytest.raises(ConfigException, match="exclude each other"):
        _made(server, use_latest_version="true", use_schema_id="5")
    with pytest.raises(ConfigException, match=r"set basic\.auth\.user\.info"):
        _made(server, basic_auth_credentials_source="USER_INFO")
    _made(server, some_other="5")
    assert "has no settings some.other" in caplog.text


def test_credentials_are_sent(server: RegistryServer) -> None:
    server.state.authorization = "Basic dTpw"
    auth: dict[str, Any] = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "u:p"}
    assert _made(server, **auth).from_connect_data("t", INT32_SCHEMA, 5) is not None
    with pytest.raises(ConfigException, match="check the credentials"):
        _made(server).from_connect_data("t", INT32_SCHEMA, 5)
