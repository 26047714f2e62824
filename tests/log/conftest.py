"""Fixtures for the tests of kafkapy.log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.log.cleaner_support import CleanerFixture
from tests.log.log_support import LogDirFixture


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDirFixture:
    return LogDirFixture(tmp_path)


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here survives the machine anyway, and the tests are many times faster."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def compacted(tmp_path: Path) -> CleanerFixture:
    return CleanerFixture(tmp_path)
