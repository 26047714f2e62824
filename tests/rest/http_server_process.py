"""A server of `kafkapy.http` as a process, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.broker_process import ROOT
from tests.waiting import HANG_SECONDS


class HttpServerProcess:
    def __init__(self, module: str, directory: Path, port: int, **properties: str) -> None:
        """`properties`: with underscores in the place of dots."""
        directory.mkdir(parents=True, exist_ok=True)
        self.port = port
        self.output = directory / f"{module}-{port}.out"
        self._file = directory / f"{module}-{port}.properties"
        lines = {"listeners": f"http://127.0.0.1:{port}"} | {
            key.replace("_", "."): each for key, each in properties.items()
        }
        self._file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        self._module = module
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", f"kafkapy.tools.{self._module}", str(self._file)]
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, cwd=ROOT, env={**os.environ, "LOG_DIR": str(self._file.parent)}
            )
        deadline = time.monotonic() + HANG_SECONDS
        while b"takes requests" not in self.output.read_bytes():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(HANG_SECONDS)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (names in small letters) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.headers.items()}, response.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, content: Any = None, kind: str = "application/json", **headers: str) -> Any:
        """Status and JSON."""
        body = b"" if content is None else json.dumps(content).encode()
        status, _, answer = self.send(method, path, body, content_type=kind, **headers)
        return status, json.loads(answer) if answer else None
