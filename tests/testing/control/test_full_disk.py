"""A disk without room, for one directory."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafkapy.testing.control.full_disk import FullDisk


def test_only_what_lies_below_has_no_room(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    disk = FullDisk([str(tmp_path / "full")])
    inside = os.open(tmp_path / "full" / "log", os.O_CREAT | os.O_RDWR)
    outside = os.open(tmp_path / "full-not", os.O_CREAT | os.O_RDWR)
    try:
        disk.fill()
        disk.fill()
        with pytest.raises(OSError) as failed:
            os.pwrite(inside, b"x", 0)
        assert failed.value.errno == errno.ENOSPC
        assert os.write(outside, b"x") == 1
        disk.empty()
        assert os.pwrite(inside, b"x", 0) == 1
    finally:
        disk.empty()
        os.close(inside)
        os.close(outside)
