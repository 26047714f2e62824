"""What a task does with records: columns, hours, the quarantine. Without Spark and without a broker."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

import fastavro
import pyarrow as pa

from kafkapy.warehouse import envelope
from kafkapy.warehouse.ingest import TopicSettings
from tests.warehouse.ran_task import NOW, Ran
from tests.warehouse.records import HOUR_MS, Sent, records

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "n", "type": "int"}, {"name": "text", "type": ["null", "string"]}],
}
JSON_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
NESTED = {"type": "record", "name": "R", "fields": [{"name": "tags", "type": {"type": "array", "items": "string"}}]}


def avro(schema: Any, value: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


AVRO = TopicSettings("events", "event-id", json.dumps(SCHEMA), "AVRO")


def test_rows_have_their_events_columns_and_those_of_every_table(tmp_path: Path) -> None:
    sent = [
        Sent(avro(SCHEMA, {"n": 1, "text": "ü"}), "e1", HOUR_MS + 5, b"k"),
        Sent(avro(SCHEMA, {"n": 2, "text": None}), None, HOUR_MS + 3_600_000),
    ]
    ran = Ran(tmp_path, [records(sent, offset=7)], AVRO)
    first, second = ran.rows["t"]
    assert (first["n"], first["text"], first["_event_id"], first["_key"]) == (1, "ü", "e1", b"k")
    assert (first["ds"], first["hr"], first["_partition"], first["_offset"]) == ("2026-11-24", "00", 0, 7)
    assert first["_event_time"].timestamp() == HOUR_MS / 1000 + 0.005
    assert (second["_event_id"], second["hr"], second["text"]) == ("t-0-8", "01", None)
    assert ran.told == {
        "ranges": [["t", 0, 0, 2]],
        "no_id": 1,
        "oldest_ms": HOUR_MS + 5,
        "newest_ms": HOUR_MS + 3_600_000,
    }


def test_what_cannot_be_a_row_is_in_the_quarantine_with_its_reason(tmp_path: Path) -> None:
    good = avro(SCHEMA, {"n": 1, "text": None})
    sent = [
        Sent(good, "good"),
        Sent(b"\xff", "short"),
        Sent(good + b"x", "long"),
        Sent(None, "empty"),
        Sent(good, "old", -1),
        Sent(good, "ahead", NOW + 3_600_001),
        Sent(good, "good too", NOW + 3_600_000),
    ]
    ran = Ran(tmp_path, [records(sent)], AVRO)
    assert [row["_event_id"] for row in ran.rows["t"]] == ["good", "good too"]
    found = {row["event_id"]: row for row in ran.rows[""]}
    assert found.keys() == {"short", "long", "empty", "old", "ahead"}
    assert "no value" in found["empty"]["reason"]
    assert "no time" in found["old"]["reason"]
    assert "60 minutes ahead" in found["ahead"]["reason"]
    assert found["short"]["value"] == b"\xff"
    assert found["long"]["reason"]
    assert {row["_event_id"] for row in ran.rows[""]} == {f"t-0-{n}" for n in range(1, 6)}
    assert {row["hr"] for row in ran.rows[""]} == {"10"}, "the hour in which it was found"


@pytest.mark.parametrize("broken", [False, True])
def test_json(tmp_path: Path, broken: bool) -> None:
    """One broken value doesn't harm the others."""
    topic = TopicSettings("events", "event-id", json.dumps(JSON_SCHEMA), "JSON")
    sent = [Sent(b'{"n": %d, "text": "a"}' % n, f"e{n}") for n in range(5)]
    if broken:
        sent[2] = Sent(b'{"n": ', "broken")
        sent[3] = Sent(b"[1]", "a list")
    ran = Ran(tmp_path, [records(sent)], topic)
    assert [row["n"] for row in ran.rows["t"]] == ([0, 1, 4] if broken else [0, 1, 2, 3, 4])
    assert {row["event_id"] for row in ran.rows.get("", [])} == ({"broken", "a list"} if broken else set())


def test_values_that_need_a_walk_of_their_own(tmp_path: Path) -> None:
    topic = TopicSettings("events", "event-id", json.dumps(NESTED), "AVRO")
    ran = Ran(tmp_path, [records([Sent(avro(NESTED, {"tags": ["a", "b"]})), Sent(b"\x09")])], topic)
    assert [row["tags"] for row in ran.rows["t"]] == [["a", "b"]]
    assert len(ran.rows[""]) == 1


def test_protobuf(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    from kafkapy.schemas import ProtobufSerializer, SchemaRegistryClient
    from tests.schemas.messages import User
    from tests.schemas.registry_server import running_registry

    with running_registry() as server:
        write = ProtobufSerializer(SchemaRegistryClient(server.url), User).serialize
        good = [write("t", [], User(id=n, name="Ann")) for n in range(2)]
        assert good[0] is not None
        sent = [Sent(good[0], "e0"), Sent(good[0][:6] + b"\xff", "broken"), Sent(good[1], "e1")]
        registry = json.dumps({"url": server.url})
        ran = Ran(tmp_path, [records(sent)], TopicSettings("events", "event-id"), registry=registry)
    assert [(row["_event_id"], row["id"], row["name"]) for row in ran.rows["t"]] == [("e0", 0, "Ann"), ("e1", 1, "Ann")]
    assert [row["event_id"] for row in ran.rows[""]] == ["broken"]


def test_changes_have_deletions(tmp_path: Path) -> None:
    topic = AVRO._replace(kind="changes")
    sent = [Sent(avro(SCHEMA, {"n": 1, "text": None}), key=b"a"), Sent(None, key=b"a"), Sent(None, "no key")]
    ran = Ran(tmp_path, [records(sent)], topic)
    by_offset = sorted(ran.rows["t"], key=lambda row: int(row["_offset"]))
    assert [(row["_key"], row["_deleted"], row.get("n")) for row in by_offset] == [
        (b"a", False, 1),
        (b"a", True, None),
    ]
    assert [row["reason"] for row in ran.rows[""]] == ["the record has no key"]


def test_a_backfill_knows_with_which_batch_each_offset_came(tmp_path: Path) -> None:
    good = avro(SCHEMA, {"n": 1, "text": None})
    batches = {"t 0": ([2, 5], [10, 11], [NOW, NOW + 7_200_000])}
    ahead = NOW + 3_700_000
    ran = Ran(
        tmp_path, [records([Sent(good, f"e{n}", ahead if n % 2 else HOUR_MS) for n in range(5)])], AVRO, batches=batches
    )
    assert [(row["_event_id"], row["_batch"], row["_schema"]) for row in ran.rows["t"]] == [
        ("e0", 10, 0),
        ("e2", 11, 0),
        ("e3", 11, 0),
        ("e4", 11, 0),
    ]
    assert [row["event_id"] for row in ran.rows[""]] == ["e1"], "ahead of the clock when it came"


def test_the_last_header_of_a_name_counts() -> None:
    rows = [[{"key": "i", "value": b"a"}, {"key": "i", "value": b"b"}], None, [{"key": "j", "value": b"c"}], []]
    headers = pa.array(rows, pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
    assert envelope.header_values(headers, "i").to_pylist() == [b"b", None, None, None]
    assert envelope.header_values(headers.slice(2), "j").to_pylist() == [b"c", None]


def test_hours_before_1970() -> None:
    assert envelope.hour_name(-1) == "1969-12-31-23"
    assert envelope.hour_name(HOUR_MS // 3_600_000) == "2026-11-24-00"
