"""The read requests of the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.refusals import invalid_schema, schema_not_found, subject_not_found, version_not_found
from kafkapy.registry.schema_library import SchemaLibrary
from kafkapy.registry.state import RegisteredVersion, RegistryState
from kafkapy.registry.subjects import QualifiedSubject


class SchemaReading:
    def __init__(self, state: RegistryState, library: SchemaLibrary) -> None:
        self._state = state
        self._library = library

    # -- by id

    def _with_id(self, schema_id: int, subject: str | None) -> list[RegisteredVersion]:
        """Find a schema by id in the subject's context; else in any context where a subject of that name has it."""
        wanted = QualifiedSubject.parse(subject or "")
        found = self._state.by_id(wanted.context, schema_id)
        if not found and wanted.name:
            for context in self._state.contexts:
                others = self._state.by_id(context, schema_id)
                if any(QualifiedSubject.parse(each.subject).name == wanted.name for each in others):
                    return others
        if not found:
            raise schema_not_found(schema_id)
        return found

    def by_id(self, schema_id: int, subject: str | None, wanted: str, with_highest: bool) -> dict[str, Any]:
        version = self._with_id(schema_id, subject)[0]
        answer = {**version.content.to_json(), "schema": self._text(version, wanted), "guid": version.content.guid}
        if with_highest:
            context = QualifiedSubject.parse(version.subject).context
            answer["maxId"] = self._state.highest_ids.get(context, 0)
        return answer

    def by_guid(self, guid: str, wanted: str) -> dict[str, Any]:
        for context, schema_id in self._state.ids_by_guid(guid):
            version = self._state.by_id(context, schema_id)[0]
            return {**version.content.to_json(), "schema": self._text(version, wanted), "guid": guid}
        raise schema_not_found(guid)

    def places_of_id(self, schema_id: int, subject: str | None, deleted: bool) -> list[tuple[str, int]]:
        return [each.place for each in self._with_id(schema_id, subject) if deleted or not each.deleted]

    # -- by subject

    def subjects(self, prefix: str, deleted: bool, deleted_only: bool) -> Iterator[str]:
        for subject in sorted(self._state.subjects_with_prefix(prefix)):
            live = bool(self._state.versions(subject))
            if (not live) if deleted_only else (deleted or live):
                yield subject

    def versions(self, subject: str, deleted: bool, deleted_only: bool) -> list[int]:
        found = self._state.versions(subject, deleted or deleted_only)
        if deleted_only:
            found = [each for each in found if each.deleted]
        if not found:
            raise subject_not_found(subject)
        return [each.version for each in found]

    def version(self, subject: str, number: int | None, deleted: bool) -> RegisteredVersion:
        """Return a version of a subject; `number` None: the latest."""
        found = self._state.versions(subject, deleted)
        if not found:
            raise subject_not_found(subject)
        if number is None:
            return found[-1]
        version = next((each for each in found if each.version == number), None)
        if version is None:
            raise version_not_found(number)
        return version

    def schemas(self, prefix: str, deleted: bool, latest_only: bool) -> Iterator[dict[str, Any]]:
        for subject in sorted(self._state.subjects_with_prefix(prefix or ":*:")):
            found = self._state.versions(subject, deleted)
            for version in found[-1:] if latest_only else found:
                yield self.told(version, "")

    def told(self, version: RegisteredVersion, wanted: str) -> dict[str, Any]:
        head = {"subject": version.subject, "version": version.version, "id": version.id, "guid": version.content.guid}
        deleted = {"deleted": True} if version.deleted else {}
        return {**head, **version.content.to_json(), "schema": self._text(version, wanted), **deleted}

    def _text(self, version: RegisteredVersion, wanted: str) -> str:
        if not wanted:
            return version.content.text
        try:
            return self._library.parsed(version).formatted(wanted)
        except SchemaParseError as error:
            raise invalid_schema(str(error)) from None
