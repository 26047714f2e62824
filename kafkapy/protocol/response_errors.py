"""Finds the error codes in a response by its schema (Kafka's `AbstractResponse.errorCounts`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct

_CODE = "error_code"
_WITHOUT_PARTITIONS = frozenset({ApiKey.METADATA})
"""Not counted per partition: these are requested often for all partitions, so counting would cost too much."""


class _Plan(NamedTuple):
    """The positions of error codes in a struct: its own, and the lists that contain some."""

    has_code: bool
    lists: tuple[tuple[str, _Plan], ...]

    @property
    def is_empty(self) -> bool:
        return not self.has_code and not self.lists


def error_codes(response: Message) -> Iterator[int]:
    """Yield the codes other than 0, one for each occurrence."""
    return _codes(response, _plan_of(type(response)))


@cache
def _plan_of(message: type[Message]) -> _Plan:
    return _plan(message, message, 1 if message.API_KEY in _WITHOUT_PARTITIONS else 9)


def _plan(struct: type[Struct], message: type[Message], depth: int) -> _Plan:
    names = {field.name for field in struct.FIELDS}
    lists: list[tuple[str, _Plan]] = []
    for field in struct.FIELDS:
        if depth and field.element_type and field.struct_name:
            inner = _plan(getattr(message, field.struct_name), message, depth - 1)
            if not inner.is_empty:
                lists.append((field.name, inner))
    return _Plan(_CODE in names, tuple(lists))


def _codes(struct: Any, plan: _Plan) -> Iterator[int]:
    if plan.has_code and struct.error_code:
        yield struct.error_code
    for name, inner in plan.lists:
        for item in getattr(struct, name) or ():
            yield from _codes(item, inner)
