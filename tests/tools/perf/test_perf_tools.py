"""Figures of the performance tools, and what paces and interrupts them."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.java_date_format import date_format
from kafkapy.tools.common import client_tool
from kafkapy.tools.common.client_tool import Interruption, ThroughputThrottler
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.perf import e2e_latency, producer_perf_test
from kafkapy.tools.perf.producer_perf_stats import Stats, percentiles
from kafkapy.tools.perf.producer_perf_test import read_payloads, records_in_a_run

FRACTIONS = (0.5, 0.95, 0.99, 0.999)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.integers(0, 50), min_size=1, max_size=300))
def test_percentiles_are_those_of_all_latencies_in_order(latencies: list[int]) -> None:
    ordered = sorted(latencies)
    expected = [ordered[int(fraction * len(ordered))] for fraction in FRACTIONS]
    assert percentiles(Counter(latencies), FRACTIONS) == expected


def test_lines_of_figures() -> None:
    clock, lines = Clock(), list[str]()
    stats = Stats(lines.append, clock)
    stats.record(10, 1000, 1_048_576)
    clock.now += 5_000
    stats.record(30, 500, 1_048_576)
    assert lines == ["1500 records sent, 300.0 records/sec (0.40 MB/sec), 16.7 ms avg latency, 30.0 ms max latency."]
    clock.now += 5_000
    stats.record(2, 500, 0)
    assert lines[1] == "500 records sent, 100.0 records/sec (0.00 MB/sec), 2.0 ms avg latency, 2.0 ms max latency."
    assert stats.total_line() == (
        "2000 records sent, 200.000000 records/sec (0.20 MB/sec), 13.00 ms avg latency, 30.00 ms max latency, "
        "10 ms 50th, 30 ms 95th, 30 ms 99th, 30 ms 99.9th."
    )


def test_figures_of_nothing() -> None:
    line = Stats(print, Clock()).total_line()
    assert line.startswith("0 records sent, ")
    assert line.endswith("NaN ms avg latency, 0.00 ms max latency, 0 ms 50th, 0 ms 95th, 0 ms 99th, 0 ms 99.9th.")


@pytest.mark.parametrize(
    ("size", "throughput", "expected"), [(100, -1, 146), (100_000, -1, 1), (1, -1, 1000), (100, 5000, 5), (100, 10, 1)]
)
def test_a_run_is_about_a_batch_and_never_more_than_a_millisecond(size: int, throughput: float, expected: int) -> None:
    assert records_in_a_run(16_384, size, throughput) == expected


def test_payloads_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "payloads"
    file.write_text("a\nü\n\n")
    assert read_payloads(str(file), "\\n") == [b"a", "ü".encode()]
    assert capsys.readouterr().out == f"Reading payloads from: {file}\nNumber of messages read: 2\n"
    file.write_text("a, b,c")
    assert read_payloads(str(file), ", ?") == [b"a", b"b", b"c"]
    assert read_payloads(str(file), r"(,)\h*+") == [b"a", b"b", b"c"]
    for text, delimiter in (("", ","), (",", ","), ("a", "(")):
        file.write_text(text)
        with pytest.raises(ToolError):
            read_payloads(str(file), delimiter)
    with pytest.raises(ToolError, match="File does not exist or empty file provided"):
        read_payloads(str(tmp_path / "nothing"), ",")


def test_random_payloads_are_letters_of_the_size() -> None:
    options = producer_perf_test.parser().parse_args(
        ["--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "50", "--producer-props", "a=b"]
    )
    payloads, size = producer_perf_test._payloads(options)
    values = payloads(0, 20)
    assert size == 50
    assert [len(value) for value in values] == [50] * 20
    assert len(set(values)) == 20
    assert set(b"".join(values)) == set(range(65, 91))


class TestThrottler:
    def run(self, monkeypatch: pytest.MonkeyPatch, throughput: float, count: int, at_once: int) -> float:
        """How many seconds it takes."""
        clock = Clock()
        start = clock.now
        monkeypatch.setattr(time, "time", clock)

        def sleep(seconds: float) -> None:
            clock.now += seconds

        throttler = ThroughputThrottler(throughput, sleep)
        for done in range(at_once, count + 1, at_once):
            clock.now += 1e-5
            throttler.throttle(done, clock.now, at_once)
        return clock.now - start

    @pytest.mark.parametrize("at_once", [1, 5])
    def test_about_as_many_as_asked_for(self, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
        assert math.isclose(self.run(monkeypatch, 1000, 5000, at_once), 5.0, rel_tol=0.02)

    def test_no_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.run(monkeypatch, -1, 1000, 1) < 0.02


class TestInterruption:
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_is_a_flag_and_the_next_is_as_before(self, number: int, status: int) -> None:
        seen: list[int] = []
        previous = signal.signal(number, lambda number, frame: seen.append(number))
        try:
            with Interruption() as interruption:
                assert (bool(interruption), interruption.status) == (False, 0)
                os.kill(os.getpid(), number)
                assert (bool(interruption), interruption.status) == (True, status)
                os.kill(os.getpid(), number)
                assert seen == [number]
        finally:
            signal.signal(number, previous)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2026-03-05 07:08:09:012"),
        ("EEE, d MMM yy 'at' h 'o''clock' a", "Thu, 5 Mar 26 at 7 o'clock AM"),
        ("EEEE MMMM DDD", "Thursday March 064"),
    ],
)
def test_java_dates(pattern: str, expected: str) -> None:
    from datetime import datetime

    milliseconds = datetime(2026, 3, 5, 7, 8, 9, 12_000).timestamp() * 1000
    assert date_format(pattern)(milliseconds) == expected


@pytest.mark.parametrize("pattern", ["b", "yyyy 'x"])
def test_dates_that_java_refuses(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"Illegal pattern|Unterminated quote"):
        date_format(pattern)


def test_end_to_end_results(capsys: pytest.CaptureFixture[str]) -> None:
    e2e_latency.print_results([1_500_000, 2_500_000, 3_500_000, 9_900_000])
    assert capsys.readouterr().out == "Avg latency: 4.3500 ms\nPercentiles: 50th = 3, 99th = 9, 99.9th = 9\n"


def test_metrics_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    client_tool.print_metrics({"producer-metrics": {"b": 1.5, "long": 2}}, "c")
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Metric Name                           Value",
        "producer-metrics:b:{client-id=c}    : 1.500",
        "producer-metrics:long:{client-id=c} : 2",
    ]
