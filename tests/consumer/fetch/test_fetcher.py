"""The fetcher against brokers in memory: what it asks, what it gives out, how it gets over errors."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest

from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.fetch.fetcher import Fetcher
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.consumer.subscription_state import FetchState, SubscriptionState
from kafkapy.errors import (
    CorruptRecordError,
    KafkaTimeoutError,
    LogTruncationError,
    LookUpFailedError,
    OffsetOutOfRangeError,
    RecordDeserializationError,
    TopicAuthorizationFailedError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.runtime.completion import spawn
from kafkapy.serializer import Deserializer, LookUpFirst
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp, OffsetResetStrategy
from tests.memory_driver import SILENCE, MemoryCluster, MemoryDriver

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(base_offset: int, *values: bytes, epoch: int = 0) -> bytes:
    builder = MemoryRecordsBuilder(base_offset=base_offset, partition_leader_epoch=epoch)
    for value in values:
        builder.append(base_offset, b"k", value)
    return builder.build()


class Setup:
    """A fetcher, brokers with a little log for each partition, and a topic `t` with two partitions on broker 0."""

    def __init__(self, reset: OffsetResetStrategy = OffsetResetStrategy.EARLIEST, **options: Any) -> None:
        self.cluster = MemoryCluster(2)
        self.cluster.add_topic("t", [0, 0], topic_id=b"i" * 16)
        self.logs: dict[TopicPartition, list[bytes]] = {A: [], B: []}
        self.errors: dict[TopicPartition, Errors] = {}
        self.only_leaders_answer = False
        self.extra: dict[str, Any] = {}
        """Further fields of what a Fetch answers for a partition."""
        for broker in self.cluster.brokers.values():
            broker.handlers |= {
                ApiKey.FETCH: partial(self.fetch, broker.node_id),
                ApiKey.LIST_OFFSETS: self.list_offsets,
            }
        self.driver = MemoryDriver(self.cluster)
        config = ConsumerConfig(bootstrap_servers="broker-0:9092", group_id=None, **options)
        self.client = NetworkClient(self.driver, config)
        self.subscriptions = SubscriptionState(reset)
        self.fetcher = Fetcher(self.client, self.subscriptions, config)
        self.client.metadata.set_topics(["t"])
        self.driver.result_of(spawn(self.client.bootstrap()), 10)

    def assign(self, *partitions: TopicPartition, offset: int | None = 0, epoch: int = -1) -> Setup:
        self.subscriptions.assign_from_user(partitions)
        for partition in partitions:
            if offset is None:
                self.subscriptions.request_offset_reset(partition)
            else:
                self.subscriptions.seek(partition, offset, epoch)
        return self

    def poll(self, within_ms: int = 300, count: int = 1000) -> dict[TopicPartition, list[ConsumerRecord]]:
        found = self.fetcher.collect(count)
        if not found:
            self.fetcher.is_awaited = lambda: True
            self.fetcher.fetch_soon()
            self.driver.run()
            for _ in range(within_ms):
                if self.fetcher.has_records():
                    break
                self.driver.advance(1)
            self.fetcher.is_awaited = lambda: False
            found = self.fetcher.collect(count)
        return found

    def values(self, **options: Any) -> dict[TopicPartition, list[Any]]:
        return {partition: [r.value for r in records] for partition, records in self.poll(**options).items()}

    def offset(self, partition: TopicPartition = A) -> int | None:
        position = self.subscriptions.position(partition)
        return None if position is None else position.offset

    def asked(self, node_id: int = 0) -> list[dict[int, int]]:
        """Of each Fetch: partition -> offset."""
        return [
            {p.partition: p.fetch_offset for t in request.topics for p in t.partitions}
            for request in self.cluster.brokers[node_id].asked(ApiKey.FETCH)
        ]

    # --- the brokers

    def fetch(self, node_id: int, request: Any) -> Any:
        answers = []
        for topic in request.topics:
            for wanted in topic.partitions:
                partition = TopicPartition("t", wanted.partition)
                error = self.errors.get(partition, Errors.NONE)
                if self.only_leaders_answer and node_id != self.cluster.topics["t"].partitions[0].leader_id:
                    error = Errors.NOT_LEADER_OR_FOLLOWER
                records = b"".join(b for b in self.logs[partition] if RecordBatch(b).next_offset > wanted.fetch_offset)
                last = RecordBatch(self.logs[partition][-1]).next_offset if self.logs[partition] else 0
                if error is not Errors.NONE or records or self.extra:
                    answers.append(
                        FetchResponse.PartitionData(
                            partition_index=wanted.partition,
                            error_code=error.code,
                            high_watermark=-1 if error is not Errors.NONE else last,
                            last_stable_offset=-1 if error is not Errors.NONE else last,
                            log_start_offset=0,
                            aborted_transactions=[],
                            records=b"" if error is not Errors.NONE else records,
                            **self.extra,
                        )
                    )
        if not answers:
            return SILENCE  # as in a long poll
        full = {p.partition for t in request.topics for p in t.partitions}
        for index in full - {a.partition_index for a in answers}:
            answers.append(FetchResponse.PartitionData(partition_index=index, high_watermark=0, records=b""))
        topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=b"i" * 16, partitions=answers)
        return FetchResponse(responses=[topic])

    def list_offsets(self, request: Any) -> ListOffsetsResponse:
        entry = ListOffsetsResponse.ListOffsetsPartitionResponse
        partitions = []
        for wanted in request.topics[0].partitions:
            partition = TopicPartition("t", wanted.partition_index)
            log = self.logs[partition]
            last = RecordBatch(log[-1]).next_offset if log else 0
            offset = {-1: last, -2: 0}.get(wanted.timestamp, -1 if wanted.timestamp > 100 else 1)
            error = self.errors.get(partition, Errors.NONE)
            partitions.append(
                entry(partition_index=wanted.partition_index, error_code=error.code, offset=offset, timestamp=7)
            )
        topic = ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=partitions)
        return ListOffsetsResponse(topics=[topic])

    def epoch_ends(self, epoch: int, end_offset: int) -> None:
        """What OffsetForLeaderEpoch answers those who know the leader's epoch."""

        def answer(request: Any) -> OffsetForLeaderEpochResponse:
            known = request.topics[0].partitions[0].current_leader_epoch
            fenced = known < self.cluster.topics["t"].partitions[0].leader_epoch
            entry = OffsetForLeaderEpochResponse.EpochEndOffset(
                error_code=Errors.FENCED_LEADER_EPOCH.code if fenced else 0,
                partition=0,
                leader_epoch=epoch,
                end_offset=end_offset,
            )
            topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic="t", partitions=[entry])
            return OffsetForLeaderEpochResponse(topics=[topic])

        for broker in self.cluster.brokers.values():
            broker.handlers[ApiKey.OFFSET_FOR_LEADER_EPOCH] = answer

    def new_leader(self, node_id: int, epoch: int) -> None:
        self.cluster.add_topic("t", [node_id, node_id], epoch=epoch, topic_id=b"i" * 16)
        self.client.metadata.request_update()
        self.driver.advance(200)


