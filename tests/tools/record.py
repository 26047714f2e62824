"""Makes data/recordings anew: python -m tests.tools.record BROKER CLASSPATH

BROKER (127.0.0.1:port) is an Apache Kafka 3.9.1 broker with id 0 and nothing in it, best with offsets.topic.num.partitions=2;
CLASSPATH is Kafka's libs directory with a star: 'kafka/libs/*'.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer

from tests.tools.programs import modules
from tests.tools.recording import RecordingProxy, save
from tests.tools.scenarios import SCENARIOS, TOOLS, Scenario

DATA = Path(__file__).parent / "data"


def main(broker: str, classpath: str) -> None:
    port = int(broker.rpartition(":")[2])
    for command in (
        "--create --topic s.a --partitions 3 --config segment.bytes=20000",
        "--create --topic s-b --partitions 1",
    ):
        run_ours("topics", broker, command.split())
    produce(broker)
    for group in ("g1", "g2"):
        run_ours(
            "consumer_groups", broker, f"--reset-offsets --group {group} --topic s.a --to-latest --execute".split()
        )
    member = join(broker)
    for scenario in SCENARIOS:
        record(scenario, broker, port, classpath)
    member.close()


def record(scenario: Scenario, broker: str, port: int, classpath: str) -> None:
    arguments = [argument.format(dir=DATA) for argument in scenario.arguments]
    prepare(scenario, broker)
    proxy = RecordingProxy(port, forwarder(port))
    ours = run_ours(scenario.tool, proxy.address, arguments)
    proxy.close()
    save(DATA / "recordings" / f"{scenario.name}.responses", proxy.exchanges)
    prepare(scenario, broker)
    command = ["java", "-cp", classpath, TOOLS[scenario.tool], *with_broker(arguments, broker)]
    apache = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (DATA / "recordings" / f"{scenario.name}.out").write_text(apache.stdout.replace(str(port), "PORT"))
    known = apache.stdout + apache.stderr
    told = scenario.error.removeprefix("* Group").rpartition("due to: ")[2]
    print("ok  " if told in known and scenario.error in ours.stderr else "LOOK", scenario.name, ours.stderr.strip())


def prepare(scenario: Scenario, broker: str) -> None:
    for tool, command in scenario.before:
        run_ours(tool, broker, shlex.split(command))
        time.sleep(0.5)


def with_broker(arguments: list[str], broker: str) -> list[str]:
    return [*arguments, "--bootstrap-server", broker]


def run_ours(tool: str, broker: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", modules()[tool], *with_broker(arguments, broker)]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=60)


def forwarder(port: int) -> Callable[[bytes], bytes]:
    import socket
    import struct

    connection = socket.create_connection(("127.0.0.1", port))
    stream = connection.makefile("rb")

    def forward(frame: bytes) -> bytes:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        return stream.read(struct.unpack(">i", stream.read(4))[0])

    return forward


def produce(broker: str) -> None:
    producer = KafkaProducer(bootstrap_servers=broker, acks=1, enable_idempotence=False)
    now = int(time.time() * 1000)
    for i in range(100):
        producer.send("s.a", b"v%d" % i, b"k%d" % i, partition=i % 3, timestamp_ms=now + i)
    producer.flush()
    producer.close()


def join(broker: str) -> KafkaConsumer:
    """A member of group "active" that stays."""
    consumer = KafkaConsumer(
        "s.a", bootstrap_servers=broker, group_id="active", client_id="cx", auto_offset_reset="earliest"
    )
    end = time.time() + 20
    while not consumer.assignment() and time.time() < end:
        consumer.poll(500)
    consumer.poll(2000)
    consumer.commit()
    return consumer


if __name__ == "__main__":
    main(*sys.argv[1:])
