"""Apache Kafka 3.9.1, or an older kafkapy, and kafkapy side by side on this machine: A B B A, medians, ratios.

    python -m benchmarks.run [--rounds 3] [--only REGEX] [--scale 1.0] [--markdown FILE] [--before CHECKOUT]

Throughput by Apache's own perf tools; CPU and memory of the broker process as the kernel counts them.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import apache
from benchmarks.brokers import ApacheServer, KafkapyServer, Server
from benchmarks.kernel import sendfile_seconds_per_gb
from benchmarks.table import number
from kafkapy import compiled
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.protocol.errors import Errors, KafkaError

HIGHER, LOWER = "higher", "lower"

REFERENCE, OURS = "reference", "kafkapy"
"""Names of the two servers."""

SETTINGS = {"log.segment.delete.delay.ms": 100}
"""Of both brokers. What a run has written goes when its topic is deleted, and the next run gets that memory for its page
cache. By default it stays for a minute, so that each run writes to memory the machine has not used before, which on a virtual
one can cost five times what the write costs: that would measure the host."""


@dataclass
class Case:
    """One figure: how to measure it on a server, and which way is better."""

    name: str
    unit: str
    better: str
    measure: Callable[[Case, Server, int], float]
    """Of a server, in a round, counted from 0."""
    gb: float = 0.0
    """What the clients write or read in a run; 0 where that is not the point."""
    reads: str = ""
    """The topic that all of its runs read, if it is one of those."""
    samples: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    """By server, CPU seconds of the broker in each run."""

    def ratio(self) -> float:
        """kafkapy against the reference; above 1 is better."""
        ours, theirs = (statistics.median(self.samples[name]) for name in (OURS, REFERENCE))
        return ours / theirs if self.better == HIGHER else theirs / ours

    def cpu_ratio(self) -> float:
        """How many times the CPU of kafkapy the reference takes for the same work."""
        return statistics.median(self.cpu[REFERENCE]) / statistics.median(self.cpu[OURS])

    @contextmanager
    def counted(self, server: Server) -> Iterator[None]:
        """The CPU that the broker takes meanwhile is this case's."""
        before = server.cpu_seconds()
        yield
        self.cpu.setdefault(server.name, []).append(server.cpu_seconds() - before)


def topic(server: Server, name: str, partitions: int) -> str:
    """A topic, made if need be."""
    with AdminClient(server.bootstrap) as admin:
        for made in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            if isinstance(made, KafkaError) and made.error is not Errors.TOPIC_ALREADY_EXISTS:
                raise made
    return name


def wait_until_it_serves(server: Server) -> None:
    """It listens before it has registered itself; stopped in between, Apache's broker may leave its znode for the next start."""
    with AdminClient(server.bootstrap) as admin:
        while not admin.describe_cluster().nodes:
            time.sleep(0.05)


def delete_topic(server: Server, name: str) -> None:
    with AdminClient(server.bootstrap) as admin:
        values_of(admin.delete_topics([name]))


def produce(records: int, size: int, partitions: int, *props: str) -> Callable[[Case, Server, int], float]:
    """Records a second of ProducerPerformance into a fresh topic."""

    def measure(case: Case, server: Server, round_: int) -> float:
        name = topic(server, f"produce-{size}-{partitions}-{'-'.join(props).replace('=', '.')}-{round_}", partitions)
        with case.counted(server):
            out = apache.run_java(
                "org.apache.kafka.tools.ProducerPerformance",
                *("--topic", name, "--num-records", str(records), "--record-size", str(size), "--throughput", "-1"),
                *("--producer-props", f"bootstrap.servers={server.bootstrap}", *props),
            )
        delete_topic(server, name)
        match = re.search(r"records sent, ([0-9.]+) records/sec", out.splitlines()[-1])
        assert match, out
        return float(match[1])

    return measure


def many_producers(records: int, connections: int) -> Callable[[Case, Server, int], float]:
    def measure(case: Case, server: Server, round_: int) -> float:
        name = topic(server, f"many-{round_}", 6)
        with case.counted(server):
            out = apache.run_java("ManyProducers", server.bootstrap, name, str(connections), str(records), "100", "all")
        delete_topic(server, name)
        return float(out.split()[-1])

    return measure


def consume(name: str, records: int, size: int, partitions: int) -> Callable[[Case, Server, int], float]:
    """MB a second of ConsumerPerformance (fetch time, without the rebalance).

    There is more than is read: at the end of a partition the consumer asks for that partition alone, and has to wait
    `fetch.max.wait.ms` before it may ask for others. How often it does in a run is a matter of luck.
    """

    def measure(case: Case, server: Server, round_: int) -> float:
        if round_ == 0:
            topic(server, name, partitions)
            apache.run_java(
                "org.apache.kafka.tools.ProducerPerformance",
                *("--topic", name, "--num-records", str(int(1.3 * records)), "--record-size", str(size)),
                *("--throughput", "-1", "--producer-props", f"bootstrap.servers={server.bootstrap}"),
            )
        with case.counted(server):
            out = apache.run_java(
                "org.apache.kafka.tools.ConsumerPerformance",
                *("--bootstrap-server", server.bootstrap, "--topic", name, "--messages", str(records)),
                *("--timeout", "60000", "--group", f"{name}-{round_}"),
            )
        fields = [f.strip() for f in out.splitlines()[-1].split(",")]
        return float(fields[8])

    return measure


