"""The synchronous producer, with its thread, over real sockets."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

import kafkapy
from kafkapy.errors import IllegalStateError, KafkaTimeoutError, TopicAuthorizationFailedError
from kafkapy.protocol.api_keys import ApiKey
from tests.producing_broker import ProducingBroker
from tests.test_like_kafka_python import OTHERWISE
from tests.waiting import HANG_SECONDS, wait_until


@pytest.fixture
def broker() -> Iterator[ProducingBroker]:
    with ProducingBroker() as broker:
        yield broker


@pytest.fixture
def gate(broker: ProducingBroker) -> threading.Event:
    """Nothing that is produced is answered before it is set."""
    gate = threading.Event()

    def hesitate(request: Any) -> Any:
        gate.wait(HANG_SECONDS)
        return broker.produce(request)

    broker.handlers[ApiKey.PRODUCE] = hesitate
    return gate


def producer(broker: ProducingBroker, **options: Any) -> kafkapy.KafkaProducer:
    return kafkapy.KafkaProducer(bootstrap_servers=broker.address, **options)


def knows_topic(sending: kafkapy.KafkaProducer) -> bool:
    """Is there metadata of `t`? It takes longer than `max_block_ms` on a busy machine."""
    with contextlib.suppress(KafkaTimeoutError):
        return sending.partitions_for("t") == {0}
    return False


def test_send_flush_close(broker: ProducingBroker) -> None:
    with producer(broker) as sending:
        assert sending.partitions_for("t") == {0}
        assert sending.bootstrap_connected()
        futures = [sending.send("t", b"%d" % i) for i in range(5000)]
        assert futures[-1].get(HANG_SECONDS).offset == 4999
        sending.flush()
        assert all(future.succeeded() for future in futures)
        many = sending.send_many("t", [b"a", b"b"])
        assert [batch.offset for batch in many.get(HANG_SECONDS)] == [5000]
        figures = sending.metrics()
        assert figures is not None
        assert figures["producer-metrics"]["record-send-total"] == 5002
        sending.send("t", b"last")
    assert broker.values == [*(b"%d" % i for i in range(5000)), b"a", b"b", b"last"]
    sending.close()
    for call in (lambda: sending.send("t", b"x"), lambda: sending.send_many("t", [b"x"])):
        with pytest.raises(IllegalStateError, match="closed"):
            call()


def test_threads_share_a_producer(broker: ProducingBroker) -> None:
    with producer(broker) as sending:

        def send(name: int) -> None:
            for i in range(2000):
                sending.send("t", b"%d-%d" % (name, i))

        threads = [threading.Thread(target=send, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(broker.values) == 8000
    for name in range(4):
        own = [value for value in broker.values if value is not None and value.startswith(b"%d-" % name)]
        assert own == [b"%d-%d" % (name, i) for i in range(2000)]


def test_callbacks_run_on_the_client_s_thread_and_may_send(broker: ProducingBroker, gate: threading.Event) -> None:
    with producer(broker) as sending:
        called = threading.Event()
        names: list[str] = []

        def send_another(_: object) -> None:
            names.append(threading.current_thread().name)
            sending.send("t", b"second").add_callback(lambda _: called.set())

        sending.send("t", b"first").add_callback(send_another)
        gate.set()
        assert called.wait(HANG_SECONDS)
        assert names != [threading.current_thread().name]
    assert broker.values == [b"first", b"second"]


def test_a_callback_must_not_wait_for_a_delivery(broker: ProducingBroker, gate: threading.Event) -> None:
    with producer(broker) as sending:
        outcome: SimpleQueue[object] = SimpleQueue()

        def wait_for_another(_: object) -> None:
            try:
                outcome.put(sending.send("t", b"second").get())
            except IllegalStateError as error:
                outcome.put(str(error))

        sending.send("t", b"first").add_callback(wait_for_another)
        gate.set()
        assert "A callback waits for a delivery" in str(outcome.get(timeout=HANG_SECONDS))


def test_time_outs_are_kept_while_a_callback_takes_its_time(broker: ProducingBroker) -> None:
    entered, leave = threading.Event(), threading.Event()

    def take_time(_: object) -> None:
        entered.set()
        leave.wait(HANG_SECONDS)

    with producer(broker, max_block_ms=50) as sending:
        wait_until(lambda: knows_topic(sending))
        sending.send("t", b"first").add_callback(take_time)
        assert entered.wait(HANG_SECONDS)
        try:
            later = sending.send("t", b"second")
            for wait in (lambda: later.get(0.05), lambda: sending.flush(0.05), lambda: sending.send("new", b"x")):
                with pytest.raises(KafkaTimeoutError):
                    wait()
            assert not leave.is_set()
        finally:
            leave.set()
        assert later.get(HANG_SECONDS).offset == 1


def test_errors_of_a_topic_are_the_futures_errors(broker: ProducingBroker) -> None:
    with producer(broker) as sending:
        future = sending.send("secret", b"x")
        with pytest.raises(TopicAuthorizationFailedError):
            future.get(HANG_SECONDS)


def test_memory_that_stays_used_up(broker: ProducingBroker, gate: threading.Event) -> None:
    with producer(broker, buffer_memory=2000, max_block_ms=50, batch_size=1000) as sending:
        wait_until(lambda: knows_topic(sending))
        with pytest.raises(KafkaTimeoutError, match="allocate memory"):
            for _ in range(10):
                sending.send("t", bytes(900))
        with pytest.raises(KafkaTimeoutError):
            sending.flush(0.05)
        gate.set()
        sending.flush()
        sending.send("t", b"goes on")
    assert broker.values[-1] == b"goes on"


def test_no_broker() -> None:
    with pytest.raises(KafkaTimeoutError, match="bootstrap"):
        kafkapy.KafkaProducer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100)


def test_transactional_verbs_need_an_id(broker: ProducingBroker) -> None:
    with producer(broker) as sending, pytest.raises(IllegalStateError, match="transactional_id"):
        sending.init_transactions()


def test_config_is_a_dict_with_kafka_python_s_names(broker: ProducingBroker) -> None:
    with producer(broker, linger_ms=7) as sending:
        assert (sending.config["linger_ms"], sending.config["acks"]) == (7, -1)
    kafka_python = pytest.importorskip("kafka").KafkaProducer.DEFAULT_CONFIG
    own = kafkapy.KafkaProducer.DEFAULT_CONFIG
    for name in set(kafka_python) & set(own) - OTHERWISE.keys():
        assert own[name] == kafka_python[name], name


def test_a_forked_child_is_told(broker: ProducingBroker) -> None:
    with producer(broker) as sending:
        sending.send("t", b"x").get(HANG_SECONDS)
        child = os.fork()
        if child == 0:
            try:
                sending.send("t", b"y")
            except IllegalStateError as error:
                os._exit(0 if "fork" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sending.send("t", b"z").get(HANG_SECONDS).offset == 1


def test_many_threads_wait_for_one_producer(broker: ProducingBroker) -> None:
    """For deliveries, flushes and metadata, while callbacks come in between."""
    failures: list[BaseException] = []
    called: list[int] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                future = sending.send("t", b"%d %d" % (number, i))
                future.add_callback(lambda metadata: called.append(metadata.offset))
                if i % 3 == 0:
                    assert future.get(HANG_SECONDS).offset >= 0
                if i % 7 == 0:
                    sending.flush(HANG_SECONDS)
                sending.partitions_for("t")
        except BaseException as error:
            failures.append(error)

    with producer(broker) as sending:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_SECONDS)
        sending.flush(HANG_SECONDS)
        assert failures == []
        assert len(called) == 300
    for number in range(5):
        own = [value for value in broker.values if value and value.startswith(b"%d " % number)]
        assert own == [b"%d %d" % (number, i) for i in range(60)]


def test_a_get_that_takes_too_long(broker: ProducingBroker) -> None:
    with producer(broker, linger_ms=60_000) as sending:
        began = time.monotonic()
        with pytest.raises(KafkaTimeoutError):
            sending.send("t", b"x").get(0.05)
        assert time.monotonic() - began > 0.04


def test_with_an_api_version_no_broker_is_waited_for() -> None:
    """`dir` shows what there is, too."""
    for name in ("KafkaProducer", "KafkaConsumer", "KafkaAdminClient"):
        assert name in dir(kafkapy)
        client = getattr(kafkapy, name)(bootstrap_servers="127.0.0.1:1", api_version=(3, 9), bootstrap_timeout_ms=0)
        assert name != "KafkaProducer" or not client.bootstrap_connected()
        client.close()
