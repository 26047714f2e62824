"""How long small requests wait beside loads: kafkapy and Apache Kafka 3.9.1, or an older kafkapy.

    python -m benchmarks.stalls [--only REGEX] [--rounds 1] [--before CHECKOUT] [--no-apache] [--markdown FILE] [--list]

Each row is a load; beside it a ping and a produce of one record are due every 5 ms. In the table are the longest waits in ms
without the time in which the broker waited for a core, percentiles, and the largest resident memory of the broker.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.brokers import ApacheServer, KafkapyServer, Server
from benchmarks.run import topic, wait_until_it_serves
from benchmarks.stalls import produce
from benchmarks.stalls.client import FrameClient, batch, produce_request, values
from benchmarks.stalls.measure import PROBE_TOPIC, Measured, Scenario, measure, start
from benchmarks.stalls.report import line, table
from kafkapy import compiled

APACHE, BEFORE, OURS = "Apache 3.9.1", "before", "kafkapy"
SETTINGS = {"log.segment.delete.delay.ms": 1000, "offsets.topic.num.partitions": 5}
WARM_SECONDS = 3


def scenarios() -> list[Scenario]:
    return produce.scenarios()


class Brokers:
    """One broker of each kind that serves scenario after scenario, and those that are started for one alone."""

    def __init__(self, directory: Path, before: Path | None) -> None:
        self._directory = directory
        self._before = before
        self._shared: dict[str, Server] = {}
        self._started = 0

    @contextmanager
    def serving(self, kind: str, scenario: Scenario) -> Iterator[Server]:
        if scenario.has_own_broker:
            server = self._start(kind, scenario)
            try:
                yield server
            finally:
                server.close()
                shutil.rmtree(server.directory, ignore_errors=True)
            return
        if kind not in self._shared:
            self._shared[kind] = self._start(kind, scenario)
        yield self._shared[kind]

    def _start(self, kind: str, scenario: Scenario) -> Server:
        self._started += 1
        directory = self._directory / f"{self._started}-{kind.split()[0]}"
        properties = {**SETTINGS, **scenario.properties}
        server: Server
        if kind == APACHE:
            server = ApacheServer(kind, directory, properties=properties)
        elif kind == BEFORE and self._before is not None:
            server = KafkapyServer(kind, directory, properties=properties, checkout=self._before)
        else:
            server = KafkapyServer(kind, directory, properties=properties)
        start(server)
        wait_until_it_serves(server)
        topic(server, PROBE_TOPIC, 1)
        _warm(server)
        return server

    def close(self) -> None:
        for server in self._shared.values():
            server.close()


def _warm(server: Server) -> None:
    """Java compiles what runs often."""
    records, end = batch(values(10, 100)), time.monotonic() + WARM_SECONDS
    with FrameClient(server.port) as client:
        frames = client.frame(produce_request(PROBE_TOPIC, records), 9) * 50
        while time.monotonic() < end:
            client.socket.sendall(frames)
            for _ in range(50):
                client.receive()


def run(chosen: list[Scenario], kinds: list[str], rounds: int, brokers: Brokers) -> dict[str, dict[str, Measured]]:
    """By scenario and kind of broker."""
    results: dict[str, dict[str, Measured]] = {}
    for scenario in chosen:
        of_scenario = results[scenario.name] = {}
        for kind in kinds * rounds:
            if scenario.only_kafkapy and kind == APACHE:
                continue
            with brokers.serving(kind, scenario) as server:
                measure(scenario, server, of_scenario.setdefault(kind, Measured()))
        for kind, measured in of_scenario.items():
            print(line(scenario.name, kind, measured), file=sys.stderr, flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="scenarios whose name it matches")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="another kafkapy to measure as well (its .venv)"
    )
    parser.add_argument("--no-apache", action="store_true", help="leave Apache's broker out")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to this file as well")
    parser.add_argument("--list", action="store_true", help="the names of the scenarios, nothing else")
    args = parser.parse_args()
    chosen = [scenario for scenario in scenarios() if re.search(args.only, scenario.name)]
    if args.list:
        print("\n".join(scenario.name for scenario in chosen))
        return 0
    kinds = [*([] if args.no_apache else [APACHE]), *([BEFORE] if args.before else []), OURS]
    print(f"kafkapy's hot paths: {'machine code' if compiled.is_used() else 'plain Python'}", file=sys.stderr)
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-stalls-"))
    brokers = Brokers(directory, args.before)
    try:
        found = table(run(chosen, kinds, args.rounds, brokers))
    finally:
        brokers.close()
        shutil.rmtree(directory, ignore_errors=True)
    print(found)
    if args.markdown:
        args.markdown.write_text(found + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