class AskingDeserializer(Deserializer):
    """Has to ask before it reads a value that begins with "?"; the answers are failures first."""

    def __init__(self, failures: list[Exception]) -> None:
        self.failures = failures
        self.known = False

    def for_client(self, *, is_key: bool, waits: bool) -> AskingDeserializer:
        assert (is_key, waits) == (False, False)
        return self

    def deserialize(self, topic: str, headers: Any, data: bytes) -> bytes:
        if data[:1] == b"?" and not self.known:
            raise LookUpFirst(self.look_up)
        return data

    def look_up(self) -> None:
        if self.failures:
            raise self.failures.pop()
        self.known = True


class TestGivingOut:
    def test_records_with_all_their_fields(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"a", b"b", epoch=3)]
        records = setup.poll()[A]
        assert records[1] == ConsumerRecord("t", 0, 3, 1, 0, 0, b"k", b"b", [], None, 1, 1, -1)
        position = setup.subscriptions.position(A)
        assert position is not None
        assert (position.offset, position.offset_epoch) == (2, 3)
        assert setup.subscriptions.state(A).high_watermark == 2

    def test_what_is_too_much_waits_and_costs_no_other_fetch(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"0", b"1", b"2"), batch(3, b"3")]
        assert setup.values(count=2) == {A: [b"0", b"1"]}
        assert setup.offset() == 2
        assert setup.values(count=1) == {A: [b"2"]}
        assert setup.values() == {A: [b"3"]}
        assert setup.asked()[0] == {0: 0}
        assert all(asked == {0: 4} for asked in setup.asked()[1:])

    def test_several_partitions(self) -> None:
        setup = Setup().assign(A, B)
        setup.logs = {A: [batch(0, b"a")], B: [batch(0, b"b", b"c")]}
        assert setup.values() == {A: [b"a"], B: [b"b", b"c"]}

    def test_arrow(self) -> None:
        setup = Setup().assign(A, B)
        setup.logs = {A: [batch(0, b"a")], B: [batch(0, b"b", b"c")]}
        assert setup.fetcher.collect_arrow() is None
        setup.driver.run()
        table = setup.fetcher.collect_arrow(2)
        assert table is not None
        assert table.num_rows == 2
        rest = setup.fetcher.collect_arrow()
        assert rest is not None
        assert sorted(table["value"].to_pylist() + rest["value"].to_pylist()) == [b"a", b"b", b"c"]
        assert (setup.offset(A), setup.offset(B)) == (1, 2)

    def test_a_paused_partition_keeps_its_records(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"a")]
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.subscriptions.state(A).paused = True
        assert setup.values(within_ms=10) == {}
        setup.subscriptions.state(A).paused = False
        assert setup.values() == {A: [b"a"]}
        assert setup.asked()[0] == {0: 0}

    def test_a_seek_drops_what_is_here(self) -> None:
        setup = Setup(max_partition_fetch_bytes=50).assign(A)
        setup.logs[A] = [batch(0, b"0"), batch(1, b"1")]
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.subscriptions.seek(A, 1)
        assert setup.values() == {A: [b"1"]}

    def test_a_partition_that_is_taken_away(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"0")]
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.subscriptions.assign_from_user([B])
        setup.subscriptions.seek(B, 0)
        assert setup.values(within_ms=10) == {}

    def test_deserializers_and_one_that_fails(self) -> None:
        setup = Setup(value_deserializer=lambda data: data.decode("ascii"), max_partition_fetch_bytes=50).assign(A)
        setup.logs[A] = [batch(0, b"a", b"b", b"\xff", b"d")]
        assert setup.values() == {A: ["a", "b"]}
        for _ in range(2):
            with pytest.raises(
                RecordDeserializationError, match="value of the record at topic t, partition 0, offset 2"
            ) as raised:
                setup.poll()
            assert isinstance(raised.value.__cause__, UnicodeDecodeError)
        assert setup.offset() == 2
        setup.subscriptions.seek(A, 3)
        assert setup.values() == {A: ["d"]}

    def test_a_deserializer_that_must_look_up_something_first(self) -> None:
        asking = AskingDeserializer([KafkaError(Errors.NETWORK_EXCEPTION, "nobody there")])
        setup = Setup(value_deserializer=asking).assign(A)
        setup.logs[A] = [batch(0, b"a", b"?b", b"c")]
        assert setup.values() == {A: [b"a"]}
        with pytest.raises(
            LookUpFailedError, match=r"topic t, partition 0, offset 1 cannot be deserialized yet: .*nobody"
        ):
            setup.values()
        assert setup.offset() == 1
        assert setup.values() == {A: [b"?b", b"c"]}

    @pytest.mark.parametrize("more", [0, 20])  # few records, and many
    def test_what_cannot_be_read_is_told_with_the_raw_record(self, more: int) -> None:
        setup = Setup(key_deserializer=int, value_deserializer=bytes.decode).assign(A)
        builder = MemoryRecordsBuilder()
        builder.append(1_000, b"k", b"v", [(b"h", b"x"), (b"n", None)])
        for _ in range(more):
            builder.append(2_000, b"1", b"\xff")
        setup.logs[A] = [builder.build()]
        with pytest.raises(RecordDeserializationError) as raised:
            setup.poll()
        error = pickle.loads(pickle.dumps(raised.value))
        assert str(error) == str(raised.value)
        assert "The key of the record at topic t, partition 0, offset 0 cannot" in str(error)
        assert "ValueError: invalid literal" in str(error)  # that of the key, though a later value is bad, too
        assert (error.origin, error.topic_partition, error.offset) == ("key", A, 0)
        assert (error.timestamp, error.timestamp_type) == (1_000, 0)
        assert (error.key_buffer, error.value_buffer) == (b"k", b"v")
        assert error.headers == [("h", b"x"), ("n", None)]

    def test_skipping_what_cannot_be_read(self, caplog: pytest.LogCaptureFixture) -> None:
        setup = Setup(key_deserializer=bytes.decode, value_deserializer=int, deserialization_policy="skip").assign(A)
        setup.logs[A] = [batch(0, b"x", b"1", b"y", b"2", *[b"3"] * 20, b"z"), batch(25, b"w")]
        assert setup.values(count=2) == {A: [1, 2]}
        assert setup.offset() == 4
        assert setup.values() == {A: [3] * 20}
        assert setup.offset() == 26
        assert [message.split(" from")[0] for message in caplog.messages] == [
            f"Skipped {count} of the records" for count in (1, 1, 2)
        ]
        assert "offset 2: ValueError(" in caplog.messages[1]

    def test_a_look_up_among_records_that_are_skipped(self) -> None:
        asking = AskingDeserializer([KafkaError(Errors.NETWORK_EXCEPTION, "nobody there")])
        setup = Setup(key_deserializer=int, value_deserializer=asking, deserialization_policy="skip").assign(A)
        builder = MemoryRecordsBuilder()
        for key, value in ((b"x", b"a"), (b"1", b"?b"), (b"y", b"c"), (b"2", b"d")):
            builder.append(0, key, value)
        setup.logs[A] = [builder.build()]
        with pytest.raises(LookUpFailedError, match="offset 1"):
            setup.values()
        assert setup.values() == {A: [b"?b", b"d"]}

    def test_a_policy_is_asked_before_a_record_is_passed_over(self) -> None:
        heard: list[RecordDeserializationError] = []
        failures = [OSError("no dead letters today")]

        def policy(error: RecordDeserializationError) -> None:
            heard.append(error)
            if failures:
                raise failures.pop()

        setup = Setup(value_deserializer=int, deserialization_policy=policy).assign(A)
        setup.logs[A] = [batch(0, b"1", b"x", b"2", b"y"), batch(4, b"3")]
        assert setup.values() == {A: [1]}
        with pytest.raises(OSError, match="today"):
            setup.values()
        assert setup.offset() == 1
        assert setup.values() == {A: [2]}
        assert setup.values() == {A: [3]}
        assert [(error.offset, error.value_buffer) for error in heard] == [(1, b"x"), (1, b"x"), (3, b"y")]
        assert isinstance(heard[0].__cause__, ValueError)

    def test_a_policy_that_is_a_coroutine_function_skips_nothing(self) -> None:
        async def nothing() -> None:
            return None

        left = [nothing()]
        setup = Setup(value_deserializer=int, deserialization_policy=lambda _: left[0]).assign(A)
        setup.logs[A] = [batch(0, b"x", b"1")]
        with pytest.raises(TypeError, match="plain function"):
            setup.values()
        assert setup.offset() == 0
        left[0].close()

    def test_damage_is_told_after_the_records_before_and_can_be_passed_by(self) -> None:
        setup = Setup(max_partition_fetch_bytes=50).assign(A)
        bad = bytearray(batch(1, b"bad"))
        bad[-2] ^= 1
        setup.logs[A] = [batch(0, b"a"), bytes(bad), batch(2, b"c")]
        assert setup.values() == {A: [b"a"]}
        with pytest.raises(CorruptRecordError, match="t-0 at offset 1 is invalid"):
            setup.poll()
        setup.subscriptions.seek(A, 2)
        assert setup.values() == {A: [b"c"]}


