"""A worker that captures the changes of a database, for tests that kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from system_tests.services import ROOT

_JSON = "org.apache.kafka.connect.json.JsonConverter"


class CapturingWorker:
    """A standalone worker with a connector; it is killed and started again on the same offsets.

    Args:
        bootstrap: Of the cluster.
        connector: The connector's config, but for its name.
        folder: Gets offsets and log.
    """

    def __init__(self, bootstrap: str, connector: Mapping[str, str], folder: Path) -> None:
        self._folder = folder
        converters = {f"{part}.converter": _JSON for part in ("key", "value", "header")}
        plain = {f"{part}.converter.schemas.enable": "false" for part in ("key", "value", "header")}
        self._orders: dict[str, Any] = {
            "worker": {
                "bootstrap.servers": bootstrap,
                "offset.flush.interval.ms": "200",
                "offset.storage.file.filename": str(folder / "offsets"),
                **converters,
                **plain,
            },
            "name": "capture",
            "kill": None,
            "connector": {
                "name": "capture",
                "skipped.operations": "none",
                "retriable.restart.connector.wait.ms": "500",
                "poll.interval.ms": "50",
                **connector,
                **{key: value for key, value in plain.items() if key.startswith("header")},
            },
        }
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        with open(self._folder / "worker.log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafkapy.connect.testing_worker"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                text=True,
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(self._orders) + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def log_text(self) -> str:
        return (self._folder / "worker.log").read_text("utf-8", "replace")[-3000:]
