"""The rules for registering, looking up and deleting schemas.

No I/O: the functions return records, which the primary writes and all instances apply.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.registry.formats.strictness import Strictness
from kafkapy.registry.levels import reasons_against
from kafkapy.registry.records import (
    RegistryRecord,
    config_record,
    context_record,
    delete_subject_record,
    mode_record,
    schema_record,
)
from kafkapy.registry.refusals import (
    incompatible,
    invalid_schema,
    not_permitted,
    reference_exists,
    schema_not_found,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from kafkapy.registry.requests import SchemaRequest
from kafkapy.registry.schema_library import SchemaLibrary
from kafkapy.registry.state import MAX_NUMBER, RegisteredVersion, RegistryState, SchemaContent
from kafkapy.registry.subjects import DEFAULT_CONTEXT, QualifiedSubject, checked_to_register


class RegistryChange(NamedTuple):
    """The records to write, and the response after they were written."""

    records: list[RegistryRecord]
    answer: Any


class SchemaRules:
    def __init__(self, state: RegistryState, library: SchemaLibrary, default_config: dict[str, Any]) -> None:
        self._state = state
        self._library = library
        self._default_config = default_config

    # -- registering

    def registered(self, subject: str, request: SchemaRequest, normalize: bool) -> RegisteredVersion | None:
        """Return the existing version if registering would change nothing; any instance may then respond."""
        if request.id is not None or request.version is not None:
            return None
        subject = checked_to_register(subject)
        return self._find(subject, self._canonical(subject, request.content, normalize), deleted=False)

    def register(self, subject: str, request: SchemaRequest, normalize: bool) -> RegistryChange:
        subject = checked_to_register(subject)
        self._check_mode(subject, request)
        content = self._canonical(subject, request.content, normalize)
        importing = self._is_import(subject)
        found = self._find(subject, content, deleted=False)
        if found is not None and request.version in (None, found.version) and request.id in (None, found.id):
            return RegistryChange([], {"id": found.id})
        if not importing:
            self._validate(subject, request.content)
            config = self._state.config_in_scope(subject, self._default_config)
            reasons = reasons_against(
                config["compatibilityLevel"],
                self._library.sound(subject, content),
                self._state.versions(subject),
                self._library.parsed,
                config,
            )
            if reasons:
                raise incompatible(subject, reasons)
        version = RegisteredVersion(subject, self._next_version(subject, request, importing), 0, content)
        context = QualifiedSubject.parse(subject).context
        version = version._replace(id=self._id(context, content, request.id))
        records = (
            [context_record(context)] if context != DEFAULT_CONTEXT and context not in self._state.contexts else []
        )
        for old in self._state.versions(subject, deleted=True):  # a deleted version with the same id is replaced
            same = old.deleted and old.id == version.id and old.version < version.version
            if same and not self._state.referrers(*old.place, deleted=True):
                records.append(schema_record(subject, old.version, None))
        records.append(schema_record(subject, version.version, version.to_value(deleted=False)))
        return RegistryChange(records, {"id": version.id})

    def _check_mode(self, subject: str, request: SchemaRequest) -> None:
        mode = self._state.mode_in_scope(subject)
        where = f"Subject {subject} in context {QualifiedSubject.parse(subject).prefix}"
        if mode in ("READONLY", "READONLY_OVERRIDE"):
            raise not_permitted(f"{where} is in read-only mode")
        if request.id is not None and mode not in ("IMPORT", "FORWARD"):
            raise not_permitted(f"{where} is not in import mode")
        if request.id is None and mode != "READWRITE":
            raise not_permitted(f"{where} is not in read-write mode")

    def _is_import(self, subject: str) -> bool:
        return self._state.mode_in_scope(subject) in ("IMPORT", "FORWARD")

    def _next_version(self, subject: str, request: SchemaRequest, importing: bool) -> int:
        latest = max((each.version for each in self._state.versions(subject, deleted=True)), default=0)
        if request.version is None:
            return _below_end(latest + 1, f"subject {subject}")
        if request.version != latest + 1 and not importing:
            raise invalid_schema("Version is not one more than previous version")
        return request.version

    def _id(self, context: str, content: SchemaContent, wanted: int | None) -> int:
        known = self._state.id_of(context, content)
        if wanted is None:
            if known is not None:
                return known
            return _below_end(self._state.highest_ids.get(context, 0) + 1, f"context {context}")
        others = [each for each in self._state.by_id(context, wanted) if each.content != content]
        if others:
            prefix = f":{context}:" if context != DEFAULT_CONTEXT else ""
            raise not_permitted(f"Overwrite new schema with id {wanted} in context {prefix} is not permitted.")
        return wanted

    def _canonical(self, subject: str, content: SchemaContent, normalize: bool) -> SchemaContent:
        """Return content in the stored form. Raises RegistryRefusal if it is no schema."""
        content = self._library.with_versions(subject, content)
        schema = self._library.sound(subject, content)
        normalize = normalize or bool(self._state.config_in_scope(subject, self._default_config).get("normalize"))
        return content._replace(text=schema.normalized if normalize else schema.canonical)

    def _validate(self, subject: str, content: SchemaContent) -> None:
        """Validate content as a new schema. Raises RegistryRefusal."""
        if self._state.config_in_scope(subject, self._default_config).get("validateNewSchemas", True):
            self._library.sound(subject, self._library.with_versions(subject, content), Strictness.NEW)

    def _find(self, subject: str, content: SchemaContent, deleted: bool) -> RegisteredVersion | None:
        """Return the newest version with this schema, regardless of layout."""
        versions = self._state.versions(subject, deleted)[::-1]
        for version in versions:
            if version.content == content or _same_text(version.content, content):
                return version
        identity = self._library.sound(subject, content).identity
        for version in versions:
            other = version.content
            if (other.schema_type, other.references) == (content.schema_type, content.references) and _same_extras(
                other, content
            ):
                try:
                    if self._library.parsed(version).identity == identity:
                        return version
                except ValueError:
                    continue
        return None

    def look_up(self, subject: str, request: SchemaRequest, normalize: bool, deleted: bool) -> RegisteredVersion:
        if not self._state.versions(subject, deleted):
            raise subject_not_found(subject)
        found = self._find(subject, self._canonical(subject, request.content, normalize), deleted)
        if found is None:
            raise schema_not_found()
        return found

    def check(
        self, subject: str, request: SchemaRequest, previous: list[RegisteredVersion], normalize: bool
    ) -> list[str]:
        """Return why a schema is incompatible with these versions, at the subject's level."""
        self._validate(subject, request.content)
        content = self._canonical(subject, request.content, normalize)
        config = self._state.config_in_scope(subject, self._default_config)
        level = config["compatibilityLevel"]
        schema = self._library.sound(subject, content)
        return reasons_against(level, schema, previous, self._library.parsed, config)

    # -- deleting

    def delete_subject(self, subject: str, permanent: bool) -> RegistryChange:
        everything = self._state.versions(subject, deleted=True)
        self._check_writable(subject)
        if not everything:
            raise subject_not_found(subject)
        versions = everything if permanent else self._state.versions(subject)
        if not versions:
            raise subject_soft_deleted(subject)
        for version in versions:
            if any(each.subject != subject for each in self._state.referrers(*version.place, deleted=permanent)):
                raise reference_exists(*version.place)
        if permanent and any(not version.deleted for version in versions):
            raise subject_not_soft_deleted(subject)
        numbers = [version.version for version in versions]
        if permanent:
            gone = [schema_record(subject, version.version, None) for version in reversed(versions)]
            return RegistryChange(gone + self._settings_of(subject), numbers)
        return RegistryChange([delete_subject_record(subject, numbers[-1])], numbers)

    def delete_version(self, subject: str, number: int | None, permanent: bool) -> RegistryChange:
        self._check_writable(subject)
        version = self._to_delete(subject, number, permanent)
        if self._state.referrers(*version.place, deleted=permanent):
            raise reference_exists(*version.place)
        if permanent:
            if not version.deleted:
                raise version_not_soft_deleted(subject, version.version)
            records = [schema_record(subject, version.version, None)]
            if len(self._state.versions(subject, deleted=True)) == 1:
                records += self._settings_of(subject)
            return RegistryChange(records, version.version)
        return RegistryChange(
            [schema_record(subject, version.version, version.to_value(deleted=True))], version.version
        )

    def _to_delete(self, subject: str, number: int | None, permanent: bool) -> RegisteredVersion:
        everything = self._state.versions(subject, deleted=True)
        if not everything:
            raise subject_not_found(subject)
        if number is None:
            live = self._state.versions(subject)
            if not live:
                raise subject_not_found(subject)
            return live[-1]
        version = next((each for each in everything if each.version == number), None)
        if version is None:
            raise version_not_found(number)
        if version.deleted and not permanent:
            raise version_soft_deleted(subject, number)
        return version

    def _check_writable(self, subject: str) -> None:
        if self._state.mode_in_scope(subject) in ("READONLY", "READONLY_OVERRIDE"):
            where = f"Subject {subject} in context {QualifiedSubject.parse(subject).prefix}"
            raise not_permitted(f"{where} is in read-only mode")

    def _settings_of(self, subject: str) -> list[RegistryRecord]:
        """Return records that remove the settings of a deleted subject."""
        records = [mode_record(subject, None)] if subject in self._state.modes else []
        return records + ([config_record(subject, None)] if subject in self._state.configs else [])


def _below_end(number: int, where: str) -> int:
    """Return a new id or version. Raises RegistryRefusal if the numbers are used up."""
    if number > MAX_NUMBER:
        raise not_permitted(f"The highest number ({MAX_NUMBER}) is given out already in {where}")
    return number


def _same_text(one: SchemaContent, other: SchemaContent) -> bool:
    return one[:3] == other[:3] and _same_extras(one, other)


def _same_extras(one: SchemaContent, other: SchemaContent) -> bool:
    """Return whether metadata and rules are equal; a request without them matches any version."""
    return all(theirs is None or mine == theirs for mine, theirs in zip(one[3:], other[3:], strict=True))
