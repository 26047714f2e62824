"""Formats of files: what other libraries read of them."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet
import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.formats import format_name, make_format
from kafkapy.connect.connectors.objects.sink_config import sink_config_def
from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.converters.avro.avro_options import ENUM
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException

INNER = SchemaBuilder(Type.STRUCT).field("x", INT32_SCHEMA).build()
ROW = (
    SchemaBuilder(Type.STRUCT)
    .name("org.example.Row")
    .field("i", INT8_SCHEMA)
    .field("l", INT64_SCHEMA)
    .field("f", FLOAT32_SCHEMA)
    .field("d", FLOAT64_SCHEMA)
    .field("b", BOOLEAN_SCHEMA)
    .field("s", OPTIONAL_STRING_SCHEMA)
    .field("y", BYTES_SCHEMA)
    .field("inner", INNER)
    .field("same", INNER)
    .field("list", SchemaBuilder.array(INT32_SCHEMA).build())
    .field("map", SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build())
    .field("by_number", SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build())
    .field("money", decimal_schema(2))
    .field("day", DATE_SCHEMA)
    .field("time", TIME_SCHEMA)
    .field("at", TIMESTAMP_SCHEMA)
    .build()
)
AT = dt.datetime(2024, 2, 29, 12, 34, 56, 789_000, dt.UTC)


def row() -> Struct:
    inner = Struct(INNER, {"x": 5})
    values = {"i": 1, "l": 2, "f": 0.5, "d": 0.25, "b": True, "s": None, "y": b"\0", "inner": inner, "same": inner}
    more = {"list": [1, 2], "map": {"a": 1}, "by_number": {7: "b"}, "money": Decimal("1.25")}
    return Struct(ROW, {**values, **more, "day": AT.date(), "time": AT.timetz().replace(tzinfo=None), "at": AT})


EXPECTED: dict[str, Any] = {
    "i": 1,
    "l": 2,
    "f": 0.5,
    "d": 0.25,
    "b": True,
    "s": None,
    "y": b"\0",
    "inner": {"x": 5},
    "same": {"x": 5},
    "list": [1, 2],
    "money": Decimal("1.25"),
    "day": AT.date(),
    "time": AT.time(),
    "at": AT,
}


def written(name: str, schema: Schema | None, *values: Any, **configs: str) -> tuple[str, bytes]:
    config = sink_config_def().parse(
        {"flush.size": "1", **{key.replace("_", "."): text for key, text in configs.items()}}
    )
    found = make_format(name, config)
    spool = Spool()
    encoder = found.encoder(spool, schema, "name")
    for value in values:
        encoder.append(encoder.prepared(value))
    encoder.finish()
    data = Path(spool.complete()).read_bytes()
    spool.discard()
    return found.extension, data


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_avro_files_have_all_types(codec: str) -> None:
    extension, data = written("Avro", ROW, row(), row(), avro_codec=codec)
    assert extension == ".avro"
    found = list(fastavro.reader(io.BytesIO(data)))
    assert found == 2 * [{**EXPECTED, "map": {"a": 1}, "by_number": [{"key": 7, "value": "b"}]}]
    assert written("Avro", ROW, row(), row(), avro_codec=codec)[1] == data


def test_avro_files_have_enums_and_blocks_of_64_kb() -> None:
    color = SchemaBuilder(Type.STRING).parameter(ENUM, "a.Color").parameter(f"{ENUM}.RED", "RED").build()
    schema = SchemaBuilder(Type.STRUCT).name("a.Car").field("color", color).build()
    _, data = written("Avro", schema, *[Struct(schema, {"color": "RED"})] * 64_001)
    opened = fastavro.block_reader(io.BytesIO(data))
    assert json.loads(opened.metadata["avro.schema"])["fields"][0]["type"]["symbols"] == ["RED"]
    assert [block.num_records for block in opened] == [64_000, 1]
    plain = written("Avro", schema, Struct(schema, {"color": "RED"}), enhanced_avro_schema_support="false")[1]
    assert list(fastavro.reader(io.BytesIO(plain))) == [{"color": "RED"}]
    assert b"symbols" not in plain


def test_parquet_files_have_all_types() -> None:
    extension, data = written("Parquet", ROW, *(row() for _ in range(5001)))
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    assert (extension, table.num_rows) == (".snappy.parquet", 5001)
    assert table.slice(5000).to_pylist() == [{**EXPECTED, "map": [("a", 1)], "by_number": [(7, "b")]}]


def test_lines_are_compressed_if_wanted() -> None:
    extension, data = written("Json", None, {"a": 1}, [2], s3_compression_type="gzip")
    assert (extension, gzip.decompress(data)) == (".json.gz", b'{"a":1}\n[2]\n')
    assert written("Json", None, {"a": 1}, [2], s3_compression_type="gzip")[1] == data


def test_bytes_are_separated() -> None:
    assert written("ByteArray", None, b"a", b"b") == (".bin", b"a\nb\n")
    configs = {"format_bytearray_separator": "|", "format_bytearray_extension": ".raw"}
    assert written("ByteArray", None, b"a", b"b", **configs) == (".raw", b"a|b|")
    assert written("String", None, "käse", 5) == (".txt", "käse\n5\n".encode())


def test_what_a_format_cannot_have_is_said() -> None:
    with pytest.raises(DataException, match="ByteArrayConverter"):
        written("ByteArray", None, "text")
    with pytest.raises(DataException, match="structs with a schema"):
        written("Parquet", STRING_SCHEMA)
    bad = SchemaBuilder(Type.STRUCT).field("no name", INT32_SCHEMA).build()
    with pytest.raises(DataException, match=r"cannot be written as Avro: .*set scrub\.invalid\.names=true"):
        written("Avro", bad)
    _, data = written("Avro", bad, Struct(bad, {"no name": 1}), scrub_invalid_names="true")
    assert list(fastavro.reader(io.BytesIO(data))) == [{"no_name": 1}]


def test_class_names_are_formats() -> None:
    assert format_name("io.confluent.connect.s3.format.bytearray.ByteArrayFormat") == "ByteArray"
    assert format_name("json") == "Json"
    with pytest.raises(ConfigException):
        format_name("org.example.JsonFormat")
