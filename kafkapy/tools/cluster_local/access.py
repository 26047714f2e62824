"""The users of a secured local cluster: their files, their first ACLs, and the text that introduces both.

DIR/admin.properties                    the super user's, for `--command-config`
DIR/client-alice.properties             alice's, for `--producer.config`, `--consumer.config` and Java's clients
DIR/client-alice.kafka-python.json      the options of kafkapy's and kafka-python's clients
DIR/client-alice.librdkafka.json        the options of librdkafka's (confluent-kafka)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkapy.common.acl_types import (
    WILDCARD_HOST,
    AccessControlEntry,
    AclBinding,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.properties import dump
from kafkapy.testing.cluster_security import ADMIN, CONFLUENT, JAVA, PYTHON, write_private
from kafkapy.tools.cluster_local.layout import HOST, USERS, LocalCluster

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

SAMPLE = "demo"
"""Prefix of the topics and groups of the sample user, alice."""


def client_file(cluster: LocalCluster, user: str, suffix: str = "properties") -> Path:
    return cluster.directory / (f"{user}.{suffix}" if user == ADMIN else f"client-{user}.{suffix}")


def inner_listener(cluster: LocalCluster, name: str) -> tuple[int, dict[str, Any]]:
    """Address and options with which a broker is asked before there are users."""
    if not cluster.is_secured:
        return cluster.brokers[name], {}
    return cluster.internal_ports[list(cluster.brokers).index(name)], cluster.security.internal_options()


def admin_client(cluster: LocalCluster) -> AdminClient:
    """An admin client with the super user's rights."""
    from kafkapy.admin.client import AdminClient

    listeners = [inner_listener(cluster, name) for name in cluster.brokers]
    return AdminClient([f"{HOST}:{port}" for port, _ in listeners], **listeners[0][1])


def tool_options(cluster: LocalCluster) -> str:
    """The arguments for an admin tool."""
    servers = f"--bootstrap-server {cluster.bootstrap_servers}"
    return f"{servers} --command-config {client_file(cluster, ADMIN)}" if cluster.is_secured else servers


def grant(cluster: LocalCluster) -> None:
    """Create the users that the brokers do not know yet, and their files; with the first user also alice's ACLs.
    Raises KafkaError."""
    from kafkapy.admin.results import values_of

    with admin_client(cluster) as admin:
        new = cluster.security.create_users(admin)
        if USERS[0] in new:
            values_of(admin.create_acls(_sample_acls()))
    for user in (ADMIN, *USERS):
        _write_files(cluster, user)


def _sample_acls() -> list[AclBinding]:
    """ACLs that allow alice to create, write and read topics whose names begin with `SAMPLE`, in groups with the same prefix."""
    operations = {
        ResourceType.TOPIC: (ACLOperation.READ, ACLOperation.WRITE, ACLOperation.CREATE, ACLOperation.DESCRIBE),
        ResourceType.GROUP: (ACLOperation.READ,),
    }
    return [
        AclBinding(
            AclPattern(kind, SAMPLE, ACLResourcePatternType.PREFIXED),
            AccessControlEntry(f"User:{USERS[0]}", WILDCARD_HOST, operation, ACLPermissionType.ALLOW),
        )
        for kind, allowed in operations.items()
        for operation in allowed
    ]


def _write_files(cluster: LocalCluster, user: str) -> None:
    """Write a user's files. They have no addresses: tools take those on their command lines, Java clients beside the file."""
    security, servers = cluster.security, cluster.bootstrap_servers
    texts = {
        "properties": dump(security.options(user, servers, JAVA)),
        "kafka-python.json": json.dumps(security.options(user, servers, PYTHON), indent=1) + "\n",
        "librdkafka.json": json.dumps(security.options(user, servers, CONFLUENT), indent=1) + "\n",
    }
    for suffix, text in texts.items():
        write_private(client_file(cluster, user, suffix), text)


def introduction(cluster: LocalCluster, command: Callable[[str], str]) -> str:
    """The text that describes how to use a secured cluster. `command`: how a tool is called."""
    alice, bob = USERS
    servers = f"--bootstrap-server {cluster.bootstrap_servers}"
    topic = f"{SAMPLE}-1"
    produce = f"{command('kafka-console-producer')} {servers} --topic {topic}"
    consume = f"{command('kafka-console-consumer')} {servers} --topic {topic} --from-beginning"
    acls = f"{command('kafka-acls')} {tool_options(cluster)}"
    options = client_file(cluster, alice, "kafka-python.json")
    return f"""\
As a user (SASL_SSL; {cluster.directory}/client-*: their passwords, for their owner alone to read):
  {produce} --producer.config {client_file(cluster, alice)}
  {consume} --group {SAMPLE} --consumer.config {client_file(cluster, alice)}
  python -c 'import json, kafka; kafka.KafkaProducer(**json.load(open("{options}")))'
{bob} may do nothing yet; who may do what:
  {acls} --list
  {acls} --add --allow-principal User:{bob} --consumer --topic {topic} --group {bob}
  {consume} --group {bob} --consumer.config {client_file(cluster, bob)}
"""
