"""The audit's queue: it never blocks, and what is lost is counted."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence

import pytest

from kafkapy.server.security.audit.audit_log import AuditLog, AuditWriteError
from kafkapy.server.security.audit.audit_records import AuditedEvent, Changed
from tests.waiting import HANG_SECONDS


class Sink:
    """Writes while `open` is set; fails as long as `problem` is not empty."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.open = threading.Event()
        self.open.set()
        self.writing = threading.Event()
        self.problem = ""
        self.closed = False

    def write(self, lines: Sequence[bytes]) -> None:
        self.writing.set()
        assert self.open.wait(HANG_SECONDS)
        if self.problem:
            raise AuditWriteError(self.problem)
        self.lines += lines

    def stopping(self) -> None:
        self.open.set()

    def close(self) -> None:
        self.closed = True


def record(number: int) -> AuditedEvent:
    return AuditedEvent(number, None, Changed("x", "NONE", {"number": number}))


def numbers(sink: Sink) -> list[object]:
    return [fields.get("number", f"{fields['event']} {fields.get('count')}") for fields in map(json.loads, sink.lines)]


def test_records_are_written_in_order() -> None:
    sink = Sink()
    log = AuditLog(sink, 100)
    log.broker_id = 3
    log.start()
    for number in range(50):
        log.put(record(number))
    assert log.flush(HANG_SECONDS)
    assert numbers(sink) == list(range(50))
    assert json.loads(sink.lines[0])["broker"] == 3
    assert (log.written, log.lost) == (50, 0)
    log.stop()
    assert sink.closed


def test_what_finds_no_place_is_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    sink = Sink()
    sink.open.clear()
    log = AuditLog(sink, 3)
    log.start()
    log.put(record(0))
    assert sink.writing.wait(HANG_SECONDS)
    with caplog.at_level(logging.ERROR, "kafkapy.server.Audit"):
        for number in range(1, 10):
            log.put(record(number))
    assert log.lost == 6
    assert caplog.messages == [
        "Records of the audit are lost, 1 since the start: more than 3 records wait to be written"
    ]
    sink.open.set()
    assert log.flush(HANG_SECONDS)
    log.stop()
    assert numbers(sink) == [0, 1, 2, 3, "lost 6"]
    assert log.written == 4


def test_what_cannot_be_written_is_counted_and_told_later() -> None:
    sink = Sink()
    sink.problem = "the disk is full"
    log = AuditLog(sink, 100)
    log.start()
    log.put(record(0))
    assert log.flush(HANG_SECONDS)
    assert (log.written, log.lost) == (0, 1)
    log.put(record(1))
    assert log.flush(HANG_SECONDS)
    assert log.lost == 2
    sink.problem = ""
    log.put(record(2))
    log.stop()
    assert numbers(sink) == [2, "lost 2"]


def test_a_stop_does_not_wait_for_a_sink_that_is_stuck() -> None:
    sink = Sink()
    sink.open.clear()
    log = AuditLog(sink, 100)
    log.start()
    log.put(record(0))
    log.stop(0.1)
    assert sink.open.is_set(), "it was told to give up"


def test_a_stop_without_a_start() -> None:
    AuditLog(Sink(), 100).stop()
