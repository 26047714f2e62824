"""The configs of Kafka's producer and consumer by their Java names, with what each becomes for a Python client.

`PRODUCER` and `CONSUMER` know every config of the Java clients of 3.9; `clients/java_properties.py` lists the ways in
which a config is converted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kafkapy.admin.client import BOOTSTRAP_TIMEOUT_MS
from kafkapy.clients import java_properties
from kafkapy.clients.java_properties import (
    BOOLEAN,
    CLASS,
    COMMON,
    INT,
    LIST,
    LONG,
    STRING,
    Arguments,
    Property,
    acts,
    no_effect,
    refused,
)
from kafkapy.common.config_def import to_text
from kafkapy.common.config_validators import OneOf, at_least
from kafkapy.common.limits import MAX_INT
from kafkapy.errors import KafkaConfigurationError
from kafkapy.tools.common.command_line import ToolError


def _acks(text: str) -> int | str:
    return "all" if text in ("all", "-1") else int(text)


def _partitioner(name: str, value: Any) -> Arguments:
    """The partitioner of `partitioner.class` or `partitioner.ignore.keys`."""
    from kafkapy.tools.common import client_partitioners

    if value in (None, False):
        return {}
    return {"partitioner": client_partitioners.partitioner("UniformStickyPartitioner" if value is True else value)}


def _assignors(names: list[str]) -> list[Any]:
    from kafkapy.consumer import assignors

    known = {
        "RangeAssignor": assignors.RangePartitionAssignor,
        "RoundRobinAssignor": assignors.RoundRobinPartitionAssignor,
        "StickyAssignor": assignors.StickyPartitionAssignor,
        "CooperativeStickyAssignor": assignors.CooperativeStickyAssignor,
    }
    found = []
    for name in names:
        package, _, simple = name.removeprefix("class ").rpartition(".")
        if simple not in known or package not in ("", "org.apache.kafka.clients.consumer"):
            raise ToolError(
                f"Invalid value {name} for configuration partition.assignment.strategy: the assignors known here are "
                + ", ".join(f"org.apache.kafka.clients.consumer.{simple}" for simple in known)
            )
        found.append(known[simple])
    return found


_LEVELS = "batches are compressed with the codec's default level"
_BYTES = "the tool decides how keys and values become bytes"

PRODUCER = COMMON | {
    "acks": acts(STRING, "all", _acks, OneOf("all", "-1", "0", "1")),
    "batch.size": acts(INT, 16_384, valid=at_least(0)),
    "buffer.memory": acts(LONG, 33_554_432, valid=at_least(0)),
    "compression.type": acts(STRING, "none", valid=OneOf("none", "gzip", "snappy", "lz4", "zstd")),
    "delivery.timeout.ms": acts(INT, 120_000, valid=at_least(0)),
    "enable.idempotence": acts(BOOLEAN, True),
    "linger.ms": acts(LONG, 0, valid=at_least(0)),
    "max.block.ms": acts(LONG, 60_000, valid=at_least(0)),
    "max.in.flight.requests.per.connection": acts(INT, 5, valid=at_least(1)),
    "max.request.size": acts(INT, 1_048_576, valid=at_least(0)),
    "metadata.max.idle.ms": acts(LONG, 300_000, valid=at_least(5000)),
    "retries": acts(INT, 2_147_483_647, valid=at_least(0)),
    "transaction.timeout.ms": acts(INT, 60_000),
    "transactional.id": acts(STRING, None),
    "partitioner.class": Property(CLASS, None, _partitioner),
    "partitioner.ignore.keys": Property(BOOLEAN, False, _partitioner),
    "compression.gzip.level": no_effect(INT, -1, _LEVELS),
    "compression.lz4.level": no_effect(INT, 9, _LEVELS),
    "compression.zstd.level": no_effect(INT, 3, _LEVELS),
    "key.serializer": no_effect(CLASS, None, _BYTES),
    "value.serializer": no_effect(CLASS, None, _BYTES),
    "partitioner.adaptive.partitioning.enable": no_effect(BOOLEAN, True, "every partition gets the same share"),
    "partitioner.availability.timeout.ms": no_effect(LONG, 0, "every partition gets the same share"),
}

CONSUMER = COMMON | {
    "allow.auto.create.topics": acts(BOOLEAN, True),
    "auto.commit.interval.ms": acts(INT, 5_000, valid=at_least(0)),
    "auto.offset.reset": acts(STRING, "latest", valid=OneOf("latest", "earliest", "none")),
    "check.crcs": acts(BOOLEAN, True),
    "client.rack": acts(STRING, ""),
    "enable.auto.commit": acts(BOOLEAN, True),
    "exclude.internal.topics": acts(BOOLEAN, True),
    "fetch.max.bytes": acts(INT, 52_428_800, valid=at_least(0)),
    "fetch.max.wait.ms": acts(INT, 500, valid=at_least(0)),
    "fetch.min.bytes": acts(INT, 1, valid=at_least(0)),
    "group.id": acts(STRING, None),
    "group.instance.id": acts(STRING, None),
    "heartbeat.interval.ms": acts(INT, 3_000),
    "isolation.level": acts(STRING, "read_uncommitted", valid=OneOf("read_committed", "read_uncommitted")),
    "max.partition.fetch.bytes": acts(INT, 1_048_576, valid=at_least(0)),
    "max.poll.interval.ms": acts(INT, 300_000, valid=at_least(1)),
    "max.poll.records": acts(INT, 500, valid=at_least(1)),
    "partition.assignment.strategy": acts(LIST, ["RangeAssignor", "CooperativeStickyAssignor"], _assignors),
    "session.timeout.ms": acts(INT, 45_000),
    "default.api.timeout.ms": no_effect(INT, 60_000, "calls wait for request.timeout.ms"),
    "group.protocol": refused(STRING, "classic", "the classic group protocol is the only one here"),
    "group.remote.assignor": no_effect(STRING, None, "the classic group protocol is the only one here"),
    "internal.leave.group.on.close": no_effect(BOOLEAN, True, "dynamic members always leave"),
    "internal.throw.on.fetch.stable.offset.unsupported": no_effect(BOOLEAN, False, "it is Kafka Streams' own"),
    "key.deserializer": no_effect(CLASS, None, _BYTES),
    "value.deserializer": no_effect(CLASS, None, _BYTES),
}


def producer_arguments(properties: Mapping[str, str]) -> Arguments:
    """The arguments of a `KafkaProducer`. Warnings go to stderr. Raises `ToolError`."""
    arguments = _warned(arguments_of(PRODUCER, properties))
    # A Java producer connects when it first sends; that may take max.block.ms.
    return {**arguments, "bootstrap_timeout_ms": min(arguments.get("max_block_ms", MAX_INT), BOOTSTRAP_TIMEOUT_MS)}


def consumer_arguments(properties: Mapping[str, str]) -> Arguments:
    """The arguments of a `KafkaConsumer`; assignors are the Java client's. Warnings go to stderr. Raises ToolError.

    A tool waits at most BOOTSTRAP_TIMEOUT_MS for a broker that does not answer.
    """
    strategy = {"partition.assignment.strategy": ",".join(CONSUMER["partition.assignment.strategy"].default)}
    return {"bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS, **_warned(arguments_of(CONSUMER, {**strategy, **properties}))}


def _warned(result: tuple[Arguments, list[str]]) -> Arguments:
    arguments, warnings = result
    for warning in warnings:
        print(f"WARNING: {warning}", file=sys.stderr)
    return arguments


def arguments_of(table: Mapping[str, Property], properties: Mapping[str, str]) -> tuple[Arguments, list[str]]:
    """Arguments and warnings. Raises ToolError for an invalid value and for an unsupported config."""
    try:
        return java_properties.arguments_of(table, properties)
    except KafkaConfigurationError as error:
        raise ToolError(error.message) from None


def key_values(pairs: list[str]) -> dict[str, str]:
    """Parse `--property key=value`; a value may be missing and may contain `=` (`parseKeyValueArgs`)."""
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def property_file(path: str | None) -> dict[str, str]:
    """The properties of a file; none without a file. Raises `ToolError`, OSError."""
    from kafkapy.common.properties import load_file

    if path is None:
        return {}
    try:
        return load_file(path)
    except ValueError as error:
        raise ToolError(str(error)) from error


def merge_option(properties: dict[str, str], name: str, value: Any, given: bool) -> None:
    """Set a property from an option: an option that was given replaces the property, a default only fills it in
    (`maybeMergeOptions`)."""
    if given or name not in properties:
        properties[name] = to_text(value)
