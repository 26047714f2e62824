"""What the system tests find in brokers' logs is what the stall meter writes there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import cast

import pytest

from kafkapy.runtime.stall_meter import StallMeter
from system_tests.services import KafkaService
from system_tests.stalls import LIMIT_MS, Stalls, stalls


@pytest.fixture
def written(caplog: pytest.LogCaptureFixture) -> str:
    """Two turns: one that used the CPU all the time, and one that waited."""
    times = [0.0, 0.0]
    meter = StallMeter(lambda: times[0], lambda: times[1])
    with caplog.at_level(logging.WARNING):
        for cpu in (1.5, 0.05):
            meter.woke = times[0]
            meter.read_cpu()
            times[0] += 2
            times[1] += cpu
            meter.record_item(1.9, stalls)
            meter.end_turn(times[0])
    return "".join(f"{record.getMessage()}\n" for record in caplog.records)


def test_only_the_brokers_own_time_counts(written: str) -> None:
    assert written.count("\n") == 2
    (found,) = stalls(written)
    assert "1500 ms CPU" in found
    assert found.endswith("for stalls")
    assert LIMIT_MS < 1500


def test_each_is_told_once(written: str, tmp_path: Path) -> None:
    class Broker:
        broker_id = 7
        output = tmp_path / "out"

    broker, looking = cast(KafkaService, Broker()), Stalls()
    broker.output.write_text("INFO started\n" + written)
    assert [line[:8] for line in looking.new([broker])] == ["broker 7"]
    assert not looking.new([broker])
    with open(broker.output, "a") as output:
        output.write(written)
    assert len(looking.new([broker])) == 1
