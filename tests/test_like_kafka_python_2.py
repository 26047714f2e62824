"""What programs of kafka-python 2 import and call is here, under its name there."""

from __future__ import annotations

import importlib

import pytest

import kafkapy
from kafkapy.errors import KafkaTimeoutError, NoBrokersAvailable
from kafkapy.partitioner import DefaultPartitioner
from kafkapy.producer.config import ProducerConfig
from tests.fake_broker import FakeBroker

PLACES = {
    "admin.acl_resource": "ACL ACLFilter ACLOperation ACLPermissionType ResourcePattern ResourcePatternFilter ResourceType",
    "admin.client": "KafkaAdminClient",
    "admin.config_resource": "ConfigResource ConfigResourceType",
    "admin.new_partitions": "NewPartitions",
    "admin.new_topic": "NewTopic",
    "consumer.group": "KafkaConsumer",
    "consumer.subscription_state": "ConsumerRebalanceListener",
    "coordinator.assignors.range": "RangePartitionAssignor",
    "coordinator.assignors.roundrobin": "RoundRobinPartitionAssignor",
    "coordinator.assignors.sticky.sticky_assignor": "StickyPartitionAssignor",
    "errors": "NoBrokersAvailable KafkaUnavailableError GroupLoadInProgressError GroupCoordinatorNotAvailableError"
    " NotCoordinatorForGroupError InvalidMessageError AuthenticationFailedError ProtocolError",
    "oauth": "AbstractTokenProvider",
    "partitioner.default": "DefaultPartitioner murmur2",
    "producer.future": "FutureRecordMetadata RecordMetadata",
    "producer.kafka": "KafkaProducer",
    "sasl.oauth": "AbstractTokenProvider",
    "structs": "GroupInformation MemberInformation OffsetAndMetadata OffsetAndTimestamp TopicPartition",
}


@pytest.mark.parametrize("place", PLACES)
def test_modules_and_names(place: str) -> None:
    module = importlib.import_module(f"kafkapy.{place}")
    assert [name for name in PLACES[place].split() if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", ["KafkaProducer", "KafkaConsumer", "KafkaAdminClient"])
def test_no_broker(name: str) -> None:
    """Both names of the error catch it, and the old name of the option holds."""
    with pytest.raises(NoBrokersAvailable) as caught:
        getattr(kafkapy, name)(bootstrap_servers="127.0.0.1:1", api_version_auto_timeout_ms=50)
    assert isinstance(caught.value, KafkaTimeoutError)
    assert (caught.value.retriable, caught.value.invalid_metadata) == (True, True)
    assert "within 50 ms" in str(caught.value)


@pytest.mark.parametrize("name", ["KafkaProducer", "KafkaConsumer", "KafkaAdminClient"])
def test_options_without_an_effect(name: str) -> None:
    with FakeBroker() as broker:
        client = getattr(kafkapy, name)(
            bootstrap_servers=broker.address, sock_chunk_bytes=4096, sock_chunk_buffer_count=1000
        )
        client.close()


@pytest.mark.parametrize("name", ["KafkaProducer", "KafkaConsumer", "KafkaAdminClient"])
def test_the_release_that_the_broker_looks_like(name: str) -> None:
    with FakeBroker() as broker:
        client = getattr(kafkapy, name)(bootstrap_servers=broker.address)
        assert client.config["api_version"] == (3, 9)
        client.close()
        client = getattr(kafkapy, name)(bootstrap_servers=broker.address, api_version=(2, 5))
        assert client.config["api_version"] == (2, 5)
        client.close()


def test_a_partitioner_is_a_function_of_the_key_and_the_partitions() -> None:
    chosen = DefaultPartitioner()
    assert [chosen(key, list(range(1000)), []) for key in (b"", b"a", b"123456789")] == [681, 524, 566]
    assert chosen(None, [1, 2], [2]) == 2
    assert chosen(None, [1], []) == 1


def test_a_partitioner_is_known_by_its_method() -> None:
    class OfItsOwn:
        def partition(self, topic: str, key: bytes, cluster: object) -> int:
            return 0

    assert ProducerConfig(partitioner=OfItsOwn()).partitioner is not None
