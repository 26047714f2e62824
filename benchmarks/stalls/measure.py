"""How a scenario is measured: probes beside its load, and the broker's memory."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
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
_TOLD_SECONDS = 0.025
BROKER_NICE = -10


class Scenario:
    """A load, and what it needs."""

    name = ""
    broker = "shared"
    """Scenarios with the same one follow each other on the same broker."""
    properties: Mapping[str, object] = MappingProxyType({})
    """Of that broker."""
    only_kafkapy = False
    starts = False
    """The load is the start of the broker, which `prepare` leaves stopped."""

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
    notes: list[str] = field(default_factory=list)


class Probes:
    """The two probe processes; `samples` are theirs once they have ended."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._files = [directory / f"{kind}.json" for kind in ("ping", "produce")]
        self._processes = []
        for file in self._files:
            job = {"kind": file.stem, "port": server.port, "topic": PROBE_TOPIC, "out": str(file)}
            command = [sys.executable, "-m", "benchmarks.stalls.probe", json.dumps(job)]
            pipe = subprocess.PIPE
            self._processes.append(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe))
        for process in self._processes:
            assert process.stdout is not None
            process.stdout.readline()  # it is ready

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
    probes = Probes(server, server.directory)
    try:
        if scenario.starts:
            turns: Turns = {}
            spawn(server)
            probes.begin(server.pid)
        else:
            _forget_peak(server.pid)
            turns = _turns(server)
            probes.begin(server.pid)
            time.sleep(_BEFORE_SECONDS)
        began = time.monotonic()
        scenario.load(server)
        ended = time.monotonic()
        time.sleep(_AFTER_SECONDS)
        peak_mb, turns_after = _peak_mb(server.pid), _turns(server)
        (pings, ping_windows), (produces, produce_windows) = probes.end()
    finally:
        probes.kill()
    if scenario.starts:
        (opened, answered), (_, produced) = ping_windows[0], produce_windows[0]
        pings, produces = _since(answered, pings), _since(produced, produces)
        result.notes.append(f"port after {opened - began:.2f} s, first answer {answered - opened:.2f} s later")
    else:
        pings, produces = _since(began, pings), _since(began, produces)
    result.pings += [s for s in pings if s.at < ended + _AFTER_SECONDS]
    result.produces += [s for s in produces if s.at < ended + _AFTER_SECONDS]
    result.seconds = max(result.seconds, ended - began)
    result.peak_mb = max(result.peak_mb, peak_mb)
    result.notes += _longest_turn(turns, turns_after)
    scenario.clean(server)


def _since(begin: float, samples: list[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.at >= begin]


Turns = dict[tuple[str, float], int]
"""By work and bound in seconds, how many turns of kafkapy's reactor were no longer."""
_TURNS = re.compile(r'kafkapy_reactor_turn_seconds_bucket{work="([^"]*)",le="([^"]*)"} (\d+)')


def scrape(server: Server) -> str:
    """kafkapy's metrics; nothing where there are none."""
    if server.metrics_port is None:
        return ""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=60) as page:
        return str(page.read(), "utf-8")


def _turns(server: Server) -> Turns:
    found = _TURNS.findall(scrape(server))
    return {(work, float(bound.replace("+Inf", "inf"))): int(count) for work, bound, count in found}


def _longest_turn(before: Turns, after: Turns) -> list[str]:
    """What kafkapy's own meter says of the longest turn: between which bounds it lies, if it is long enough to be told."""
    bounds = sorted({bound for _, bound in after})
    for lower, upper in reversed(list(itertools.pairwise(bounds))):
        for work in {work for work, _ in after}:
            new = [after.get((work, b), 0) - before.get((work, b), 0) for b in (lower, upper)]
            if new[1] > new[0] and lower >= _TOLD_SECONDS:
                return [f"turn of {1000 * lower:g} to {1000 * upper:g} ms: {work}"]
    return []


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
