"""What aiokafka's programs import is under the same names in `kafkapy.aio`: only the package's name changes."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Collection

import pytest

from kafkapy.aio import errors
from kafkapy.aio.abc import ConsumerRebalanceListener
from kafkapy.aio.admin import RecordsToDelete
from kafkapy.aio.helpers import create_ssl_context
from kafkapy.aio.structs import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import for_code

PLACES = {
    "abc": "AbstractTokenProvider ConsumerRebalanceListener",
    "admin": "AIOKafkaAdminClient NewPartitions NewTopic RecordsToDelete",
    "consumer": "AIOKafkaConsumer",
    "errors": """AuthenticationFailedError AuthenticationMethodNotSupported CommitFailedError ConsumerStoppedError
        CorruptRecordException IllegalGenerationError IllegalOperation IllegalStateError KafkaConnectionError KafkaError
        KafkaTimeoutError LeaderNotAvailableError MessageSizeTooLargeError NoOffsetForPartitionError OffsetOutOfRangeError
        ProducerClosed ProducerFenced RebalanceInProgressError RecordTooLargeError TopicAuthorizationFailedError
        UnknownTopicOrPartitionError UnsupportedVersionError""",
    "helpers": "create_ssl_context",
    "producer": "AIOKafkaProducer",
    "structs": "ConsumerRecord OffsetAndMetadata OffsetAndTimestamp RecordMetadata TopicPartition",
}

OF_THE_BROKER = {
    45: errors.OutOfOrderSequenceNumber,
    47: errors.InvalidProducerEpoch,
    53: errors.TransactionalIdAuthorizationFailed,
    58: errors.SaslAuthenticationFailed,
    68: errors.NonEmptyGroup,
    79: errors.MemberIdRequired,
}


@pytest.mark.parametrize("place", PLACES)
def test_modules_and_names(place: str) -> None:
    module = importlib.import_module(f"kafkapy.aio.{place}")
    assert [name for name in PLACES[place].split() if not hasattr(module, name)] == []


@pytest.mark.parametrize("code", OF_THE_BROKER)
def test_a_name_of_theirs_catches_the_error(code: int) -> None:
    with pytest.raises(OF_THE_BROKER[code]):
        raise for_code(code)


def test_a_listener_of_coroutines_hears_of_lost_partitions() -> None:
    heard = []

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            heard.append(revoked)

        async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None: ...

    async def lose() -> None:
        waiting = Listener().on_partitions_lost([TopicPartition("t", 0)])
        assert waiting is not None
        await waiting

    asyncio.run(lose())
    assert heard == [[TopicPartition("t", 0)]]


def test_wrong_options_are_value_errors() -> None:
    with pytest.raises(ValueError, match="max_poll_records"):
        ConsumerConfig(max_poll_records=0)


def test_records_to_delete_are_an_offset() -> None:
    assert RecordsToDelete(before_offset=5) == 5 == RecordsToDelete(5).before_offset


def test_an_ssl_context_checks_the_broker() -> None:
    context = create_ssl_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    with pytest.raises(FileNotFoundError):
        create_ssl_context(certfile=b"/nowhere.pem", keyfile="/nowhere.key")
