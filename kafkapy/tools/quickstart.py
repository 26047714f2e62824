"""The main job: Kafka's quick start on real input, checked to the byte.

ZooKeeper and a broker start on free ports with a data directory of their own; every line of the input files goes into a topic
through a real client (librdkafka), a consumer group of two reads it back, and counts and digests of both sides are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOPIC = "quickstart-lines"
GROUP = "quickstart-readers"
PARTITIONS = 4

Digests = dict[str, tuple[int, str]]
"""file → (number of lines, SHA-256 over its lines in order)"""


class QuickstartError(Exception):
    """What went wrong and what mends it, in a sentence."""


class Digester:
    """Counts and digests lines file by file, as they come."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[list[int], Any]] = {}

    def add(self, file: str, line: bytes) -> None:
        entry = self._files.get(file)
        if entry is None:
            entry = self._files[file] = ([0], hashlib.sha256())
        entry[0][0] += 1
        entry[1].update(len(line).to_bytes(4, "big"))
        entry[1].update(line)

    def result(self) -> Digests:
        return {file: (count[0], digest.hexdigest()) for file, (count, digest) in self._files.items()}


def combined(digests: Digests) -> str:
    """One digest over all files."""
    total = hashlib.sha256()
    for file in sorted(digests):
        total.update(f"{file}\0{digests[file][0]}\0{digests[file][1]}\n".encode())
    return total.hexdigest()


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        files = [Path(f) for f in arguments.files] or standard_library()
        return _run(files, arguments.keep)
    except QuickstartError as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quickstart: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quickstart.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="input (default: the source of Python's standard library)"
    )
    parser.add_argument("--keep", action="store_true", help="leave ZooKeeper and the broker running")
    return parser


def standard_library() -> list[Path]:
    """Every source file of the Python that runs this, tests and installed packages left out."""
    root = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"}
    return sorted(path for path in root.rglob("*.py") if not skipped & set(path.relative_to(root).parts[:-1]))


