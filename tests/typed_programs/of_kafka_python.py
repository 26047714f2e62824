"""What kafka-python's page and examples show, with the import changed: none of it may be an error. It is checked, not run.

Parameters are annotated, which kafka-python's programs mostly aren't: else nothing would be checked.
"""

from __future__ import annotations

import argparse
import json
import threading
import time

from kafkapy import (
    DefaultSerializer,
    IsolationLevel,
    JsonSerializer,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafkapy.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafkapy.errors import KafkaError, NoBrokersAvailable, TopicAlreadyExistsError
from kafkapy.producer.future import RecordMetadata


class Sending(threading.Thread):
    def __init__(self) -> None:
        super().__init__()
        self.stopped = threading.Event()

    def run(self) -> None:
        producer = KafkaProducer(bootstrap_servers="localhost:9092")
        while not self.stopped.is_set():
            producer.send("numbers", b"one")
            producer.send("numbers", key=b"two", value=b"zwei")
            time.sleep(1)
        producer.close()


class Receiving(threading.Thread):
    def __init__(self) -> None:
        super().__init__()
        self.stopped = threading.Event()

    def run(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers="localhost:9092", auto_offset_reset="earliest", consumer_timeout_ms=1000
        )
        consumer.subscribe(["numbers"])
        while not self.stopped.is_set():
            for message in consumer:
                print(message.topic, message.partition, message.offset, message.key, (message.value or b"").decode())
                if self.stopped.is_set():
                    break
        consumer.close()


def administration() -> None:
    try:
        admin = KafkaAdminClient(bootstrap_servers="localhost:9092", client_id="of-kafka-python")
    except NoBrokersAvailable:
        return
    try:
        admin.create_topics([NewTopic(name="numbers", num_partitions=1, replication_factor=1)], validate_only=False)
    except TopicAlreadyExistsError:
        admin.create_partitions({"numbers": NewPartitions(total_count=3)})
    admin.describe_configs(config_resources=[ConfigResource(ConfigResourceType.TOPIC, "numbers")])
    print(admin.list_consumer_groups(), admin.list_consumer_group_offsets("readers"))
    admin.create_topics(["letters"], timeout_ms=None, validate_only=False)
    by_name = {"words": {"num_partitions": 1, "assignments": {0: [1]}, "configs": {"max.message.bytes": "1000000"}}}
    admin.create_topics(by_name, timeout_ms=None, validate_only=False)
    print(admin.list_groups(), admin.describe_groups(["readers"]), admin.list_group_offsets(["readers"]))
    admin.delete_topics(["numbers"])
    admin.close()


def consuming() -> None:
    for message in KafkaConsumer("numbers", group_id="readers"):
        print(message.headers, message.timestamp)
    consumer = KafkaConsumer(bootstrap_servers=["one:9092", "two:9092"])
    consumer.assign([TopicPartition("numbers", 2)])
    print(next(consumer))
    consumer.seek(TopicPartition("numbers", 2), 5)
    consumer.commit({TopicPartition("numbers", 2): OffsetAndMetadata(6, "", -1)})
    for partition, messages in consumer.poll(timeout_ms=500, max_records=10).items():
        print(partition.topic, [message.value for message in messages])
    print(consumer.metrics())
    consumer = KafkaConsumer(value_deserializer=JsonSerializer(), isolation_level=IsolationLevel.READ_COMMITTED)
    consumer.subscribe(pattern="^numbers.*")
    for message in consumer:
        assert isinstance(message.value, dict)
    KafkaConsumer(value_deserializer=DefaultSerializer("utf-16"), consumer_timeout_ms=1000, enable_auto_commit=False)
    KafkaConsumer(value_deserializer=lambda value: json.loads(value.decode("utf-8")))


def producing() -> None:
    producer = KafkaProducer(bootstrap_servers=["localhost:1234"], retries=5)
    future = producer.send("numbers", b"three")
    try:
        metadata = future.get(timeout=10)
    except KafkaError:
        return
    print(metadata.topic, metadata.partition, metadata.offset)

    def on_success(metadata: RecordMetadata) -> None:
        print(metadata.offset)

    def on_error(error: BaseException) -> None:
        print(error)

    producer.send("numbers", b"four").add_callback(on_success).add_errback(on_error)
    producer.flush()
    producer.send("numbers", value=b"five", headers=[("content-encoding", b"base64")])
    KafkaProducer(value_serializer=JsonSerializer()).send("numbers", {"six": 6})
    KafkaProducer(key_serializer=DefaultSerializer()).send("numbers", key="seven", value=b"7")
    KafkaProducer(value_serializer=DefaultSerializer("utf-16")).send("numbers", "zwölf")
    KafkaProducer(value_serializer=lambda value: json.dumps(value).encode("utf-8")).send("numbers", {"eight": 8})
    KafkaProducer(compression_type="gzip", acks=1, linger_ms=10).send("numbers", b"nine")
    producer = KafkaProducer(transactional_id="numbers")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("numbers", value=b"ten").get()
    producer.commit_transaction()


def of_the_command_line() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reset", default="latest")
    given = parser.parse_args()
    KafkaConsumer(auto_offset_reset=given.reset)
