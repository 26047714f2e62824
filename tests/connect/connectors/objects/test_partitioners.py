"""Folders of records."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.partitioners import make_partitioner
from kafkapy.connect.connectors.objects.path_format import PathFormat
from kafkapy.connect.connectors.objects.sink_config import sink_config_def
from kafkapy.connect.connectors.objects.timestamps import make_extractor
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.errors import DataException
from tests.connect.connectors.objects.sink_harness import record

LEAP_DAY = 1_709_210_096_789  # 2024-02-29T12:34:56.789Z


def folder(value: Any, extractor: str = "RecordField", **configs: str) -> str:
    config = sink_config_def().parse(
        {"flush.size": "1", **{name.replace("_", "."): text for name, text in configs.items()}}
    )
    return make_partitioner(config, make_extractor(extractor, "at"))(record(3, value, partition=7, timestamp=LEAP_DAY))


def test_the_default_is_the_partition() -> None:
    assert folder(None) == "partition=7"


def test_fields_name_folders() -> None:
    value = {"a": "x/y", "b": {"c": True}, "n": -5, "dots": ".."}
    by = {"partitioner_class": "FieldPartitioner", "partition_field_name": "a,b.c,n,dots"}
    assert folder(value, **by) == "a=x%2Fy/b.c=true/n=-5/dots=%2E%2E"
    assert folder(value, **by, partition_field_format_path="false") == "x%2Fy/true/-5/%2E%2E"
    with pytest.raises(DataException, match="no field a"):
        folder({}, **by)


@pytest.mark.parametrize("at", [LEAP_DAY, str(LEAP_DAY), Instant(LEAP_DAY), "2024-02-29T13:34:56.789+01:00"])
def test_times_name_folders_in_their_zone(at: Any) -> None:
    by = {"partitioner_class": "HourlyPartitioner", "timezone": "Asia/Tokyo"}
    assert folder({"at": at}, **by) == "year=2024/month=02/day=29/hour=21"
    assert folder({}, "Record", partitioner_class="DailyPartitioner", timezone="UTC") == "year=2024/month=02/day=29"


def test_a_duration_rounds_times_down() -> None:
    by = {
        "partitioner_class": "TimeBased",
        "path_format": "HH'h'mm",
        "partition_duration_ms": "900000",
        "timezone": "UTC",
    }
    assert folder({}, "Record", **by) == "12h30"


def test_a_time_that_is_none_is_the_records_error() -> None:
    with pytest.raises(DataException, match="ISO 8601"):
        folder({"at": "noon"}, partitioner_class="HourlyPartitioner", timezone="UTC")
    with pytest.raises(DataException, match="out of range"):
        folder({"at": 1 << 60}, partitioner_class="HourlyPartitioner", timezone="UTC")


def test_letters_of_a_path() -> None:
    time = dt.datetime(2024, 2, 9, 13, 4, 5, 67_000)
    assert PathFormat("yy-M-dd EEE EEEE MMM MMMM h:m:s.SSS D 'o''clock'").text(time) == (
        "24-2-09 Fri Friday Feb February 1:4:5.067 40 o'clock"
    )
    for wrong in ("Q", "'open"):
        with pytest.raises(ConfigException):
            PathFormat(wrong)
