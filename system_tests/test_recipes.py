"""The recipes of docs/testing.md for Java, Node and Go, run as they are, where the machine has what they need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text()
SECONDS = 600

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>clicks</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>3.9.1</version></dependency>
<dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.11.4</version></dependency>
</dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.2</version></plugin></plugins></build>
</project>
"""

pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * SECONDS)]


def recipe(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def run(directory: Path, *command: str) -> str:
    """Its output; `kafkapy-dev` is on its path, as pip puts it there."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"this machine has no {command[0]}")
    commands = directory / "bin"
    commands.mkdir(exist_ok=True)
    kafka_dev = commands / "kafkapy-dev"
    kafka_dev.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkapy.tools.dev "$@"\n')
    kafka_dev.chmod(0o755)
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_junit(tmp_path: Path) -> None:
    source = tmp_path / "src" / "test" / "java" / "ClicksTest.java"
    source.parent.mkdir(parents=True)
    source.write_text(recipe("java"))
    (tmp_path / "pom.xml").write_text(POM)
    assert "Tests run: 1, Failures: 0, Errors: 0" in run(tmp_path, "mvn", "-B", "test")


def test_node(tmp_path: Path) -> None:
    (tmp_path / "clicks.test.js").write_text(recipe("js"))
    (tmp_path / "package.json").write_text('{"name": "clicks", "private": true}')
    run(tmp_path, "npm", "install", "--silent", "--no-audit", "--no-fund", "kafkajs@2")
    assert "pass 1" in run(tmp_path, "node", "--test")


def test_go(tmp_path: Path) -> None:
    (tmp_path / "clicks_test.go").write_text(recipe("go"))
    run(tmp_path, "go", "mod", "init", "clicks")
    run(tmp_path, "go", "get", "github.com/twmb/franz-go@v1.18.0")
    run(tmp_path, "go", "mod", "tidy")
    assert "ok" in run(tmp_path, "go", "test", "./...")
