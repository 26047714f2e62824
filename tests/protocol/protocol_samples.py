"""Deterministic values for any message in any version."""

from __future__ import annotations

from itertools import count
from typing import Any, TypeVar

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Field, Struct, StructType

S = TypeVar("S", bound=Struct)

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


def populated(cls: type[S], version: int, nulls: bool = False, extremes: bool = True) -> S:
    """A message whose values differ from each other and from their defaults.

    Fields that the version does not have keep their defaults. `nulls`: what may be null is None, arrays, strings and
    bytes are empty, tagged fields keep their defaults. Else everything is there: arrays have two elements, and here and
    there is a string whose varint length takes two bytes. `extremes`: some numbers are the ends of their range; without
    them all are small and positive.
    """
    found: S = _Sampler(version, nulls, extremes).struct(cls)
    return found


class _Sampler:
    def __init__(self, version: int, nulls: bool, extremes: bool) -> None:
        self._version = version
        self._nulls = nulls
        self._extremes = extremes
        self._numbers = count(1)

    def struct(self, cls: Any) -> Any:
        values = {
            field.name: self._value(cls, field)
            for field in cls.FIELDS
            if field.versions.includes(self._version) and not (self._nulls and field.tag is not None)
        }
        return cls(**values)

    def _value(self, cls: StructType, field: Field) -> Any:
        if self._nulls and field.nullable.includes(self._version):
            return None
        if field.element_type:
            return [self._single(cls, field.element_type) for _ in range(0 if self._nulls else 2)]
        return self._single(cls, field.type)

    def _single(self, cls: StructType, type: str) -> Any:
        if type[0].isupper():
            return self.struct(cls.struct_named(type))
        number = next(self._numbers)
        if type in _BITS:
            end = 1 << _BITS[type]
            ends = {0: -end, 1: end - 1} if self._extremes else {}
            return ends.get(number % 5, number % 100 + 2)
        if type == "bool":
            return True
        if type == "float64":
            return number / 4
        if type == "uuid":
            return bytes((number % 200 + 1,)) * 16
        text = "" if self._nulls else f"é-{number}" + "x" * (130 if number % 7 == 0 else 0)
        return text if type == "string" else text.encode()


def every_version() -> list[tuple[type[Message], int]]:
    """All requests and responses of all APIs in all versions."""
    return [
        (cls, version)
        for api in ApiKey
        for cls in (api.request, api.response)
        for version in range(api.min_version, api.max_version + 1)
    ]
