"""Base classes of all formats' serializers and deserializers: choose a value's schema id, look up an id's schema."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Self, TypeVar, overload

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas import wire_format
from kafkapy.schemas.bounded_cache import BoundedCache
from kafkapy.schemas.errors import (
    SchemaDeserializationError,
    SchemaRegistryError,
    SchemaRegistryUnavailableError,
    SchemaSerializationError,
    SerdeError,
)
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.subject_names import SubjectNameStrategy, topic_subject_name_strategy
from kafkapy.schemas.types import Schema
from kafkapy.serializer import Deserializer, Headers, LookUpFirst, Serializer, T_co, T_contra

P = TypeVar("P")
"""A schema in the form of its format's library."""
_CAPACITY = 1_000
_UNKNOWN_S = 5.0
_DEEPEST = 50


class SchemaSerializer(Serializer[T_contra], Generic[P, T_contra]):
    """Writes values in the registry's wire format.

    `auto_register_schemas`: register the schema under the record's subject, else it must exist. `use_latest_version`:
    write with the subject's latest version. `use_schema_id`: write with that schema. `is_key`: for use without a
    client; clients set it themselves.
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        schema: Schema | None,
        *,
        auto_register_schemas: bool = True,
        normalize_schemas: bool = False,
        use_latest_version: bool = False,
        use_schema_id: int | None = None,
        subject_name_strategy: SubjectNameStrategy = topic_subject_name_strategy,
        is_key: bool = False,
    ) -> None:
        if use_latest_version and use_schema_id is not None:
            raise KafkaConfigurationError("Give use_latest_version or use_schema_id, not both")
        if schema is None and not use_latest_version and use_schema_id is None:
            raise KafkaConfigurationError(
                "Without a schema of its own a serializer needs use_latest_version or use_schema_id"
            )
        self.registry = registry
        self.schema = schema
        self._auto_register = auto_register_schemas
        self._normalize = normalize_schemas
        self._use_latest = use_latest_version
        self._use_schema_id = use_schema_id
        self._subject_name_strategy = subject_name_strategy
        self._is_key = is_key
        self._waits = True
        self._written: BoundedCache[str, tuple[int, P]] = BoundedCache(_CAPACITY)
        """By subject."""
        self._parsed: BoundedCache[Schema, P] = BoundedCache(_CAPACITY)

    def for_client(self, *, is_key: bool, waits: bool) -> Self:
        """The same for a client's keys or values; see `kafkapy.serializer.LookUpFirst`.

        Args:
            is_key: Whether keys are converted. Default False: values.
            waits: Whether `serialize` may block.
        """
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._is_key, copy._waits = is_key, waits
        copy._written = BoundedCache(_CAPACITY)
        return copy

    def serialize(self, topic: str, headers: Headers, data: T_contra | None) -> bytes | None:
        """Raises SchemaSerializationError, and what the registry raises. None stays None.

        Args:
            topic: Name of the topic, part of the subject's name.
            headers: Headers of the record.
            data: The value; None stays None.
        """
        if data is None:
            return None
        subject = self._subject_name_strategy(topic, self._is_key, self._record_name)
        schema_id, parsed = self._written_with(topic, subject)
        try:
            return wire_format.prefix(schema_id) + self._write(parsed, data)
        except SerdeError:
            raise
        except Exception as error:
            raise SchemaSerializationError(
                f"A value for topic {topic} does not fit schema {schema_id} of subject {subject}: {describe(error)}"
            ) from error

    def _written_with(self, topic: str, subject: str) -> tuple[int, P]:
        """Return the schema id and schema. Raises LookUpFirst if the registry is needed and this call must not
        block."""
        found = self._known(subject)
        if found is None:
            if not self._waits:
                raise LookUpFirst(lambda: self._look_up(topic, subject))
            found = self._look_up(topic, subject)
        return found

    def _known(self, subject: str) -> tuple[int, P] | None:
        if not self._use_latest:
            return self._written.get(subject)
        latest = self.registry.cached_latest(subject)
        parsed = None if latest is None else self._parsed.get(latest.schema)
        return None if latest is None or parsed is None else (latest.schema_id, parsed)

    def _look_up(self, topic: str, subject: str) -> tuple[int, P]:
        """Look up the schema for writing in the registry."""
        registry = self.registry
        if self._use_latest:
            latest = registry.get_latest_version(subject)
            return latest.schema_id, self._parsed.put(latest.schema, self._parse(latest.schema))
        if self._use_schema_id is not None:
            schema_id, schema = self._use_schema_id, registry.get_schema(self._use_schema_id, subject)
        else:
            schema = self._own_schema(topic)
            if self._auto_register:
                schema_id = registry.register_schema(subject, schema, self._normalize)
            else:
                schema_id = registry.lookup_schema(subject, schema, self._normalize).schema_id
        return self._written.put(subject, (schema_id, self._parse(schema)))

    def _own_schema(self, topic: str) -> Schema:
        """Return the user's schema; may look up its references in the registry."""
        assert self.schema is not None
        return self.schema

    @property
    @abstractmethod
    def _record_name(self) -> str | None:
        """The full name of the user's schema."""

    @abstractmethod
    def _parse(self, schema: Schema) -> P:
        """May ask the registry for references."""

    @abstractmethod
    def _write(self, parsed: P, data: T_contra) -> bytes: ...


