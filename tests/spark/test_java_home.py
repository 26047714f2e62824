"""A Java for Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.spark.java_home import NoJavaError, java_home, make_java_home, prepare_environment


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_java_home_goes_first(tmp_path: Path) -> None:
    executable(tmp_path / "jdk" / "bin" / "java", "")
    assert java_home(tmp_path / "made", {"JAVA_HOME": str(tmp_path / "jdk")}) == str(tmp_path / "jdk")
    with pytest.raises(NoJavaError, match="no java in its bin directory"):
        java_home(tmp_path / "made", {"JAVA_HOME": str(tmp_path)})


def test_then_the_java_on_the_path(tmp_path: Path) -> None:
    java = executable(tmp_path / "jvm" / "bin" / "java", "")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "java").symlink_to(java)
    assert java_home(tmp_path / "made", {"PATH": str(tmp_path / "usr")}) == str(tmp_path / "jvm")


def test_the_wrapper_drops_the_module_that_is_missing(tmp_path: Path) -> None:
    executable(tmp_path / "runtime" / "bin" / "java", 'for a in "$@"; do echo "<$a>"; done')
    home = make_java_home(tmp_path / "runtime", tmp_path / "made")
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "-Dx=*", "", "Main"]
    output = subprocess.check_output([f"{home}/bin/java", *arguments], text=True)
    assert output.splitlines() == ["<-cp>", "<a b:c>", "<-Dx=*>", "<>", "<Main>"]


@pytest.mark.parametrize(("version", "kept"), [("25.0.2", False), ("21.0.1", True)])
def test_the_wrapper_names_no_package_that_is_gone(tmp_path: Path, version: str, kept: bool) -> None:
    executable(tmp_path / "runtime" / "bin" / "java", 'for a in "$@"; do echo "$a"; done')
    (tmp_path / "runtime" / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base"\n')
    home = make_java_home(tmp_path / "runtime", tmp_path / "made")
    opened = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    output = subprocess.check_output([f"{home}/bin/java", opened, "Main"], text=True)
    assert output.splitlines() == ([opened] if kept else []) + ["Main"]


def test_workers_run_on_this_python(tmp_path: Path) -> None:
    executable(tmp_path / "jdk" / "bin" / "java", "")
    environment = {"JAVA_HOME": str(tmp_path / "jdk")}
    prepare_environment(tmp_path / "made", environment)
    assert environment["PYSPARK_PYTHON"] == sys.executable
