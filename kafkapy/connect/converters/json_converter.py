"""JSON with or without an envelope that holds the schema (`org.apache.kafka.connect.json.JsonConverter`)."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef, Width
from kafkapy.connect.converters.converter import DataConverter, converter_config_def, parse_converter_configs
from kafkapy.connect.converters.json_reader import JsonDataReader
from kafkapy.connect.converters.json_schemas import schema_from_json, schema_to_json
from kafkapy.connect.converters.json_text import MISSING, read_json, read_last_member
from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import NULL, SchemaAndValue
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.errors import DataException, SerializationException

_ENVELOPE_MISSING = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields.'
    " If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)

_BEGIN: Final = re.compile(rb'\{"schema":.{1,10000}?, ?"payload": ?', re.DOTALL)
"""The beginning of an envelope, up to its payload. With a longer schema it is read as a whole each time, so that what is
kept of beginnings has a bound."""


class JsonConverter(DataConverter):
    """Reads and writes JSON.

    Invariant: no more than `schemas.cache.size` schemas are kept in each direction, and as many beginnings of envelopes.

    Example:
        >>> from kafkapy.connect.data.schema import INT32_SCHEMA
        >>> converter = JsonConverter()
        >>> converter.configure({"schemas.enable": "false"})
        >>> converter.from_connect_data("topic", INT32_SCHEMA, 5)
        b'5'
    """

    java_class = "org.apache.kafka.connect.json.JsonConverter"

    def __init__(self) -> None:
        self._apply({"schemas.enable": True, "schemas.cache.size": 1000, "decimal.format": "BASE64"}, True)

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        parsed = parse_converter_configs(self.config(), configs, is_key)
        self._apply(parsed, parsed["replace.null.with.default"])

    def _apply(self, parsed: Mapping[str, Any], use_defaults: bool) -> None:
        self._enveloped: bool = parsed["schemas.enable"]
        self._writer = JsonDataWriter(parsed["decimal.format"].upper() == "NUMERIC", use_defaults)
        self._reader = JsonDataReader(use_defaults)
        self._texts = SchemaCache[Schema | None, str](parsed["schemas.cache.size"])
        self._schemas = SchemaCache[bytes, Schema | None](parsed["schemas.cache.size"])
        self._envelopes = SchemaCache[bytes, Schema | None](parsed["schemas.cache.size"])

    def config(self) -> ConfigDef:
        definitions = converter_config_def()
        _define_schemas(definitions)
        _define_serialization(definitions)
        return definitions

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        if schema is None and value is None:
            return None
        if not self._enveloped:
            return self._writer.text(schema, value).encode(errors="replace")
        shown = self._texts.get(schema, lambda each: schema_to_json(each, self._writer.text))
        return f'{{"schema":{shown},"payload":{self._writer.text(schema, value)}}}'.encode(errors="replace")

    def to_connect_data(self, topic: str, value: bytes | None, headers: Any = None) -> SchemaAndValue:
        if value is None:
            return NULL
        if self._enveloped and (begin := _BEGIN.match(value)) is not None:
            known = self._envelopes.get(begin[0], self._schema_of)
            payload = MISSING if known is None else read_last_member(value, begin.end())
            if payload is not MISSING:
                return SchemaAndValue(known, self._reader.value(known, payload))
        try:
            node = read_json(value)
        except SerializationException as error:
            raise DataException(
                "Converting byte[] to Kafka Connect data failed due to serialization error: "
            ) from error
        if not self._enveloped:
            return SchemaAndValue(None, self._reader.value(None, None if node is MISSING else node))
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataException(_ENVELOPE_MISSING)
        schema = self._schema(node["schema"])
        return SchemaAndValue(schema, self._reader.value(schema, node["payload"]))

    def _schema_of(self, begin: bytes) -> Schema | None:
        """The schema of envelopes that begin so, up to their payload; None: they must be read as a whole."""
        try:
            node = read_json(begin + b"null}")
        except SerializationException:
            return None
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"} or node["payload"] is not None:
            return None
        return self._schema(node["schema"])

    def _schema(self, node: Any) -> Schema | None:
        if node is None:
            return None
        key = pickle.dumps(node)  # five times as quick as JSON's own text
        return self._schemas.get(key, lambda _: schema_from_json(node, self._reader.value))


def _define_schemas(definitions: ConfigDef) -> None:
    definitions.define(
        "schemas.enable",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.HIGH,
        doc="Whether each key and value has an envelope with its schema.",
        group="Schemas",
        order_in_group=0,
        width=Width.MEDIUM,
        display_name="Enable Schemas",
    )
    definitions.define(
        "schemas.cache.size",
        ConfigType.INT,
        1000,
        importance=Importance.HIGH,
        doc="How many schemas are kept.",
        group="Schemas",
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Schema Cache Size",
    )


def _define_serialization(definitions: ConfigDef) -> None:
    definitions.define(
        "decimal.format",
        ConfigType.STRING,
        "BASE64",
        validator=OneOf("NUMERIC", "BASE64", case_insensitive=True),
        importance=Importance.LOW,
        doc="How decimals are written: BASE64, the bytes of their digits; or NUMERIC, a number. In any case.",
        group="Serialization",
        order_in_group=0,
        width=Width.MEDIUM,
        display_name="Decimal Format",
    )
    definitions.define(
        "replace.null.with.default",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.LOW,
        doc="Whether the default of a field stands for a null.",
        group="Serialization",
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Replace null with default",
    )