class SchemaDeserializer(Deserializer[T_co], Generic[P, T_co]):
    """Reads the registry's wire format, each value with its writer's schema."""

    def __init__(self, registry: SchemaRegistryClient, *, is_key: bool = False) -> None:
        self.registry = registry
        self._is_key = is_key
        self._waits = True
        self._writers: BoundedCache[int | str, P] = BoundedCache(_CAPACITY)
        self._unknown: BoundedCache[int | str, str] = BoundedCache(_CAPACITY, _UNKNOWN_S)
        """Errors of schema look-ups; cached briefly, because a registry node may get a new schema late."""

    def for_client(self, *, is_key: bool, waits: bool) -> Self:
        """The same for a client's keys or values; see `kafkapy.serializer.LookUpFirst`.

        Args:
            is_key: Whether keys are converted. Default False: values.
            waits: Whether `deserialize` may block.
        """
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._is_key, copy._waits = is_key, waits
        return copy

    @overload
    def deserialize(self, topic: str, headers: Headers, data: bytes) -> T_co: ...

    @overload
    def deserialize(self, topic: str, headers: Headers, data: None) -> None: ...

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> T_co | None:
        """Raises SchemaDeserializationError, and SchemaRegistryUnavailableError. None stays None.

        Args:
            topic: Name of the topic, part of the subject's name.
            headers: Headers of the record.
            data: The bytes; None stays None.
        """
        if data is None:
            return None
        written = wire_format.read(data, headers, is_key=self._is_key)
        writer = self.writer(written.schema)
        try:
            return self._read(writer, written)
        except SerdeError:
            raise
        except Exception as error:
            raise SchemaDeserializationError(
                f"A value of topic {topic} does not fit the schema that it names ({written.schema}): {describe(error)}"
            ) from error

    def writer(self, schema: int | str) -> P:
        """Return the parsed schema with this id or GUID. Raises SchemaDeserializationError if it is unknown or
        invalid.

        Args:
            schema: Id or GUID of the schema.
        """
        found = self._writers.get(schema)
        if found is not None:
            return found
        failure = self._unknown.get(schema)
        if failure is None:
            if not self._waits:
                raise LookUpFirst(lambda: self._look_up(schema))
            self._look_up(schema)
            found = self._writers.get(schema)
            if found is not None:
                return found
            failure = self._unknown.get(schema)
        raise SchemaDeserializationError(failure or f"The schema {schema} is not known yet")

    def _look_up(self, schema: int | str) -> None:
        """Look up a schema in the registry; a final error is cached for `writer`, other errors are raised."""
        try:
            found = self._fetch(schema)
            self._writers.put(schema, self._parse(found))
        except SchemaRegistryError as error:
            if error.http_status_code != 404:
                raise
            self._unknown.put(schema, f"The registry does not know the schema {schema} of this value: {error.message}")
        except (SchemaRegistryUnavailableError, KafkaConfigurationError):
            raise
        except Exception as error:
            self._unknown.put(schema, f"The schema {schema} of this value makes no sense: {describe(error)}")

    def _fetch(self, schema: int | str) -> Schema:
        if isinstance(schema, str):
            return self.registry.get_schema_by_guid(schema)
        return self.registry.get_schema(schema)

    @abstractmethod
    def _parse(self, schema: Schema) -> P:
        """May ask the registry for references."""

    @abstractmethod
    def _read(self, writer: P, written: wire_format.Written) -> T_co: ...


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def with_references(registry: SchemaRegistryClient, schema: Schema, fmt: str | None = None) -> dict[str, Schema]:
    """Return the schemas that a schema refers to, directly or not, by name; each follows its own references."""
    found: dict[str, Schema] = {}

    def visit(user: Schema, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError(f"References are nested deeper than {_DEEPEST}")
        for reference in user.references:
            if reference.name not in found:
                used = registry.get_version(reference.subject, reference.version, deleted=True, fmt=fmt).schema
                visit(used, depth + 1)
                found[reference.name] = used

    visit(schema, 0)
    return found
