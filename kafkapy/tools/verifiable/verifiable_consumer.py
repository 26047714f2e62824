"""kafka-verifiable-consumer: reads a topic as a member of a group and prints each of its events (after Kafka's
`VerifiableConsumer`)."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.client_properties import consumer_arguments, property_file
from kafkapy.tools.common.client_tool import (
    Interruption,
    check_host_port,
    client_errors_as_tool_errors,
    java_error,
    java_message,
    log_to_stderr,
)
from kafkapy.tools.verifiable.json_events import print_event

if TYPE_CHECKING:
    from kafkapy import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafkapy.consumer import ConsumerRecord

_log = logging.getLogger("kafkapy.tools.VerifiableConsumer")
_POLL_MS = 100
"""The longest delay until a signal is noticed."""


def parser() -> ArgumentParser:
    parser = ArgumentParser(
        "verifiable-consumer",
        "This tool consumes messages from a specific topic and emits consumer events (e.g. group rebalances, received "
        "messages, and offsets committed) as JSON objects to STDOUT.",
    )
    add = parser.add_argument
    parser.add_servers()
    add("--topic", required=True, metavar="TOPIC", help="the topic to read")
    add("--group-protocol", default="classic", metavar="GROUP_PROTOCOL", help="classic is the only one here")
    add("--group-remote-assignor", metavar="GROUP_REMOTE_ASSIGNOR", help="for the group protocol CONSUMER only")
    add("--group-id", required=True, metavar="GROUP_ID", help="the group that members share")
    add("--group-instance-id", metavar="GROUP_INSTANCE_ID", help="the name of a static member")
    add("--max-messages", type=int, default=-1, metavar="MAX-MESSAGES", help="how many; -1: until it is killed")
    add("--session-timeout", type=int, default=30000, metavar="TIMEOUT_MS", help="the session timeout")
    add("--verbose", action="store_true", help="print each record")
    add("--enable-autocommit", action="store_true", help="commit now and then instead of after each poll")
    add("--reset-policy", default="earliest", help="earliest, latest or none")
    add(
        "--assignment-strategy",
        default="org.apache.kafka.clients.consumer.RangeAssignor",
        help="the assignor, by its Java class",
    )
    add("--consumer.config", dest="consumer_config", metavar="CONFIG_FILE", help="a property file; options go first")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv)


def execute(options: argparse.Namespace) -> int:
    from kafkapy import KafkaConsumer

    check_host_port(options.servers)
    arguments = consumer_arguments(consumer_properties(options))
    log_to_stderr()
    with client_errors_as_tool_errors():
        consumer = KafkaConsumer(**arguments)
    with Interruption() as interruption:
        VerifiableConsumer(options, consumer, interruption).run()
    return interruption.status


def consumer_properties(options: argparse.Namespace) -> dict[str, str]:
    properties = property_file(options.consumer_config)
    if options.group_protocol.lower() == "classic":
        properties["partition.assignment.strategy"] = options.assignment_strategy
    else:
        properties["group.protocol"] = options.group_protocol
    if options.group_instance_id is not None:
        properties["group.instance.id"] = options.group_instance_id
    return properties | {
        "group.id": options.group_id,
        "bootstrap.servers": options.servers,
        "enable.auto.commit": "true" if options.enable_autocommit else "false",
        "auto.offset.reset": options.reset_policy,
        "session.timeout.ms": str(options.session_timeout),
    }


class VerifiableConsumer:
    """One run; `consumed`: records that were reported."""

    def __init__(self, options: argparse.Namespace, consumer: KafkaConsumer, interruption: Interruption) -> None:
        self._consumer = consumer
        self._interruption = interruption
        self._topic: str = options.topic
        self._max: int = options.max_messages
        self._verbose: bool = options.verbose
        self._auto_commit: bool = options.enable_autocommit
        self.consumed = 0

    def run(self) -> None:
        """Run until stopped. An error is logged and ends the run, as in Kafka's tool."""
        try:
            print_event("startup_complete")
            self._consumer.subscribe([self._topic], listener=_listener())
            while not self._interruption and not self._finished:
                found = self._consumer.poll(timeout_ms=_POLL_MS)
                if not found:
                    continue
                offsets = self._received(found)
                if not self._auto_commit:
                    self._commit(offsets)
        except (KafkaError, ValueError) as error:
            _log.error("Error during processing, terminating consumer process: %s", java_error(error))
        finally:
            self._consumer.close()
            print_event("shutdown_complete")

    @property
    def _finished(self) -> bool:
        return 0 <= self._max <= self.consumed

    def _received(
        self, found: Mapping[TopicPartition, list[ConsumerRecord]]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets to commit."""
        from kafkapy import OffsetAndMetadata

        offsets = {}
        summaries: list[dict[str, Any]] = []
        for partition, records in found.items():
            if self._max >= 0:
                records = records[: self._max - self.consumed]
            if not records:
                continue
            last = records[-1].offset
            offsets[partition] = OffsetAndMetadata(last + 1, "", -1)
            counts = {"count": len(records), "minOffset": records[0].offset, "maxOffset": last}
            summaries.append({**_shown(partition), **counts})
            if self._verbose:
                for record in records:
                    _print_record(record)
            self.consumed += len(records)
            if self._finished:
                break
        print_event("records_consumed", count=sum(map(len, found.values())), partitions=summaries)
        return offsets

    def _commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        outcome: dict[str, Any] = {"success": True}
        try:
            self._consumer.commit(offsets)
        except KafkaError as error:
            if error.error is Errors.FENCED_INSTANCE_ID:
                raise
            outcome = {"error": java_message(error), "success": False}
        committed = [{**_shown(partition), "offset": offset.offset} for partition, offset in offsets.items()]
        print_event("offsets_committed", offsets=committed, **outcome)


def _print_record(record: ConsumerRecord) -> None:
    print_event(
        "record_data",
        key=None if record.key is None else record.key.decode("utf-8", "replace"),
        value=None if record.value is None else record.value.decode("utf-8", "replace"),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
    )


def _shown(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _listener() -> ConsumerRebalanceListener:
    from kafkapy import ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            print_event("partitions_revoked", partitions=[_shown(partition) for partition in revoked])

        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            print_event("partitions_assigned", partitions=[_shown(partition) for partition in assigned])

    return Listener()


if __name__ == "__main__":
    sys.exit(main())
