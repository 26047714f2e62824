"""The files of the audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.server.security.audit.audit_file import RotatingAuditFile
from kafkapy.server.security.audit.audit_log import AuditWriteError


def test_it_is_rotated_by_size_and_count(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit"
    file = RotatingAuditFile(path, 10, 2)
    file.write([b"1234", b"5678"])
    assert path.read_bytes() == b"1234\n5678\n"
    file.write([b"a", b"b", b"long-as-no-file-may-be", b"c"])
    assert path.read_bytes() == b"c\n"
    assert (tmp_path / "new" / "audit.1").read_bytes() == b"long-as-no-file-may-be\n"
    assert (tmp_path / "new" / "audit.2").read_bytes() == b"a\nb\n"
    assert len(list(path.parent.iterdir())) == 3
    assert path.stat().st_mode & 0o777 == 0o600
    file.close()


def test_another_broker_process_goes_on_with_it(tmp_path: Path) -> None:
    for line in (b"1", b"2"):
        file = RotatingAuditFile(tmp_path / "audit", 100, 1)
        file.write([line])
        file.close()
    assert (tmp_path / "audit").read_bytes() == b"1\n2\n"


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    file = RotatingAuditFile(tmp_path / "audit", 100, 1)
    file.write([b"1"])
    (tmp_path / "audit").rename(tmp_path / "elsewhere")
    file.write([b"2"])
    assert (tmp_path / "audit").read_bytes() == b"2\n"
    file.close()


def test_what_cannot_be_written_is_said_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    path.mkdir()
    file = RotatingAuditFile(path, 100, 1)
    with pytest.raises(AuditWriteError, match=r"audit: Is a directory"):
        file.write([b"1"])
    path.rmdir()
    file.write([b"2"])
    assert path.read_bytes() == b"2\n"
    file.close()
