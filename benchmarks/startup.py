"""From the command to the first acknowledged record: kafka-dev, `kafkapy.testing`, and Apache's broker with KRaft.

    python -m benchmarks.startup [--rounds N] [--without-apache] [--before CHECKOUT]

Each round begins with an empty directory and a new process. Beside the commands stands a producer that connects as soon as
somebody listens; the topic is made by its asking for it. `kafkapy.testing` is a Python program that imports it, starts a cluster
and sends by itself, from its exec to what it prints. Memory is what the processes of the command hold by themselves or their
share of what they hold together (PSS), at that moment. A round before the first is not counted: it may have to write bytecode.

`--before`: the broker alone beside that of another checkout, in turn, on one ZooKeeper of Apache's that runs already: until it
listens, and until it answers. A port may be open before somebody answers.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks import apache
from benchmarks.brokers import ROOT, KafkapyServer, start_zookeeper, user_environment, wait_for_port
from kafkapy import KafkaProducer
from kafkapy.common.free_ports import free_ports

SECONDS = 60.0
PROGRAM = """
from kafkapy.testing import KafkaCluster
with KafkaCluster() as kafka:
    kafka.produce_many("first", ["record"])
    print("acknowledged", flush=True)
    input()
"""


class Round(NamedTuple):
    seconds: float
    cpu_seconds: float
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--without-apache", action="store_true")
    parser.add_argument("--before", type=Path, help="compare the broker with that of this checkout (its .venv)")
    arguments = parser.parse_args()
    if arguments.before is not None:
        compare(arguments.before, arguments.rounds)
        return
    measured: dict[str, Callable[[Path], Round]] = {
        "kafka-dev, machine code": lambda directory: by_command(directory, kafka_dev(directory), {}),
        "kafka-dev, plain Python": lambda directory: by_command(
            directory, kafka_dev(directory), {"KAFKAPY_COMPILED": "0"}
        ),
        "kafkapy.testing, machine code": lambda _: by_program({}),
        "kafkapy.testing, plain Python": lambda _: by_program({"KAFKAPY_COMPILED": "0"}),
    }
    if not arguments.without_apache:
        apache.jars()
        measured["Apache Kafka 3.9.1, KRaft"] = lambda directory: by_command(directory, kraft(directory), {})
    print(
        "| from the command to the first acknowledged record | median | worst | CPU | memory |\n| --- | --- | --- | --- | --- |"
    )
    for name, measure in measured.items():
        rounds = []
        for _ in range(arguments.rounds + 1):
            with tempfile.TemporaryDirectory() as directory:
                rounds.append(measure(Path(directory)))
        del rounds[0]
        seconds = [each.seconds for each in rounds]
        print(
            f"| {name} | {statistics.median(seconds):.2f} s | {max(seconds):.2f} s | "
            f"{statistics.median(each.cpu_seconds for each in rounds):.2f} s | "
            f"{statistics.median(each.megabytes for each in rounds):.0f} MB |",
            flush=True,
        )


class Command(NamedTuple):
    words: list[str]
    port: int
    before: list[str] | None = None
    """What has to run before, once; its time counts."""


def kafka_dev(directory: Path) -> Command:
    (port,) = free_ports(1)
    return Command([sys.executable, "-m", "kafkapy.tools.dev", "--port", str(port)], port)


def kraft(directory: Path) -> Command:
    """As config/kraft/server.properties of the distribution, but for ports and directory."""
    port, controller = free_ports(2)
    config = directory / "server.properties"
    config.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        "inter.broker.listener.name=PLAINTEXT\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"log.dirs={directory}/logs\noffsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
    )
    common = [apache.java(), f"-Dlog4j.configuration=file:{apache.HERE}/log4j.properties", "-cp", apache.jars()]
    storage = [*common, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(config)]
    return Command([*common[:1], *apache.BROKER_FLAGS, *common[1:], "kafka.Kafka", str(config)], port, storage)


def by_command(directory: Path, command: Command, environment: dict[str, str]) -> Round:
    begin = time.monotonic()
    with open(directory / "output", "wb") as output:
        if command.before is not None:
            subprocess.run(command.before, stdout=output, stderr=output, check=True)
        process = subprocess.Popen(command.words, stdout=output, stderr=output, env=user_environment(environment))
    try:
        wait_for_port(command.port, process, SECONDS)
        with KafkaProducer(bootstrap_servers=f"127.0.0.1:{command.port}", retry_backoff_ms=5) as producer:
            producer.send("first", b"record").get(SECONDS)
        seconds = time.monotonic() - begin
        return Round(seconds, *held_by(process.pid))
    finally:
        end(process)


def by_program(environment: dict[str, str]) -> Round:
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=user_environment(environment),
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        assert process.stdout.readline() == b"acknowledged\n"
        return Round(time.monotonic() - begin, *held_by(process.pid))
    finally:
        process.stdin.close()  # by which it ends
        process.wait(SECONDS)
        process.stdout.close()


def held_by(pid: int) -> tuple[float, float]:
    """CPU seconds and megabytes of a process and its children."""
    parent = psutil.Process(pid)
    processes = [parent, *parent.children(recursive=True)]
    times = [process.cpu_times() for process in processes]
    return (
        sum(each.user + each.system for each in times),
        sum(process.memory_full_info().pss for process in processes) / 1e6,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


API_VERSIONS = struct.pack(">ihhihc", 11, 18, 0, 1, 1, b"b")
METADATA = struct.pack(">ihhihci", 15, 3, 1, 1, 1, b"b", -1)
"""Version 1, of all topics; the number of brokers comes first in the answer."""


class BrokerStart(NamedTuple):
    """Seconds since the command, CPU seconds of the broker's process, MB that it has resident a moment later."""

    listens: float
    answers: float
    has_metadata: float
    cpu: float
    resident: float


