"""Text as bytes (`org.apache.kafka.connect.storage.StringConverter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import Importance
from kafkapy.connect.config.config_def import ConfigDef, Width
from kafkapy.connect.converters.converter import DataConverter, converter_config_def, parse_converter_configs
from kafkapy.connect.converters.java_charsets import codec_of, decode, encode
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.schema import OPTIONAL_STRING_SCHEMA, Schema
from kafkapy.connect.data.schema_and_value import SchemaAndValue


class StringConverter(DataConverter):
    """Writes any value as its text, reads text.

    Example:
        >>> converter = StringConverter()
        >>> converter.configure({})
        >>> converter.from_connect_data("topic", None, True), converter.to_connect_data("topic", b"a").value
        (b'true', 'a')
    """

    java_class = "org.apache.kafka.connect.storage.StringConverter"

    def __init__(self) -> None:
        self._codec = "utf-8"

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        self._codec = codec_of(parse_converter_configs(self.config(), configs, is_key)["converter.encoding"])

    def config(self) -> ConfigDef:
        return converter_config_def().define(
            "converter.encoding",
            default="UTF-8",
            importance=Importance.HIGH,
            doc="Name of the character set of the bytes, as Java has it.",
            width=Width.MEDIUM,
            display_name="Encoding",
        )

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        return None if value is None else encode(java_str(value), self._codec)

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, None if value is None else decode(value, self._codec))
