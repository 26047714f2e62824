"""Documents of MongoDB as texts and bytes (`output.format`, `output.json.formatter`)."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.connect.data.schema import BYTES_SCHEMA, STRING_SCHEMA, Schema

Written = tuple[Schema, Any]


def writer(output: str, formatter: str) -> Callable[[Mapping[str, Any]], Written]:
    """Return a function that writes documents, with the schema of what it returns.

    Args:
        output: json or bson.
        formatter: Of JSON: DefaultJson (the first extended JSON), ExtendedJson (the second, canonical), SimplifiedJson.
    """
    import bson

    if output == "bson":
        return lambda document: (BYTES_SCHEMA, bson.encode(document))
    to_text = json_writer(formatter)
    return lambda document: (STRING_SCHEMA, to_text(document))


def json_writer(formatter: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that writes documents as JSON.

    Args:
        formatter: As of `writer`.
    """
    from bson import json_util
    from bson.json_util import DatetimeRepresentation, JSONMode, JSONOptions

    if formatter == "DefaultJson":
        options = JSONOptions(
            strict_number_long=True,
            datetime_representation=DatetimeRepresentation.LEGACY,
            json_mode=JSONMode.LEGACY,
        )
    else:
        options = JSONOptions(json_mode=JSONMode.CANONICAL if formatter == "ExtendedJson" else JSONMode.RELAXED)

    def text(document: Mapping[str, Any]) -> str:
        shown = _simplified(document) if formatter == "SimplifiedJson" else document
        written: str = json_util.dumps(shown, json_options=options, ensure_ascii=False)
        return written

    return text


def token_text(token: Mapping[str, Any]) -> str:
    """Return the text of a resume token, as offsets have it."""
    from bson import json_util

    return json_util.dumps(token)  # type: ignore[no-any-return]


def _simplified(value: Any) -> Any:
    from bson.binary import Binary
    from bson.datetime_ms import DatetimeMS
    from bson.decimal128 import Decimal128
    from bson.objectid import ObjectId

    match value:
        case Mapping():
            return {name: _simplified(each) for name, each in value.items()}
        case list():
            return [_simplified(each) for each in value]
        case Binary() | bytes():
            return base64.b64encode(value).decode()
        case dt.datetime():
            text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
            return (text.rstrip("0").rstrip(".") if "." in text else text) + "Z"
        case DatetimeMS() | Decimal128() | ObjectId():
            return str(int(value)) if isinstance(value, DatetimeMS) else str(value)
    return value
