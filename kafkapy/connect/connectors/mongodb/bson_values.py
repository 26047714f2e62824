"""Values of Connect as BSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

from kafkapy.connect.data.scalars import Instant, Int64
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord


class SinkDocument:
    """The key and the value of a record as documents; each is converted when it is first asked for.

    Args:
        record: Their record.
    """

    def __init__(self, record: SinkRecord) -> None:
        self.record = record

    @cached_property
    def key(self) -> dict[str, Any] | None:
        """None: there is no key. Raises DataException if it is no document."""
        return None if self.record.key is None else to_document(self.record.key, "key")

    @cached_property
    def value(self) -> dict[str, Any] | None:
        """None: a tombstone. Raises DataException if it is no document."""
        return None if self.record.value is None else to_document(self.record.value, "value")


def to_document(value: Any, what: str) -> dict[str, Any]:
    """Return a document.

    Args:
        value: A struct, a map, a text with JSON (MongoDB's extended JSON), or BSON as bytes.
        what: For errors: key or value.

    Raises:
        DataException: It is none of these.
    """
    import bson
    from bson import json_util
    from bson.errors import BSONError

    found: Any = None
    try:
        match value:
            case Struct() | dict():
                return {name: _bson(each) for name, each in _members(value)}
            case str():
                found = json_util.loads(value)
            case bytes():
                found = bson.decode(value)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError, BSONError) as error:
        raise DataException(f"The {what} is no document: {error}") from error
    if not isinstance(found, dict):
        raise DataException(f"The {what} is no document, but of type {type(value).__name__}")
    return found


def _members(value: Struct | Mapping[Any, Any]) -> list[tuple[str, Any]]:
    if isinstance(value, Struct):
        return [(field.name, value.get(field.name)) for field in value.schema.fields]
    for key in value:
        if not isinstance(key, str):
            raise DataException(f"Names of fields are texts, not of type {type(key).__name__}")
    return list(value.items())


def _bson(value: Any) -> Any:
    from bson.decimal128 import Decimal128, create_decimal128_context
    from bson.int64 import Int64 as BsonInt64

    match value:
        case bool() | str() | bytes() | None:
            return value
        case Int64():
            return BsonInt64(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Decimal():
            return Decimal128(create_decimal128_context().create_decimal(value))
        case Instant():
            return value.datetime()
        case list():
            return [_bson(each) for each in value]
        case Struct() | dict():
            return {name: _bson(each) for name, each in _members(value)}
    return value
