"""Three brokers of kafkapy against three of Apache Kafka 3.9.1 on this machine: A B A B, medians, ratios.

    python -m benchmarks.cluster [--rounds 3] [--only REGEX] [--clusters REGEX] [--samples FILE] [--markdown FILE]

Parts: `produce` (acks=all with three replicas), `failover` (1,000 partitions with three replicas: brokers are killed and come
back; also without kafkapy's watchdog), `wide` (the same with 2,000 partitions: how long the controller takes). A part can be
measured piece by piece: what is in the file of `--samples` counts as well.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import apache
from benchmarks.brokers import ApacheServer, KafkapyServer, Server
from benchmarks.table import number
from benchmarks.three_brokers import BROKERS, Cluster, Sender
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic

APACHE, KAFKAPY, NO_WATCHDOG = "apache", "kafkapy", "kafkapy without watchdog"
HIGHER, LOWER = "higher", "lower"


class Figure(NamedTuple):
    name: str
    unit: str
    better: str


def produce_figures(size: int) -> tuple[Figure, Figure]:
    return (
        Figure(f"produce {size} B, acks=all, 3 replicas", "rec/s", HIGHER),
        Figure(f"produce {size} B, p99", "ms", LOWER),
    )


STEADY = Figure("produce 100 B at 20,000 rec/s, p99", "ms", LOWER)
MEMORY = Figure("memory of a broker after that", "MB", LOWER)
CREATION = Figure("topic of 1,000 partitions: until all have leaders", "s", LOWER)
LEADER_KILLED = Figure("kill -9 of a leader: until the next acknowledged record", "s", LOWER)
CONTROLLER_KILLED = Figure("kill -9 of leader and controller: until the next acknowledged record", "s", LOWER)
LISTENING = Figure("restart after kill -9, 1,000 partitions: until it listens", "s", LOWER)
IN_SYNC = Figure("restart after kill -9, 1,000 partitions: until all are in the ISR", "s", LOWER)
WIDE_LEADERS = Figure("2,000 partitions: from the leader's session's end until all have leaders", "s", LOWER)
WIDE_CONTROLLER = Figure("2,000 partitions: from the controller's session's end until there is another", "s", LOWER)
WIDE_BOTH = Figure("2,000 partitions: from the controller's session's end until all have leaders", "s", LOWER)

FIGURES = [
    *produce_figures(100),
    *produce_figures(1000),
    *(STEADY, MEMORY, CREATION, LEADER_KILLED, CONTROLLER_KILLED, LISTENING, IN_SYNC),
    *(WIDE_LEADERS, WIDE_CONTROLLER, WIDE_BOTH),
]


class Samples:
    """What was measured: figure -> cluster -> values; kept in a file if there is one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._values: dict[str, dict[str, list[float]]] = {}
        if file is not None and file.exists():
            self._values = json.loads(file.read_text())

    def add(self, figure: Figure, cluster: Cluster, value: float) -> None:
        self._values.setdefault(figure.name, {}).setdefault(cluster.name, []).append(value)
        if self._file is not None:
            self._file.write_text(json.dumps(self._values, indent=1))
        print(f"{figure.name:75} {cluster.name:25} {number(value)} {figure.unit}", file=sys.stderr, flush=True)

    def median(self, figure: Figure, cluster: str) -> float | None:
        values = self._values.get(figure.name, {}).get(cluster)
        return statistics.median(values) if values else None

    def table(self) -> str:
        lines = ["| case | unit | Apache 3.9.1 | kafkapy | ratio |", "| --- | --- | ---: | ---: | ---: |"]
        for figure in FIGURES:
            theirs = self.median(figure, APACHE)
            for cluster, suffix in ((KAFKAPY, ""), (NO_WATCHDOG, " (no watchdog)")):
                ours = self.median(figure, cluster)
                if ours is None or theirs is None or (suffix and figure not in (LEADER_KILLED, CONTROLLER_KILLED)):
                    continue
                ratio = ours / theirs if figure.better == HIGHER else theirs / ours
                lines.append(
                    f"| {figure.name}{suffix} | {figure.unit} | {number(theirs)} | {number(ours)} | {ratio:.2f} |"
                )
        return "\n".join(lines)


# --- parts ------------------------------------------------------------------------------------------------------------


def create_topic(cluster: Cluster, name: str, partitions: int) -> float:
    """Seconds from the request until every broker knows the leaders of all partitions there are then."""
    before = len(cluster.partitions(0))
    begin = time.monotonic()
    with AdminClient(cluster.bootstrap, request_timeout_ms=60_000) as admin:
        values_of(admin.create_topics([NewTopic(name, partitions, 3)]))
    return cluster.wait_led(before + partitions) - begin


def produce(cluster: Cluster, topic: str, records: int, size: int, throughput: int = -1) -> tuple[float, float]:
    """Records a second and p99 in ms, by ProducerPerformance."""
    out = apache.run_java(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(size), "--throughput", str(throughput)),
        *("--producer-props", f"bootstrap.servers={cluster.bootstrap}", "acks=all"),
    )
    match = re.search(r"records sent, ([0-9.]+) records/sec.* ([0-9]+) ms 99th", out.splitlines()[-1])
    assert match, out
    return float(match[1]), float(match[2])


