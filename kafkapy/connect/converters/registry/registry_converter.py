"""Base of the converters that use a schema registry: values have the id of their schema in front of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.converters.converter import Converter, parse_converter_configs
from kafkapy.connect.converters.registry.registry_configs import (
    Row,
    registry_client,
    registry_config_def,
    subject_strategy,
    warn_of_unknown,
)
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import NULL, SchemaAndValue
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.errors import RetriableError
from kafkapy.schemas import wire_format
from kafkapy.schemas.errors import SchemaRegistryError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema as RegistrySchema

Write = Callable[[Any], bytes]
"""Value -> bytes, behind the id of the schema."""
Read = Callable[[bytes], SchemaAndValue]
"""Bytes behind the id of the schema -> value."""
_STATUS_RETRIED = (408, 429)
_NO_VERSIONS = (403, 404, 405)


class Target(NamedTuple):
    """What values of a schema are written with: the schema in the registry, and the function that writes them."""

    schema: RegistrySchema
    record_name: str | None


class RegistryConverter(Converter):
    """Base class; a format gives its schemas, writers and readers.

    Invariant: `_writers` has for subjects and schemas what is written in front of values and how they are written,
    `_readers` for ids how values are read; both hold `schemas.cache.config` at most.
    """

    format_name: str
    """For messages."""
    registry_type: str
    """The registry's name of the format."""
    rows: ClassVar[tuple[Row, ...]] = ()
    """Settings that only the format has."""

    def __init__(self, registry: SchemaRegistryClient | None = None) -> None:
        """
        Args:
            registry: The client. Default: it is made of the settings.
        """
        self._given = registry

    def config(self) -> ConfigDef:
        return registry_config_def(self.rows)

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        definitions = self.config()
        warn_of_unknown(configs, definitions, type(self).__name__)
        parsed = parse_converter_configs(definitions, configs, is_key)
        if parsed["use.latest.version"] and parsed["use.schema.id"] >= 0:
            raise ConfigException("use.latest.version and use.schema.id exclude each other; set one of them")
        self._is_key = is_key
        self._parsed = parsed
        self._strategy = subject_strategy(parsed, is_key)
        self._writers = SchemaCache[tuple[str, Schema | None], tuple[bytes, Write]](parsed["schemas.cache.config"])
        self._targets = SchemaCache[Schema | None, Target](parsed["schemas.cache.config"])
        self._readers = SchemaCache[tuple[str, int | str], Read](parsed["schemas.cache.config"])
        self.set_options(parsed)
        self.registry = self._given or registry_client(parsed)

    def close(self) -> None:
        if self._given is None and hasattr(self, "registry"):
            self.registry.close()

    # -- what a format gives

    @abstractmethod
    def set_options(self, parsed: Mapping[str, Any]) -> None:
        """Take the settings that only the format has. Raises ConfigException, ConnectException."""

    @abstractmethod
    def target(self, schema: Schema | None) -> Target:
        """Return the schema for the registry. Raises DataException.

        Args:
            schema: Connect's. None: the value has none.
        """

    @abstractmethod
    def writer(self, schema: Schema | None, written_with: RegistrySchema, own: bool) -> Write:
        """Return the function that writes values. Raises DataException.

        Args:
            schema: Connect's. None: values have none.
            written_with: The registry's.
            own: Whether that is what `target` has returned; else it is another version.
        """

    @abstractmethod
    def reader(self, written_with: RegistrySchema, version: int | None) -> Read:
        """Return the function that reads values. Raises DataException.

        Args:
            written_with: The schema that they were written with.
            version: Its version in the subject. None: it has none.
        """

    def writes_none(self, schema: Schema | None) -> bool:
        """Return whether None is written as a value; else it is a tombstone. Raises DataException if it is not allowed.

        Args:
            schema: Connect's. None: the value has none.
        """
        if schema is not None and not schema.optional:
            raise DataException("Found null value for non-optional schema")
        return False

    def in_own_form(self, schema_id: int, found: RegistrySchema) -> RegistrySchema:
        """Return a schema of the registry's in the form that `writer` takes.

        Args:
            schema_id: Its id.
            found: As the registry shows it.
        """
        return found

    # -- conversions

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if value is None and not self.writes_none(schema):
            return None
        with _Errors(f"Failed to serialize {self.format_name} data from topic {topic} :"):
            if self._parsed["use.latest.version"] and self._parsed["latest.cache.ttl.sec"] >= 0:
                prefix, write = self._latest_writer(topic, schema)
            else:
                target = self._targets.get(schema, self.target)
                subject = self._strategy(topic, self._is_key, target.record_name)
                prefix, write = self._writers.get((subject, schema), lambda key: self._new_writer(*key))
            return prefix + write(value)

    def _latest_writer(self, topic: str, schema: Schema | None) -> tuple[bytes, Write]:
        """The writer for the latest schema, which is asked for again when its time is over."""
        target = self._targets.get(schema, self.target)
        subject = self._strategy(topic, self._is_key, target.record_name)
        latest = self.registry.get_latest_version(subject)
        key = f"{subject}\0{latest.schema_id}", schema
        return self._writers.get(
            key,
            lambda _: self._with_prefix(
                latest.schema_id, schema, self.in_own_form(latest.schema_id, latest.schema), target
            ),
        )

    def _new_writer(self, subject: str, schema: Schema | None) -> tuple[bytes, Write]:
        target = self._targets.get(schema, self.target)
        if self._parsed["use.latest.version"]:
            latest = self.registry.get_latest_version(subject)
            return self._with_prefix(
                latest.schema_id, schema, self.in_own_form(latest.schema_id, latest.schema), target
            )
        if self._parsed["use.schema.id"] >= 0:
            schema_id = int(self._parsed["use.schema.id"])
            return self._with_prefix(
                schema_id, schema, self.in_own_form(schema_id, self.registry.get_schema(schema_id, subject)), target
            )
        normalize = self._parsed["normalize.schemas"]
        if self._parsed["auto.register.schemas"]:
            schema_id = self.registry.register_schema(subject, target.schema, normalize)
        else:
            schema_id = self.registry.lookup_schema(subject, target.schema, normalize).schema_id
        return self._with_prefix(schema_id, schema, target.schema, target)

    def _with_prefix(
        self, schema_id: int, schema: Schema | None, written_with: RegistrySchema, target: Target
    ) -> tuple[bytes, Write]:
        self._check_type(written_with, schema_id)
        return wire_format.prefix(schema_id), self.writer(schema, written_with, written_with == target.schema)

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        if value is None:
            return NULL
        with _Errors(f"Failed to deserialize data for topic {topic} to {self.format_name}: "):
            written = wire_format.read(value, headers or (), is_key=self._is_key)
            subject = self._strategy(topic, self._is_key, None) if self._is_by_topic else ""
            read = self._readers.get((subject, written.schema), lambda key: self._new_reader(*key))
            return read(bytes(written.payload))

    @property
    def _is_by_topic(self) -> bool:
        return self._strategy.__name__ == "topic_subject_name_strategy"

    def _new_reader(self, subject: str, schema_id: int | str) -> Read:
        schema = self._fetched(schema_id)
        self._check_type(schema, schema_id)
        return self.reader(schema, self._version(subject, schema_id))

    def _fetched(self, schema_id: int | str) -> RegistrySchema:
        if isinstance(schema_id, str):
            return self.registry.get_schema_by_guid(schema_id)
        return self.registry.get_schema(schema_id)

    def _version(self, subject: str, schema_id: int | str) -> int | None:
        """The version that the schema has in the subject; without a subject's name the first that it has."""
        if isinstance(schema_id, str):
            return None
        try:
            found = self.registry.get_schema_versions(schema_id)
        except SchemaRegistryError as error:
            if (
                error.http_status_code in _NO_VERSIONS
            ):  # a registry that does not tell; the value can be read all the same
                return None
            raise
        return next((version for name, version in found if subject in ("", name)), None)

    def _check_type(self, schema: RegistrySchema, schema_id: int | str) -> None:
        if schema.schema_type != self.registry_type:
            raise DataException(
                f"The schema {schema_id} is of type {schema.schema_type}, and {type(self).__name__} needs "
                f"{self.registry_type}; choose the converter of that type"
            )


class _Errors:
    """Raises errors of the registry and of formats as Connect's: what can be retried, and what cannot."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, ConnectException | ConfigException):
            return
        if isinstance(error, RetriableError) or _is_passing(error):
            raise RetriableException(f"{self._message}{error}") from error
        if isinstance(error, SchemaRegistryError) and error.http_status_code in (401, 403):
            raise ConfigException(f"{self._message}{error}; check the credentials for the registry") from error
        if isinstance(error, SerdeError | ValueError | TypeError | LookupError | OverflowError):
            raise DataException(f"{self._message}{error}") from error


def _is_passing(error: BaseException) -> bool:
    if not isinstance(error, SchemaRegistryError):
        return False
    return error.http_status_code >= 500 or error.http_status_code in _STATUS_RETRIED