class TestAsking:
    def test_the_next_fetch_goes_out_before_the_records_are_taken(self) -> None:
        setup = Setup(max_partition_fetch_bytes=100).assign(A)
        setup.logs[A] = [batch(0, b"a" * 80)]
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.asked() == [{0: 0}]  # the partition has enough here
        assert setup.values() == {A: [b"a" * 80]}
        setup.driver.run()
        assert setup.asked() == [{0: 0}, {0: 1}]

    def test_memory_is_bounded(self) -> None:
        setup = Setup(max_partition_fetch_bytes=1000, fetch_max_bytes=1000).assign(A)
        log = [batch(i, b"x" * 400) for i in range(50)]
        for size in range(1, 20):
            setup.logs[A] = log[:size]
            setup.fetcher.send_fetches()
            setup.driver.run()
        assert len(setup.asked()) <= 4

    def test_options_reach_the_request(self) -> None:
        setup = Setup(
            isolation_level="read_committed",
            client_rack="r1",
            fetch_min_bytes=5,
            fetch_max_wait_ms=7,
            fetch_max_bytes=9,
        ).assign(A)
        setup.fetcher.send_fetches()
        setup.driver.run()
        request = setup.cluster.brokers[0].asked(ApiKey.FETCH)[0]
        assert (request.isolation_level, request.rack_id, request.min_bytes) == (1, "r1", 5)
        assert (request.max_wait_ms, request.max_bytes) == (7, 9)

    def test_a_broker_of_release_1_0(self) -> None:
        setup = Setup().assign(A)
        for broker in setup.cluster.brokers.values():
            broker.ranges[ApiKey.FETCH] = (0, 6)
            broker.ranges[ApiKey.LIST_OFFSETS] = (0, 2)
        setup.logs[A] = [batch(0, b"a")]
        assert setup.values() == {A: [b"a"]}

    def test_topics_without_ids(self) -> None:
        setup = Setup()
        setup.cluster.add_topic("t", [0, 0])
        setup.client.metadata.request_update()
        setup.driver.advance(200)
        setup.assign(A).logs[A] = [batch(0, b"a")]
        assert setup.values() == {A: [b"a"]}
        versions = [version for key, version, _ in setup.cluster.brokers[0].requests if key is ApiKey.FETCH]
        assert versions[0] == 12

    def test_closing_ends_the_session(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"a")]

        def with_session(request: Any) -> Any:
            answer = setup.fetch(0, request)
            if answer is not SILENCE:
                answer.session_id = 77
            return answer

        setup.cluster.brokers[0].handlers[ApiKey.FETCH] = with_session
        assert setup.values() == {A: [b"a"]}
        setup.driver.run()
        setup.fetcher.close()
        setup.driver.run()
        last = setup.cluster.brokers[0].asked(ApiKey.FETCH)[-1]
        assert (last.session_id, last.session_epoch) == (77, -1)


