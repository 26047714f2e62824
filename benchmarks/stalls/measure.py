"""How a scenario is measured: probes beside its load, and the broker's memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from benchmarks.brokers import ROOT, Server, wait_for_port
from benchmarks.stalls.probe import Sample, windows

PROBE_TOPIC = "stall-probe"
_BEFORE_SECONDS = 0.3
_AFTER_SECONDS = 0.3
"""What the load leaves behind belongs to it."""
BROKER_NICE = -10


class Scenario:
    """A load, and what it needs. A server is used for all scenarios, unless one has `properties` of its own."""

    name = ""
    properties: Mapping[str, object] = MappingProxyType({})
    only_kafkapy = False

    @property
    def has_own_broker(self) -> bool:
        return bool(self.properties)

    def prepare(self, server: Server) -> None:
        """What is there before anything is measured."""

    def load(self, server: Server) -> None:
        """What the probes wait beside; returns at its end."""
        raise NotImplementedError

    def clean(self, server: Server) -> None:
        """As it was before `prepare`."""


@dataclass
class Measured:
    """A scenario on a server, all rounds."""

    pings: list[Sample] = field(default_factory=list)
    produces: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    """The longest load."""
    peak_mb: float = 0.0
    first_answer: float = 0.0
    """Seconds from an open port until the first answer; 0 where no broker was started."""


class Probes:
    """The two probe processes; `samples` are theirs once they have ended."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._files = [directory / f"{kind}.json" for kind in ("ping", "produce")]
        self._processes = []
        for file in self._files:
            job = {"kind": file.stem, "port": server.port, "topic": PROBE_TOPIC, "out": str(file)}
            command = [sys.executable, "-m", "benchmarks.stalls.probe", json.dumps(job)]
            self._processes.append(subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE))

    def begin(self, pid: int) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(b"%d\n" % pid)
            process.stdin.flush()

    def end(self) -> list[tuple[list[Sample], list[tuple[float, float]]]]:
        """Of pings and produces: samples, and (connected, first answer) of each connection."""
        found = []
        for process in self._processes:
            process.communicate(timeout=60)
        for file in self._files:
            told = json.loads(file.read_text())
            found.append(([Sample(*sample) for sample in told["samples"]], list(windows(told["connected"]))))
        return found

    def kill(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def measure(scenario: Scenario, server: Server, result: Measured) -> None:
    """One round."""
    scenario.prepare(server)
    _forget_peak(server.pid)
    probes = Probes(server, server.directory)
    try:
        probes.begin(server.pid)
        time.sleep(1 + _BEFORE_SECONDS)  # they import their modules first
        began = time.monotonic()
        scenario.load(server)
        ended = time.monotonic() + _AFTER_SECONDS
        time.sleep(_AFTER_SECONDS)
        result.peak_mb = max(result.peak_mb, _peak_mb(server.pid))
        pings, produces = ([s for s in samples if began <= s.at < ended] for samples, _ in probes.end())
    finally:
        probes.kill()
    result.pings += pings
    result.produces += produces
    result.seconds = max(result.seconds, ended - _AFTER_SECONDS - began)
    scenario.clean(server)


def start(server: Server) -> None:
    """Start it before other processes of the machine, where that is allowed: it shall seldom wait for a core."""
    spawn(server)
    assert server.process is not None
    wait_for_port(server.port, server.process)


def spawn(server: Server) -> None:
    """The same, and wait for nothing."""
    server.has_own_session = True
    server.spawn()
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, server.pid, BROKER_NICE)
        Path(f"/proc/{server.pid}/autogroup").write_text(str(BROKER_NICE))


def _forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _peak_mb(pid: int) -> float:
    """The largest resident set since then."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0
