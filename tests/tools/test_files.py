"""The samples and documents that come with an installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.tools import files

ROOT = Path(__file__).parents[2]


def test_all_are_written_and_none_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "new" / "place"
    assert files.main([str(target)]) == 0
    for name in ("config/server.properties", "config/grafana-dashboard.json", "docs/clients.md"):
        assert (target / name).read_bytes() == (ROOT / name).read_bytes()
    mine = target / "docs" / "clients.md"
    mine.write_text("mine")
    (target / "config" / "kafkapy.service").unlink()
    assert files.main([str(target)]) == 1
    assert "is there already; --force replaces it" in capsys.readouterr().err
    assert not (target / "config" / "kafkapy.service").exists()
    assert files.main([str(target), "--force"]) == 0
    assert mine.read_bytes() == (ROOT / "docs" / "clients.md").read_bytes()


def test_without_a_directory_it_says_where_they_lie(capsys: pytest.CaptureFixture[str]) -> None:
    assert files.main([]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "config" / "server.properties").is_file()
