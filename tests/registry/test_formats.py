"""Texts of schemas: what stays, what is the same in another layout, and Protobuf's two forms."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2

from kafkapy.registry.formats import parse
from kafkapy.registry.formats.references import Documents
from tests.waiting import HANG_SECONDS

EVERYTHING = """syntax = "proto2";
package shop.v1;

import "google/protobuf/timestamp.proto";

option java_package = "com.shop";
option (team) = "a \\"b\\"";

message Order {
  reserved 20, 30 to max;
  reserved "gone";
  option deprecated = true;
  required int32 id = 1 [default = -5];
  optional string name = 2 [default = "a\\nb", deprecated = true, (mark) = { level: 3, tags: ["x", "y"] }];
  map<string, Order.Line> lines = 3;
  optional group Extra = 4 {
    optional bytes raw = 1;
  }
  optional google.protobuf.Timestamp at = 5;
  oneof kind {
    string one = 6;
    Color two = 7;
  }
  extensions 100 to 199;

  message Line {
    repeated float price = 1 [packed = true];
  }

  enum Color {
    reserved 5;
    option allow_alias = true;
    RED = 0;
    ROT = 0 [deprecated = true];
  }
}

extend Order {
  optional int32 more = 100 [json_name = "MORE"];
}

service Shop {
  rpc Buy (stream Order) returns (Order) {
    option deprecated = true;
  }
}
"""


def test_protobuf_text_and_descriptor_are_one_schema() -> None:
    schema = parse("PROTOBUF", EVERYTHING)
    assert schema.canonical == EVERYTHING
    again = parse("PROTOBUF", schema.normalized)
    assert again.identity == schema.identity
    encoded = schema.formatted("serialized")
    from_descriptor = parse("PROTOBUF", encoded)
    assert from_descriptor.identity == schema.identity
    assert from_descriptor.canonical == schema.normalized
    assert schema.incompatibilities(from_descriptor) == []


def test_protobuf_escapes() -> None:
    import base64

    proto = descriptor_pb2.FileDescriptorProto.FromString(
        base64.b64decode(parse("PROTOBUF", EVERYTHING).formatted("serialized"))
    )
    assert proto.message_type[0].field[1].default_value == "a\nb"


def test_avro_canonical_form_is_the_java_librarys() -> None:
    text = """ {"fields": [ {"type": {"type": "enum", "symbols": ["A"], "name": "E", "namespace": "x"}, "name": "a", "doc": "d"},
      {"name": "b", "type": ["null", "x.E"], "default": null, "extra": 1}, {"name": "c", "type": {"type": "string"}} ],
      "name": "x.R", "type": "record", "aliases": ["Old"]} """
    expected = (
        '{"type":"record","name":"R","namespace":"x","fields":[{"name":"a","type":{"type":"enum","name":"E","symbols":["A"]},'
        '"doc":"d"},{"name":"b","type":["null","E"],"default":null,"extra":1},{"name":"c","type":"string"}],"aliases":["Old"]}'
    )
    schema = parse("AVRO", text)
    assert schema.canonical == expected
    assert parse("AVRO", schema.canonical).canonical == expected


def test_avro_references_stay_names_unless_they_are_resolved() -> None:
    user = json.dumps({"type": "record", "name": "User", "namespace": "x", "fields": []})
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "user", "type": "x.User"}]})
    schema = parse("AVRO", order, Documents.of({"x.User": user}))
    assert json.loads(schema.canonical)["fields"][0]["type"] == "x.User"
    assert json.loads(schema.formatted("resolved"))["fields"][0]["type"]["name"] == "User"


def test_json_keeps_the_order_and_normalizes_it() -> None:
    schema = parse("JSON", '{ "type": "object", "title": "ä", "minProperties": 1.0 }')
    assert schema.canonical == '{"type":"object","title":"ä","minProperties":1.0}'
    assert schema.normalized == '{"minProperties":1.0,"title":"ä","type":"object"}'


@pytest.mark.parametrize("module", ["api", "compatibility", "formats", "levels", "service"])
def test_modules_can_be_imported_first(module: str) -> None:
    """Formats and compatibility use each other's parts."""
    subprocess.run([sys.executable, "-c", f"import kafkapy.registry.{module}"], check=True, timeout=HANG_SECONDS)
