from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    ClientError,
    InvalidRecordError,
    InvalidTopicError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    TopicAuthorizationFailedError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.runtime.completion import spawn
from tests.producer.producer_setup import Setup

PARTITION = TopicPartition("t", 0)


def test_records_go_out_in_one_batch_and_futures_tell_where() -> None:
    setup = Setup()
    futures = [setup.send(b"%d" % i, timestamp_ms=1000 + i) for i in range(10)]
    assert not futures[0].is_done
    setup.flush()
    assert setup.log().batch_sizes == [10]
    assert [future.get(0).offset for future in futures] == list(range(10))
    metadata = futures[3].get(0)
    assert metadata.topic_partition == PARTITION
    assert (metadata.timestamp, metadata.serialized_value_size, metadata.serialized_key_size) == (1003, 1, -1)
    assert setup.core.accumulator.available == setup.config.buffer_memory


def test_without_linger_the_first_record_goes_at_once() -> None:
    setup = Setup()
    future = setup.send(b"x")
    setup.driver.run()
    assert future.succeeded()


def test_linger_collects_and_a_full_batch_does_not_wait() -> None:
    setup = Setup(linger_ms=50, batch_size=1000)
    first = setup.send(b"x")
    setup.driver.advance(49)
    assert not first.is_done
    setup.driver.advance(2)
    assert first.succeeded()
    futures = [setup.send(bytes(300)) for _ in range(4)]
    setup.driver.run()
    assert [future.is_done for future in futures] == [True, True, True, False]
    setup.driver.advance(51)
    assert futures[3].succeeded()
    assert setup.log().batch_sizes == [1, 3, 1]


def test_flush_does_not_wait_for_linger() -> None:
    setup = Setup(linger_ms=60_000)
    future = setup.send(b"x")
    setup.flush(10)
    assert future.succeeded()


def test_batches_grow_while_the_broker_is_busy_unless_the_size_was_chosen() -> None:
    for batch_size, sizes in ((None, [1, 1, 1, 1, 1, 95]), (2000, None)):
        setup = Setup() if batch_size is None else Setup(batch_size=batch_size)
        setup.send(b"first")
        setup.flush()
        broker = setup.cluster.brokers[0]
        broker.silent = True
        for i in range(5):
            setup.send(b"%d" % i)
            setup.driver.run()
        for _ in range(95):
            setup.send(bytes(500))
        queue = setup.core.accumulator.waiting[PARTITION]
        if sizes:
            assert [len(batch.values) for batch in queue.batches] == [95]
        else:
            assert max(len(batch.values) for batch in queue.batches) == 3


def test_at_most_five_requests_in_flight() -> None:
    setup = Setup(batch_size=0)
    setup.send(b"first")
    setup.flush()
    setup.cluster.brokers[0].silent = True
    for i in range(20):
        setup.send(b"%d" % i)
    setup.driver.run()
    assert len(setup.produce_requests()) == 1 + 5


@pytest.mark.parametrize("fault", ["lost", "unheard", Errors.NOT_LEADER_OR_FOLLOWER, Errors.REQUEST_TIMED_OUT])
def test_a_retry_keeps_order_and_neither_loses_nor_doubles(fault: Errors | str) -> None:
    setup = Setup(batch_size=0)
    failures = {1, 3, 4, 9}
    seen = 0

    def fail_some(*_: object) -> Errors | str | None:
        nonlocal seen
        seen += 1
        return fault if seen in failures else None

    setup.fault = fail_some
    futures = [setup.send(b"%d" % i) for i in range(30)]
    setup.flush()
    assert setup.log().values == [b"%d" % i for i in range(30)]
    assert [future.get(0).offset for future in futures] == list(range(30))


