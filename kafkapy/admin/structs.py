"""Converts messages to plain dictionaries, the form of kafka-python's results."""

from __future__ import annotations

import uuid
from typing import Any

from kafkapy.protocol.schema import Struct

_NO_OPERATIONS = -(1 << 31)


def as_dict(struct: Struct, version: int) -> dict[str, Any]:
    """Return the struct's fields in this version; uuids as text (None for zero), bytes as text."""
    return {
        field.name: _plain(getattr(struct, field.name), field.type, version)
        for field in type(struct).FIELDS
        if field.versions.includes(version)
    }


def _plain(value: Any, kind: str, version: int) -> Any:
    if isinstance(value, Struct):
        return as_dict(value, version)
    if isinstance(value, list):
        return [_plain(item, kind[2:], version) for item in value]
    if kind == "uuid" and value is not None:
        return str(uuid.UUID(bytes=bytes(value))) if any(value) else None
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode(errors="backslashreplace")
    return value


def operations_of(bits: int) -> list[str] | None:
    """Return the names of the authorized operations; None if they were not requested or not returned."""
    from kafkapy.admin.acl_types import ACLOperation

    if bits == _NO_OPERATIONS:
        return None
    return [operation.name for operation in ACLOperation if operation > ACLOperation.ALL and bits >> operation & 1]


def with_operations(plain: dict[str, Any], field: str = "authorized_operations") -> dict[str, Any]:
    """Replace the bit field `field` by names under the key `authorized_operations`."""
    if field in plain:
        plain["authorized_operations"] = operations_of(plain.pop(field))
    return plain
