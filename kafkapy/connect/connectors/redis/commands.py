"""The command for a record: `redis.type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

Command = tuple[str | bytes, ...]
"""Name and arguments."""

TYPES: Final = ("STRING", "HASH", "JSON", "LIST", "SET", "ZSET", "STREAM")
COMMANDS: Final = {
    "SET": "STRING",
    "HSET": "HASH",
    "JSONSET": "JSON",
    "LPUSH": "LIST",
    "RPUSH": "LIST",
    "SADD": "SET",
    "ZADD": "ZSET",
    "XADD": "STREAM",
}
_JSON = JsonDataWriter(True, True)


class Commands:
    """Makes commands.

    Args:
        kind: One of `TYPES`.
        key: Of a collection, or the beginning of keys; `${topic}` is filled in. Empty: keys are those of records.
        separator: Between the beginning and the record's key.
        push: LPUSH or RPUSH, for lists.

    Example:
        >>> Commands("SET", "tags", ":", "LPUSH").of(SinkRecord("t", 0, None, "a", None, "", 0))
        ('SADD', 'tags', b'a')
    """

    def __init__(self, kind: str, key: str, separator: str, push: str) -> None:
        self._key, self._separator, self._push = key, separator, push
        makers: Mapping[str, Callable[[SinkRecord], Command | None]] = {
            "STRING": self._string,
            "HASH": self._hash,
            "JSON": self._json,
            "LIST": self._list,
            "SET": self._set,
            "ZSET": self._sorted_set,
            "STREAM": self._stream,
        }
        self.of = makers[kind]
        """Returns the command for a record, None for nothing to do; raises DataException."""

    def _prefix(self, record: SinkRecord) -> str:
        return self._key.replace("${topic}", record.topic or "")

    def _full_key(self, record: SinkRecord) -> bytes:
        prefix = self._prefix(record)
        return (f"{prefix}{self._separator}".encode() if prefix else b"") + _member(record)

    def _string(self, record: SinkRecord) -> Command:
        if record.value is None:
            return "DEL", self._full_key(record)
        return "SET", self._full_key(record), _scalar(record.value, "The value")

    def _hash(self, record: SinkRecord) -> Command | None:
        key = self._full_key(record)
        if record.value is None:
            return "DEL", key
        fields = _fields(record)
        return ("HSET", key, *fields) if fields else None

    def _json(self, record: SinkRecord) -> Command:
        if record.value is None:
            return "DEL", self._full_key(record)
        value = record.value.decode("utf-8", "replace") if isinstance(record.value, bytes) else record.value
        text = value if isinstance(value, str) else _JSON.text(record.value_schema, value)
        return "JSON.SET", self._full_key(record), "$", text

    def _list(self, record: SinkRecord) -> Command:
        key, member = self._prefix(record), _member(record)
        return ("LREM", key, "0", member) if record.value is None else (self._push, key, member)

    def _set(self, record: SinkRecord) -> Command:
        return "SREM" if record.value is None else "SADD", self._prefix(record), _member(record)

    def _sorted_set(self, record: SinkRecord) -> Command:
        key, member, score = self._prefix(record), _member(record), record.value
        if score is None:
            return "ZREM", key, member
        try:
            return "ZADD", key, repr(float(score)), member
        except (TypeError, ValueError):
            raise DataException("The value must be a number, the score of the key.") from None

    def _stream(self, record: SinkRecord) -> Command | None:
        if record.value is None:
            return None
        fields = _fields(record)
        if not fields:
            raise DataException("The value has no fields, without which a stream has no entry.")
        return "XADD", self._prefix(record), "*", *fields


def _member(record: SinkRecord) -> bytes:
    if record.key is None:
        raise DataException("The record has no key, which Redis needs.")
    return _scalar(record.key, "The key")


def _scalar(value: Any, what: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str | bool | int | float):
        return java_str(value).encode("utf-8", "replace")
    raise DataException(f"{what} must be a text, a number or bytes: set a converter such as StringConverter.")


def _fields(record: SinkRecord) -> list[bytes]:
    """Return names and values of the fields that are not null."""
    value = record.value
    if isinstance(value, Struct):
        triples: list[tuple[Any, Schema | None, Any]] = [
            (field.name, field.schema, value.get(field.name)) for field in value.schema.fields
        ]
    elif isinstance(value, dict):
        schema = record.value_schema.value_schema if record.value_schema is not None else None
        triples = [(name, schema, each) for name, each in value.items()]
    else:
        raise DataException("The value must be a struct or a map, whose fields are stored.")
    fields = []
    for name, schema, each in triples:
        if each is not None:
            is_plain = isinstance(each, str | bytes | int | float)
            fields += [
                _scalar(name, "A field's name"),
                _scalar(each, "A field") if is_plain else _JSON.text(schema, each).encode("utf-8", "replace"),
            ]
    return fields
