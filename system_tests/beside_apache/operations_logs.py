"""Logs: Produce, Fetch, ListOffsets, DeleteRecords, OffsetForLeaderEpoch, producers."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.delete_records import DeleteRecordsRequest
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from system_tests.beside_apache.draw import LOG_BEGIN_MS, STRANGE_TOPICS, TOPICS, UNCUT_TOPICS, Draw
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.records import random_records
from system_tests.beside_apache.side import Side

_MAX_TIMESTAMP = -3
_PLENTY = 50 << 20


def produce(draw: Draw) -> Question:
    """Never null records (Apache gives no answer at all), and with unheard-of acks only good ones: which of the two
    Apache complains about depends on where it finds out."""
    version = draw.version(ApiKey.PRODUCE)
    acks = draw.one_of(1, -1, 1, -1, 0, 2) if draw.chance(0.3) else draw.one_of(1, -1)
    sound = acks not in (-1, 0, 1)
    request = ProduceRequest(transactional_id="tx" if draw.chance(0.02) else None, acks=acks, timeout_ms=5000)
    for name in draw.topics():
        topic = ProduceRequest.TopicProduceData(name=name)
        for partition in sorted({draw.partition() for _ in range(draw.one_of(1, 1, 2))}):
            empty = not sound and draw.chance(0.02)
            records = b"" if empty else random_records(draw, version, name, partition, sound)
            topic.partition_data.append(ProduceRequest.PartitionProduceData(partition, memoryview(records)))
        request.topic_data.append(topic)
    return Question(ApiKey.PRODUCE, version, request, connection="produce", one_way=acks == 0)


def fetch(draw: Draw) -> Question:
    """Before version 4 without a limit of bytes: down-conversion cuts at one differently."""
    version = draw.version(ApiKey.FETCH)
    limited = version >= 4
    topics = []
    for name in draw.topics():
        partitions = [
            FetchRequest.FetchPartition(
                partition=partition,
                current_leader_epoch=draw.one_of(-1, -1, -1, 0, 0, 1),
                fetch_offset=draw.one_of(0, 0, 1, 5, 20, 100, 10**6, -1, draw.randrange(60)),
                last_fetched_epoch=draw.one_of(-1, -1, -1, 0, 1),
                log_start_offset=-1,
                partition_max_bytes=draw.one_of(1 << 20, 1 << 20, 100, 0, 500) if limited else _PLENTY,
            )
            for partition in draw.partitions()
        ]
        if name not in STRANGE_TOPICS or version < 13:
            topics.append((name, partitions))
    min_bytes, isolation_level = draw.one_of(0, 1), draw.one_of(0, 1)
    max_bytes = draw.one_of(1 << 20, 1 << 20, 1000, 1) if limited else _PLENTY
    session_id, session_epoch = draw.one_of((0, -1), (0, -1), (0, 0), (77, 1), (77, -1))

    def request(side: Side) -> Message:
        return FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[FetchRequest.FetchTopic(name, side.topic_id(name), partitions) for name, partitions in topics],
        )

    return Question(ApiKey.FETCH, version, request, connection="fetch", repeats=True)


def list_offsets(draw: Draw) -> Question:
    """The largest timestamp is asked for only where no records are deleted: Apache finds those before the log's start."""
    request = ListOffsetsRequest(replica_id=draw.one_of(-1, -1, -1, -2, 0, 5), isolation_level=draw.one_of(0, 1))
    for name in draw.topics():
        topic = ListOffsetsRequest.ListOffsetsTopic(name=name)
        for index in draw.partitions():
            times = [-1, -2, -4, -5, -6, 0, 2**62, LOG_BEGIN_MS, LOG_BEGIN_MS + draw.randrange(10**9)]
            if name in UNCUT_TOPICS:
                times += [_MAX_TIMESTAMP, _MAX_TIMESTAMP]
            partition = ListOffsetsRequest.ListOffsetsPartition(
                partition_index=index,
                current_leader_epoch=draw.one_of(-1, -1, 0, 0, 1, 5),
                timestamp=draw.choice(times),
                max_num_offsets=draw.one_of(1, 2, 0),
            )
            topic.partitions.append(partition)
        request.topics.append(topic)
    return Question(ApiKey.LIST_OFFSETS, draw.version(ApiKey.LIST_OFFSETS), request, repeats=True)


def delete_records(draw: Draw) -> Question:
    name = draw.choice([topic for topic in TOPICS if topic not in UNCUT_TOPICS]) if draw.chance(0.95) else "nope"
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=name)
    for partition in draw.partitions():
        offset = draw.one_of(0, 1, 3, -1, -2, 10**6, draw.randrange(40))
        topic.partitions.append(DeleteRecordsRequest.DeleteRecordsPartition(partition, offset))
    request = DeleteRecordsRequest(topics=[topic], timeout_ms=5000)
    return Question(ApiKey.DELETE_RECORDS, draw.version(ApiKey.DELETE_RECORDS), request)


def offset_for_leader_epoch(draw: Draw) -> Question:
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=draw.existing_topic())
    for index in draw.partitions():
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=index,
            current_leader_epoch=draw.one_of(-1, -1, 0, 1, 5),
            leader_epoch=draw.one_of(0, 0, 1, -1, 7),
        )
        topic.partitions.append(partition)
    request = OffsetForLeaderEpochRequest(replica_id=draw.one_of(-2, -1, 0), topics=[topic])
    version = draw.version(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    return Question(ApiKey.OFFSET_FOR_LEADER_EPOCH, version, request, repeats=True)


def init_producer_id(draw: Draw) -> Question:
    number, again = draw.randrange(4), draw.chance(0.4)
    epoch, timeout_ms = draw.one_of(0, 1, -1), draw.one_of(0, 1000, -1)

    def request(side: Side) -> Message:
        known = again and number < len(side.producer_ids)
        return InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=timeout_ms,
            producer_id=side.producer_ids[number] if known else -1,
            producer_epoch=epoch if again else -1,
        )

    return Question(ApiKey.INIT_PRODUCER_ID, draw.version(ApiKey.INIT_PRODUCER_ID), request)


def describe_producers(draw: Draw) -> Question:
    topics = [DescribeProducersRequest.TopicRequest(name, draw.partitions()) for name in draw.topics()]
    return Question(ApiKey.DESCRIBE_PRODUCERS, 0, DescribeProducersRequest(topics=topics), repeats=True)
