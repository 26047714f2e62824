"""The requests and outputs of kafka-transactions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.types import AbortTransactionSpec
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.tools.common.admin_access import failure_is
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.transactions.hanging import HEADER, find


def now_ms() -> int:
    return int(time.time() * 1000)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows: each column as wide as its widest cell, followed by a tab."""
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(line, widths, strict=True)))


def or_none(value: int) -> int | str:
    """Text of a number; `None` for -1."""
    return "None" if value < 0 else value


def list_transactions(admin: AdminClient, options: argparse.Namespace) -> None:
    with failure_is("Failed to list transactions"):
        by_broker = values_of(admin.list_transactions(duration_ms=options.duration_filter))
    rows = [
        (found.transactional_id, broker, found.producer_id, found.state)
        for broker, listed in by_broker.items()
        for found in listed
    ]
    print_table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


def describe(admin: AdminClient, options: argparse.Namespace) -> None:
    transactional_id = options.transactional_id
    with failure_is(f"Failed to describe transaction state of transactional-id `{transactional_id}`"):
        found = value_of(admin.describe_transactions([transactional_id])[transactional_id])
    start = found.transaction_start_time_ms
    row = (
        found.coordinator_id,
        transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.transaction_timeout_ms,
        or_none(start),
        or_none(-1 if start < 0 else now_ms() - start),
        ",".join(map(str, sorted(found.topic_partitions))),
    )
    header = (
        *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
        *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"),
    )
    print_table(header, [row])


def describe_producers(admin: AdminClient, options: argparse.Namespace) -> None:
    partition = _partition(options)
    broker = "leader" if options.broker_id is None else f"broker {options.broker_id}"
    with failure_is(f"Failed to describe producers for partition {partition} on {broker}"):
        state = value_of(admin.describe_producers([partition], options.broker_id)[partition])
    rows = [
        (
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.last_sequence,
            producer.last_timestamp,
            or_none(producer.current_transaction_start_offset),
        )
        for producer in state.active_producers
    ]
    header = (
        *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"),
        "CurrentTransactionStartOffset",
    )
    print_table(header, rows)


def abort(admin: AdminClient, options: argparse.Namespace) -> None:
    partition = _partition(options)
    if options.start_offset is None:
        # A transaction that hangs from its producer's first records on has no coordinator epoch: 0 is below all
        # epochs.
        spec = AbortTransactionSpec(
            partition, options.producer_id, options.producer_epoch, max(0, options.coordinator_epoch)
        )
    else:
        spec = open_transaction(admin, partition, options.start_offset)
    with failure_is(f"Failed to abort transaction {spec}"):
        admin.abort_transaction(spec)


def open_transaction(admin: AdminClient, partition: TopicPartition, start_offset: int) -> AbortTransactionSpec:
    """The open transaction that begins at that offset. Raises ToolError."""
    with failure_is(f"Failed to validate producer state for partition {partition}"):
        state = value_of(admin.describe_producers([partition])[partition])
    for producer in state.active_producers:
        if producer.current_transaction_start_offset == start_offset:
            epoch = max(0, producer.coordinator_epoch)
            return AbortTransactionSpec(partition, producer.producer_id, producer.producer_epoch, epoch)
    raise ToolError(f"Could not find any open transactions starting at offset {start_offset} on partition {partition}")


def find_hanging(admin: AdminClient, options: argparse.Namespace) -> None:
    limit_ms = options.max_transaction_timeout * 60_000
    partitions = None if options.partition is None else [_partition(options)]
    now = now_ms()
    found = find(admin, options.broker_id, options.topic, partitions, now - limit_ms)
    print_table(HEADER, [transaction.row(now) for transaction in found])


def _partition(options: argparse.Namespace) -> TopicPartition:
    return TopicPartition(options.topic, options.partition)


COMMANDS: dict[str, Callable[[AdminClient, argparse.Namespace], None]] = {
    "list": list_transactions,
    "describe": describe,
    "describe-producers": describe_producers,
    "abort": abort,
    "find-hanging": find_hanging,
}
