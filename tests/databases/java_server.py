"""Servers for tests out of Maven Central's jars, each started by a small program in `java/`.

Without a JDK, or Maven for the first time, the test is skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import pytest

from benchmarks.apache import CACHE, jars
from kafkapy.common.free_ports import free_ports
from tests.waiting import HANG_SECONDS, wait_until

_PROGRAMS = Path(__file__).with_name("java")


class JavaServer:
    """A server with its data in one folder.

    Invariant: `port` and the folder remain the same from start to start; at most one server runs.

    Attributes:
        program: Name of the source file in `java/`; it is given the port and the folder.
        pom: Names its jars.
        options: Of Java.
    """

    program: ClassVar[str]
    pom: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path, java: str, classpath: str) -> None:
        self._folder, self._java, self._classpath = folder, java, classpath
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        (self.port,) = free_ports(1)

    @classmethod
    @contextmanager
    def private(cls) -> Iterator[Self]:
        """Start a server with new data; kills it, and removes the data, at the end. Skips the test if there is none."""
        java = _java_with_compiler()
        classpath = _class_path(_PROGRAMS / cls.pom)
        folder = Path(tempfile.mkdtemp(prefix="kafkapy-java-"))
        server = cls(folder, java, classpath)
        try:
            server.start()
            yield server
        finally:
            server.kill()
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server; returns when it answers."""
        assert not self.is_running
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *self.options, "-cp", self._classpath]
        arguments = [str(_PROGRAMS / self.program), str(self.port), str(self._folder)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._java, *options, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder
            )
        wait_until(self._answers, self.log_text)

    def kill(self) -> None:
        """Kill the server; what it keeps on disk is there after the next start."""
        if self.is_running:
            assert self._process is not None
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(HANG_SECONDS)

    def is_ready(self) -> bool:
        """Whether the server answers; for subclasses."""
        raise NotImplementedError

    def log_text(self) -> str:
        """The end of the server's log."""
        return self._log.read_text("utf-8", "replace")[-3000:]

    def _answers(self) -> bool:
        assert self.is_running, self.log_text()
        return self.is_ready()


def _java_with_compiler() -> str:
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    compiler = f"{home}/bin/javac" if home else shutil.which("javac")
    if not java or not compiler or not Path(compiler).exists():
        pytest.skip("There is no JDK: apt-get install openjdk-17-jdk-headless")
    return java


def _class_path(pom: Path) -> str:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{pom.stem}.lock").open("w") as lock:  # tests in several processes fetch once
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return jars(pom)
        except (SystemExit, subprocess.CalledProcessError) as error:
            pytest.skip(f"Its jars cannot be fetched with Maven: {error}")
