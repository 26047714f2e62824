from __future__ import annotations

import pytest

from kafkapy.common.java_date_format import date_format, utc
from kafkapy.common.java_date_parse import date_parser

_ALL = "G yyyy-MM-dd'T'HH:mm:ss.SSS'Z' D EEE X"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1709210096789, "AD 2024-02-29T12:34:56.789Z 60 Thu Z"),
        (-12219292800000, "AD 1582-10-15T00:00:00.000Z 278 Fri Z"),
        (-12219292800001, "AD 1582-10-04T23:59:59.999Z 277 Thu Z"),
        (253402300800000, "AD 10000-01-01T00:00:00.000Z 1 Sat Z"),
        (-62135769600001, "BC 0001-12-31T23:59:59.999Z 366 Fri Z"),
    ],
)
def test_days_before_the_reform_are_julian_and_years_have_any_length(ms: int, text: str) -> None:
    assert date_format(_ALL, utc)(ms) == text
    if text.startswith(("AD 1", "AD 2")):
        assert date_parser("G yyyy-MM-dd'T'HH:mm:ss.SSS", utc)(text) == ms


@pytest.mark.parametrize(
    ("pattern", "text", "ms"),
    [
        ("yyyyMMddHHmm", "202001021530", 1577979000000),
        ("yyyy-MM-dd'T'HH:mmX", "2020-01-02T15:30+02", 1577971800000),
        ("yyyy-MM-dd", "2019-13-45", 1581638400000),
        ("d MMM yyyy h a", "2 Jan 2020 3 PM and more", 1577977200000),
        ("yyyy-MM-dd z", "2020-01-02 GMT+01:00", 1577919600000),
    ],
)
def test_texts_are_read_leniently(pattern: str, text: str, ms: int) -> None:
    assert date_parser(pattern, utc)(text) == ms


@pytest.mark.parametrize(("pattern", "text"), [("yyyy-MM-dd", "2020/01/02"), ("yyyyMMdd", "2020"), ("HH", "")])
def test_texts_that_do_not_fit_are_refused(pattern: str, text: str) -> None:
    with pytest.raises(ValueError, match="Unparseable date"):
        date_parser(pattern, utc)(text)
