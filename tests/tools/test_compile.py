"""kafkapy-compile: what it needs, what it leaves behind."""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec
from pathlib import Path

import pytest

from kafkapy import compiled
from kafkapy.tools import compile as tool

VARINT = "kafkapy.record.varint"
MODULES = ("kafkapy.common.topic_partition", VARINT)
needs_compiler = pytest.mark.skipif(tool.what_is_missing() != "", reason=tool.what_is_missing())


@pytest.fixture(autouse=True)
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small modules to compile, and a place of its own for the builds."""
    for module in (compiled, tool):
        monkeypatch.setattr(module, "BUILDS", tmp_path / "builds")
        monkeypatch.setattr(module, "HOT_MODULES", MODULES)
        monkeypatch.setattr(module, "CODECS", {})
    monkeypatch.setattr(compiled, "MADE_OF", ("kafkapy.tools.compile", *MODULES))
    monkeypatch.setattr(compiled, "_HOT", frozenset(MODULES))
    return tmp_path / "builds"


@needs_compiler
@pytest.mark.integration
def test_compiles_once_what_is_then_imported(
    builds: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == 0
    assert "Compiled 2 modules" in capsys.readouterr().out
    files = {path.name for path in compiled.build_directory().iterdir()}
    own = {module + EXTENSION_SUFFIXES[0] for module in MODULES}
    (shared,) = files - own
    assert files > own
    assert shared.endswith(f"__mypyc{EXTENSION_SUFFIXES[0]}")
    before = os.stat(compiled.build_directory()).st_mtime_ns
    assert tool.main(["--check"]) == tool.main([]) == 0
    assert os.stat(compiled.build_directory()).st_mtime_ns == before

    finder = compiled.CompiledFinder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    spec = finder.find_spec(VARINT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert str(module.__file__).startswith(str(builds))
    assert module.read_varint(b"\xac\x02", 0) == (150, 2)


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert tool.main([]) == 1
    said = capsys.readouterr().err
    assert "there is no C compiler (no-such-compiler)" in said and "apt install gcc" in said


@needs_compiler
@pytest.mark.integration
def test_a_build_that_fails_leaves_nothing(
    builds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "kafkapy"
    for name in ("common/topic_partition.py", "record/varint.py", "tools/compile.py"):
        (package / name).parent.mkdir(parents=True)
        (package / name).write_text("def f() -> int:\n    return 'no number'\n")
    for module in (compiled, tool):
        monkeypatch.setattr(module, "PACKAGE", package)
    assert tool.main([]) == 1
    assert "Incompatible return value type" in capsys.readouterr().err
    assert not builds.exists() or not list(builds.iterdir())


def test_a_place_that_cannot_be_written_to_is_noticed_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tool, "BUILDS", tmp_path / "file" / "builds")
    monkeypatch.setattr(tool, "compile_in", lambda workplace: pytest.fail("compiled"))
    assert tool.build(tmp_path / "build") == 1
    assert f"Can't keep the compiled hot paths in {tmp_path}/file/builds: " in capsys.readouterr().err


def test_older_builds_are_cleared_away(builds: Path, tmp_path: Path) -> None:
    out = tmp_path / "work" / "out" / "kafkapy" / "record"
    for age in range(6):
        old = builds / f"{age:020x}"
        old.mkdir(parents=True)
        os.utime(old, (1000 - age, 1000 - age))
    out.mkdir(parents=True)
    (out / f"varint{EXTENSION_SUFFIXES[0]}").touch()
    tool.keep(tmp_path / "work" / "out", builds / "fedcba")
    assert [path.name for path in (builds / "fedcba").iterdir()] == [VARINT + EXTENSION_SUFFIXES[0]]
    assert sorted(path.name for path in builds.iterdir()) == [*(f"{age:020x}" for age in range(3)), "fedcba"]