class TestTrouble:
    def test_a_moved_leader(self) -> None:
        setup = Setup().assign(A)
        setup.logs[A] = [batch(0, b"a")]
        setup.cluster.add_topic("t", [1, 1], epoch=1, topic_id=b"i" * 16)
        setup.only_leaders_answer = True
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.asked(0) == [{0: 0}]
        assert setup.values(within_ms=1000) == {A: [b"a"]}
        assert setup.asked(1)[0] == {0: 0}

    def test_the_answer_names_the_new_leader(self) -> None:
        setup = Setup().assign(A)
        setup.errors[A] = Errors.FENCED_LEADER_EPOCH
        setup.extra = {"current_leader": FetchResponse.LeaderIdAndEpoch(leader_id=1, leader_epoch=9)}
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.errors.clear()
        setup.extra.clear()
        setup.logs[A] = [batch(0, b"a")]
        assert setup.values(within_ms=20) == {A: [b"a"]}
        assert setup.asked(1)[0] == {0: 0}

    def test_a_cut_connection(self) -> None:
        setup = Setup().assign(A)
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.cluster.brokers[0].cut()
        setup.logs[A] = [batch(0, b"a")]
        assert setup.values(within_ms=1000) == {A: [b"a"]}

    @pytest.mark.parametrize(("strategy", "offset"), [("EARLIEST", 0), ("LATEST", 2)])
    def test_out_of_range_resets(self, strategy: str, offset: int) -> None:
        setup = Setup(OffsetResetStrategy[strategy]).assign(A, offset=50)
        setup.logs[A] = [batch(0, b"a", b"b")]
        setup.errors[A] = Errors.OFFSET_OUT_OF_RANGE
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.subscriptions.state(A).fetch_state is FetchState.AWAIT_RESET
        setup.errors.clear()
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.offset() == offset

    def test_out_of_range_without_a_policy(self) -> None:
        setup = Setup(OffsetResetStrategy.NONE).assign(A, offset=50)
        setup.errors[A] = Errors.OFFSET_OUT_OF_RANGE
        with pytest.raises(OffsetOutOfRangeError) as caught:
            setup.poll()
        assert caught.value.args[0] == {A: 50}

    def test_no_permission(self) -> None:
        setup = Setup().assign(A)
        setup.errors[A] = Errors.TOPIC_AUTHORIZATION_FAILED
        with pytest.raises(TopicAuthorizationFailedError):
            setup.poll()

    def test_a_preferred_replica_and_the_way_back(self) -> None:
        setup = Setup(client_rack="r").assign(A)
        setup.extra = {"preferred_read_replica": 1}
        setup.fetcher.send_fetches()
        setup.driver.run()
        setup.extra.clear()
        setup.errors[A] = Errors.OFFSET_OUT_OF_RANGE  # the follower is behind
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.asked(1) == [{0: 0}]
        setup.errors.clear()
        setup.logs[A] = [batch(0, b"a")]
        assert setup.values() == {A: [b"a"]}
        assert setup.asked(0)[-1] in ({0: 0}, {0: 1})
        assert len(setup.asked(1)) == 1


