"""What transactions cost, Apache Kafka 3.9.1 (or an older kafkapy) and kafkapy side by side: A B A B, medians, ratios.

    python -m benchmarks.transactions [--rounds 3] [--only REGEX] [--scale 1.0] [--markdown FILE] [--before CHECKOUT]

Java clients with default options; one broker, whose logs are not replicated. Both brokers are warm: each case runs once
before the runs that count.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import apache
from benchmarks.brokers import ApacheServer, KafkapyServer, Server
from benchmarks.run import HIGHER, LOWER, OURS, REFERENCE, SETTINGS, Case, delete_topic, geometric_mean, topic
from benchmarks.table import number
from kafkapy import compiled

Measure = Callable[[Case, Server, int], float]

FIGURES: dict[tuple[str, str, int], list[float]] = {}
"""By job, server and round, what a run of Transactions.java has printed: one run gives several figures."""

PARTITIONS = 6


def commits(job: str, figure: int, producers: int, count: int, records: int) -> Measure:
    """`figure`: 0 for commits a second, 1 and 2 for p50 and p99 of commitTransaction() in ms."""

    def measure(case: Case, server: Server, round_: int) -> float:
        key = (job, server.name, round_)
        if key not in FIGURES:
            name = topic(server, f"{job}-{round_}", PARTITIONS)
            warm = max(1, count // 5)
            args = (name, str(producers), str(count), str(records), "100", str(warm))
            with case.counted(server):
                out = apache.run_java("Transactions", server.bootstrap, *args)
            FIGURES[key] = [float(word) for word in out.splitlines()[-1].split()]
            delete_topic(server, name)
        return FIGURES[key][figure]

    return measure


def throughput(records: int, duration_ms: int) -> Measure:
    """Records a second of ProducerPerformance that commits every so often."""

    def measure(case: Case, server: Server, round_: int) -> float:
        name = topic(server, f"throughput-{duration_ms}-{round_}", PARTITIONS)
        with case.counted(server):
            out = apache.run_java(
                "org.apache.kafka.tools.ProducerPerformance",
                *("--topic", name, "--num-records", str(records), "--record-size", "100", "--throughput", "-1"),
                *("--transaction-duration-ms", str(duration_ms), "--transactional-id", name),
                *("--producer-props", f"bootstrap.servers={server.bootstrap}"),
            )
        delete_topic(server, name)
        match = re.search(r"records sent, ([0-9.]+) records/sec", out.splitlines()[-1])
        assert match, out
        return float(match[1])

    return measure


def consume_committed(records: int, duration_ms: int) -> Measure:
    """MB a second of ConsumerPerformance (fetch time) that reads what was written in transactions."""
    name = f"committed-{duration_ms}"

    def measure(case: Case, server: Server, round_: int) -> float:
        if round_ < 0:
            topic(server, name, PARTITIONS)
            apache.run_java(
                "org.apache.kafka.tools.ProducerPerformance",
                *("--topic", name, "--num-records", str(int(1.3 * records)), "--record-size", "100"),
                *("--throughput", "-1", "--transaction-duration-ms", str(duration_ms), "--transactional-id", name),
                *("--producer-props", f"bootstrap.servers={server.bootstrap}"),
            )
        config = server.directory / "committed.properties"
        config.write_text("isolation.level=read_committed\n")
        with case.counted(server):
            out = apache.run_java(
                "org.apache.kafka.tools.ConsumerPerformance",
                *("--bootstrap-server", server.bootstrap, "--topic", name, "--messages", str(records)),
                *("--timeout", "60000", "--group", f"{name}-{round_}", "--consumer.config", str(config)),
            )
        return float(out.splitlines()[-1].split(",")[8])

    return measure


def cases(scale: float) -> list[Case]:
    """Each run takes some 5 to 15 seconds."""
    one, hundred, fifty = int(5_000 * scale), int(3_000 * scale), int(200 * scale)
    consumed = int(8_000_000 * scale)
    return [
        Case("commits, one record each", "1/s", HIGHER, commits("one", 0, 1, one, 1)),
        Case("commits, one record each: p50", "ms", LOWER, commits("one", 1, 1, one, 1)),
        Case("commits, one record each: p99", "ms", LOWER, commits("one", 2, 1, one, 1)),
        Case("commits, 100 records each", "1/s", HIGHER, commits("hundred", 0, 1, hundred, 100)),
        Case("commits, 100 records each: p50", "ms", LOWER, commits("hundred", 1, 1, hundred, 100)),
        Case("commits, 100 records each: p99", "ms", LOWER, commits("hundred", 2, 1, hundred, 100)),
        Case("50 producers, one record each", "1/s", HIGHER, commits("fifty", 0, 50, fifty, 1)),
        Case("50 producers, one record each: p99", "ms", LOWER, commits("fifty", 2, 50, fifty, 1)),
        Case("produce, a commit every 100 ms", "rec/s", HIGHER, throughput(int(5_000_000 * scale), 100)),
        Case("consume, read_committed", "MB/s", HIGHER, consume_committed(consumed, 100)),
        Case("consume, read_committed, a commit every 5 ms", "MB/s", HIGHER, consume_committed(consumed, 5)),
    ]


def report(reference: str, measured: list[Case]) -> str:
    lines = [f"| case | unit | {reference} | kafkapy | ratio |", "| --- | --- | ---: | ---: | ---: |"]
    for case in measured:
        a, k = (statistics.median(case.samples[name]) for name in (REFERENCE, OURS))
        lines.append(f"| {case.name} | {case.unit} | {number(a)} | {number(k)} | {case.ratio():.2f} |")
    mean, least = geometric_mean(case.ratio() for case in measured), min(case.ratio() for case in measured)
    lines.append(f"| **geometric mean** (lowest {least:.2f}) | | | | **{mean:.2f}** |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="regular expression on the names of the cases")
    parser.add_argument("--scale", type=float, default=1.0, help="how much is done against the default")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    parser.add_argument(
        "--before", type=Path, help="compare with the kafkapy of this checkout instead of with Apache's"
    )
    args = parser.parse_args()
    chosen = [case for case in cases(args.scale) if re.search(args.only, case.name)]
    if not chosen:
        parser.error(f"no case has a name that matches {args.only!r}")
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-transactions-"))
    servers: list[Server] = []
    try:
        if args.before is None:
            servers.append(ApacheServer(REFERENCE, directory / REFERENCE, properties=SETTINGS))
        else:
            servers.append(KafkapyServer(REFERENCE, directory / REFERENCE, properties=SETTINGS, checkout=args.before))
        servers.append(KafkapyServer(OURS, directory / OURS, properties=SETTINGS))
        for server in servers:
            server.start()
        print(f"kafkapy's hot paths: {'machine code' if compiled.is_used() else 'plain Python'}", file=sys.stderr)
        for case in chosen:
            for round_ in range(-1, args.rounds):
                for server in servers:
                    figure = case.measure(case, server, round_)
                    if round_ >= 0:
                        case.samples.setdefault(server.name, []).append(figure)
            shown = "  ".join(f"{name} {number(statistics.median(s))}" for name, s in case.samples.items())
            print(f"{case.name:45} {shown} {case.unit}  ratio {case.ratio():.2f}", file=sys.stderr, flush=True)
        table = report("Apache 3.9.1" if args.before is None else "before", chosen)
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
