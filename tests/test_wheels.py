"""A wheel for this platform brings the hot modules as machine code, a pure one does not; neither needs a compiler to run. Both
bring the samples of configurations and the documents."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import pytest

from kafkapy.compiled import CODECS, HOT_MODULES
from kafkapy.tools.compile import what_is_missing
from kafkapy.tools.files import FILES
from tests.installation import PURELIB, ROOT, bare_environment, copy_of_sources, site_packages

PROGRAM = f"""
import sys
from importlib import import_module
from kafkapy import compiled
from kafkapy.protocol.messages.fetch import FetchRequest
hooked = type(sys.meta_path[0]).__module__ == "kafkapy.compiled"
print(compiled.is_used(), type(FetchRequest.decoder(17)).__name__, hooked)
for name in {HOT_MODULES!r}:
    print(import_module(name).__file__)
"""

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_sources(tmp_path_factory.mktemp("sources"))


def _wheel(sources: Path, directory: Path, **environment: str) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(directory),
        ".",
    ]
    kept = {name: value for name, value in os.environ.items() if name != "KAFKAPY_COMPILED"}
    subprocess.run(command, cwd=sources, env={**kept, **environment}, check=True)
    (wheel,) = directory.glob("kafkapy-*.whl")
    return wheel


def _extensions(wheel: Path) -> set[str]:
    """The modules that it has as machine code."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    with ZipFile(wheel) as file:
        return {name.removesuffix(suffix).replace("/", ".") for name in file.namelist() if name.endswith(suffix)}


def _run(python: Path, **environment: str) -> list[str]:
    """Where there is no compiler, and nothing else on the PATH."""
    bare = {"PATH": "/nonexistent", "CC": "false", **environment}
    done = subprocess.run([python, "-c", PROGRAM], env=bare, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(bool(what_is_missing()), reason="can't compile here")
def test_a_wheel_for_this_platform_has_machine_code(sources: Path, tmp_path: Path) -> None:
    wheel = _wheel(sources, tmp_path / "wheels", KAFKAPY_COMPILED="1")
    assert not wheel.name.endswith("-none-any.whl")
    assert _extensions(wheel) > {*HOT_MODULES, *CODECS.values()}
    python = bare_environment(tmp_path / "venv", PURELIB)
    site = site_packages(tmp_path / "venv")
    with ZipFile(wheel) as file:
        file.extractall(site)

    first, *files = _run(python)
    assert first == "True builtin_function_or_method False"
    assert all(file.startswith(str(site)) and file.endswith(".so") for file in files)

    first, *files = _run(python, KAFKAPY_COMPILED="0")
    assert first == "False function True"
    assert all(file.startswith(str(site)) and file.endswith(".py") for file in files)


@pytest.fixture(scope="module")
def pure(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _wheel(sources, tmp_path_factory.mktemp("pure"), KAFKAPY_COMPILED="0")


def test_a_pure_wheel_has_no_machine_code(pure: Path) -> None:
    assert pure.name.endswith("-py3-none-any.whl")
    assert not _extensions(pure)


def test_samples_and_documents_come_with_it(pure: Path, tmp_path: Path) -> None:
    ZipFile(pure).extractall(tmp_path / "installed")
    command = [sys.executable, "-m", "kafkapy.tools.files", str(tmp_path / "mine")]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, check=True)
    for folder in FILES:
        assert contents(tmp_path / "mine" / folder) == contents(ROOT / folder)


def contents(folder: Path) -> dict[Path, bytes]:
    """The files below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_an_index_shows_of_it(pure: Path) -> None:
    """Whatever is linked can be reached from outside of the repository."""
    with ZipFile(pure) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(file.read(name))
    for field in ("Author", "Keywords", "License", "Project-URL"):
        assert metadata[field] or metadata[f"{field}-Expression"]
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)} <= set(
        metadata.get_all("Classifier", [])
    )
    description = metadata.get_payload()
    assert isinstance(description, str) and "`docs/clients.md`" in description
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", description) == []