class TestPositions:
    def test_a_reset_is_looked_up_and_then_fetched(self) -> None:
        setup = Setup().assign(A, offset=None)
        setup.logs[A] = [batch(0, b"a")]
        assert setup.values() == {A: [b"a"]}

    def test_a_reset_is_tried_again(self) -> None:
        setup = Setup().assign(A, offset=None)
        setup.logs[A] = [batch(0, b"a")]
        setup.errors[A] = Errors.LEADER_NOT_AVAILABLE
        setup.fetcher.send_fetches()
        setup.driver.run()
        assert setup.offset() is None
        setup.errors.clear()
        assert setup.values(within_ms=1000) == {A: [b"a"]}

    def test_look_ups(self) -> None:
        setup = Setup()
        setup.logs[A] = [batch(0, b"a", b"b")]
        fetcher, driver = setup.fetcher, setup.driver
        assert driver.result_of(spawn(fetcher.beginning_offsets([A, B])), 10) == {A: 0, B: 0}
        assert driver.result_of(spawn(fetcher.end_offsets([A])), 10) == {A: 2}
        found = driver.result_of(spawn(fetcher.offsets_for_times({A: 50, B: 5000})), 10)
        assert found == {A: OffsetAndTimestamp(1, 7, -1), B: None}

    def test_a_look_up_that_finds_no_leader(self) -> None:
        setup = Setup()
        setup.cluster.add_topic("t", [-1, -1], epoch=2, topic_id=b"i" * 16)
        setup.new_leader(-1, 2)
        with pytest.raises(KafkaTimeoutError):
            setup.driver.result_of(spawn(setup.fetcher.end_offsets([A], 500)), 1000)

    def test_a_position_is_confirmed_by_a_new_leader(self) -> None:
        setup = Setup().assign(A, offset=2, epoch=0)
        setup.logs[A] = [batch(0, b"a", b"b"), batch(2, b"c")]
        setup.epoch_ends(0, 3)
        setup.new_leader(1, 4)
        assert setup.values() == {A: [b"c"]}
        assert len(setup.cluster.brokers[1].asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)) == 1

    def test_a_leader_that_went_before_it_confirmed_is_not_waited_for(self) -> None:
        """As when partitions move: the next leader comes while the first is still asked."""
        setup = Setup().assign(A, offset=2, epoch=0)
        setup.logs[A] = [batch(0, b"a", b"b"), batch(2, b"c")]
        setup.epoch_ends(0, 3)
        setup.new_leader(1, 4)
        setup.cluster.add_topic("t", [0, 0], epoch=5, topic_id=b"i" * 16)
        assert setup.values(within_ms=2000) == {A: [b"c"]}
        known = [
            request.topics[0].partitions[0].current_leader_epoch
            for broker in setup.cluster.brokers.values()
            for request in broker.asked(ApiKey.OFFSET_FOR_LEADER_EPOCH)
        ]
        assert known == [5, 4]

    def test_a_truncated_log_sends_back_to_where_it_diverges(self) -> None:
        setup = Setup().assign(A, offset=2, epoch=0)
        setup.logs[A] = [batch(0, b"a"), batch(1, b"new", epoch=4)]
        setup.epoch_ends(0, 1)
        setup.new_leader(1, 4)
        assert setup.values() == {A: [b"new"]}

    def test_a_truncated_log_without_a_policy(self) -> None:
        setup = Setup(OffsetResetStrategy.NONE).assign(A, offset=2, epoch=0)
        setup.epoch_ends(0, 1)
        setup.new_leader(1, 4)
        with pytest.raises(LogTruncationError) as caught:
            setup.poll()
        assert caught.value.divergent_offsets == {A: OffsetAndMetadata(1, "", 0)}

    def test_an_epoch_that_the_leader_does_not_know(self) -> None:
        setup = Setup().assign(A, offset=2, epoch=0)
        setup.logs[A] = [batch(0, b"a")]
        setup.epoch_ends(-1, -1)
        setup.new_leader(1, 4)
        assert setup.values() == {A: [b"a"]}

    def test_brokers_that_are_too_old_to_confirm(self) -> None:
        setup = Setup().assign(A, offset=0, epoch=0)
        setup.cluster.brokers[1].ranges[ApiKey.OFFSET_FOR_LEADER_EPOCH] = (0, 2)
        setup.logs[A] = [batch(0, b"a")]
        setup.new_leader(1, 4)
        assert setup.values() == {A: [b"a"]}


