"""Real events: what dpkg has done on this machine, the modules of Python's library, or lines of files."""

from __future__ import annotations

import json
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from kafkapy.bus.event_types import event

DPKG_LOG = Path("/var/log/dpkg.log")
MOST_OF_A_KIND = 20_000


def _schema(name: str, **fields: str) -> str:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": listed})


@event(
    name="demo.PackageChanged",
    version="1.0.0",
    topic="package_changes",
    schema=_schema("demo.PackageChanged", action="string", package="string", version="string"),
    router="package",
)
@dataclass
class PackageChanged:
    action: str
    package: str
    version: str


@event(
    name="demo.ModuleSeen",
    version="1.0.0",
    topic="modules",
    schema=_schema("demo.ModuleSeen", path="string", package="string", lines="int", bytes="long"),
    router="package",
)
@dataclass
class ModuleSeen:
    path: str
    package: str
    lines: int
    bytes: int


@event(
    name="demo.LineSeen",
    version="1.0.0",
    topic="lines",
    schema=_schema("demo.LineSeen", file="string", number="int", text="string"),
    router="file",
)
@dataclass
class LineSeen:
    file: str
    number: int
    text: str


Event = tuple[Any, int]
"""With its time in ms."""


def of_dpkg(log: Path = DPKG_LOG) -> Iterator[Event]:
    """`2026-11-24 01:02:03 install tzdata:all <none> 2026a`; the last hour that it has something of, and the one before."""
    found = []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        words = line.split()
        if len(words) >= 5 and words[2] in ("install", "upgrade", "remove", "configure"):
            at = int(datetime.fromisoformat(f"{words[0]}T{words[1]}").timestamp() * 1000)
            found.append((PackageChanged(words[2], words[3].partition(":")[0], words[-1]), at))
    hours = sorted({at // 3_600_000 for _, at in found})[-2:]
    yield from ((each, at) for each, at in found[-MOST_OF_A_KIND:] if at // 3_600_000 in hours)


def of_library(now_ms: int) -> Iterator[Event]:
    root = Path(sysconfig.get_path("stdlib"))
    for path in islice(sorted(root.rglob("*.py")), MOST_OF_A_KIND):
        if "site-packages" not in path.parts:
            data = path.read_bytes()
            own = str(path.relative_to(root))
            yield ModuleSeen(own, own.partition("/")[0], data.count(b"\n"), len(data)), now_ms


def of_files(paths: list[Path], now_ms: int) -> Iterator[Event]:
    for path in paths:
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            yield LineSeen(str(path), number, line), now_ms


def all_of(paths: list[Path]) -> Iterator[Event]:
    now = int(time.time() * 1000)
    if paths:
        yield from of_files(paths, now)
    else:
        yield from of_dpkg()
        yield from of_library(now)
