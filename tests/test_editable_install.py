"""Type checkers see an editable install, and through it all names that users import."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installation import PURELIB, bare_environment, copy_of_sources, pip, variables
from tests.test_like_kafka_python import MODULES

pytestmark = pytest.mark.integration

PROGRAM = """
import kafkapy
reveal_type(kafkapy.KafkaProducer().send("topic", b"value").get().offset)
raise kafkapy.errors.KafkaError("text")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment in which kafkapy is installed for editing."""
    directory = tmp_path_factory.mktemp("editable")
    (directory / "sources").mkdir()
    sources = copy_of_sources(directory / "sources")
    python = bare_environment(directory / "venv", PURELIB)
    pip(python, "install", "--ignore-installed", "--no-deps", "--no-build-isolation", "--no-index", "-e", sources)
    return python


def checked(python: Path, directory: Path, program: str) -> str:
    """What mypy says of it, in strict mode, where nothing but that environment's packages can be found."""
    (directory / "program.py").write_text(program)
    options = ["--strict", "--config-file", "/dev/null", "--python-executable", str(python)]
    command = [sys.executable, "-m", "mypy", *options, "program.py"]
    return subprocess.run(command, cwd=directory, env=variables(), capture_output=True, text=True).stdout


def test_type_checkers_see_it(python: Path, tmp_path: Path) -> None:
    found = checked(python, tmp_path, PROGRAM)
    assert 'Revealed type is "int"' in found.replace("builtins.", "")
    assert "Success" in found


def test_names_that_users_import_are_exported(python: Path, tmp_path: Path) -> None:
    """All of kafka-python's modules that are there under our name."""
    lines: list[str] = []
    for theirs in (*MODULES, "kafka.structs"):
        module = importlib.import_module(theirs.replace("kafka", "kafkapy", 1))
        kafka = importlib.import_module(theirs)
        public = getattr(kafka, "__all__", None) or [n for n in vars(kafka) if not n.startswith("_")]
        names = [n for n in public if hasattr(module, n) and not inspect.ismodule(getattr(kafka, n))]
        lines += [f"from {module.__name__} import {name} as _{len(lines)}_{index}" for index, name in enumerate(names)]
    assert len(lines) > 150
    assert "Success" in checked(python, tmp_path, "\n".join(lines))


def test_the_sources_are_what_is_imported(python: Path, tmp_path: Path) -> None:
    program = "import kafkapy; from kafkapy import compiled; print(kafkapy.__file__, compiled.is_used())"
    command = [str(python), "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=variables(), capture_output=True, text=True, check=True)
    file, used = done.stdout.split()
    assert "sources" in file
    assert used == "False"  # nothing was compiled for it
