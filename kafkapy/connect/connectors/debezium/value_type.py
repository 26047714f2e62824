"""How values of a column are represented."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type


@dataclass(frozen=True)
class ValueType:
    """How the values of a column are represented.

    Attributes:
        builder: Begins the schema.
        read: Converts what the server has sent. Raises ValueError.
        zero: Stands for a value that is not known, where the column cannot be null.
        unavailable: Stands for a large value that an update has left alone.

    Example:
        >>> ValueType(lambda: SchemaBuilder(Type.INT32), int, 0, 0).read("5")
        5
    """

    builder: Callable[[], SchemaBuilder]
    read: Callable[[Any], Any]
    zero: Any
    unavailable: Any

    def schema(self, optional: bool) -> Schema:
        """Return the schema of a column, or of an element."""
        builder = self.builder()
        return builder.optional().build() if optional else builder.build()


def plain_schema(type: Type) -> Callable[[], SchemaBuilder]:
    """Return what begins a schema without a name."""
    return lambda: SchemaBuilder(type)


BINARY_ENCODINGS: Final[Mapping[str, Callable[[bytes], str]]] = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64-url-safe": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": bytes.hex,
}
"""Texts for bytes, by `binary.handling.mode`."""