def test_a_batch_whose_answer_was_lost_is_known_again_however_often_its_retries_fail() -> None:
    setup = Setup(batch_size=0)
    setup.send(b"0")
    setup.flush()
    fates: Iterator[Errors | str] = iter(["unheard", *[Errors.NOT_ENOUGH_REPLICAS] * 3])
    setup.fault = lambda _, batch: next(fates, None) if batch.base_sequence == 1 else None
    futures = [setup.send(b"1")]
    setup.driver.run()
    for i in range(2, 20):  # the broker takes them, as it has the first, and knows the last five batches again
        futures.append(setup.send(b"%d" % i))
    setup.flush()
    assert setup.log().values == [b"%d" % i for i in range(20)]
    assert [future.get(0).offset for future in futures] == list(range(1, 20))
    assert setup.producer_ids == 1


@pytest.mark.parametrize("seed", range(12))
def test_any_mix_of_faults(seed: int) -> None:
    rng = random.Random(seed)
    random.seed(seed)  # the jitter of back-offs
    setup = Setup([0, 1, 0], batch_size=rng.choice([0, 60, 16384]))
    retriable: list[Errors | str] = [
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.REQUEST_TIMED_OUT,
        Errors.NOT_ENOUGH_REPLICAS,
        "lost",
        "unheard",
    ]
    setup.fault = lambda *_: rng.choice(retriable) if rng.random() < 0.3 else None
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    futures = []
    for i in range(200):
        partition = rng.randrange(3)
        sent[partition].append(b"%d" % i)
        futures.append(setup.send(b"%d" % i, partition=partition))
        if rng.random() < 0.3:
            setup.driver.advance(rng.randrange(30))
    setup.flush(60_000)
    assert all(future.succeeded() for future in futures)
    assert {partition: setup.log(partition).values for partition in sent} == sent


def test_a_broker_that_is_down_for_a_while() -> None:
    setup = Setup(max_in_flight_requests_per_connection=5)
    setup.send(b"0")
    setup.flush()
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    futures = [setup.send(b"%d" % i) for i in range(1, 50)]
    setup.driver.advance(5_000)
    assert not any(future.is_done for future in futures)
    setup.cluster.down.clear()
    setup.flush(40_000)
    assert setup.log().values == [b"%d" % i for i in range(50)]


def test_leader_change_is_followed_without_back_off() -> None:
    setup = Setup([0], retry_backoff_ms=1000)
    setup.cluster.brokers[1] = type(setup.cluster.brokers[0])(setup.cluster, 1, "broker-1", 9092)
    setup.cluster.brokers[1].handlers[ApiKey.PRODUCE] = setup.produce

    def moved(request: ProduceRequest) -> ProduceResponse:
        setup.cluster.add_topic("t", [1], epoch=1)
        response = setup.produce(request)
        assert response is not None
        return response

    setup.cluster.brokers[0].handlers[ApiKey.PRODUCE] = moved
    setup.fault = lambda *_: None if setup.cluster.brokers[1].asked(ApiKey.PRODUCE) else Errors.NOT_LEADER_OR_FOLLOWER
    future = setup.send(b"x")
    setup.driver.advance(900)  # the metadata request waits for its own back-off, the batch doesn't
    setup.driver.advance(1200)
    assert future.succeeded()
    assert len(setup.cluster.brokers[1].asked(ApiKey.PRODUCE)) == 1


def test_final_errors_are_raised_by_the_future_and_the_next_records_go_on() -> None:
    setup = Setup()
    setup.fault = lambda *_: Errors.TOPIC_AUTHORIZATION_FAILED
    refused = setup.send(b"x")
    setup.flush()
    errors: list[BaseException] = []
    refused.add_errback(errors.append).add_callback(lambda _: errors.append(AssertionError()))
    assert [type(error) for error in errors] == [TopicAuthorizationFailedError]
    with pytest.raises(TopicAuthorizationFailedError):
        refused.get(0)
    assert refused.failed() and not refused.retriable()
    setup.fault = lambda *_: None
    accepted = setup.send(b"y")
    setup.flush()
    assert accepted.succeeded()
    assert setup.log().values == [b"y"]