def compare(checkout: Path, rounds: int) -> None:
    (zookeeper_port,) = free_ports(1)
    starts: dict[str, list[BrokerStart]] = {"before": [], "now": []}
    with tempfile.TemporaryDirectory() as name:
        zookeeper = start_zookeeper(Path(name), zookeeper_port)
        try:
            for number in range(rounds + 1):
                for which, where in (("before", checkout), ("now", ROOT)):
                    directory = f"{which}-{number}"
                    properties = {"zookeeper.connect": f"127.0.0.1:{zookeeper_port}/{directory}"}
                    server = KafkapyServer(which, Path(name) / directory, 0, zookeeper_port, properties, where)
                    starts[which].append(measure_start(server))
        finally:
            zookeeper.kill()
            zookeeper.wait()
    print("| a broker | listens | answers ApiVersions | answers Metadata | CPU | resident |")
    print("| --- | --- | --- | --- | --- | --- |")
    for which, (_, *counted) in starts.items():
        *seconds, megabytes = map(statistics.median, zip(*counted, strict=True))
        print(f"| {which} | {' | '.join(f'{each:.2f} s' for each in seconds)} | {megabytes:.1f} MB |")


def measure_start(server: KafkapyServer) -> BrokerStart:
    begin = time.monotonic()
    server.spawn()
    assert server.process is not None
    try:
        wait_for_port(server.port, server.process, pause=0.002)
        listens = time.monotonic() - begin
        ask(server.port, API_VERSIONS)
        answers = time.monotonic() - begin
        while ask(server.port, METADATA)[4:8] != struct.pack(">i", 1):
            time.sleep(0.002)
        has_metadata = time.monotonic() - begin
        time.sleep(0.7)
        process = psutil.Process(server.pid)
        return BrokerStart(
            listens, answers, has_metadata, sum(process.cpu_times()[:2]), process.memory_info().rss / 1e6
        )
    finally:
        server.stop()


def ask(port: int, request: bytes) -> bytes:
    """The answer without its size; asked again while nobody answers."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            with (
                socket.create_connection(("127.0.0.1", port), SECONDS) as connection,
                connection.makefile("rb") as file,
            ):
                connection.sendall(request)
                if len(size := file.read(4)) == 4:
                    return file.read(*struct.unpack(">i", size))
        except OSError:
            pass
        time.sleep(0.002)
    raise SystemExit(f"nobody answers on port {port}")


if __name__ == "__main__":
    main()
