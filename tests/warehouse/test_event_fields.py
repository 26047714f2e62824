"""Ids are bytes; ids and times out of fields of the value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.consumer.arrow import record_schema
from kafkapy.warehouse.audited_fields import audited_fields
from kafkapy.warehouse.envelope import FIRST_TIME_US, id_texts
from kafkapy.warehouse.event_fields import EventFields
from kafkapy.warehouse.ingest import TopicSettings
from tests.warehouse.ran_task import NOW, Ran
from tests.warehouse.records import HOUR_MS, Sent, records

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "null"]},
        "n": {"type": "integer"},
        "ms": {"type": "integer"},
        "meta": {
            "type": "object",
            "properties": {"at.utc": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}},
        },
    },
}
PLAIN = TopicSettings("events", "event-id", json.dumps(SCHEMA), "JSON")


def with_ids(*ids: bytes | None) -> pa.RecordBatch:
    rows: list[dict[str, Any]] = [
        {
            "value": b"{}",
            "topic": "t",
            "partition": 0,
            "offset": offset,
            "timestamp": HOUR_MS * 1000,
            "timestampType": 0,
            "headers": [{"key": "event-id", "value": id}],
        }
        for offset, id in enumerate(ids)
    ]
    return pa.RecordBatch.from_pylist(rows, record_schema(True, "us"))


def test_an_id_without_any_byte_is_none(tmp_path: Path) -> None:
    ran = Ran(tmp_path, [with_ids(b"", b"", None, b"a")], PLAIN)
    assert [row["_event_id"] for row in ran.rows["t"]] == ["t-0-0", "t-0-1", "t-0-2", "a"]
    assert ran.told["no_id"] == 3


def test_bytes_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    ran = Ran(tmp_path, [with_ids(b"\xff", b"\xfe", "\ufffd".encode(), b"hex:ff", b"ok")], PLAIN)
    found = [row["_event_id"] for row in ran.rows["t"]]
    assert found == ["hex:ff", "hex:fe", "\ufffd", "hex:6865783a6666", "ok"]


@given(
    st.lists(
        st.binary(min_size=1, max_size=6) | st.text(min_size=1, max_size=3).map(lambda text: b"hex:" + text.encode())
    )
)
def test_texts_of_ids_are_the_same_if_the_bytes_are(ids: list[bytes]) -> None:
    texts = id_texts(pa.array(ids, pa.binary())).to_pylist()
    assert len(set(texts)) == len(set(ids))
    assert texts == [id_texts(pa.array([id], pa.binary()))[0].as_py() for id in ids]


@pytest.mark.parametrize(
    ("ms", "hour"),
    [(-2, "1969-12-31-23"), (-86_400_000 * 365, "1969-01-01-00"), (FIRST_TIME_US // 1000, "0001-01-01-00")],
)
def test_times_before_1970_are_times(tmp_path: Path, ms: int, hour: str) -> None:
    ran = Ran(tmp_path, [records([Sent(b"{}", "e", ms)])], PLAIN)
    assert [f"{row['ds']}-{row['hr']}" for row in ran.rows["t"]] == [hour]


@pytest.mark.parametrize(("ms", "reason"), [(-1, "no time"), (FIRST_TIME_US // 1000 - 1, "before the year 1")])
def test_what_is_no_time(tmp_path: Path, ms: int, reason: str) -> None:
    ran = Ran(tmp_path, [records([Sent(b"{}", "e", ms)])], PLAIN)
    assert sum(file["rows"] for file in ran.files if file["topic"] == "") == 1
    table = pa.parquet.read_table(tmp_path / "s=-1" / f"_{ran.files[0]['name']}", partitioning=None)
    assert reason in table["reason"][0].as_py()


def fields(id: str = "", time: str = "") -> TopicSettings:
    return PLAIN._replace(fields=EventFields(id, time))


def sent(*values: Any) -> pa.RecordBatch:
    return records([Sent(json.dumps(value).encode(), f"header {n}", HOUR_MS) for n, value in enumerate(values)])


def test_ids_out_of_a_field(tmp_path: Path) -> None:
    ran = Ran(tmp_path, [sent({"id": "a"}, {"id": None}, {"id": ""}, {}, {"id": "a"})], fields("id"))
    assert [row["_event_id"] for row in ran.rows["t"]] == ["a", "t-0-1", "t-0-2", "t-0-3", "a"]
    assert ran.told["no_id"] == 3
    numbers = Ran(tmp_path, [sent({"n": 7})], fields("n"))
    assert [row["_event_id"] for row in numbers.rows["t"]] == ["7"]


def test_times_out_of_a_field(tmp_path: Path) -> None:
    far = NOW + 3_600_001
    values = [{"ms": 3_600_000}, {"ms": -1}, {}, {"ms": far}, {"ms": 2**62}, {"ms": -(2**62)}]
    ran = Ran(tmp_path, [sent(*values)], fields("id", "ms"))
    assert [f"{row['ds']}-{row['hr']}" for row in ran.rows["t"]] == ["1970-01-01-01", "1969-12-31-23"]
    assert [row["_event_time"].timestamp() for row in ran.rows["t"]] == [3600, -0.001]
    assert sorted((row["_event_id"], row["reason"].partition(":")[0]) for row in ran.rows[""]) == [
        ("t-0-2", "its field ms has no time"),
        ("t-0-3", "its time is more than 60 minutes ahead"),
        ("t-0-4", "its field ms is no time in milliseconds"),
        ("t-0-5", "its field ms is no time in milliseconds"),
    ]


def test_texts_are_times_with_an_offset(tmp_path: Path) -> None:
    texts = [
        "2026-11-24T01:00:00.123456789Z",
        "2026-11-24T01:30:00+02:00",
        "2026-11-24T01:00:00",
        "2026-11-24",
        "x",
        "",
    ]
    ran = Ran(tmp_path, [sent(*({"meta": {"at.utc": text}} for text in texts))], fields("", "meta.at.utc"))
    assert [f"{row['ds']}-{row['hr']}" for row in ran.rows["t"]] == ["2026-11-24-01", "2026-11-23-23"]
    assert ran.rows["t"][0]["_event_time"].microsecond == 123456
    assert len(ran.rows[""]) == 4
    assert all("RFC 3339" in row["reason"] for row in ran.rows[""])


@pytest.mark.parametrize(
    ("id", "time", "reason"),
    [
        ("ID", "", "it has no field ID, which id_field names"),
        ("meta", "", "cannot be what id_field names"),
        ("", "meta.list", "cannot be what time_field names"),
        ("", "n.x", "it has no field n.x"),
    ],
)
def test_a_field_that_a_schema_does_not_have(tmp_path: Path, id: str, time: str, reason: str) -> None:
    ran = Ran(tmp_path, [sent({"n": 1}, {"n": 2})], fields(id, time))
    assert [reason in row["reason"] for row in ran.rows[""]] == [True, True]
    assert "t" not in ran.rows


def test_the_audit_sees_the_same(tmp_path: Path) -> None:
    values = [{"id": "a", "ms": HOUR_MS + 1}, {"id": None, "ms": HOUR_MS}, {"id": "b"}, [], {"id": "c", "ms": 0}]
    batch, topic = sent(*values), fields("id", "ms")
    ran = Ran(tmp_path, [batch], topic)
    (found,) = audited_fields("{}", topic)(iter([batch]))
    rows = {row["offset"]: row for row in found.to_pylist()}
    assert [rows[offset]["id"] for offset in range(5)] == ["a", None, "b", None, "c"]
    for row in ran.rows["t"]:
        assert rows[row["_offset"]]["timestamp"] == row["_event_time"]
    header = audited_fields("{}", fields("", "ms"))(iter([batch]))
    assert next(header).column("id").to_pylist()[0] == "header 0"
