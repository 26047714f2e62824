"""The broker's identity: the cluster's id, its own id, and the `meta.properties` that store them in its directories."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from kafkapy.common import uuid
from kafkapy.common.broker import Broker
from kafkapy.log.files.checkpoints import BrokerMetadata, BrokerMetadataCheckpoint, MalformedFileError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.KafkaServer")


class InconsistentBrokerError(Exception):
    """The directories belong to another broker or cluster; the message names it and the remedy."""


def cluster_id(zk_client: KafkaZkClient, directories: Sequence[str]) -> str:
    """Return the cluster's id, which the first broker generates; `InconsistentBrokerError` if the directories have
    another one."""
    actual = zk_client.get_or_create_cluster_id(uuid.to_string(uuid.random_uuid()))
    for directory, metadata in _read(directories).items():
        if metadata.cluster_id is not None and metadata.cluster_id != actual:
            raise InconsistentBrokerError(
                f"The Cluster ID {actual} doesn't match stored clusterId {metadata.cluster_id} in {directory}/meta.properties. "
                f"The broker is trying to join the wrong cluster. Configured zookeeper.connect may be wrong."
            )
    return actual


def broker_id(
    configured: int, generation_enabled: bool, generate: Callable[[], int], directories: Sequence[str]
) -> int:
    """Return the configured id, else the stored one, else a new one; `InconsistentBrokerError` if they differ."""
    stored = {metadata.broker_id for metadata in _read(directories).values() if metadata.broker_id is not None}
    if len(stored) > 1:
        raise InconsistentBrokerError(
            f"Failed to match broker.id across log.dirs. This could happen if multiple brokers shared a log directory "
            f"(log.dirs) or partial data was manually copied from another broker. Found {sorted(stored)}"
        )
    known = next(iter(stored), None)
    if configured >= 0:
        if known is not None and known != configured:
            raise InconsistentBrokerError(
                f"Configured broker.id {configured} doesn't match stored broker.id {known} in meta.properties. If you moved "
                f"your data, make sure your configured broker.id matches. If you intend to create a new broker, you should "
                f"remove all data in your data directories (log.dirs)."
            )
        return configured
    if known is not None:
        return known
    if not generation_enabled:
        raise InconsistentBrokerError("broker.id is not set and broker.id.generation.enable is false: set broker.id")
    return generate()


def check_end_points(zk_client: KafkaZkClient, broker: Broker) -> None:
    """Raise `InconsistentBrokerError` if a live broker already advertises one of this broker's addresses
    (`KafkaServer.createBrokerInfo`)."""
    own = {f"{e.host}:{e.port}" for e in broker.end_points}
    for other in zk_client.get_all_brokers_in_cluster():
        taken = [f"{e.host}:{e.port}" for e in other.end_points if f"{e.host}:{e.port}" in own]
        if taken and other.id != broker.id:
            raise InconsistentBrokerError(
                f"Configured end points {','.join(taken)} in advertised listeners are already registered by broker {other.id}: "
                f"give each broker advertised.listeners of its own."
            )


def write_meta_properties(
    directories: Sequence[str], broker: int, cluster: str, on_failure: Callable[[str, str, OSError], object]
) -> None:
    """Write `meta.properties` to each directory without one.


    `on_failure` is called with a directory that can't be read or written, the operation, and the error.
    """
    wanted = BrokerMetadata(broker, cluster)
    for directory in directories:
        checkpoint = BrokerMetadataCheckpoint(directory)
        try:
            found = checkpoint.read()
            if found is None or (found.broker_id, found.cluster_id) != (broker, cluster):
                checkpoint.write(wanted)
        except OSError as error:
            on_failure(directory, f"Error while marking log dir {directory} as this broker's", error)


def _read(directories: Sequence[str]) -> dict[str, BrokerMetadata]:
    found: dict[str, BrokerMetadata] = {}
    for directory in directories:
        if not os.path.isdir(directory):
            continue
        try:
            metadata = BrokerMetadataCheckpoint(directory).read()
        except MalformedFileError as error:
            raise InconsistentBrokerError(str(error)) from error
        except OSError as error:
            log.error("Error while reading meta.properties of log dir %s: %s", directory, error)
            continue  # the write will fail, too, and be reported
        if metadata is not None:
            found[directory] = metadata
    return found
