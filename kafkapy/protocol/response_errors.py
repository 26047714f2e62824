"""Which error codes a response has (Kafka's `AbstractResponse.errorCounts`), found by its schema."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct

_CODE = "error_code"
_WITHOUT_PARTITIONS = frozenset({ApiKey.METADATA})
"""Asked again and again for all partitions: their errors would cost more to count than they are worth."""


class _Plan(NamedTuple):
    """Where a struct has error codes: of its own, and in which of its lists."""

    has_code: bool
    lists: tuple[tuple[str, _Plan], ...]

    @property
    def is_empty(self) -> bool:
        return not self.has_code and not self.lists


def error_codes(response: Message) -> Iterator[int]:
    """The codes other than 0, one for each place that has one."""
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