def lines(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """(file, line without its end) of every line; `QuickstartError` if a file can't be read."""
    for path in files:
        try:
            with open(path, "rb") as file:
                for line in file:
                    yield str(path), line.rstrip(b"\r\n")
        except OSError as error:
            raise QuickstartError(
                f"{path} can't be read: {error.strerror}. Give files that exist and may be read."
            ) from error


def _run(files: list[Path], keep: bool) -> int:
    for path in files:
        if not path.is_file():
            raise QuickstartError(f"{path}: no such file. Give files that exist and may be read.")
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-quickstart-"))
    servers = Servers(directory)
    ok = False
    try:
        servers.start()
        ok = _main_job(files, servers)
    finally:
        if keep and ok:
            print(_how_to_go_on(servers, True))
        else:
            servers.stop()
            print(_how_to_go_on(servers, False))
    return 0 if ok else 1


def _main_job(files: list[Path], servers: Servers) -> bool:
    _step(f"Creating topic {TOPIC} with {PARTITIONS} partitions")
    _tool("topics", servers, "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
    _step(f"Producing the lines of {len(files)} files")
    begin = time.monotonic()
    sent = _produce(files, servers.bootstrap)
    count = sum(n for n, _ in sent.values())
    seconds = time.monotonic() - begin
    print(f"  {count:,} lines sent and acknowledged in {seconds:.1f} s ({count / seconds:,.0f} a second)")
    _step(f"Reading them back with a consumer group of two ({GROUP})")
    members = _consume(servers.bootstrap, count)
    received: Digests = {}
    for number, member in enumerate(members, 1):
        print(f"  member {number}: {sum(n for n, _ in member.values()):,} lines of {len(member)} files")
        received.update(member)
    _tool("consumer_groups", servers, "--describe", "--group", GROUP)
    same = sent == received
    _step("Comparing")
    print(f"  sent      {count:>10,} lines  sha256 {combined(sent)}")
    print(f"  received  {sum(n for n, _ in received.values()):>10,} lines  sha256 {combined(received)}")
    print("  identical" if same else "  THEY DIFFER")
    return same


def _step(text: str) -> None:
    print(f"\n== {text}", flush=True)


def _tool(module: str, servers: Servers, *arguments: str) -> None:
    """Run one of the command-line tools, as a user would."""
    command = [sys.executable, "-m", f"kafkapy.tools.{module}", "--bootstrap-server", servers.bootstrap, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    if done.returncode:
        raise QuickstartError(f"{' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}")


# ---------------------------------------------------------------------------------------------------- servers


class Servers:
    """ZooKeeper and one broker, each a process, with all they write below one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.zookeeper_port = _free_port()
        self.port = _free_port()
        self.processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        zookeeper = self.directory / "zookeeper.properties"
        zookeeper.write_text(
            f"dataDir={self.directory}/zookeeper\nclientPort={self.zookeeper_port}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\nadmin.enableServer=false\n"
        )
        _step(f"Starting ZooKeeper on port {self.zookeeper_port}")
        self._start("ZooKeeper", "zookeeper_server_start", zookeeper, self.zookeeper_port)
        broker = self.directory / "server.properties"
        broker.write_text(
            f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:{self.port}\nlog.dirs={self.directory}/kafka-logs\n"
            f"zookeeper.connect=127.0.0.1:{self.zookeeper_port}\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
        )
        _step(f"Starting a broker on port {self.port}")
        begin = time.monotonic()
        self._start("the broker", "kafka_server_start", broker, self.port)
        print(f"  serving after {time.monotonic() - begin:.1f} s")

    def _start(self, name: str, module: str, config: Path, port: int) -> None:
        log = self.directory / f"{module}.out"
        environment = dict(os.environ, LOG_DIR=str(self.directory / "logs"))
        with open(log, "ab") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", f"kafkapy.tools.{module}", str(config)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=environment,
            )  # fmt: skip
        self.processes.append((name, process))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if process.poll() is not None:
                raise QuickstartError(f"{name} did not start; its last words:\n{_tail(log)}")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise QuickstartError(f"{name} does not listen on port {port} after 60 s; see {log}")

    def stop(self) -> None:
        for _, process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:])


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def _how_to_go_on(servers: Servers, running: bool) -> str:
    text = f"\nData, configuration and logs are in {servers.directory}\n"
    if not running:
        return (
            text
            + "The servers are stopped; --keep leaves them running. Delete the directory when you are done with it."
        )
    stop = " ".join(str(process.pid) for _, process in reversed(servers.processes))
    return text + (
        f"The servers are running. Look around:\n"
        f"  bin/kafka-topics.sh --bootstrap-server {servers.bootstrap} --describe\n"
        f"  bin/kafka-consumer-groups.sh --bootstrap-server {servers.bootstrap} --describe --group {GROUP}\n"
        f"  bin/kafka-get-offsets.sh --bootstrap-server {servers.bootstrap} --topic {TOPIC}\n"
        f"Stop them:\n  kill {stop}"
    )


# ---------------------------------------------------------------------------------------------------- clients


def _progress(total: int | None, what: str) -> Any:
    from tqdm import tqdm

    return tqdm(
        total=total, desc=f"  {what}", unit=" lines", unit_scale=True, disable=not sys.stderr.isatty(), leave=False
    )


def _produce(files: list[Path], bootstrap: str) -> Digests:
    """Send every line with its file as the key; returns when all are acknowledged by all in-sync replicas."""
    from confluent_kafka import Producer

    failures: list[str] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20})
    digester = Digester()
    with _progress(None, "sent") as bar:
        for number, (file, line) in enumerate(lines(files)):
            digester.add(file, line)
            while True:
                try:
                    producer.produce(TOPIC, key=file.encode(), value=line, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
                bar.update(number - bar.n)
        left = producer.flush(60)
    if left or failures:
        raise QuickstartError(
            f"{left + len(failures)} lines were not acknowledged: {failures[0] if failures else 'time ran out'}"
        )
    return digester.result()


def _consume(bootstrap: str, count: int) -> list[Digests]:
    """Two members in processes of their own; what each of them read."""
    context = multiprocessing.get_context("spawn")
    progress: Queue[int] = context.Queue()
    results: Queue[Digests] = context.Queue()
    done = context.Event()
    members = [context.Process(target=_member, args=(bootstrap, progress, results, done)) for _ in range(2)]
    for member in members:
        member.start()
    try:
        with _progress(count, "received") as bar:
            _wait_for(count, progress, bar, members)
        done.set()
        return [results.get(timeout=30) for _ in members]
    finally:
        done.set()
        for member in members:
            member.join(10)
            if member.is_alive():
                member.kill()


def _wait_for(count: int, progress: Queue[int], bar: Any, members: list[Any]) -> None:
    """Until the members have read `count` lines together."""
    received = 0
    end = time.monotonic() + 120
    while received < count:
        try:
            read = progress.get(timeout=1)
        except queue.Empty:
            if any(member.exitcode for member in members):
                raise QuickstartError("a member of the consumer group has failed; its message is above") from None
            if time.monotonic() > end:
                raise QuickstartError(f"the consumer group read {received} of {count} lines within 2 minutes") from None
            continue
        received += read
        bar.update(read)


def _member(bootstrap: str, progress: Queue[int], results: Queue[Digests], done: Any) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    digester = Digester()
    while not done.is_set():
        messages = consumer.consume(10_000, 0.2)
        for message in messages:
            if message.error():
                raise SystemExit(f"member: {message.error()}")
            digester.add((message.key() or b"").decode(), message.value() or b"")
        if messages:
            consumer.commit(asynchronous=False)
            progress.put(len(messages))
    consumer.close()
    results.put(digester.result())


if __name__ == "__main__":
    sys.exit(main())