def test_retries_zero() -> None:
    setup = Setup(retries=0, enable_idempotence=False)
    setup.fault = lambda *_: Errors.NOT_LEADER_OR_FOLLOWER
    future = setup.send(b"x")
    setup.flush()
    with pytest.raises(NotLeaderForPartitionError):
        future.get(0)
    assert future.retriable()


def test_delivery_timeout_in_the_queue_and_in_flight() -> None:
    setup = Setup(delivery_timeout_ms=1000, request_timeout_ms=30_000)
    setup.send(b"0")
    setup.flush()
    setup.cluster.brokers[0].silent = True
    in_flight = setup.send(b"1")
    setup.driver.advance(10)
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    queued = setup.send(b"2")
    setup.driver.advance(990)
    assert not queued.is_done
    setup.driver.advance(20)
    for future in (in_flight, queued):
        with pytest.raises(KafkaTimeoutError, match="Expiring 1 record"):
            future.get(0)
    assert setup.core.accumulator.available == setup.config.buffer_memory


def test_an_expired_batch_says_what_its_last_attempt_has_failed_with() -> None:
    setup = Setup(delivery_timeout_ms=1000)
    setup.fault = lambda *_: Errors.KAFKA_STORAGE_ERROR
    future = setup.send(b"1")
    setup.driver.advance(2000)
    with pytest.raises(
        KafkaTimeoutError, match=r"Expiring 1 record.*the last attempt has failed with.*KafkaStorageError"
    ):
        future.get(0)


def test_after_an_expired_batch_sequences_begin_anew() -> None:
    setup = Setup(delivery_timeout_ms=1000, batch_size=0)
    setup.send(b"0")
    setup.flush()
    setup.fault = lambda *_: "unheard"
    expired = setup.send(b"1")
    setup.driver.advance(1500)
    assert expired.failed()
    setup.fault = lambda *_: None
    futures = [setup.send(b"%d" % i) for i in range(2, 6)]
    setup.flush()
    assert all(future.succeeded() for future in futures)
    assert setup.log().values == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert setup.core.sequences is not None
    assert setup.core.sequences.producer.epoch == 1


@pytest.mark.parametrize("error", [Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE])
def test_a_batch_that_is_too_large_is_split(error: Errors) -> None:
    """For the topic's limit on batches, or for its segments: batches that wait grow beyond what the user would choose."""
    setup = Setup()
    setup.fault = lambda _, batch: error if batch.size_in_bytes > 1000 else None
    futures = [setup.send(b"%03d" % i + bytes(97), key=b"k%d" % i) for i in range(100)]
    setup.flush()
    assert [value[:3] for value in setup.log().values if value] == [b"%03d" % i for i in range(100)]
    assert [future.get(0).offset for future in futures] == list(range(100))
    assert setup.core.accumulator.available == setup.config.buffer_memory


def test_a_record_that_is_too_large_for_the_topic() -> None:
    setup = Setup()
    setup.fault = lambda _, batch: Errors.MESSAGE_TOO_LARGE if batch.size_in_bytes > 1000 else None
    small, large, small2 = setup.send(b"a"), setup.send(bytes(2000)), setup.send(b"b")
    setup.flush()
    with pytest.raises(MessageSizeTooLargeError):
        large.get(0)
    assert small.succeeded() and small2.succeeded()
    assert setup.log().values == [b"a", b"b"]


def test_records_that_are_to_blame() -> None:
    setup = Setup()

    def refuse(request: object) -> ProduceResponse:
        blamed = ProduceResponse.BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")
        answer = ProduceResponse.PartitionProduceResponse(index=0, error_code=87, record_errors=[blamed])
        return ProduceResponse(responses=[ProduceResponse.TopicProduceResponse(name="t", partition_responses=[answer])])

    setup.cluster.brokers[0].handlers[ApiKey.PRODUCE] = refuse
    good, bad = setup.send(b"0"), setup.send(b"1")
    setup.flush()
    assert isinstance(bad.exception, InvalidRecordError) and "no key" in str(bad.exception)
    assert "part of a batch" in str(good.exception)


