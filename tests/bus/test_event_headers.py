from __future__ import annotations

import pytest

from kafkapy.bus.audit_counters import AuditCounters, AuditRecord, hour_of
from kafkapy.bus.event_headers import Envelope, headers_of
from kafkapy.bus.schema_version import ChangeKind, SchemaVersion, subject_of


def test_an_envelope_reads_what_was_written() -> None:
    headers = headers_of("id-1", "shop.Paid", "1.2.3", "till-7", 12)
    envelope = Envelope.of("paid", 3, 44, 1_000, b"k", headers)
    assert envelope.event_id == "id-1"
    assert envelope.event_type == "shop.Paid"
    assert envelope.version == SchemaVersion(1, 2, 3)
    assert (envelope.producer_id, envelope.producer_seq) == ("till-7", 12)
    assert (envelope.time_ms, envelope.key) == (1_000, b"k")


def test_a_record_without_headers_is_an_event() -> None:
    envelope = Envelope.of("paid", 3, 44, 1_000, None, [])
    assert envelope.event_id == "paid-3-44"
    assert (envelope.event_type, envelope.version, envelope.producer_id, envelope.producer_seq) == (
        "",
        None,
        None,
        None,
    )


def test_headers_that_make_no_sense_count_as_missing() -> None:
    headers = [("event-id", None), ("event-version", b"next"), ("producer-seq", b"-1"), ("producer-id", b"\xff")]
    envelope = Envelope.of("paid", 0, 1, 0, None, headers)
    assert (envelope.event_id, envelope.version, envelope.producer_seq) == ("paid-0-1", None, None)
    assert envelope.producer_id == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("text", ["1", "1.2", "1.2.3.4", "01.2.3", "0.1.0", "1.2.-3", "a.b.c", " 1.2.3", "1.2.3\n"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"MODEL\.REVISION\.ADDITION"):
        SchemaVersion.parse(text)


def test_versions_follow_each_other() -> None:
    version = SchemaVersion.parse("1.2.3")
    assert [str(version.next(kind)) for kind in ChangeKind] == ["1.2.3", "1.2.4", "1.3.0", "2.0.0"]
    assert [version.next(kind).claimed_since(version) for kind in ChangeKind] == list(ChangeKind)
    assert subject_of("shop.Paid", version) == "shop.Paid-v1"


def test_counters_tell_what_changed_and_at_the_end_everything() -> None:
    counters = AuditCounters("till-7", "till")
    for time_ms in (0, 1, 3_600_000):
        counters.sent("paid", time_ms, counters.next_sequence("paid"))
    counters.failed("paid", 5)
    first = list(counters.changed(10))
    assert [(one.hour, one.sent, one.failed, one.last_seq) for one in first] == [
        ("1970-01-01T00", 2, 1, 2),
        ("1970-01-01T01", 1, 0, 3),
    ]
    assert list(counters.changed(20)) == []
    counters.given_back(first[1])
    assert [one.hour for one in counters.changed(30)] == ["1970-01-01T01"]
    last = list(counters.changed(40, closed=True))
    assert [one.closed for one in last] == [True, True]
    assert AuditRecord.decode(last[0].encode()) == last[0]
    assert last[0].key == b"till-7|paid|1970-01-01T00"


def test_what_is_no_counter_is_named() -> None:
    with pytest.raises(ValueError, match="no counter of _bus_audit"):
        AuditRecord.decode(b'{"producer": "x"}')


def test_hours_that_no_calendar_has() -> None:
    assert hour_of(-1) == "1969-12-31T23"
    assert hour_of(1 << 62) == "9999-12-31T23"
