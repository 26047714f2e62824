"""Packages that a test writes are imported with less than they would bring along."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.common.light_imports import hide_packages, import_extension_module, import_lazily


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Empty: `burden`. It is forgotten at the end."""
    monkeypatch.syspath_prepend(tmp_path)
    directory = tmp_path / "burden"
    directory.mkdir()
    (directory / "__init__.py").touch()
    yield directory
    for name in [name for name in sys.modules if name.partition(".")[0] == "burden"]:
        del sys.modules[name]


def test_a_package_is_not_there_for_a_while(package: Path) -> None:
    with hide_packages("burden"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("burden")
    assert importlib.import_module("burden").__file__ == str(package / "__init__.py")


def test_what_was_imported_before_stays(package: Path) -> None:
    imported = importlib.import_module("burden")
    with hide_packages("burden"):
        assert importlib.import_module("burden") is imported


def test_a_postponed_module_is_executed_when_it_is_used(package: Path) -> None:
    (package / "late.py").write_text("import burden\nburden.executed = True\nanswer = 42\n")
    importlib.import_module("burden")
    import_lazily("burden.late")
    names: dict[str, object] = {}
    exec("import burden.late\nfrom burden import late", names)
    assert not hasattr(names["burden"], "executed")
    assert names["late"].answer == 42  # type: ignore[attr-defined]
    assert hasattr(names["burden"], "executed")


def test_one_that_is_imported_already_stays(package: Path) -> None:
    (package / "late.py").touch()
    imported = importlib.import_module("burden.late")
    import_lazily("burden.late")
    assert sys.modules["burden.late"] is imported


def test_a_part_comes_without_its_package(package: Path) -> None:
    (package / "__init__.py").write_text("raise AssertionError\n")
    (package / "part.py").write_text("answer = 42\n")
    assert import_extension_module("burden", "part").answer == 42


def test_where_there_is_no_such_part_it_is_the_package(package: Path) -> None:
    assert import_extension_module("burden", "part") is importlib.import_module("burden")
