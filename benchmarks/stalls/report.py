"""The table: a row for each scenario and broker."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.stalls.measure import Measured
from benchmarks.stalls.probe import Sample
from benchmarks.table import number

HEAD = (
    "scenario",
    "broker",
    "ping longest",
    "(with cores waited for)",
    "p99.9",
    "p99",
    "produce longest",
    "(with cores waited for)",
    "p99.9",
    "p99",
    "(with cores waited for)",
    "load s",
    "peak MB",
    "",
)


def table(results: dict[str, dict[str, Measured]]) -> str:
    """In Markdown; waits in ms."""
    lines = ["| " + " | ".join(HEAD) + " |", "| --- | --- |" + " ---: |" * (len(HEAD) - 3) + " --- |"]
    for scenario, by_broker in results.items():
        for broker, measured in by_broker.items():
            lines.append("| " + " | ".join([scenario, broker, *_figures(measured)]) + " |")
    return "\n".join(lines)


def line(scenario: str, broker: str, measured: Measured) -> str:
    """The row as it is shown while others are still measured."""
    return f"{scenario:45} {broker:12} " + " ".join(f"{figure:>8}" for figure in _figures(measured))


def _figures(measured: Measured) -> list[str]:
    waits = [*_waits(measured.pings), *_waits(measured.produces), _p99_on_the_wall(measured.produces)]
    return [*waits, number(measured.seconds), f"{measured.peak_mb:.0f}", "; ".join(measured.notes)]


def _p99_on_the_wall(samples: Sequence[Sample]) -> str:
    waits = sorted(sample.wall for sample in samples)
    return number(1000 * waits[int((len(waits) - 1) * 0.99)]) if waits else ""


def _waits(samples: Sequence[Sample]) -> list[str]:
    """Longest, longest with the time in which a core was waited for, p99.9 and p99; in ms."""
    if not samples:
        return ["", "", "", ""]
    own = sorted(sample.own for sample in samples)
    last = len(own) - 1
    waits = own[-1], max(sample.wall for sample in samples), own[int(last * 0.999)], own[int(last * 0.99)]
    return [number(1000 * wait) for wait in waits]
