"""Fixtures for the tests of kafkapy.log."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from log_support import LogDirFixture


@pytest.fixture
def log_dir(tmp_path: Path) -> LogDirFixture:
    return LogDirFixture(tmp_path)
