"""The examples of Streams, each with some records; and one of them as a program that runs on a broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.streams import Serde, serde_of
from kafkapy.streams.testing import TopologyTestDriver
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent.parent
MINUTE = 60_000


class Case(NamedTuple):
    """Input records (topic, key, JSON or text, time) and the last value of each key in the output."""

    output: str
    inputs: list[tuple[str, str, Any, int]]
    expected: dict[str, Any]
    kind: Any = dict


CASES = {
    "word_count": Case(
        "counts",
        [("lines", "", "To be or not", 0), ("lines", "", "to be", 1)],
        {"to": 2, "be": 2, "or": 1, "not": 1},
        int,
    ),
    "page_views": Case(
        "views-by-region",
        [
            ("users", "ann", {"region": "north"}, 0),
            ("views", "ann", {"page": "/"}, 1),
            ("views", "bob", {"page": "/"}, 2),
            ("views", "ann", {"page": "/rooms"}, 3),
            ("views", "ann", {"page": "/rooms"}, MINUTE),
        ],
        {
            "north": {"region": "north", "minute": 1, "views": 1},
            "unknown": {"region": "unknown", "minute": 0, "views": 1},
        },
    ),
    "top_articles": Case(
        "top-articles",
        [
            ("reads", "ann", {"article": article, "topic": "kafka"}, time)
            for time, article in enumerate(["log", "tiers", "streams", "acls", "streams", "acls", "acls", "log"])
        ],
        {"kafka": ["acls", "log", "streams"]},
        list,
    ),
    "anomaly_detection": Case(
        "alarms",
        [
            *(("logins", "192.0.2.1", {"user": "eve", "succeeded": False}, time) for time in range(4)),
            *(("logins", "192.0.2.2", {"user": "ann", "succeeded": False}, time) for time in range(3)),
            ("logins", "192.0.2.2", {"user": "bob", "succeeded": False}, 2 * MINUTE),
        ],
        {"eve": {"user": "eve", "from_ms": 0, "failures": 4}},
    ),
    "session_windows": Case(
        "visits",
        [
            ("clicks", "ann", "/", 0),
            ("clicks", "ann", "/rooms", 40 * MINUTE),
            ("clicks", "ann", "/book", 20 * MINUTE),
            ("clicks", "bob", "/", 41 * MINUTE),
        ],
        {
            "ann": {"user": "ann", "clicks": 3, "seconds": 2400},
            "bob": {"user": "bob", "clicks": 1, "seconds": 0},
        },
    ),
    "foreign_key_join": Case(
        "named-orders",
        [
            ("customers", "c1", {"name": "Ann"}, 0),
            ("orders", "o1", {"customer": "c1", "cents": 100}, 1),
            ("orders", "o2", {"customer": "c2", "cents": 200}, 2),
            ("customers", "c1", {"name": "Anna"}, 3),
        ],
        {"o1": {"name": "Anna", "cents": 100}},
    ),
    "global_table": Case(
        "sales-in-euros",
        [("rates", "usd", 0.5, 0), ("sales", "shop", {"currency": "usd", "amount": 3.5}, 1)],
        {"shop": 1.75},
        float,
    ),
    "async_enrichment": Case(
        "clicks-by-country",
        [("clicks", "ann", {"page": "/", "address": "192.0.2.1"}, 0)],
        {"ann": {"page": "/", "address": "192.0.2.1", "country": "at"}},
    ),
    "experiment_report": Case(
        "report",
        [
            *(("variants", f"v{number}", "ab"[number % 2], 0) for number in range(4)),
            ("purchases", "p1", {"visitor": "v0", "cents": 1000}, 1),
            ("purchases", "p1", {"visitor": "v0", "cents": 1000}, 2),
            ("purchases", "p2", {"visitor": "v2", "cents": 500}, 3),
            ("purchases", "p3", {"visitor": "v1", "cents": 300}, 4),
        ],
        {"a": "7.50 a visitor", "b": "1.50 a visitor"},
        str,
    ),
}


def serde(kind: type[Any]) -> Serde[Any]:
    found = serde_of(kind)
    assert found is not None
    return found


def test_each_example_has_a_case() -> None:
    programs = {path.stem for path in (ROOT / "examples" / "streams").glob("*.py")}
    assert programs - {"__init__", "serdes"} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_results(name: str) -> None:
    case = CASES[name]
    text = serde(str)
    with TopologyTestDriver(import_module(f"examples.streams.{name}").topology()) as driver:
        for topic, key, value, time in case.inputs:
            serializer = serde(type(value)).serializer()
            driver.create_input_topic(topic, text.serializer(), serializer).pipe_input(key, value, time)
        output = driver.create_output_topic(case.output, text.deserializer(), serde(case.kind).deserializer())
        assert output.read_key_values_to_map() == case.expected


@pytest.mark.integration
def test_an_example_runs_on_a_broker(kafka: Any, tmp_path: Path) -> None:
    server = kafka.bootstrap_servers
    with KafkaProducer(bootstrap_servers=server) as producer:
        producer.send("lines", b"to be or not to be").get(60)
    command = [sys.executable, "-m", "kafkapy.tools.streams", "run", "examples.streams.word_count:topology"]
    configs = {"application.id": "words", "bootstrap.servers": server, "state.dir": str(tmp_path)}
    options = [f"--property={name}={value}" for name, value in configs.items()]
    program = subprocess.Popen([*command, *options], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    counts: dict[str, int] = {}
    try:
        with KafkaConsumer(
            "counts", bootstrap_servers=server, auto_offset_reset="earliest", metadata_max_age_ms=500
        ) as consumer:

            def all_counted() -> bool:
                for records in consumer.poll(200).values():
                    counts.update(
                        {(one.key or b"").decode(): int.from_bytes(one.value or b"", "big") for one in records}
                    )
                return len(counts) == 4

            wait_until(all_counted)
    finally:
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == 0
    assert counts == {"to": 2, "be": 2, "or": 1, "not": 1}