class TestFewRecords:
    """A response with a record or two is read without columns: the same comes out."""

    def test_as_among_many(self) -> None:
        builder = MemoryRecordsBuilder(base_offset=3, partition_leader_epoch=7)
        builder.append(1000, None, b"a")
        builder.append(1001, b"k", None)
        few, many = Setup(), Setup()
        few.logs[A] = [builder.build()]
        many.logs[A] = [builder.build(), batch(5, b"more")]
        expected = many.assign(A, offset=4).poll()[A][:1]
        assert few.assign(A, offset=4).poll() == {A: expected}
        assert expected[0].leader_epoch == 7
        assert few.offset() == 5

    @pytest.mark.parametrize("count", [1, 2])
    def test_a_deserializer_that_fails(self, count: int) -> None:
        setup = Setup(value_deserializer=lambda data: int(data)).assign(A)
        builder = MemoryRecordsBuilder()
        for value in [b"1", b"x"][2 - count :]:
            builder.append(0, None, value)
        setup.logs[A] = [builder.build()]
        if count == 2:
            assert [record.value for record in setup.poll()[A]] == [1]
        with pytest.raises(RecordDeserializationError, match="ValueError: invalid literal"):
            setup.poll()
        assert setup.offset() == count - 1

    def test_damage(self) -> None:
        setup = Setup().assign(A)
        damaged = bytearray(batch(0, b"a"))
        damaged[-1] ^= 1
        setup.logs[A] = [bytes(damaged)]
        with pytest.raises(CorruptRecordError, match="at offset 0 is invalid"):
            setup.poll()
