"""Kafka's deserializers by the names of their Java classes: they convert bytes to the text of Java's `toString`."""

from __future__ import annotations

import codecs
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal

from kafkapy.common.java_text import java_double
from kafkapy.tools.common.command_line import ToolError

_PACKAGE = "org.apache.kafka.common.serialization."

Decode = Callable[[bytes], str | bytes]
"""Convert bytes to text. Raises SerializationError."""


class SerializationError(Exception):
    """The bytes are invalid for the deserializer; the text is Kafka's."""


def deserializer(class_name: str, configs: Mapping[str, str], is_key: bool) -> Decode:
    """The deserializer of a Java class name. `configs`: its configs, without the prefix. Raises ToolError for an
    unknown class."""
    simple = class_name.removeprefix(_PACKAGE)
    if simple == "StringDeserializer":
        return _string(configs, is_key)
    decode = _DECODERS.get(simple)
    if decode is None:
        known = ", ".join(_PACKAGE + name for name in ("StringDeserializer", *_DECODERS))
        raise ToolError(f"The deserializer {class_name} is not known here. Known are: {known}")
    return decode


def _string(configs: Mapping[str, str], is_key: bool) -> Decode:
    own = f"{'key' if is_key else 'value'}.deserializer.encoding"
    encoding = configs.get(own) or configs.get("deserializer.encoding") or "UTF-8"
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ToolError(f"The encoding {encoding} of the StringDeserializer is not known") from None
    return lambda content: content.decode(encoding, "replace")


def _number(name: str, format_: str, show: Callable[[float], str] = str) -> Decode:
    size = struct.calcsize(format_)
    unpack = struct.Struct(format_).unpack

    def decode(content: bytes) -> str:
        if len(content) != size:
            raise SerializationError(f"Size of data received by {name} is not {size}")
        return show(unpack(content)[0])

    return decode


def _java_float(value: float) -> str:
    """Java's `Float.toString`: the shortest digits that give the same float."""
    if value != value or value in (float("inf"), float("-inf")) or value == 0:
        return java_double(value)
    for digits in range(1, 10):
        shortest = float(f"{value:.{digits - 1}e}")
        try:
            same = struct.pack(">f", shortest) == struct.pack(">f", value)
        except OverflowError:
            continue
        if same:
            return java_double(float(Decimal(repr(shortest))))
    return java_double(value)


def _boolean(content: bytes) -> str:
    if len(content) != 1:
        raise SerializationError("Size of data received by BooleanDeserializer is not 1")
    if content[0] > 1:
        raise SerializationError(f"Unexpected byte received by BooleanDeserializer: {content[0]}")
    return "true" if content[0] else "false"


def _uuid(content: bytes) -> str:
    try:
        return str(uuid.UUID(content.decode()))
    except ValueError:
        text = content.decode("utf-8", "replace")
        raise SerializationError(f"Error parsing data into UUID: Invalid UUID string: {text}") from None


def _bytes(content: bytes) -> str:
    """Java's `Bytes.toString`."""
    return "".join(chr(b) if 32 <= b <= 126 and b != 92 else f"\\x{b:02X}" for b in content)


def _void(content: bytes) -> str:
    raise SerializationError("Data should be null for a VoidDeserializer.")


_DECODERS: dict[str, Decode] = {
    "ByteArrayDeserializer": lambda content: content,
    "BytesDeserializer": _bytes,
    "ByteBufferDeserializer": lambda content: f"java.nio.HeapByteBuffer[pos=0 lim={len(content)} cap={len(content)}]",
    "ShortDeserializer": _number("ShortDeserializer", ">h"),
    "IntegerDeserializer": _number("IntegerDeserializer", ">i"),
    "LongDeserializer": _number("LongDeserializer", ">q"),
    "FloatDeserializer": _number("Deserializer", ">f", _java_float),
    "DoubleDeserializer": _number("Deserializer", ">d", java_double),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
    "VoidDeserializer": _void,
}
"""The bytes themselves: Java shows a byte array as its class and a meaningless number."""
