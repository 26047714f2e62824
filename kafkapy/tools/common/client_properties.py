"""The configs of Kafka's producer and consumer by their Java names, with what each becomes for a Python client.

`PRODUCER` and `CONSUMER` know every config of the Java clients of 3.9; `clients/java_properties.py` lists the ways in
which a config is converted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kafkapy.admin.client import BOOTSTRAP_TIMEOUT_MS
from kafkapy.clients import java_clients, java_properties
from kafkapy.clients.java_properties import BOOLEAN, CLASS, LIST, Arguments, Property, acts
from kafkapy.common.config_def import to_text
from kafkapy.common.limits import MAX_INT
from kafkapy.errors import KafkaConfigurationError
from kafkapy.tools.common.command_line import ToolError


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


PRODUCER = java_clients.PRODUCER | {
    "partitioner.class": Property(CLASS, None, _partitioner),
    "partitioner.ignore.keys": Property(BOOLEAN, False, _partitioner),
}

CONSUMER = java_clients.CONSUMER | {
    "partition.assignment.strategy": acts(LIST, ["RangeAssignor", "CooperativeStickyAssignor"], _assignors),
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
