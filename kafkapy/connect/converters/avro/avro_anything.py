"""Values without a schema in Avro: a record `Anything` with a field for each type, one of which has the value."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.connect.converters.avro.avro_encoding import DOUBLE, FLOAT, AvroInput, put_bytes, put_long, put_text
from kafkapy.connect.converters.avro.avro_options import MAP_ENTRY, NAMESPACE
from kafkapy.connect.converters.avro.avro_type import AvroFieldNode, AvroTypeNode
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.scalars import Float32, Int8, Int16, Int32, Int64
from kafkapy.connect.errors import DataException

ANYTHING: Final = f"{NAMESPACE}.Anything"
_FIELDS: Final = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")
_BOOLEAN, _BYTES, _DOUBLE, _FLOAT, _INT, _LONG, _STRING, _ARRAY, _MAP = range(len(_FIELDS))


def _anything_type() -> AvroTypeNode:
    made, entry = AvroTypeNode("record", ANYTHING), AvroTypeNode("record", f"{NAMESPACE}.{MAP_ENTRY}")
    entry.fields = [AvroFieldNode(name, made) for name in ("key", "value")]
    kinds = {"array": AvroTypeNode("array", items=made), "map": AvroTypeNode("array", items=entry)}
    for name in _FIELDS:
        union = AvroTypeNode("union", branches=[AvroTypeNode("null"), kinds.get(name) or AvroTypeNode(name)])
        made.fields.append(AvroFieldNode(name, union, default=None))
    return made


ANYTHING_TYPE: Final = _anything_type()
"""The record's type."""


def put_anything(out: bytearray, value: Any) -> None:
    """Append a value without a schema.

    Args:
        out: Grows.
        value: None, a number, a boolean, text, bytes, a list or a dictionary.

    Raises:
        DataException: It is of another type.

    Example:
        >>> put_anything(out := bytearray(), "a"), bytes(out).hex()
        (None, '0000000000000202610000')
    """
    place = _place(value)
    if place is None:
        out += bytes(len(_FIELDS))
        return
    out += bytes(place)
    out.append(2)
    match place:
        case 0:
            out.append(value)
        case 1:
            put_bytes(out, value)
        case 2:
            out += DOUBLE.pack(value)
        case 3:
            out += FLOAT.pack(value)
        case 4 | 5:
            put_long(out, value)
        case 6:
            put_text(out, value)
        case 7:
            _put_items(out, [(each,) for each in value])
        case 8:
            _put_items(out, list(value.items()))
    out += bytes(len(_FIELDS) - 1 - place)


def _put_items(out: bytearray, items: list[tuple[Any, ...]]) -> None:
    if items:
        put_long(out, len(items))
        for item in items:
            for each in item:
                put_anything(out, each)
    out.append(0)


def _place(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, Float32):
        return _FLOAT
    if isinstance(value, int):
        if isinstance(value, Int8 | Int16 | Int32):
            return _INT
        if type(value) in (int, Int64) and -(1 << 63) <= value < 1 << 63:
            return _LONG
    for kind, place in ((float, _DOUBLE), (bytes, _BYTES), (str, _STRING), (list, _ARRAY), (dict, _MAP)):
        if isinstance(value, kind):
            return place
    raise DataException(f"Unknown Java type for schemaless data: class {java_class_name(value)}")


def read_anything(source: AvroInput) -> Any:
    """Read a value without a schema. Raises DataException."""
    source.enter()
    found: Any = None
    for place in range(len(_FIELDS)):
        if source.long():
            value = _read(source, place)
            found = value if found is None else found
    source.leave()
    return found


def _read(source: AvroInput, place: int) -> Any:
    match place:
        case 0:
            return bool(source.take(1)[0])
        case 1:
            return source.take(source.long())
        case 2:
            return DOUBLE.unpack(source.take(8))[0]
        case 3:
            return Float32(FLOAT.unpack(source.take(4))[0])
        case 4:
            return Int32(source.long())
        case 5:
            return Int64(source.long())
        case 6:
            return source.text()
        case 7:
            items = []
            while count := source.count():
                items += [read_anything(source) for _ in range(count)]
            return items
    entries: dict[Any, Any] = {}
    while count := source.count():
        for _ in range(count):
            key = as_key(read_anything(source))
            entries[key] = read_anything(source)
    return entries
