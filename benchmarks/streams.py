"""Stream applications side by side, one instance each, against one broker.

    python -m benchmarks.streams [BOOTSTRAP] [--records 1000000] [--warm 200000] [--keys 100000] [--jobs map,count,windowed,join]
        [--with kafkapy,columns,java,quixstreams,faust] [--guarantee at_least_once] [--quix PYTHON] [--faust PYTHON]

Without BOOTSTRAP a broker of kafkapy's is started for it. The rate is that of committed offsets between the warm-up and the end,
the CPU time and the highest memory are those of the program's process. quixstreams and faust need an interpreter of
their own each.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import NamedTuple

from benchmarks.apache import client_command
from benchmarks.clients import broker
from benchmarks.table import number
from kafkapy.admin import KafkaAdminClient, NewTopic
from kafkapy.producer import KafkaProducer
from kafkapy.structs import TopicPartition

ROOT = Path(__file__).parent.parent
LIBRARIES = ("kafkapy", "columns", "java", "quixstreams", "faust")
JOBS = ("map", "count", "windowed", "join")
TIMEOUT_S = 600
_SEND_AT_ONCE = 10_000
_MARKERS = 50
"""So many transaction markers may stand between the last committed offset and the end of a topic."""


class Figures(NamedTuple):
    """Of one program and job.

    Attributes:
        rate: Records a second.
        cpu_us: CPU time a record, in microseconds.
        memory_mib: The highest resident memory.
    """

    rate: float
    cpu_us: float
    memory_mib: float


def main() -> None:
    options = arguments()
    with broker(options.bootstrap) as bootstrap:
        fill(bootstrap, options.warm + options.records, options.keys)
        print("| job | library | rec/s | CPU us/rec | MiB |\n|---|---|--:|--:|--:|")
        for job in options.jobs.split(","):
            for library in options.libraries.split(","):
                print(f"| {job} | {library} | {row(bootstrap, library, job, options)} |", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bootstrap", nargs="?")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--warm", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--with", dest="libraries", default=",".join(LIBRARIES))
    parser.add_argument("--guarantee", choices=("at_least_once", "exactly_once_v2"), default="at_least_once")
    parser.add_argument("--quix", default=sys.executable)
    parser.add_argument("--faust", default=sys.executable)
    return parser.parse_args()


def fill(bootstrap: str, records: int, keys: int) -> None:
    """Make the topics, and write the records: words of keys drawn at random, always the same ones."""
    drawn = random.Random(1)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 1, 1) for topic in ("in", "table", "out")])
    with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        names = [b"key-%06d" % key for key in range(keys)]
        producer.send_many("table", [b"value-of-" + name for name in names], names)
        for first in range(0, records, _SEND_AT_ONCE):
            some = [names[drawn.randrange(keys)] for _ in range(min(_SEND_AT_ONCE, records - first))]
            producer.send_many("in", [b"to be or not to be " * 4] * len(some), some)
        producer.flush()


def row(bootstrap: str, library: str, job: str, options: argparse.Namespace) -> str:
    try:
        figures = measure(bootstrap, library, job, options)
    except RuntimeError as error:
        return f"{error} | |"
    return " | ".join(number(figure) for figure in figures)


def measure(bootstrap: str, library: str, job: str, options: argparse.Namespace) -> Figures:
    """Run a program over all records.

    Raises:
        RuntimeError: It ended, or took too long.
    """
    group = f"{library}-{job}-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory(prefix="streams-benchmark-") as directory:
        arguments = [bootstrap, group, job, options.guarantee, directory]
        with open(Path(directory, "log"), "wb") as log:
            process = subprocess.Popen(command(library, arguments, options), cwd=ROOT, stdout=log, stderr=log)
        try:
            return watched(bootstrap, group, process, options.warm, options.records)
        finally:
            stop(process)


def command(library: str, arguments: list[str], options: argparse.Namespace) -> list[str]:
    """What runs a library's program."""
    if library == "java":
        return client_command("StreamJobs", *arguments)
    programs = ROOT / "benchmarks" / "stream_programs"
    if library == "quixstreams":
        return [options.quix, str(programs / "by_quixstreams.py"), *arguments]
    if library == "faust":
        return [options.faust, str(programs / "by_faust.py"), *arguments]
    more = ["columns"] if library == "columns" else []
    return [sys.executable, "-m", "benchmarks.stream_programs.by_kafkapy", *arguments, *more]


def watched(bootstrap: str, group: str, process: subprocess.Popen[bytes], warm: int, records: int) -> Figures:
    """Figures between the commit after the warm-up and the last one."""
    began: tuple[float, float, int] | None = None
    deadline = time.monotonic() + TIMEOUT_S
    partition = TopicPartition("in", 0)
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"ended with {process.returncode}")
            committed = admin.list_consumer_group_offsets(group).get(partition)
            offset = 0 if committed is None else committed.offset
            now = time.monotonic()
            if began is None and offset >= warm:
                began = now, cpu_seconds(process.pid), offset
            if began is not None and offset >= warm + records - _MARKERS:
                done = max(1, offset - began[2])
                cpu_us = 1e6 * (cpu_seconds(process.pid) - began[1]) / done
                return Figures(done / max(1e-3, now - began[0]), cpu_us, memory_mib(process.pid))
            time.sleep(0.05)
    raise RuntimeError(f"not done in {TIMEOUT_S} s")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """The highest resident memory of a process so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
