"""A build of the hot modules is used if it was made of these sources, and not otherwise."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from kafkapy import compiled
from kafkapy.compiled import HOT_MODULES, MADE_OF, PACKAGE, CompiledFinder, build_directory, source

HOT = "kafkapy.log.log"


@pytest.fixture(autouse=True)
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "BUILDS", tmp_path / "builds")
    return tmp_path / "builds"


def _pretend_to_build(*modules: str) -> Path:
    directory = build_directory()
    directory.mkdir(parents=True)
    for module in modules:
        (directory / f"{module}{EXTENSION_SUFFIXES[0]}").touch()
    return directory


def test_hot_modules_are_found_in_the_build() -> None:
    directory = _pretend_to_build(HOT, "abc__mypyc")
    finder = CompiledFinder()
    for module in (HOT, "abc__mypyc"):
        spec = finder.find_spec(module)
        assert spec is not None and spec.origin == str(directory / f"{module}{EXTENSION_SUFFIXES[0]}")
    for module in ("kafkapy.server.kafka_server", "other__mypyc"):
        assert finder.find_spec(module) is None


def test_without_a_build_the_sources_are_imported() -> None:
    finder = CompiledFinder()
    assert finder.find_spec(HOT) is None
    assert finder.extensions == {}


def test_a_build_of_other_sources_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "kafkapy"
    for module in MADE_OF:
        copy = sources.joinpath(*module.split(".")[1:]).with_suffix(".py")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source(module).read_bytes())
    monkeypatch.setattr(compiled, "PACKAGE", sources)
    _pretend_to_build(HOT)
    assert CompiledFinder().find_spec(HOT) is not None
    with open(source("kafkapy.record.varint"), "a") as file:
        file.write("# changed\n")
    assert CompiledFinder().find_spec(HOT) is None


def test_the_environment_can_refuse_it() -> None:
    program = "import kafkapy.record.varint as v; from kafkapy import compiled; print(v.__file__, compiled.is_used())"
    environment = {**os.environ, "KAFKAPY_COMPILED": "0"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == [str(source("kafkapy.record.varint")), "False"]


def test_what_a_wheel_brings_needs_no_hook_but_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "lies_beside", lambda: True)
    monkeypatch.delenv("KAFKAPY_COMPILED", raising=False)
    monkeypatch.setattr(sys, "meta_path", [])
    compiled.install()
    assert sys.meta_path == [] and compiled.is_used()
    monkeypatch.setenv("KAFKAPY_COMPILED", "0")
    compiled.install()
    assert not compiled.is_used()
    (finder,) = sys.meta_path
    spec = finder.find_spec(HOT, None)
    assert spec is not None and spec.origin == str(source(HOT))
    assert finder.find_spec("kafkapy.server.kafka_server", None) is None


def _classes(tree: ast.AST) -> list[tuple[ast.ClassDef, set[str]]]:
    """Each class and the names of its bases."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return [(node, {base.id for base in node.bases if isinstance(base, ast.Name)}) for node in found]


def _has_slots(node: ast.ClassDef) -> bool:
    return any(isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "__slots__" for s in node.body)


def _may_be_derived_from(node: ast.ClassDef) -> bool:
    return any(ast.unparse(d) == "mypyc_attr(allow_interpreted_subclasses=True)" for d in node.decorator_list)


def test_classes_are_compiled_together_with_what_is_derived_from_them_and_with_slots_also_with_their_bases() -> None:
    """A compiled class is no base of one that is not, unless it says so, and with `__slots__` it has no such base."""
    trees = {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    hot_sources = {source(module) for module in HOT_MODULES}
    hot_classes = [node for path in hot_sources for node, _ in _classes(trees[path])]
    hot = {node.name for node in hot_classes}
    closed = {node.name for node in hot_classes if not _may_be_derived_from(node)}
    others = {node.name for path in trees.keys() - hot_sources for node, _ in _classes(trees[path])} - hot
    assert "Log" in closed and "KafkaServer" in others and "DelayedOperation" in hot - closed
    for path, tree in trees.items():
        for node, bases in _classes(tree):
            if path not in hot_sources:
                assert not bases & closed, f"{path}: {node.name} is derived from compiled {bases & closed}"
            elif _has_slots(node):
                assert not bases & others, f"{path}: {node.name} is compiled, its base {bases & others} is not"
