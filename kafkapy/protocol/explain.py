"""Explains why a message could not be encoded, after the encoder, which leaves the checks to `struct.pack`, has failed."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.protocol import wire
from kafkapy.protocol.schema import Struct, StructType
from kafkapy.protocol.source import FORMAT


def explain(message: Struct, version: int) -> str:
    """Return which value cannot be encoded: "FetchRequest version 12: topics[0].topic is None, not a string"."""
    return f"{type(message).__name__} version {version}: {_value_problem(message, version) or 'cannot be encoded'}"


def _value_problem(struct: Struct, version: int) -> str:
    cls = type(struct)
    for field in cls.FIELDS:
        if not field.versions.includes(version):
            continue
        value = getattr(struct, field.name)
        if value is None and (field.nullable.includes(version) or field.tag is not None):
            continue
        if not field.element_type:
            wrong = _problem(cls, field.type, value, version)
        elif not isinstance(value, Sequence) or isinstance(value, str):
            wrong = f" is {value!r}, not an array"
        else:
            wrong = ""
            for index, element in enumerate(value):
                found = _problem(cls, field.element_type, element, version)
                if found:
                    wrong = f"[{index}]{found}"
                    break
        if wrong:
            return f"{field.name}{wrong}"
    return ""


def _problem(cls: StructType, type: str, value: object, version: int) -> str:
    """Return what is wrong with a value, as the continuation of its name; "" if nothing."""
    if type[0].isupper():
        if not isinstance(value, cls.struct_named(type)):
            return f" is {value!r}, not a {type}"
        inner = _value_problem(value, version)
        return inner and f".{inner}"
    try:
        if type in FORMAT:
            wire.packer(FORMAT[type]).pack(value)
        elif type == "string":
            if len(value.encode()) > wire.MAX_STRING:  # type: ignore[attr-defined]
                return f" is too long for a string: {len(value.encode())} bytes"  # type: ignore[attr-defined]
        else:
            b"".join([value])  # type: ignore[list-item]
    except Exception:
        return f" is {value!r}, not {'an' if type[0] == 'i' else 'a'} {type}"
    return ""
