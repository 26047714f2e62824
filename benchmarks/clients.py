"""Python's Kafka clients side by side, against one broker: A B A B, medians, ratios.

    python -m benchmarks.clients [BOOTSTRAP] [--rounds 3] [--seconds 2] [--only REGEX] [--clients A,B] [--markdown FILE]

Without BOOTSTRAP a broker of kafkapy's is started for it. The other clients come with `pip install kafkapy[benchmark]`;
those that aren't installed are left out. Each figure is taken in a process of its own, with the client's default options
(records of 100 bytes, one partition).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.client_jobs import STORED_RECORDS, bodies
from benchmarks.table import number
from kafkapy.admin import KafkaAdminClient, NewTopic
from kafkapy.producer import KafkaProducer

ROOT = Path(__file__).parent.parent
MODULES = {
    "aiokafka": "aiokafka",
    "confluent-kafka": "confluent_kafka",
    "kafka-python": "kafka",
    "kafkapy": "kafkapy",
}
OURS = "kafkapy"
JOB_SECONDS = 90


class Case(NamedTuple):
    """One row. `only`: the clients that can do that; what they are compared with is then the others' `like`."""

    name: str
    job: str
    figure: str
    unit: str
    higher_is_better: bool = True
    like: str | None = None


CASES = (
    Case("send, record by record", "send", "rate", "rec/s"),
    Case("send_many, lists of 10,000", "send_many", "rate", "rec/s", like="send"),
    Case("send_arrow, tables of 10,000", "send_arrow", "rate", "rec/s", like="send"),
    Case("iteration, record by record", "iterate", "rate", "rec/s"),
    Case("poll, lists of records", "poll", "rate", "rec/s"),
    Case("poll_arrow, tables", "poll_arrow", "rate", "rec/s", like="poll"),
    Case("end to end, p50", "latency", "p50", "ms", higher_is_better=False),
    Case("end to end, p99", "latency", "p99", "ms", higher_is_better=False),
)
_ONLY_OURS = {"send_many", "send_arrow", "poll_arrow"}
_READING = {"iterate", "poll", "poll_arrow"}

Samples = dict[tuple[str, str, str], list[float]]
"""(client, job, figure) -> what was measured."""


@contextmanager
def broker(bootstrap: str | None) -> Iterator[str]:
    """The broker to measure with; a local one ends with the block."""
    if bootstrap:
        yield bootstrap
        return
    with tempfile.TemporaryDirectory(prefix="kafkapy-clients-") as directory:
        tool = [sys.executable, "-m", "kafkapy.tools.cluster_local"]
        started = subprocess.run(
            [*tool, "start", "-n", "1", "--dir", directory], cwd=ROOT, capture_output=True, text=True
        )
        try:
            found = re.search(r"bootstrap servers: *(\S+)", started.stdout)
            if found is None:
                raise SystemExit(started.stdout + started.stderr)
            yield found[1]
        finally:
            subprocess.run([*tool, "stop", "--dir", directory], cwd=ROOT, capture_output=True)


def measure(client: str, job: str, bootstrap: str, topic: str, seconds: float) -> dict[str, float]:
    """The figures of one job. Raises SystemExit if it fails."""
    task = {"client": client, "case": job, "bootstrap": bootstrap, "topic": topic, "seconds": seconds}
    command = [sys.executable, "-m", "benchmarks.client_jobs", json.dumps(task)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=JOB_SECONDS)
    try:
        figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"{client}, {job}: {done.stderr[-2000:]}") from None
    return figures


def fill(bootstrap: str, topic: str) -> None:
    """Records for those who read."""
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        values = bodies() * 50
        for _ in range(STORED_RECORDS // len(values)):
            producer.send_many(topic, values)


def run(bootstrap: str, cases: list[Case], clients: list[str], rounds: int, seconds: float) -> Samples:
    samples: Samples = {}
    jobs = list(dict.fromkeys([case.job for case in cases] + [case.like for case in cases if case.like]))
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:

        def new_topic() -> str:
            topic = f"clients-{uuid.uuid4().hex[:8]}"
            admin.create_topics([NewTopic(topic, 1, 1)])
            return topic

        stored = new_topic()
        if _READING.intersection(jobs):
            fill(bootstrap, stored)
        for number in range(rounds):
            for job in jobs:
                for client in clients:
                    if job in _ONLY_OURS and client != OURS:
                        continue
                    topic = stored if job in _READING else new_topic()
                    for figure, value in measure(client, job, bootstrap, topic, seconds).items():
                        samples.setdefault((client, job, figure), []).append(value)
                        print(
                            f"{number + 1} {client:16} {job:12} {figure:5} {value:14,.2f}", file=sys.stderr, flush=True
                        )
                    if topic != stored:
                        admin.delete_topics([topic])
        admin.delete_topics([stored])
    return samples


def ratio(case: Case, client: str, medians: dict[tuple[str, str, str], float]) -> float | None:
    """kafkapy against another client; above 1: kafkapy is better. None: the other cannot be compared."""
    theirs = medians.get((client, case.like or case.job, case.figure))
    ours = medians[OURS, case.job, case.figure]
    if theirs is None:
        return None
    return ours / theirs if case.higher_is_better else theirs / ours


def report(cases: list[Case], clients: list[str], samples: Samples) -> str:
    """A Markdown table. A case that the others do not have is compared with what comes nearest to it."""
    medians = {key: statistics.median(values) for key, values in samples.items()}
    others = [client for client in clients if client != OURS]
    head = ["case", "unit", *others, OURS, *(f"/ {client}" for client in others)]
    lines = ["| " + " | ".join(head) + " |", "| --- | --- |" + " ---: |" * (len(head) - 2)]
    for case in cases:
        cells = [case.name, case.unit]
        for client in (*others, OURS):
            value = medians.get((client, case.job, case.figure))
            cells.append("" if value is None else number(value))
        for client in others:
            found = ratio(case, client, medians)
            cells.append("" if found is None else f"{found:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def installed(names: list[str]) -> list[str]:
    """Those of the clients that are there; says which are not."""
    found = [name for name in names if importlib.util.find_spec(MODULES[name]) is not None]
    for name in set(names) - set(found):
        print(f"{name} is not installed and left out: pip install 'kafkapy[benchmark]'", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement of a rate")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name it matches")
    parser.add_argument("--clients", default=",".join(MODULES), help="some of these, with commas between")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    args = parser.parse_args()
    names = [name for name in args.clients.split(",") if name]
    unknown = set(names) - set(MODULES)
    if unknown:
        parser.error(f"unknown clients: {', '.join(sorted(unknown))}")
    cases = [case for case in CASES if re.search(args.only, case.name)]
    clients = installed([*(name for name in names if name != OURS), OURS])
    with broker(args.bootstrap) as bootstrap:
        table = report(cases, clients, run(bootstrap, cases, clients, args.rounds, args.seconds))
    print(table)
    if args.markdown:
        args.markdown.write_text(table + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
