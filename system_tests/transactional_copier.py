"""Copies a topic, each batch of records in a transaction with its offsets (kafkatest's TransactionalMessageCopier).

    python -m system_tests.transactional_copier BOOTSTRAP INPUT OUTPUT GROUP TRANSACTIONAL_ID [PARTITION]

With a PARTITION it copies that alone, and is no member of the group. It ends by being killed. What it can't go on from ends
it, with status 1; who runs it starts it again.
"""

from __future__ import annotations

import random
import sys

from kafkapy import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import KafkaError

RECORDS_PER_TRANSACTION = 100
ABORTED_SHARE = 0.1
TIMEOUT_MS = 10_000


def main(
    bootstrap: str, source: str, target: str, group: str, transactional_id: str, partition: str | None = None
) -> None:
    chance = random.Random()
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS, linger_ms=5
    )
    producer.init_transactions()
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
        isolation_level="read_committed", session_timeout_ms=6000, heartbeat_interval_ms=1000,
    )  # fmt: skip
    if partition is None:
        consumer.subscribe([source])
    else:
        consumer.assign([TopicPartition(source, int(partition))])
    while True:
        batch = consumer.poll(500, RECORDS_PER_TRANSACTION)
        if not batch:
            continue
        producer.begin_transaction()
        try:
            _copy(producer, batch, target)
            offsets = {
                partition: OffsetAndMetadata(records[-1].offset + 1, "", -1) for partition, records in batch.items()
            }
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            if chance.random() >= ABORTED_SHARE:
                producer.commit_transaction()
                continue
        except KafkaError as error:
            print(f"{transactional_id}: {error!r}", flush=True)
        producer.abort_transaction()
        _go_back(consumer)


def _copy(producer: KafkaProducer, batch: dict[TopicPartition, list[ConsumerRecord]], target: str) -> None:
    """To the same partition, so that its order can be judged."""
    for partition, records in batch.items():
        for record in records:
            producer.send(target, record.value, partition=partition.partition)


def _go_back(consumer: KafkaConsumer) -> None:
    for partition in consumer.assignment():
        consumer.seek(partition, consumer.committed(partition) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
