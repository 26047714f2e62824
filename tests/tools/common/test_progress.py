from __future__ import annotations

import subprocess

import pytest

from kafkapy.tools.common import progress


def test_long_work_is_not_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends only after two lines."""
    monkeypatch.setattr(progress, "INTERVAL_SECONDS", 0.01)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        told: list[str] = []

        def state() -> str:
            told.append("at work")
            if len(told) == 2:
                assert process.stdin is not None
                process.stdin.close()
            return told[-1]

        assert progress.wait_with_progress(process, state) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(told) >= 2
    assert lines[0] == "  at work: 0 s so far"


def test_the_exit_status_is_the_childs() -> None:
    with subprocess.Popen(["false"]) as process:
        assert progress.wait_with_progress(process, lambda: "at work") == 1
