"""Protobuf as columns."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("google.protobuf")
pytest.importorskip("pyarrow")

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2, wrappers_pb2

from kafkapy.schemas import ProtobufSerializer, SchemaDeserializationError, SchemaRegistryClient, arrow
from kafkapy.schemas.errors import SerdeError
from kafkapy.schemas.protobuf_columns import MessageRows
from tests.schemas.messages import Order, User

FIELD = descriptor_pb2.FieldDescriptorProto
PLAIN = [
    ("whole", FIELD.TYPE_SINT32, pa.int32(), -5),
    ("unsigned", FIELD.TYPE_UINT32, pa.int64(), 2**32 - 1),
    ("large", FIELD.TYPE_UINT64, pa.decimal128(20, 0), Decimal(2**64 - 1)),
    ("half", FIELD.TYPE_FLOAT, pa.float32(), 0.5),
    ("yes", FIELD.TYPE_BOOL, pa.bool_(), True),
    ("data", FIELD.TYPE_BYTES, pa.binary(), b"\xff"),
    ("text", FIELD.TYPE_STRING, pa.string(), "ü"),
]


def message_of(*fields: Any, **parts: Any) -> Any:
    """A class of one message with an enum, a map, and itself to be named."""
    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="p", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"])
    message = file.message_type.add(name="All")
    message.enum_type.add(name="Kind").value.extend(
        [descriptor_pb2.EnumValueDescriptorProto(name=name, number=number) for number, name in enumerate(("A", "B"))]
    )
    entry = message.nested_type.add(name="CountsEntry", options=descriptor_pb2.MessageOptions(map_entry=True))
    entry.field.append(FIELD(name="key", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL))
    entry.field.append(FIELD(name="value", number=2, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL))
    message.field.extend(fields)
    for name in parts.get("oneofs", ()):
        message.oneof_decl.add(name=name)
    pool = descriptor_pool.DescriptorPool()
    for known in (timestamp_pb2, wrappers_pb2):
        proto = descriptor_pb2.FileDescriptorProto()
        known.DESCRIPTOR.CopyToProto(proto)
        pool.Add(proto)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.All"))


def field(name: str, number: int, kind: int, type_name: str = "", repeated: bool = False, **more: Any) -> Any:
    label = FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL
    return FIELD(name=name, number=number, type=kind, type_name=type_name or None, label=label, **more)


def read(rows: MessageRows, message: Any) -> Any:
    """As a column has it."""
    return pa.array([rows.read(b"\x00" + message.SerializeToString())], rows.type)[0].as_py()


def test_plain_fields_have_their_types_and_defaults() -> None:
    made = message_of(*(field(name, number + 1, kind) for number, (name, kind, _, _) in enumerate(PLAIN)))
    rows = MessageRows(made.DESCRIPTOR)
    assert rows.type == pa.struct([(name, type) for name, _, type, _ in PLAIN])
    values = {name: int(value) if isinstance(value, Decimal) else value for name, _, _, value in PLAIN}
    assert read(rows, made(**values)) == {name: value for name, _, _, value in PLAIN}
    assert read(rows, made())["text"] == ""


def test_what_is_not_set_is_null_if_protobuf_can_tell() -> None:
    made = message_of(
        field("maybe", 1, FIELD.TYPE_INT32, oneof_index=0, proto3_optional=True),
        field("at", 2, FIELD.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
        field("wrapped", 3, FIELD.TYPE_MESSAGE, ".google.protobuf.StringValue"),
        oneofs=["_maybe"],
    )
    rows = MessageRows(made.DESCRIPTOR)
    assert rows.type.field("at").type == pa.timestamp("us", "UTC")
    assert read(rows, made()) == {"maybe": None, "at": None, "wrapped": None}
    full = made(maybe=0)
    full.wrapped.value = "w"
    full.at.seconds, full.at.nanos = 1, 500_000_000
    found = read(rows, full)
    assert (found["maybe"], found["wrapped"], found["at"].timestamp()) == (0, "w", 1.5)


def test_lists_maps_and_enums() -> None:
    made = message_of(
        field("kinds", 1, FIELD.TYPE_ENUM, ".p.All.Kind", repeated=True),
        field("counts", 2, FIELD.TYPE_MESSAGE, ".p.All.CountsEntry", repeated=True),
    )
    rows = MessageRows(made.DESCRIPTOR)
    assert read(rows, made(kinds=[0, 1, 7], counts={"a": 1})) == {"kinds": ["A", "B", "7"], "counts": [("a", 1)]}


class Rows(arrow.ColumnDecoder):
    """Without a registry."""

    def __init__(self, rows: MessageRows) -> None:
        self.registry, self.type, self._rows = None, rows.type, rows

    def reader(self, schema_id: int | None) -> Any:
        return self._rows.read


def test_whatever_bytes_hold_it_is_their_own_fault() -> None:
    made = message_of(
        field("at", 1, FIELD.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
        field("kind", 2, FIELD.TYPE_ENUM, ".p.All.Kind"),
        field("text", 3, FIELD.TYPE_STRING),
        field("counts", 4, FIELD.TYPE_MESSAGE, ".p.All.CountsEntry", repeated=True),
    )
    far = made()
    far.at.seconds = 2**63 - 1
    odd = made(kind=-1, text="\0", counts={"": 1, "\n": 2})
    odd.at.seconds, odd.at.nanos = -(2**40), -1
    good = [b"\0" + each.SerializeToString() for each in (made(text="a"), far, odd)]
    values = [*good, b"\0\x1a\x01\xff", b"\0\x1a\x05a", b"", b"\x02\x02", b"\xff" * 30, b"\0\x0a" + b"\x7f"]
    decoder = Rows(MessageRows(made.DESCRIPTOR))
    found, failures = decoder.read(values)
    assert sorted(failures) == [1, 3, 4, 5, 6, 7, 8]
    assert found.field("kind").to_pylist()[::2][:2] == ["A", "-1"]
    for row, value in enumerate(values):
        alone, failed = decoder.read([value])
        assert (0 in failed) == (row in failures)
        assert alone.to_string() == found.slice(row, 1).to_string()


def test_a_message_that_contains_itself_has_no_type() -> None:
    made = message_of(field("next", 1, FIELD.TYPE_MESSAGE, ".p.All"))
    with pytest.raises(SerdeError, match=r"p\.All contains itself"):
        MessageRows(made.DESCRIPTOR)


def test_values_of_a_registry(registry: SchemaRegistryClient) -> None:
    write = ProtobufSerializer(registry, User).serialize
    values = [write("t", [], User(id=n, name=f"u{n}")) for n in range(3)]
    table = pa.table({"value": pa.array([values[0], None, *values[1:]], pa.binary())})
    found = arrow.decode(table, registry).column("value").to_pylist()
    assert found == [{"id": 0, "name": "u0"}, None, {"id": 1, "name": "u1"}, {"id": 2, "name": "u2"}]
    assert values[0] is not None
    broken = pa.table({"value": pa.array([values[0], values[0][:6] + b"\xff"], pa.binary())})
    assert arrow.decode(broken, registry, errors="null").column("value").null_count == 1


def test_other_messages_of_the_file_are_told_apart(registry: SchemaRegistryClient) -> None:
    value = ProtobufSerializer(registry, Order).serialize("t", [], Order())
    with pytest.raises(SchemaDeserializationError, match=r"is a shop\.Order, and columns .* shop\.Empty"):
        arrow.decode(pa.table({"value": pa.array([value], pa.binary())}), registry)
