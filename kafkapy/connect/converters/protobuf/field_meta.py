"""Confluent's parameters of fields: an option with the number 1088 in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory

from kafkapy.connect.converters.avro.avro_encoding import AvroInput
from kafkapy.connect.converters.protobuf.protobuf_options import META_FILE
from kafkapy.schemas.known_protos import known_file

_NUMBER: Final = 1088
_CACHED: dict[str, Any] = {}


def _meta_class() -> Any:
    if "class" not in _CACHED:
        pool = descriptor_pool.DescriptorPool()
        pool.Add(known_file("google/protobuf/descriptor.proto"))
        pool.Add(known_file(META_FILE))
        _CACHED["class"] = message_factory.GetMessageClass(pool.FindMessageTypeByName("confluent.Meta"))
    return _CACHED["class"]


def set_parameters(options: Any, parameters: Mapping[str, str]) -> None:
    """Add parameters to the options of a field.

    Args:
        options: `FieldOptions`.
        parameters: By name.
    """
    meta = _meta_class()()
    for name, value in parameters.items():
        meta.params[name] = value
    data = meta.SerializeToString(deterministic=True)
    options.MergeFromString(_varint(_NUMBER << 3 | 2) + _varint(len(data)) + data)


def parameters_of(options: Any) -> dict[str, str]:
    """Return the parameters in the options of a field.

    Args:
        options: `FieldOptions`.
    """
    source = AvroInput(options.SerializeToString())
    while source.at < len(source.data):
        number, kind = divmod(_read_varint(source), 8)
        if kind == 2:
            data = source.take(_read_varint(source))
            if number == _NUMBER:
                return dict(_meta_class().FromString(data).params)
        elif kind == 0:
            _read_varint(source)
        else:
            source.take(8 if kind == 1 else 4)
    return {}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(source: AvroInput) -> int:
    zigzag = source.long()
    return (zigzag << 1) ^ (zigzag >> 63)
