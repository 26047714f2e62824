"""Tests of what captures of all databases share: records that were read before an error come before it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.connectors.debezium.capture_task import DatabaseCapture, LostConnection
from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord


class _ScriptedCapture(DatabaseCapture):
    """Each read adds the next records, and raises the error that comes with them."""

    is_connected = True
    is_finished = False
    offset = None

    def __init__(self, *reads: tuple[int, Exception | None]) -> None:
        super().__init__()
        self._reads = list(reads)

    def _read(self, limit: int, wait_s: float, found: list[SourceRecord]) -> None:
        count, error = self._reads.pop(0)
        found += [SourceRecord({}, {"at": at}, "topic") for at in range(count)]
        if error is not None:
            raise error

    def _failed(self, error: Exception) -> None:
        raise LostConnection(str(error)) from error

    def connect(self) -> None: ...

    def record(self, event: ChangeEvent, offset: dict[str, Any]) -> SourceRecord:
        raise NotImplementedError

    def execute(self, statement: str) -> None: ...

    def disconnect(self) -> None: ...


def test_an_error_comes_after_the_records_before_it() -> None:
    capture = _ScriptedCapture((2, ConnectException("gone")), (1, None), (0, ConnectException("again")))
    assert len(capture.read(10, 0)) == 2
    with pytest.raises(LostConnection, match="gone"):  # as the database's own capture has it, also when it comes later
        capture.read(10, 0)
    assert len(capture.read(10, 0)) == 1
    with pytest.raises(LostConnection, match="again"):
        capture.read(10, 0)


def test_other_errors_are_not_kept() -> None:
    with pytest.raises(ZeroDivisionError):
        _ScriptedCapture((2, ZeroDivisionError())).read(10, 0)
