"""The registry's state: the records of its topic, applied one after the other."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from kafkapy.registry.records import RegistryRecord
from kafkapy.registry.subjects import ALL_CONTEXTS, DEFAULT_CONTEXT, QualifiedSubject, scopes
from kafkapy.schemas.types import SchemaReference

MAX_NUMBER = 2**31 - 1
"""Largest version and id."""


class SchemaContent(NamedTuple):
    """The schema with an id. `metadata` and `rule_set` are stored and returned unchanged (None: there are none)."""

    text: str
    schema_type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()
    metadata: Any = None
    rule_set: Any = None

    @property
    def guid(self) -> str:
        """Return the GUID: Confluent's hash of text and references, equal in every registry."""
        digest = hashlib.md5(self.text.encode(), usedforsecurity=False)
        for reference in self.references:
            digest.update(reference.name.encode() + reference.subject.encode() + struct.pack(">i", reference.version))
        for name, extra in (("metadata", self.metadata), ("ruleSet", self.rule_set)):
            if extra is not None:
                digest.update(f"{name}={json.dumps(extra, sort_keys=True)}".encode())
        return str(uuid.UUID(bytes=digest.digest()))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON for responses and records; missing fields, and the type AVRO, are omitted."""
        found: dict[str, Any] = {}
        if self.schema_type != "AVRO":
            found["schemaType"] = self.schema_type
        if self.references:
            found["references"] = [reference._asdict() for reference in self.references]
        if self.metadata is not None:
            found["metadata"] = self.metadata
        if self.rule_set is not None:
            found["ruleSet"] = self.rule_set
        return found | {"schema": self.text}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> SchemaContent:
        references = tuple(
            SchemaReference(each["name"], each["subject"], _number_in(each, "version", -1))
            for each in content.get("references") or ()
        )
        kind = content.get("schemaType") or "AVRO"
        return cls(content["schema"], kind, references, content.get("metadata"), content.get("ruleSet"))


class RegisteredVersion(NamedTuple):
    subject: str
    version: int
    id: int
    content: SchemaContent
    deleted: bool = False

    @property
    def place(self) -> tuple[str, int]:
        return self.subject, self.version

    def to_value(self, deleted: bool) -> dict[str, Any]:
        """Return the value of the version's record."""
        head = {"subject": self.subject, "version": self.version, "id": self.id}
        return {**head, **self.content.to_json(), "deleted": deleted}