LATENCY: dict[tuple[str, int], tuple[float, float]] = {}


def latency(records: int, percentile: int) -> Callable[[Case, Server, int], float]:
    """ms from send to poll; p50 and p99 come of one run."""

    def measure(case: Case, server: Server, round_: int) -> float:
        key = (server.name, round_)
        if key not in LATENCY:
            name = topic(server, "latency", 1)
            with case.counted(server):
                p50, p99 = apache.run_java("EndToEnd", server.bootstrap, name, str(records), "all").split()[-2:]
            LATENCY[key] = (float(p50), float(p99))
        return LATENCY[key][0 if percentile == 50 else 1]

    return measure


def list_offsets(calls: int) -> Callable[[Case, Server, int], float]:
    def measure(case: Case, server: Server, round_: int) -> float:
        name = topic(server, "list-offsets", 1)
        with case.counted(server):
            return float(apache.run_java("ListOffsets", server.bootstrap, name, str(calls)).split()[-1])

    return measure


@dataclass
class Starts:
    """What brokers took that had just been started, by server."""

    gb: float
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Until they listened."""
    cpu: dict[str, list[float]] = field(default_factory=dict)
    """CPU seconds, the start itself included, until they had given `gb`, and taken 1.3 times as much."""

    def measure(self, server: Server, round_: int) -> None:
        self.seconds.setdefault(server.name, []).append(server.start())
        wait_until_it_serves(server)
        name, records = f"first-{round_}", int(1_000_000 * self.gb)
        job = Case(name, "MB/s", HIGHER, consume(name, records, 1000, 1))
        job.measure(job, server, 0)
        self.cpu.setdefault(server.name, []).append(server.cpu_seconds())
        delete_topic(server, name)
        server.stop()


def cases(scale: float) -> list[Case]:
    """Each of them runs for some 5 to 20 seconds. In the first two or three a Java client compiles itself on a core of its own:
    shorter runs measure that, and brokers hardly differ. What is consumed, 8 GB for each broker, has to fit the page cache."""
    n100, n1k = int(5_000_000 * scale), int(1_000_000 * scale)
    found = []
    for size, records in ((100, n100), (1000, n1k)):
        for partitions in (1, 6):
            for acks in ("1", "all"):
                for codec in ("none", "lz4"):
                    name = f"produce {size} B, {partitions} part., acks={acks}, {codec}"
                    measure = produce(records, size, partitions, f"acks={acks}", f"compression.type={codec}")
                    found.append(Case(name, "rec/s", HIGHER, measure, gb=records * size / 1e9))
    one = produce(int(200_000 * scale), 100, 1, "acks=1", "batch.size=1")
    found.append(Case("produce 100 B, one record a request", "rec/s", HIGHER, one))
    found.append(Case("produce 100 B, 200 connections", "rec/s", HIGHER, many_producers(int(2_000_000 * scale), 200)))
    many = produce(n100, 100, 500, "acks=all")
    found.append(Case("produce 100 B, 500 partitions", "rec/s", HIGHER, many, gb=n100 * 100 / 1e9))
    for size, records in ((100, 8 * n100), (1000, 6 * n1k)):
        for partitions in (1, 6):
            name = f"consume-{size}-{partitions}"
            measure = consume(name, records, size, partitions)
            shown, gb = f"consume {size} B, {partitions} part.", records * size / 1e9
            found.append(Case(shown, "MB/s", HIGHER, measure, gb=gb, reads=name))
    found.append(Case("end-to-end latency p50", "ms", LOWER, latency(int(50_000 * scale), 50)))
    found.append(Case("end-to-end latency p99", "ms", LOWER, latency(int(50_000 * scale), 99)))
    found.append(Case("ListOffsets", "calls/s", HIGHER, list_offsets(int(100_000 * scale))))
    return found


def by_turns(servers: list[Server], round_: int) -> list[Server]:
    """Who goes first in a pair finds the machine as the other one left it, so it is not always the same."""
    return servers if round_ % 2 == 0 else servers[::-1]


def report(reference: str, measured: list[Case], servers: list[Server], starts: Starts, kernel: list[float]) -> str:
    """The table; CPU is what a broker takes for all of a case's work."""
    lines = [f"| case | unit | {reference} | kafkapy | ratio | CPU s, {reference} | CPU s, kafkapy | ratio |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in measured:
        a, k = (statistics.median(case.samples[name]) for name in (REFERENCE, OURS))
        line = f"| {case.name} | {case.unit} | {number(a)} | {number(k)} | {case.ratio():.2f} |"
        if case.cpu:
            a, k = (statistics.median(case.cpu[name]) for name in (REFERENCE, OURS))
            line += f" {number(a)} | {number(k)} | {case.cpu_ratio():.2f} |"
        lines.append(line)
    produced = [case for case in measured if case.name.startswith("produce")]
    consumed = [case for case in measured if case.name.startswith("consume")]
    if produced:
        mean, cpu = geometric_mean(c.ratio() for c in produced), geometric_mean(c.cpu_ratio() for c in produced)
        lines.append(f"| **produce, geometric mean** | | | | **{mean:.2f}** | | | {cpu:.2f} |")
    total_a = total_k = 0.0
    for kind, of_kind in (("produce", produced), ("consume", consumed)):
        moved = [case for case in of_kind if case.gb]
        if moved:
            a, k = (_cpu_per_gb(moved, name) for name in (REFERENCE, OURS))
            lines.append(f"| broker CPU, {kind} | s/GB | {a:.3g} | {k:.3g} | {a / k:.2f} |")
            total_a, total_k = total_a + a, total_k + k
    if produced and consumed:
        lines.append(f"| broker CPU, a GB in and out | s | {total_a:.3g} | {total_k:.3g} | {total_a / total_k:.2f} |")
    if kernel:
        lines.append(
            f"| CPU of a bare loop of `sendfile`, for comparison | s/GB | | {statistics.median(kernel):.3g} | |"
        )
    a, k = (statistics.median(starts.cpu[name]) for name in (REFERENCE, OURS))
    lines.append(
        f"| broker CPU from its start until {1.3 * starts.gb:.3g} GB have come in, {starts.gb:.3g} GB gone out | s "
        f"| {a:.3g} | {k:.3g} | {a / k:.2f} |"
    )
    memory = {server.name: server.resident_mb() for server in servers}
    a, k = memory[REFERENCE], memory[OURS]
    lines.append(f"| memory after all of it | MB | {a:.0f} | {k:.0f} | {a / k:.2f} |")
    a, k = (statistics.median(starts.seconds[name]) for name in (REFERENCE, OURS))
    lines.append(f"| start-up until listening | s | {a:.2f} | {k:.2f} | {a / k:.2f} |")
    return "\n".join(lines)


def geometric_mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _cpu_per_gb(measured: list[Case], name: str) -> float:
    """Of all that moved in all runs."""
    seconds = sum(sum(case.cpu[name]) for case in measured)
    return seconds / sum(case.gb * len(case.cpu[name]) for case in measured)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="regular expression on the names of the cases")
    parser.add_argument("--scale", type=float, default=1.0, help="number of records against the default")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    parser.add_argument(
        "--before", type=Path, help="compare with the kafkapy of this checkout (its .venv) instead of with Apache's"
    )
    args = parser.parse_args()
    apache.classes()
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-bench-"))
    servers: list[Server] = []
    try:
        if args.before is None:
            servers += [ApacheServer(REFERENCE, directory / REFERENCE, properties=SETTINGS)]
        else:
            servers += [KafkapyServer(REFERENCE, directory / REFERENCE, properties=SETTINGS, checkout=args.before)]
        servers += [KafkapyServer(OURS, directory / OURS, properties=SETTINGS)]
        starts = Starts(gb=args.scale)
        for round_ in range(args.rounds):
            for server in by_turns(servers, round_):
                starts.measure(server, round_)
        for server in servers:
            server.start()
        print(f"kafkapy's hot paths: {'machine code' if compiled.is_used() else 'plain Python'}", file=sys.stderr)
        warm = Case("warm-up", "rec/s", HIGHER, produce(int(1_000_000 * args.scale), 100, 6, "acks=1"))
        for server in servers:
            warm.measure(warm, server, -1)
        chosen = [case for case in cases(args.scale) if re.search(args.only, case.name)]
        for case in chosen:
            for round_ in range(args.rounds):
                for server in by_turns(servers, round_):
                    case.samples.setdefault(server.name, []).append(case.measure(case, server, round_))
            shown = "  ".join(f"{n} {number(statistics.median(s))}" for n, s in case.samples.items())
            for server in servers if case.reads else []:
                delete_topic(server, case.reads)
            print(f"{case.name:45} {shown} {case.unit}  ratio {case.ratio():.2f}", file=sys.stderr, flush=True)
        consumed = any(case.reads for case in chosen)
        kernel = [sendfile_seconds_per_gb() for _ in range(args.rounds)] if consumed else []
        table = report("Apache 3.9.1" if args.before is None else "before", chosen, servers, starts, kernel)
        print(table)
        if args.markdown:
            args.markdown.write_text(table + "\n")
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
