"""Headers as text whose schema is guessed when it is read (`org.apache.kafka.connect.storage.SimpleHeaderConverter`)."""

from __future__ import annotations

import logging
from typing import Any

from kafkapy.connect.converters.converter import HeaderConverter
from kafkapy.connect.converters.java_charsets import decode, encode
from kafkapy.connect.data.conversions import convert_to_string
from kafkapy.connect.data.schema import BYTES_SCHEMA, Schema
from kafkapy.connect.data.schema_and_value import NULL, SchemaAndValue
from kafkapy.connect.data.value_parser import parse_string

_log = logging.getLogger(__name__)


class SimpleHeaderConverter(HeaderConverter):
    """Reads and writes headers as `kafkapy.connect.data.values` does.

    Example:
        >>> SimpleHeaderConverter().to_connect_header("topic", "name", b"[1,2]").value
        [1, 2]
    """

    java_class = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    def to_connect_header(self, topic: str, name: str, value: bytes | None) -> SchemaAndValue:
        if value is None:
            return NULL
        try:
            return parse_string(decode(value, "utf-8"))
        except Exception as error:
            _log.warning("Header %r of topic %s is kept as bytes, as it cannot be read: %s", name, topic, error)
            return SchemaAndValue(BYTES_SCHEMA, value)

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        text = convert_to_string(value)
        return None if text is None else encode(text, "utf-8")
