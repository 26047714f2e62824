"""Installs kafkapy from a copy of its sources, without the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_of_sources(directory: Path) -> Path:
    """A copy, since setuptools leaves things behind where it builds."""
    for name in (
        "kafkapy",
        "config",
        "docs",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
    ):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, directory)
    return directory


def bare_environment(directory: Path, *others: Path | str) -> Path:
    """A virtual environment without pip, in which `others` are on the path, too; its Python."""
    venv.create(directory, symlinks=True)
    site_packages(directory).joinpath("others.pth").write_text("\n".join(map(str, others)))
    return directory / "bin" / "python"


def site_packages(environment: Path) -> Path:
    (site,) = environment.glob("lib/python*/site-packages")
    return site


def variables() -> dict[str, str]:
    """This process's, but for the path on which it finds the sources of this clone (tests of Spark set it)."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def pip(python: Path | str, *arguments: Path | str, cwd: Path | None = None) -> None:
    """This environment's pip, at work in that of `python`."""
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", str(python)]
    command += map(str, arguments)
    done = subprocess.run(command, cwd=cwd, env=variables(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PURELIB = sysconfig.get_path("purelib")
"""Where what kafkapy needs is installed here."""
