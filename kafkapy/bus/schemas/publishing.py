"""Publishes versions of the repository in a registry: versions of a MODEL become versions of a subject, oldest first."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.bus.schema_version import subject_of
from kafkapy.bus.schemas.changes import wrong_claims
from kafkapy.bus.schemas.repository import EventSchemas, RepositoryError
from kafkapy.schemas.errors import SchemaRegistryError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema

LEVEL = "BACKWARD_TRANSITIVE"
"""The compatibility level of the subject of a MODEL."""
_UNKNOWN = (40401, 40402, 40403)


class Published(NamedTuple):
    """A published version. `new`: the registry did not have it before."""

    name: str
    version: str
    subject: str
    schema_id: int
    new: bool


def publish(event: EventSchemas, registry: SchemaRegistryClient) -> list[Published]:
    """Publish all versions. Raises RepositoryError (a version number does not fit its change; the registry rejects a
    schema), SchemaRegistryUnavailableError."""
    wrong = wrong_claims(event)
    if wrong:
        raise RepositoryError(f"Nothing of {event.name} was published: {wrong[0]}")
    found = []
    for file in event.versions:
        assert file.version is not None
        subject = subject_of(event.name, file.version)
        schema = Schema(file.text, event.kind)
        try:
            known = _known(registry, subject, schema)
            if known is None and file.version[1:] == (0, 0):
                registry.set_compatibility(LEVEL, subject)
            schema_id = registry.register_schema(subject, schema) if known is None else known
        except SchemaRegistryError as error:
            raise RepositoryError(f"The registry refuses {event.name} {file.version}: {error.error_message}") from error
        found.append(Published(event.name, str(file.version), subject, schema_id, known is None))
    return found


def _known(registry: SchemaRegistryClient, subject: str, schema: Schema) -> int | None:
    try:
        return registry.lookup_schema(subject, schema).schema_id
    except SchemaRegistryError as error:
        if error.error_code in _UNKNOWN:
            return None
        raise
