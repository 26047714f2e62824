"""Texts of Avro schemas, which need no library of Avro."""

from __future__ import annotations

from typing import Any

from kafkapy.common import strict_json
from kafkapy.common.deep_calls import run_deep
from kafkapy.common.strict_json import JsonDepthError


def json_of(schema: str) -> Any:
    """An Avro schema's text, which may have comments, as Avro's own parser takes it.

    A number that no double can hold is infinite, as in Java.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return run_deep(lambda: _loads(schema))
    except RecursionError:
        raise ValueError("the schema is nested too deep") from None


def _loads(schema: str) -> Any:
    try:
        return strict_json.loads(schema, parse_float=float, comments=True)
    except JsonDepthError:
        raise RecursionError from None