class RegistryState:
    """Invariant: `_places` has for each context and id exactly the versions with that id, including deleted ones;
    `_referrers` has for each version the versions that refer to it."""

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, RegisteredVersion]] = {}
        self.configs: dict[str | None, dict[str, Any]] = {}
        self.modes: dict[str | None, str] = {}
        self.contexts: dict[str, None] = {}
        self.highest_ids: dict[str, int] = {}
        self._places: dict[tuple[str, int], dict[tuple[str, int], None]] = {}
        self._ids_by_guid: dict[str, dict[tuple[str, int], None]] = {}
        self._referrers: dict[tuple[str, int], dict[tuple[str, int], None]] = {}

    # -- records

    def apply(self, record: RegistryRecord) -> None:
        """Apply a record; unknown kinds are ignored."""
        value = record.value
        subject = record.key.get("subject")
        if record.kind == "SCHEMA":
            self._forget(record.key["subject"], record.key["version"])
            if value is not None:
                self._add(_version_of(value))
        elif record.kind == "CONFIG":
            _set(self.configs, subject, None if value is None else _without_subject(value))
        elif record.kind == "MODE":
            _set(self.modes, subject, None if value is None else value.get("mode"))
        elif record.kind == "DELETE_SUBJECT" and value is not None:
            for version in list(self.subjects.get(value["subject"], {}).values()):
                if version.version <= value["version"]:
                    self.subjects[version.subject][version.version] = version._replace(deleted=True)
        elif record.kind == "CLEAR_SUBJECT" and value is not None:
            self._clear(value.get("subject"))
        elif record.kind == "CONTEXT":
            _set(self.contexts, record.key.get("context"), None, value is None)

    def _add(self, version: RegisteredVersion) -> None:
        context = QualifiedSubject.parse(version.subject).context
        guid = version.content.guid  # a schema without text fails here, before the state changes
        versions = self.subjects.setdefault(version.subject, {})
        versions[version.version] = version
        if list(versions) != sorted(versions):
            self.subjects[version.subject] = dict(sorted(versions.items()))
        self._places.setdefault((context, version.id), {})[version.place] = None
        self._ids_by_guid.setdefault(guid, {})[context, version.id] = None
        self.highest_ids[context] = max(self.highest_ids.get(context, 0), version.id)
        if context != DEFAULT_CONTEXT:
            self.contexts[context] = None
        for place in _referred(version):
            self._referrers.setdefault(place, {})[version.place] = None

    def _forget(self, subject: str, number: int) -> None:
        version = self.subjects.get(subject, {}).pop(number, None)
        if version is None:
            return
        if not self.subjects[subject]:
            del self.subjects[subject]
        place = (QualifiedSubject.parse(subject).context, version.id)
        self._places[place].pop(version.place, None)
        if not self._places[place]:
            del self._places[place]
            known = self._ids_by_guid[version.content.guid]
            known.pop(place, None)
            if not known:
                del self._ids_by_guid[version.content.guid]
        for referred in _referred(version):
            self._referrers[referred].pop(version.place, None)
            if not self._referrers[referred]:
                del self._referrers[referred]

    def _clear(self, scope: str | None) -> None:
        for subject in list(self.subjects_in_scope(scope)):
            for version in list(self.subjects[subject].values()):
                if version.deleted:
                    self._forget(*version.place)

    # -- queries

    def versions(self, subject: str, deleted: bool = False) -> list[RegisteredVersion]:
        """Return the versions, the oldest first."""
        return [each for each in self.subjects.get(subject, {}).values() if deleted or not each.deleted]

    def by_id(self, context: str, schema_id: int) -> list[RegisteredVersion]:
        """Return all versions with the id, including deleted ones."""
        return [self.subjects[subject][number] for subject, number in self._places.get((context, schema_id), ())]

    def ids_by_guid(self, guid: str) -> list[tuple[str, int]]:
        """Return pairs (context, id)."""
        return list(self._ids_by_guid.get(guid, ()))

    def id_of(self, context: str, content: SchemaContent) -> int | None:
        """Return the schema's existing id in a context."""
        return next((found for where, found in self.ids_by_guid(content.guid) if where == context), None)

    def referrers(self, subject: str, number: int, deleted: bool = False) -> list[RegisteredVersion]:
        found = [self.subjects[place[0]][place[1]] for place in self._referrers.get((subject, number), ())]
        return [each for each in found if deleted or not each.deleted]

    def subjects_in_scope(self, scope: str | None) -> Iterator[str]:
        """Return a subject, or all subjects of a context (`:.team:`; None: the default one)."""
        wanted = QualifiedSubject.parse(scope or "")
        for subject in self.subjects:
            found = QualifiedSubject.parse(subject)
            if found.context == wanted.context and wanted.name in ("", found.name):
                yield subject

    def subjects_with_prefix(self, prefix: str) -> Iterator[str]:
        """Return subjects with a prefix; `:*:x`: those that begin with x in any context."""
        if prefix.startswith(ALL_CONTEXTS):
            rest = prefix.removeprefix(ALL_CONTEXTS)
            return (each for each in self.subjects if QualifiedSubject.parse(each).name.startswith(rest))
        wanted = QualifiedSubject.parse(prefix)
        return (each for each in self.subjects if each.startswith(str(wanted)) and _same_context(each, wanted))

    def config_in_scope(self, subject: str | None, default: dict[str, Any]) -> dict[str, Any]:
        """Return the effective config: for each field, that of the nearest scope."""
        found = dict(default)
        for scope in reversed(scopes(subject)):
            found |= self.configs.get(scope, {})
        return found

    def mode_in_scope(self, subject: str | None) -> str:
        if self.modes.get(None) == "READONLY_OVERRIDE":
            return "READONLY_OVERRIDE"
        return next((self.modes[scope] for scope in scopes(subject) if scope in self.modes), "READWRITE")


def _same_context(subject: str, wanted: QualifiedSubject) -> bool:
    return QualifiedSubject.parse(subject).context == wanted.context


def _version_of(value: dict[str, Any]) -> RegisteredVersion:
    content = SchemaContent.from_json(value)
    version, schema_id = _number_in(value, "version", 1), _number_in(value, "id", 0)
    return RegisteredVersion(value["subject"], version, schema_id, content, bool(value.get("deleted")))


def _number_in(content: dict[str, Any], name: str, least: int) -> int:
    """Return a version or an id of a record. Raises ValueError, KeyError."""
    number = content[name]
    if type(number) is not int or not least <= number <= MAX_NUMBER:
        raise ValueError(f"{name} is {number!r}, and must be a whole number from {least} to {MAX_NUMBER}")
    return number


def _referred(version: RegisteredVersion) -> list[tuple[str, int]]:
    here = QualifiedSubject.parse(version.subject)
    return [(here.resolve(reference.subject), reference.version) for reference in version.content.references]


def _without_subject(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != "subject" and each is not None}


def _set(table: dict[Any, Any], key: Any, value: Any, remove: bool | None = None) -> None:
    if remove if remove is not None else value is None:
        table.pop(key, None)
    else:
        table[key] = value
