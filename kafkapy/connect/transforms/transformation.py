"""Base classes of transforms and predicates (`org.apache.kafka.connect.transforms`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.headers import Header, Headers
from kafkapy.connect.records import ConnectRecord

R = TypeVar("R", bound=ConnectRecord)


class Transformation(ABC):
    """Changes or drops records, one by one.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> from kafkapy.connect.transforms.routers import RegexRouter
        >>> router = RegexRouter()
        >>> router.configure({"regex": "(.*)-old", "replacement": "$1"})
        >>> router.apply(SourceRecord({}, {}, "a-old")).topic
        'a'
    """

    def configure(self, configs: Mapping[str, object]) -> None:  # noqa: B027  # nothing by default
        """Take the settings.

        Args:
            configs: By name, without the transform's prefix.

        Raises:
            ConfigException: A setting is wrong.
        """

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """Return the record that replaces this one, or None to drop it. May raise any exception.

        Args:
            record: Is not changed.
        """

    def config(self) -> ConfigDef:
        """Return the definitions of the settings."""
        return ConfigDef()

    def close(self) -> None:  # noqa: B027  # nothing by default
        """Release what the transform holds."""


class Predicate(ABC):
    """Decides whether a transform is applied to a record (KIP-585)."""

    def configure(self, configs: Mapping[str, object]) -> None:  # noqa: B027  # nothing by default
        """Take the settings. Raises ConfigException.

        Args:
            configs: By name, without the predicate's prefix.
        """

    @abstractmethod
    def test(self, record: ConnectRecord) -> bool:
        """Return whether the predicate is true for a record.

        Args:
            record: Is not changed.
        """

    def config(self) -> ConfigDef:
        """Return the definitions of the settings."""
        return ConfigDef()

    def close(self) -> None:  # noqa: B027  # nothing by default
        """Release what the predicate holds."""


class SidedTransformation(Transformation):
    """Base of transforms with one class for keys and one for values: they also derive from `OnKey` or `OnValue`."""

    def schema_of(self, record: ConnectRecord) -> Schema | None:
        """Return the schema of the part of the record that is transformed."""
        raise NotImplementedError

    def value_of(self, record: ConnectRecord) -> Any:
        """Return the part of the record that is transformed."""
        raise NotImplementedError

    def with_value(self, record: R, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None) -> R:
        """Return the record with another key or value.

        Args:
            record: Is not changed.
            schema: Of the new part.
            value: The new part.
            headers: Default: a copy of the record's.
        """
        raise NotImplementedError


class OnKey(SidedTransformation):
    """Transforms keys."""

    def schema_of(self, record: ConnectRecord) -> Schema | None:
        return record.key_schema

    def value_of(self, record: ConnectRecord) -> Any:
        return record.key

    def with_value(self, record: R, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None) -> R:
        made = record.with_key(schema, value)
        return made if headers is None else made.with_headers(Headers(headers))


class OnValue(SidedTransformation):
    """Transforms values."""

    def schema_of(self, record: ConnectRecord) -> Schema | None:
        return record.value_schema

    def value_of(self, record: ConnectRecord) -> Any:
        return record.value

    def with_value(self, record: R, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None) -> R:
        made = record.with_value(schema, value)
        return made if headers is None else made.with_headers(Headers(headers))
