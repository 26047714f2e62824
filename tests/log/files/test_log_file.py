"""The open file of a segment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkapy.log.files.log_file import LogFile


def test_the_kernel_is_told_to_read_nothing_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *arguments: told.append(arguments))
    with LogFile(str(tmp_path / "log"), "w+") as file:
        assert told == [(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)]
