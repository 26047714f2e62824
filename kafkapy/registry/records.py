"""The records of the `_schemas` topic: JSON keys and values in the format of Confluent's registry.

Each kind of key has a field `magic`. Compaction compares keys as bytes, so their fields have a fixed order.

    SCHEMA          subject, version    a version of a subject; without value: permanently deleted
    CONFIG, MODE    subject (or none)   settings; without value: removed
    DELETE_SUBJECT  subject             all versions up to one are soft-deleted
    CLEAR_SUBJECT   subject             soft-deleted versions are removed
    CONTEXT         tenant, context     a context in use
    NOOP                                written by a new primary to find the end of the topic
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

TENANT = "default"
_MAGIC = {"SCHEMA": 1}


class RegistryRecord(NamedTuple):
    """One record; `key` and `value` are JSON objects. A value of None deletes."""

    key: dict[str, Any]
    value: dict[str, Any] | None

    @property
    def kind(self) -> str:
        return str(self.key["keytype"])

    def to_bytes(self) -> tuple[bytes, bytes | None]:
        return _dump(self.key), None if self.value is None else _dump(self.value)

    @classmethod
    def from_bytes(cls, key: bytes | None, value: bytes | None) -> RegistryRecord | None:
        """Parse a record; return None if it is none of a registry."""
        try:
            read = json.loads(key or b"")
            content = json.loads(value) if value else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(read, dict) or "keytype" not in read or not isinstance(content, dict | None):
            return None
        return cls(read, content)


def _dump(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _key(kind: str, **fields: Any) -> dict[str, Any]:
    given = {name: value for name, value in fields.items() if value is not None}
    return {"keytype": kind, **given, "magic": _MAGIC.get(kind, 0)}


def schema_record(subject: str, version: int, value: dict[str, Any] | None) -> RegistryRecord:
    return RegistryRecord(_key("SCHEMA", subject=subject, version=version), value)


def config_record(subject: str | None, config: Mapping[str, Any] | None) -> RegistryRecord:
    value = None if config is None else {**({"subject": subject} if subject else {}), **config}
    return RegistryRecord(_key("CONFIG", subject=subject), value)


def mode_record(subject: str | None, mode: str | None) -> RegistryRecord:
    value = None if mode is None else {**({"subject": subject} if subject else {}), "mode": mode}
    return RegistryRecord(_key("MODE", subject=subject), value)


def delete_subject_record(subject: str, version: int) -> RegistryRecord:
    return RegistryRecord(_key("DELETE_SUBJECT", subject=subject), {"subject": subject, "version": version})


def clear_subject_record(subject: str | None) -> RegistryRecord:
    value = {"subject": subject} if subject else {}
    return RegistryRecord(_key("CLEAR_SUBJECT", subject=subject), value)


def context_record(context: str, exists: bool = True) -> RegistryRecord:
    """Return the record of a context; `exists` False: it is empty now."""
    key = {"keytype": "CONTEXT", "tenant": TENANT, "context": context, "magic": 0}
    return RegistryRecord(key, {"tenant": TENANT, "context": context} if exists else None)


def noop_record() -> RegistryRecord:
    return RegistryRecord(_key("NOOP"), None)
