"""Forms of values by the configs' modes, and the parts of PostgreSQL's text."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.connect.connectors.postgresql.column_types import PgType
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.text_values import (
    ArrayText,
    parse_array,
    parse_hstore,
    parse_interval,
    parse_timestamp_us,
)
from kafkapy.connect.connectors.postgresql.value_types import ValueTypes, read_value
from kafkapy.connect.errors import ConnectException

BASE = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "p"}


def value(name: str, text: str, **config: str) -> tuple[str, str | None, Any]:
    settings = CaptureSettings.of({**BASE, **{key.replace("_", "."): word for key, word in config.items()}})
    found = ValueTypes(settings).find(PgType(1, name), -1)
    assert found is not None
    schema = found.schema(False)
    return schema.type.name, schema.name, read_value(found, text, "a")


@pytest.mark.parametrize(
    ("name", "text", "config", "expected"),
    [
        ("numeric", "1.5", {"decimal_handling_mode": "double"}, ("FLOAT64", None, 1.5)),
        ("numeric", "NaN", {"decimal_handling_mode": "string"}, ("STRING", None, "NAN")),
        ("bytea", "\\x00ff", {"binary_handling_mode": "hex"}, ("STRING", None, "00ff")),
        ("bytea", "\\x00ff", {"binary_handling_mode": "base64"}, ("STRING", None, "AP8=")),
        ("interval", "1 mon", {}, ("INT64", "io.debezium.time.MicroDuration", 2629800000000)),
        (
            "interval",
            "-1 mons +2 days",
            {"interval_handling_mode": "string"},
            ("STRING", "io.debezium.time.Interval", "P0Y-1M2DT0H0M0S"),
        ),
        ("hstore", '"a"=>"1"', {}, ("STRING", "io.debezium.data.Json", '{"a":"1"}')),
        ("time", "24:00:00", {}, ("INT64", "io.debezium.time.MicroTime", 86400000000)),
        ("whatever", "(1,2)", {"include_unknown_datatypes": "true"}, ("BYTES", None, b"(1,2)")),
    ],
)
def test_modes(name: str, text: str, config: dict[str, str], expected: tuple[str, str | None, Any]) -> None:
    assert value(name, text, **config) == expected


def test_values_without_a_form_name_column_and_remedy() -> None:
    with pytest.raises(ConnectException, match=r"'NaN' of column a .*decimal\.handling\.mode=string"):
        value("numeric", "NaN")


_ELEMENTS = st.lists(st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1)


@given(_ELEMENTS)
def test_arrays_of_any_text(items: list[str | None]) -> None:
    def quoted(item: str | None) -> str:
        if item is None:
            return "NULL"
        escaped = item.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    expected: ArrayText = [*items]
    assert parse_array("{" + ",".join(map(quoted, items)) + "}") == expected


@given(st.datetimes())
def test_timestamps_of_any_year(moment: dt.datetime) -> None:
    expected = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert parse_timestamp_us(moment.isoformat(" ")) == expected


@pytest.mark.parametrize("text", ["", "{", "a", '{"a', "{a"])
def test_damaged_arrays(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_array(text)


def test_hstore_and_intervals_with_signs() -> None:
    assert parse_hstore('"a\\"b"=>"c\\\\d", "e"=>NULL') == {'a"b': "c\\d", "e": None}
    assert parse_interval("-1 years -2 mons +3 days -00:00:01.5") == (-14, 3, -1500000)