def measure_producing(clusters: list[Cluster], rounds: int, samples: Samples) -> None:
    """All clusters run, one is busy."""
    for cluster in clusters:
        cluster.start()
        create_topic(cluster, "produce", 6)
        produce(cluster, "produce", 500_000, 100)
    for _ in range(rounds):
        for size, records in ((100, 1_000_000), (1000, 150_000)):
            for cluster in clusters:
                for figure, value in zip(
                    produce_figures(size), produce(cluster, "produce", records, size), strict=True
                ):
                    samples.add(figure, cluster, value)
        for cluster in clusters:
            samples.add(STEADY, cluster, produce(cluster, "produce", 300_000, 100, 20_000)[1])
    for cluster in clusters:
        samples.add(MEMORY, cluster, statistics.fmean(server.resident_mb() for server in cluster.servers))


def time_to_next_record(cluster: Cluster, topic: str, broker_id: int) -> float:
    """Kill the leader of a partition; returns when its ZooKeeper session has ended as well."""
    partition = next(p.partition for p in cluster.partitions(broker_id) if p.leader_id == broker_id)
    sender = Sender(cluster, topic, partition)
    try:
        time.sleep(1)
        killed, session_end = cluster.kill(broker_id)
        took = sender.wait_for_record_of(int(killed * 1000) + 1) / 1000 - killed
    finally:
        sender.close()
    session_end.wait(30)
    return took


def measure_failover(cluster: Cluster, samples: Samples) -> None:
    """Restarts begin when the session of the killed broker has ended: Apache's can't register before."""
    cluster.start()
    samples.add(CREATION, cluster, create_topic(cluster, "failover", 1000))
    produce(cluster, "failover", 200_000, 100)
    for figure, with_controller in ((LEADER_KILLED, False), (CONTROLLER_KILLED, True)):
        controller = cluster.controller_id()
        victim = controller if with_controller else next(b for b in BROKERS if b != controller)
        samples.add(figure, cluster, time_to_next_record(cluster, "failover", victim))
        cluster.wait_led(1000, without=victim)
        listening, in_sync = cluster.restart(victim)
        samples.add(LISTENING, cluster, listening)
        samples.add(IN_SYNC, cluster, in_sync)
        cluster.elect_preferred_leaders()


def measure_wide(cluster: Cluster, samples: Samples) -> None:
    cluster.start()
    for name in ("wide-1", "wide-2"):
        create_topic(cluster, name, 1000)
    controller = cluster.controller_id()
    victim = next(b for b in BROKERS if b != controller)
    cluster.kill(victim)[1].wait(30)
    ended = time.monotonic()
    samples.add(WIDE_LEADERS, cluster, cluster.wait_led(2000, without=victim) - ended)
    cluster.restart(victim)
    cluster.elect_preferred_leaders()
    controller = cluster.controller_id()
    cluster.kill(controller)[1].wait(30)
    ended = time.monotonic()
    another = cluster.wait(lambda metadata: metadata.controller_id not in (controller, -1)) - ended
    samples.add(WIDE_CONTROLLER, cluster, another)
    samples.add(WIDE_BOTH, cluster, cluster.wait_led(2000, without=controller) - ended)


# --- which, and how often ---------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[type[Server], dict[str, object]]] = {
    APACHE: (ApacheServer, {}),
    KAFKAPY: (KafkapyServer, {}),
    NO_WATCHDOG: (KafkapyServer, {"kafkapy.watchdog.enable": "false"}),
}


def _alone(measure: Callable[[Cluster, Samples], None], samples: Samples, clusters: list[Cluster]) -> None:
    measure(clusters[0], samples)


def with_clusters(names: list[str], keep: bool, measure: Callable[[list[Cluster]], None]) -> None:
    """Fresh clusters for a measurement; they and their data go with its end."""
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-bench-"))
    clusters: list[Cluster] = []
    try:
        for name in names:
            kind, properties = KINDS[name]
            clusters.append(Cluster(name, kind, directory / name.replace(" ", "-"), properties))
        measure(clusters)
    finally:
        for cluster in clusters:
            cluster.close()
        if keep:
            print(f"data and logs: {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="regular expression on the names of the parts")
    parser.add_argument(
        "--clusters", default="", help="regular expression on apache, kafkapy, kafkapy without watchdog"
    )
    parser.add_argument("--samples", type=Path, help="keep the samples in this file, and count those that are there")
    parser.add_argument("--keep", action="store_true", help="keep data and logs of the brokers")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of the `finally` that stops the brokers
    apache.classes()
    samples = Samples(args.samples)
    names = [name for name in KINDS if re.search(args.clusters, name)]
    if re.search(args.only, "produce"):
        measured = [name for name in names if name != NO_WATCHDOG]
        with_clusters(measured, args.keep, lambda clusters: measure_producing(clusters, args.rounds, samples))
    for part, measure in (("failover", measure_failover), ("wide", measure_wide)):
        if not re.search(args.only, part):
            continue
        for _ in range(args.rounds):
            for name in names:
                if part == "failover" or name != NO_WATCHDOG:
                    with_clusters([name], args.keep, partial(_alone, measure, samples))
    table = samples.table()
    print(table)
    if args.markdown:
        args.markdown.write_text(table + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
