"""How long small requests wait beside loads: kafkapy and Apache Kafka 3.9.1, or an older kafkapy.

    python -m benchmarks.stalls [--only REGEX] [--rounds 1] [--before CHECKOUT] [--no-apache] [--markdown FILE] [--list]

Each row is a load; beside it a ping and a produce of one record are due every 5 ms. In the table are the longest waits in ms
without the time in which the broker waited for a core, percentiles, and the largest resident memory of the broker.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.brokers import ROOT, ApacheServer, KafkapyServer, Server
from benchmarks.run import topic, wait_until_it_serves
from benchmarks.stalls import crowds, fetch, floods, logs, partitions, produce, requests, restart, security, topics
from benchmarks.stalls.client import FrameClient, batch, produce_request, values
from benchmarks.stalls.measure import PROBE_TOPIC, Measured, Scenario, measure, start
from benchmarks.stalls.report import line, table
from benchmarks.stalls.restart import Home, Restart
from kafkapy import compiled

APACHE, BEFORE, OURS = "Apache 3.9.1", "before", "kafkapy"
SETTINGS = {"log.segment.delete.delay.ms": 1000, "offsets.topic.num.partitions": 5}
WARM_SECONDS = 3


def scenarios() -> list[Scenario]:
    return [
        *produce.scenarios(),
        *logs.scenarios(),
        *fetch.scenarios(),
        *crowds.scenarios(),
        *topics.scenarios(),
        *partitions.scenarios(),
        *requests.scenarios(),
        *security.scenarios(),
        *floods.scenarios(),
        *restart.scenarios(),
    ]


class Brokers:
    """Those that serve the present scenario. Invariant: one of each kind for "shared", and one of each for the last other one."""

    def __init__(self, directory: Path, before: Path | None) -> None:
        self._directory = directory
        self._before = before
        self._serving: dict[tuple[str, str], Server] = {}
        self._homes: dict[str, Home] = {}
        self._made = 0

    def serving(self, kind: str, scenario: Scenario) -> Server:
        """A broker that `scenario` can be measured on; not yet started if it measures the start."""
        key = (scenario.broker, kind)
        if key not in self._serving:
            self._end({broker for broker, _ in self._serving} - {"shared", scenario.broker})
            self._serving[key] = server = self._make(kind, scenario)
            if not scenario.starts:
                start(server)
                wait_until_it_serves(server)
                topic(server, PROBE_TOPIC, 1)
                _warm(server)
        return self._serving[key]

    def _make(self, kind: str, scenario: Scenario) -> Server:
        self._made += 1
        directory = self._directory / f"{self._made}-{kind.split()[0]}"
        properties = {**SETTINGS, **scenario.properties}
        zookeeper_port = None
        if isinstance(scenario, Restart):
            home = self._homes[scenario.broker] = scenario.build(self._directory / f"home-{scenario.topics}")
            zookeeper_port = home.zookeeper_port
            properties["log.dirs"] = str(home.data)
        if kind == APACHE:
            return ApacheServer(kind, directory, 0, zookeeper_port, properties)
        checkout = self._before if kind == BEFORE and self._before is not None else ROOT
        server = KafkapyServer(kind, directory, 0, zookeeper_port, properties, checkout)
        server.serve_metrics()
        return server

    def drop(self, broker: str, kind: str) -> None:
        """Such a scenario gets another the next time."""
        server = self._serving.pop((broker, kind), None)
        if server is not None:
            if server.process is not None:
                server.kill()
            server.close()
            shutil.rmtree(server.directory, ignore_errors=True)

    def _end(self, brokers: set[str]) -> None:
        for broker, kind in [key for key in self._serving if key[0] in brokers]:
            self.drop(broker, kind)
        for broker in brokers & self._homes.keys():
            home = self._homes.pop(broker)
            home.close()
            shutil.rmtree(home.directory, ignore_errors=True)

    def close(self) -> None:
        self._end({broker for broker, _ in self._serving})


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
            measured = of_scenario.setdefault(kind, Measured())
            try:
                measure(scenario, brokers.serving(kind, scenario), measured)
            except Exception as error:
                print(f"{scenario.name}, {kind}: {error!r}", file=sys.stderr)
                measured.notes.append(f"failed: {error}")
                brokers.drop(scenario.broker, kind)
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # brokers have sessions of their own, so they must be ended
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
