"""Bodies of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.converters.json_writer import JsonDataWriter
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.records import SinkRecord

_WRITER = JsonDataWriter(True, True)


class Bodies:
    """Makes bodies of records.

    Args:
        config: The sink's, parsed.

    Raises:
        ConfigException: A pattern is wrong, or has no replacement.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._is_json = config["request.body.format"].lower() == "json"
        self._as_array: bool = config["batch.json.as.array"]
        self._single = config["batch.max.size"] == 1
        self._prefix, self._suffix = config["batch.prefix"], config["batch.suffix"]
        self._separator = config["batch.separator"]
        split = config["regex.separator"]
        patterns = config["regex.patterns"].split(split) if config["regex.patterns"] else []
        replacements = config["regex.replacements"].split(split) if patterns else []
        if len(patterns) != len(replacements):
            wanted = "Expected as many as regex.patterns."
            raise ConfigException.invalid("regex.replacements", config["regex.replacements"], wanted)
        try:
            self._changes = [(re.compile(each), new) for each, new in zip(patterns, replacements, strict=True)]
        except re.error as error:
            raise ConfigException.invalid("regex.patterns", config["regex.patterns"], str(error)) from None

    def of(self, records: Sequence[SinkRecord]) -> bytes:
        """Return the body of one request. Raises DataException if a value does not fit its schema."""
        if self._as_array:
            return b"[" + b",".join(map(self._one, records)) + b"]"
        if self._single:
            return self._one(records[0])
        joined = self._separator.encode().join(map(self._one, records))
        return bytes(self._prefix.encode() + joined + self._suffix.encode())

    def _one(self, record: SinkRecord) -> bytes:
        value = record.value
        if isinstance(value, bytes) and not self._is_json:
            return value
        text = value if isinstance(value, str) and not self._is_json else _WRITER.text(record.value_schema, value)
        for pattern, new in self._changes:
            text = pattern.sub(partial(_replacement, fill(new, record, quoted=False)), text)
        return text.encode("utf-8", "replace")


def _replacement(text: str, _: re.Match[str]) -> str:
    return text


def fill(template: str, record: SinkRecord, *, quoted: bool = True) -> str:
    """Replace `${topic}` and `${key}`.

    Args:
        template: The text.
        record: Has both.
        quoted: Whether they are quoted for a URL. Default: yes.
    """
    if "${" not in template:
        return template
    for name, value in (("${topic}", record.topic), ("${key}", record.key)):
        if name in template:
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else java_str(value)
            template = template.replace(name, quote(text, safe="") if quoted else text)
    return template