def test_acks_zero_does_not_wait_for_an_answer() -> None:
    setup = Setup(acks=0)
    assert not setup.config.enable_idempotence
    setup.cluster.brokers[0].handlers[ApiKey.PRODUCE] = lambda request: setup.produce(request) and b""
    future = setup.send(b"x")
    setup.driver.run()
    assert future.get(0).offset == -1
    assert setup.log().values == [b"x"]


def test_one_in_flight_keeps_order_without_idempotence() -> None:
    setup = Setup(enable_idempotence=False, max_in_flight_requests_per_connection=1, batch_size=0)
    answers = iter(["lost", None, "lost", None, Errors.NOT_LEADER_OR_FOLLOWER] + [None] * 50)
    setup.fault = lambda *_: next(answers)
    for i in range(20):
        setup.send(b"%d" % i)
    setup.flush()
    assert setup.log().values == [b"%d" % i for i in range(20)]


def test_an_old_broker_disables_idempotence() -> None:
    setup = Setup(start=False)
    broker = setup.cluster.brokers[0]
    del broker.ranges[ApiKey.INIT_PRODUCER_ID]
    setup.driver.result_of(spawn(setup.core.start()), 100)
    setup.driver.result_of(spawn(setup.core.wait_on_metadata("t")), 100)
    future = setup.send(b"x")
    setup.flush()
    assert future.succeeded()
    assert setup.core.sender.sequences is None


def test_close_sends_what_waits_and_fails_what_cannot_be_sent() -> None:
    setup = Setup(linger_ms=10_000)
    future = setup.send(b"x")
    setup.driver.result_of(spawn(setup.core.close()), 100)
    assert future.succeeded()
    setup = Setup()
    setup.cluster.brokers[0].silent = True
    future = setup.send(b"x")
    setup.driver.result_of(spawn(setup.core.close(500)), 600)
    with pytest.raises(ClientError, match="forcefully"):
        future.get(0)


def test_who_waits_for_a_topic_is_told_that_no_broker_can_be_reached() -> None:
    setup = Setup(max_block_ms=3000)
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    with pytest.raises(KafkaTimeoutError, match=r"after 3.0 secs: The connection to broker-0:9092 .*refused"):
        setup.driver.result_of(spawn(setup.core.wait_on_metadata("other")), 3100)


def test_no_topic_can_have_such_a_name() -> None:
    setup = Setup()
    with pytest.raises(InvalidTopicError, match="Topic name is invalid: 'a b' contains"):
        setup.driver.result_of(spawn(setup.core.wait_on_metadata("a b")), 0)


def test_a_topic_that_never_comes() -> None:
    setup = Setup(max_block_ms=3000)
    waiting = spawn(setup.core.wait_on_metadata("other"))
    setup.driver.advance(3100)
    with pytest.raises(KafkaTimeoutError, match="other"):
        waiting.result()


def test_callbacks_get_the_result_and_their_arguments() -> None:
    setup = Setup()
    seen: list[object] = []
    future = setup.send(b"x").add_callback(lambda tag, metadata: seen.append((tag, metadata.offset)), "tag")
    future.add_both(lambda metadata: 1 / 0)  # is logged
    setup.flush()
    future.add_callback(seen.append)
    assert seen == [("tag", 0), future.value]


@pytest.mark.parametrize("seconds", [3, 25, 400])
def test_after_an_outage_of_any_length_it_is_back_within_2_s(seconds: int) -> None:
    setup = Setup(delivery_timeout_ms=10**9)
    setup.send(b"before")
    setup.flush()
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    waiting = setup.send(b"meanwhile")
    setup.core.sender.run()
    setup.driver.advance(seconds * 1000)
    setup.cluster.down.clear()
    setup.driver.advance(2_000)
    assert waiting.succeeded()
