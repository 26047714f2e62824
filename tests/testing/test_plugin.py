"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[2]

TEN_LINES = """
def test_round_trip(kafka_topic, kafka_producer, kafka_consumer):
    kafka_producer.send(kafka_topic, key=b"user-1", value=b"hello").get(60)
    record = next(kafka_consumer)
    assert (record.key, record.value) == (b"user-1", b"hello")

def test_another_topic(kafka, kafka_topic):
    assert kafka.records(kafka_topic) == []
"""

ASYNCIO = """
import asyncio

def test_asyncio(kafka, kafka_topic, kafka_aio_producer, kafka_aio_consumer):
    async def main():
        async with kafka_aio_producer as producer, kafka_aio_consumer as consumer:
            await producer.send_and_wait(kafka_topic, b"async")
            return (await consumer.getone()).value
    assert asyncio.run(main()) == b"async"
"""

FAILING = """
import pytest

def test_before(kafka):
    kafka.create_topic("of-another-test")

@pytest.mark.kafka_topic(partitions=3, config={"retention.ms": 1000})
def test_fails(kafka, kafka_topic):
    assert len(kafka.admin.describe_topics([kafka_topic])[kafka_topic].partitions) == 3
    kafka.create_topic("named-in-the-log")
    kafka.pause()
    assert False

def test_healed(kafka):
    kafka.produce_many("clicks", ["x"])

def test_reset(kafka):
    assert kafka.records("clicks") == []
"""


def run(directory: Path, program: str, *arguments: str, ini: str = "") -> str:
    """pytest's output on one file."""
    (directory / "test_it.py").write_text(program)
    (directory / "pytest.ini").write_text(f"[pytest]\n{ini}")
    is_installed = any(point.value == "kafkapy.testing.plugin" for point in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "kafkapy.testing.plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *arguments, str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)
    return done.stdout + done.stderr


@pytest.mark.integration
def test_ten_lines_side_by_side(tmp_path: Path) -> None:
    """Under xdist each worker has a cluster of its own."""
    assert "3 passed" in run(tmp_path, TEN_LINES + ASYNCIO, "-n", "2")


@pytest.mark.integration
def test_a_failure_shows_the_log_and_is_undone(tmp_path: Path) -> None:
    output = run(tmp_path, FAILING, "--kafka-reset", ini="kafka_topics = clicks:2\nkafka_config = num.partitions=2\n")
    assert "1 failed, 3 passed" in output
    assert "Log of Kafka broker 0 at 127.0.0.1:" in output and "Created log for partition named-in-the-log-1" in output
    assert "of-another-test" not in output


def test_a_config_that_is_none_is_named(tmp_path: Path) -> None:
    assert "'many' is no config of a broker; write key=value" in run(tmp_path, TEN_LINES, "--kafka-config", "many")


def test_it_costs_other_runs_nothing(tmp_path: Path) -> None:
    program = "import sys\ndef test_it(): assert [n for n in sys.modules if n.startswith('kafkapy.')] == WANTED\n"
    wanted = [
        "kafkapy.compiled",
        "kafkapy.common",
        "kafkapy.common.lazy_names",
        "kafkapy.testing",
        "kafkapy.testing.plugin",
    ]
    output = run(tmp_path, program.replace("WANTED", repr(wanted)))
    assert "1 passed" in output, output
