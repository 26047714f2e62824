"""The counters and output of kafka-producer-perf-test (Kafka's `ProducerPerformance.Stats`)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

REPORTING_INTERVAL_MS = 5_000
_MB = 1024.0 * 1024.0


class Stats:
    """Latencies in whole ms of acknowledged records; all are counted, without sampling.

    Used by one thread at a time: first the one on which acknowledgements arrive, at the end the one that prints.
    """

    def __init__(
        self, print_line: Callable[[str], None], now_ms: Callable[[], float] = lambda: time.time() * 1000
    ) -> None:
        self._print = print_line
        self._now_ms = now_ms
        self._start = now_ms()
        self._latencies: Counter[int] = Counter()
        self._bytes = 0
        self._new_window()

    def _new_window(self) -> None:
        self._window_start = self._now_ms()
        self._window: Counter[int] = Counter()
        self._window_bytes = 0

    def record(self, latency_ms: int, count: int, size: int) -> None:
        """Count an acknowledgement: `count` records of `size` bytes in total, after `latency_ms`."""
        self._latencies[latency_ms] += count
        self._window[latency_ms] += count
        self._bytes += size
        self._window_bytes += size
        if self._now_ms() - self._window_start >= REPORTING_INTERVAL_MS:
            self._print(self._window_line())
            self._new_window()

    def _window_line(self) -> str:
        count, elapsed = self._window.total(), self._now_ms() - self._window_start
        return (
            f"{count} records sent, {_per_second(count, elapsed):.1f} records/sec "
            f"({_per_second(self._window_bytes, elapsed) / _MB:.2f} MB/sec), "
            f"{_fixed(_average(self._window), 1)} ms avg latency, {float(max(self._window, default=0)):.1f} ms max latency."
        )

    def total_line(self) -> str:
        count, elapsed = self._latencies.total(), self._now_ms() - self._start
        p50, p95, p99, p999 = percentiles(self._latencies, (0.5, 0.95, 0.99, 0.999))
        return (
            f"{count} records sent, {_per_second(count, elapsed):f} records/sec "
            f"({_per_second(self._bytes, elapsed) / _MB:.2f} MB/sec), "
            f"{_fixed(_average(self._latencies), 2)} ms avg latency, "
            f"{float(max(self._latencies, default=0)):.2f} ms max latency, "
            f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )


def percentiles(latencies: Counter[int], fractions: Sequence[float]) -> list[int]:
    """The latency at rank `int(fraction * count)` in ascending order, as Kafka computes percentiles; 0 without
    records."""
    ranks = [int(fraction * latencies.total()) for fraction in fractions]
    found: list[int] = []
    seen = 0
    for latency, count in sorted(latencies.items()):
        seen += count
        while len(found) < len(ranks) and ranks[len(found)] < seen:
            found.append(latency)
    return found + [0] * (len(ranks) - len(found))


def _average(latencies: Counter[int]) -> float:
    count = latencies.total()
    return sum(latency * n for latency, n in latencies.items()) / count if count else math.nan


def _fixed(value: float, digits: int) -> str:
    return "NaN" if math.isnan(value) else f"{value:.{digits}f}"


def _per_second(amount: float, elapsed_ms: float) -> float:
    return 1000.0 * amount / elapsed_ms if elapsed_ms > 0 else math.inf
