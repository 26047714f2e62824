"""kafka-server-stop: stops brokers of this user on this machine, as Kafka's script does (KIP-979)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafkapy.log.files.checkpoints import BrokerMetadataCheckpoint
from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.servers.running_servers import RunningServer, find_servers, run_stop

SERVER: Final = ("-m", "kafkapy.tools.kafka_server_start")


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("kafka-server-stop", "Ask the brokers of this user on this machine to stop.")
    parser.add_argument(
        "--process-role",
        choices=("broker", "controller"),
        help="stop the processes of this role: in ZooKeeper mode each is a broker and none a controller",
    )
    parser.add_argument("--node-id", type=int, help="stop the broker with this broker.id; goes before --process-role")
    return run_stop(parser, "kafka", _chosen, argv)


def _chosen(given: argparse.Namespace) -> Iterable[RunningServer]:
    if given.node_id is not None:
        return [broker for broker in brokers() if _has_id(broker, given.node_id)]
    return [] if given.process_role == "controller" else brokers()


def brokers() -> Iterator[RunningServer]:
    """The running brokers of the user."""
    return find_servers(_arguments)


def _arguments(words: list[str]) -> list[str] | None:
    for i in range(len(words) - 1):
        if tuple(words[i : i + 2]) == SERVER:
            return words[i + 2 :]
    for i, word in enumerate(words[:3]):
        if Path(word).name == "kafka-server-start":
            return words[i + 1 :]
    return None


def _has_id(broker: RunningServer, id: int) -> bool:
    """Is this its configured `broker.id`, or the one that was generated for it?"""
    try:
        properties = broker.properties()
        configured = int(properties.get("broker.id", properties.get("node.id", "-1")))
        if configured >= 0:
            return configured == id
        directories = properties.get("log.dirs") or properties.get("log.dir", "")
        stored = [BrokerMetadataCheckpoint(str(broker.directory / d.strip())).read() for d in directories.split(",")]
    except (OSError, ValueError):
        return False
    return any(metadata is not None and metadata.broker_id == id for metadata in stored)


if __name__ == "__main__":
    sys.exit(main())
