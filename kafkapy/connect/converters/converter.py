"""Base classes of converters between Connect's data and bytes (`org.apache.kafka.connect.storage`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import SchemaAndValue

TYPE_CONFIG = "converter.type"


class Converter(ABC):
    """Converts keys or values of records.

    Example:
        >>> from kafkapy.connect.converters.string_converter import StringConverter
        >>> converter = StringConverter()
        >>> converter.configure({}, is_key=False)
        >>> converter.from_connect_data("topic", None, "a")
        b'a'
    """

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:  # noqa: B027  # nothing by default
        """Receive the settings.

        Args:
            configs: By name, without the converter's prefix.
            is_key: Whether keys are converted. Default: values.

        Raises:
            ConfigException: A setting is wrong.
        """

    @abstractmethod
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        """Return the bytes of a value.

        Args:
            topic: Of the record.
            schema: None: the value has none.
            value: The value.
            headers: Headers of the record to be written; the converter may add some. Default: none.

        Raises:
            DataException: The value cannot be converted.
        """

    @abstractmethod
    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        """Return the value of bytes.

        Args:
            topic: Of the record.
            value: None: a tombstone.
            headers: Headers of the record that was read. Default: none.

        Raises:
            DataException: The bytes cannot be converted.
        """

    def config(self) -> ConfigDef:
        """Return the definitions of the settings."""
        return ConfigDef()

    def close(self) -> None:  # noqa: B027  # nothing by default
        """Release what the converter holds."""


class HeaderConverter(ABC):
    """Converts values of headers."""

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:  # noqa: B027  # nothing by default
        """Receive the settings. Raises ConfigException.

        Args:
            configs: By name; `converter.type` is `header`.
            is_key: Not used for headers.
        """

    @abstractmethod
    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of a header's value. Raises DataException.

        Args:
            topic: Of the record.
            name: The header's key.
            schema: None: the value has none.
            value: The value.
        """

    @abstractmethod
    def to_connect_header(self, topic: str, name: str, value: bytes | None) -> SchemaAndValue:
        """Return the value of a header's bytes. Raises DataException.

        Args:
            topic: Of the record.
            name: The header's key.
            value: The bytes.
        """

    def config(self) -> ConfigDef:
        """Return the definitions of the settings."""
        return ConfigDef()

    def close(self) -> None:  # noqa: B027  # nothing by default
        """Release what the converter holds."""


class DataConverter(Converter, HeaderConverter):
    """Base of converters that convert headers the same way as values."""

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, value: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, value)

    def config(self) -> ConfigDef:
        return converter_config_def()


def converter_config_def() -> ConfigDef:
    """Return the definitions of every converter's settings (`ConverterConfig`)."""
    return ConfigDef().define(
        TYPE_CONFIG,
        ConfigType.STRING,
        validator=OneOf("key", "value", "header"),
        importance=Importance.LOW,
        doc="Whether keys, values or headers are converted.",
    )


def parse_converter_configs(definitions: ConfigDef, configs: Mapping[str, object], is_key: bool) -> dict[str, Any]:
    """Return the settings of a converter with their defaults; its type is set if `configs` lacks it.

    Args:
        definitions: The converter's.
        configs: As given to `configure`.
        is_key: Whether keys are converted.

    Raises:
        ConfigException: A setting is wrong.
    """
    return definitions.parse({TYPE_CONFIG: "key" if is_key else "value", **configs})
