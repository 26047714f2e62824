"""Parses request bodies as Jackson does for Kafka's classes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.connect.storage import TargetState

_MOST_DEPTH = 100
_BLANKS = re.compile(r"[ \t\r\n]*")


class JsonBodyError(Exception):
    """A body that Jackson cannot deserialize: status 500, with the parser's message."""


class Number(str):
    """A number, with its original text."""


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"Unrecognized token '{text}'")


_decoder = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse_constant)
_numbers = json.JSONDecoder(parse_constant=_refuse_constant)


def read_body(body: bytes, with_numbers: bool = False) -> Any:
    """Return the only value of a body.

    Args:
        body: The bytes.
        with_numbers: True: numbers are int and float; False: `Number`, their text.

    Raises:
        JsonBodyError: It is not JSON, nested too deep, or followed by another value.
    """
    try:
        text = body.decode(json.detect_encoding(body))  # UTF-16, UTF-32 and byte-order marks, as Jackson
    except UnicodeDecodeError as error:
        raise JsonBodyError(f"Invalid UTF-8 start byte: {error.reason}") from None
    start = _BLANKS.match(text).end()  # type: ignore[union-attr]  # matches anything
    if start == len(text):
        raise JsonBodyError("No content to map due to end-of-input")
    if text.count("{") + text.count("[") > _MOST_DEPTH and _depth(text) > _MOST_DEPTH:
        raise JsonBodyError("Unexpected character: the document is nested too deep")
    try:
        value, end = (_numbers if with_numbers else _decoder).raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise JsonBodyError(f"Unexpected character: {error}") from None
    after = text[end:].strip(" \t\r\n")
    if after:
        raise JsonBodyError(_trailing_text(after))
    return value


def _trailing_text(after: str) -> str:
    word = re.match(r"\w*", after)[0]  # type: ignore[index]  # matches anything
    if word and word not in ("true", "false", "null") and not word[0].isdigit():
        return (
            f"Unrecognized token '{word}': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or "
            "'false')"
        )
    return "Trailing token found after value: not allowed as per `DeserializationFeature.FAIL_ON_TRAILING_TOKENS`"


def _depth(text: str) -> int:
    depth = most = 0
    for character in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        if character in "{[":
            depth += 1
            most = max(most, depth)
        elif character in "}]":
            depth -= 1
    return most


def string_map(value: Any) -> dict[str, str | None] | None:
    """Convert to a `Map<String, String>`: numbers and booleans become text. Raises JsonBodyError."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise JsonBodyError(f"Cannot deserialize value of type `java.util.LinkedHashMap` from {_kind(value)}")
    return {name: _string(each) for name, each in value.items()}


def string_maps(value: Any) -> list[dict[str, str | None]]:
    """Convert to a list of `Map<String, String>`. Raises JsonBodyError."""
    if not isinstance(value, list):
        raise JsonBodyError(f"Cannot deserialize value of type `java.util.ArrayList` from {_kind(value)}")
    return [string_map(each) or {} for each in value]


def _string(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    raise JsonBodyError(f"Cannot deserialize value of type `java.lang.String` from {_kind(value)}")


def _kind(value: Any) -> str:
    names: dict[type, str] = {dict: "Object value", list: "Array value", bool: "Boolean value", Number: "Integer value"}
    return names.get(type(value), "String value")


class CreateRequest(NamedTuple):
    """The body of `POST /connectors` (Kafka's `CreateConnectorRequest`)."""

    name: str | None
    config: dict[str, str | None] | None
    initial_state: str | None

    @classmethod
    def of(cls, value: Any) -> CreateRequest | None:
        """Raises JsonBodyError."""
        if value is None:
            return None
        fields = _fields(value, "CreateConnectorRequest", ("name", "config", "initial_state"))
        state = fields.get("initial_state")
        if state is not None and (not isinstance(state, str) or state.upper() not in _STATES):
            raise JsonBodyError(f"Cannot construct instance of `InitialState` from {state!r}")
        return cls(
            _string(fields.get("name")), string_map(fields.get("config")), None if state is None else state.upper()
        )

    @property
    def target_state(self) -> TargetState | None:
        return None if self.initial_state is None else _STATES[self.initial_state]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "config": self.config, "initial_state": self.initial_state}


_STATES = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}


class ConnectorOffset(NamedTuple):
    partition: dict[str, Any] | None
    offset: dict[str, Any] | None


def connector_offsets(value: Any) -> list[ConnectorOffset] | None:
    """Return the offsets in a body; None: it has none. Raises JsonBodyError."""
    offsets = _fields(value, "ConnectorOffsets", ("offsets",)).get("offsets")
    if offsets is None:
        return None
    if not isinstance(offsets, list):
        raise JsonBodyError(f"Cannot deserialize value of type `java.util.ArrayList` from {_kind(offsets)}")
    found = []
    for each in offsets:
        fields = _fields(each, "ConnectorOffset", ("partition", "offset"))
        for part in fields.values():
            if part is not None and not isinstance(part, dict):
                raise JsonBodyError(f"Cannot deserialize value of type `java.util.LinkedHashMap` from {_kind(part)}")
        found.append(ConnectorOffset(fields.get("partition"), fields.get("offset")))
    return found


def _fields(value: Any, kind: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise JsonBodyError(f"Cannot construct instance of `{kind}` from {_kind(value)}")
    for name in value:
        if name not in known:
            raise JsonBodyError(f'Unrecognized field "{name}" (class {kind}), not marked as ignorable')
    return value
