"""Topics in an older message format, over the wire: what is converted for whom."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, batch


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    """A broker in a cluster of 0.10.2 that is being upgraded."""
    core = make_core(inter_broker_protocol_version="0.10.2", log_message_format_version="0.10.2")
    core.create_topic()
    return core


def produce(client: Client, records: bytes, version: int = 9) -> Errors:
    partition = ProduceRequest.PartitionProduceData(index=0, records=records)
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[partition])
    response = client.call(ProduceRequest(transactional_id=None, acks=1, timeout_ms=1000, topic_data=[topic]), version)
    return Errors.for_code(response.responses[0].partition_responses[0].error_code)


def fetch(client: Client, version: int, max_bytes: int = 1 << 20, **fields: Any) -> Any:
    partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes, **fields)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=[FetchRequest.FetchTopic(topic=TOPIC, partitions=[partition])],
    )
    return client.call(request, version).responses[0].partitions[0]


def stored(core: BrokerCore) -> bytes:
    return (core.directory / "logs" / f"{TOPIC}-0" / ("0" * 20 + ".log")).read_bytes()


def magics(data: bytes) -> set[int]:
    return {found.magic for found in batches(data)}


def values(data: bytes) -> list[bytes | None]:
    return [record.value for found in batches(data) for record in found.records()]


def test_records_of_new_clients_are_stored_in_the_old_format(core: BrokerCore, client: Client) -> None:
    assert produce(client, batch(b"a", b"b")) is Errors.NONE
    assert (magics(stored(core)), values(stored(core))) == ({1}, [b"a", b"b"])
    assert produce(client, batch(b"c", producer=(5, 0, 0))) is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert values(stored(core)) == [b"a", b"b"]


def test_zstd_is_refused_before_2_1(make_core: MakeCore) -> None:
    core = make_core(inter_broker_protocol_version="2.0")
    core.create_topic()
    client = core.connect()
    assert produce(client, batch(b"a", compression_type=CompressionType.ZSTD)) is Errors.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(client, batch(b"a", compression_type=CompressionType.LZ4)) is Errors.NONE


@pytest.mark.parametrize("version", range(13))
def test_a_fetch_converts_only_what_its_version_does_not_know(core: BrokerCore, client: Client, version: int) -> None:
    produce(client, batch(b"a", b"b"))
    data = bytes(fetch(client, version).records)
    assert values(data) == [b"a", b"b"]
    if version >= 2:
        assert data == stored(core)
    else:
        assert magics(data) == {0}


def test_a_message_that_is_too_large_for_an_old_fetch_is_cut(core: BrokerCore, client: Client) -> None:
    produce(client, batch(b"v" * 1000))
    assert bytes(fetch(client, 2, max_bytes=200).records) == stored(core)[:200]
    assert bytes(fetch(client, 3, max_bytes=200).records) == stored(core)


def test_where_conversion_is_switched_off_the_stored_format_still_goes_out(make_core: MakeCore) -> None:
    core = make_core(inter_broker_protocol_version="2.8", log_message_format_version="2.8")
    core.create_topic(message_format_version="0.10.2", message_downconversion_enable="false")
    client = core.connect()
    produce(client, batch(b"a"))
    assert Errors.for_code(fetch(client, 1).error_code) is Errors.UNSUPPORTED_VERSION
    assert bytes(fetch(client, 2).records) == stored(core)


def test_from_3_0_on_the_format_is_not_asked_for(make_core: MakeCore) -> None:
    core = make_core(inter_broker_protocol_version="3.0", log_message_format_version="0.10.2")
    core.create_topic(message_format_version="0.10.2")
    client = core.connect()
    assert produce(client, batch(b"a", producer=(5, 0, 0))) is Errors.NONE
    assert magics(stored(core)) == {2}
    assert magics(bytes(fetch(client, 2).records)) == {1}


def test_a_new_format_holds_from_the_next_append_on(make_core: MakeCore) -> None:
    core = make_core(inter_broker_protocol_version="2.8", log_message_format_version="0.10.2")
    core.create_topic()
    client = core.connect()
    produce(client, batch(b"a"))
    core.log_manager.update_topic_config(TOPIC, {"message.format.version": "2.8"})
    produce(client, batch(b"b"))
    assert [found.magic for found in batches(stored(core))] == [1, 2]
    assert bytes(fetch(client, 4).records) == stored(core)
    assert magics(bytes(fetch(client, 2).records)) == {1}


def test_nobody_is_told_where_epochs_end(core: BrokerCore, client: Client) -> None:
    produce(client, batch(b"a"))
    partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=TOPIC, partitions=[partition])
    answer = client.call(OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic]), 4).topics[0].partitions[0]
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, -1, -1)
    assert Errors.for_code(fetch(client, 12, last_fetched_epoch=0).error_code) is Errors.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("version", [1, 9])
def test_offsets_by_time_need_timestamps(make_core: MakeCore, version: int) -> None:
    core = make_core(inter_broker_protocol_version="0.9.0", log_message_format_version="0.9.0")
    core.create_topic()
    client = core.connect()
    produce(client, batch(b"a"))

    def offset(timestamp: int) -> tuple[Errors, int]:
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = ListOffsetsRequest.ListOffsetsTopic(name=TOPIC, partitions=[wanted])
        answer = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), version).topics[0].partitions[0]
        return Errors.for_code(answer.error_code), answer.offset

    assert offset(0) == (Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1)
    assert [offset(-1), offset(-2)] == [(Errors.NONE, 1), (Errors.NONE, 0)]
