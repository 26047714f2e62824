"""What the meter makes of turns: time is given to it, and the reactor's own turns are busy for a moment."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import partial
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.network.request import AnswerChannel, Request, RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.runtime.reactor import BrokerReactor
from kafkapy.runtime.stall_meter import BOUNDS, GARBAGE, MANY, SHORT, StallMeter, TurnHistogram
from tests.network.loopback import Loopback


class Times:
    """Of the clock on the wall and of the thread's CPU."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.cpu = 5.0
        self.queued = 2.0
        self.meter = StallMeter(lambda: self.now, lambda: self.cpu, lambda: self.queued)

    def turn(self, seconds: float, cpu: float, *items: tuple[float, object]) -> None:
        """One turn, with its items that were not short."""
        self.meter.woke = self.now
        self.meter.turns += 1
        self.meter.read_cpu()
        self.now += seconds
        self.cpu += cpu
        for took, item in items:
            self.meter.record_item(took, item)
        self.meter.end_turn(self.now)
        self.meter.request = self.meter.body = None

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.cpu += seconds

    def wait_for_a_core(self, seconds: float) -> None:
        self.now += seconds
        self.queued += seconds

    def poll(self, seconds: float, queued: float = 0.0) -> None:
        """A turn begins, for which the thread was woken late by that much."""
        self.now += seconds
        self.queued += queued
        self.meter.idle_seconds += seconds
        self.meter.woke = self.now

    def lost(self) -> float:
        return self.meter.charge_run_queue_time(self.now)

    def kinds(self) -> dict[str, TurnHistogram]:
        return dict(self.meter.by_kind())


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def stalls(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What was told of stalls so far."""
    told: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    listener = Listener()
    logging.getLogger("kafkapy.network.Reactor").addHandler(listener)
    yield told
    logging.getLogger("kafkapy.network.Reactor").removeHandler(listener)


def request(body: Message, size: int = 1234) -> Request:
    context = RequestContext("127.0.0.1:9092-127.0.0.1:5555-3", "/127.0.0.1", "PLAINTEXT")
    context.client_id = "loader"
    made = Request(AnswerChannel(), context, ApiCodec(ApiKey(body.API_KEY), 5), 1, body)
    made.size = size
    return made


def serve(meter: StallMeter, made: Request) -> Any:
    """The connection that is at work for this request."""
    meter.request, meter.body = made, made.body
    return SimpleNamespace(protocol=made.channel)


def fire() -> None:
    """Stands for a timer's function."""


class TestKinds:
    def test_a_turn_counts_for_its_longest_item(self, times: Times) -> None:
        heartbeat = serve(times.meter, request(HeartbeatRequest(group_id="g", member_id="m")))
        times.turn(0.05, 0.05, (0.03, heartbeat), (0.015, fire))
        times.turn(0.05, 0.05, (0.015, heartbeat), (0.03, partial(partial(fire))))
        kinds = times.kinds()
        assert set(kinds) == {SHORT, "Heartbeat", "fire"}
        for kind in ("Heartbeat", "fire"):
            assert kinds[kind].counts == [int(bound == 0.05) for bound in (*BOUNDS, None)]
            assert kinds[kind].seconds == pytest.approx(0.05)

    def test_a_request_of_another_connection_is_not_blamed(self, times: Times) -> None:
        serve(times.meter, request(HeartbeatRequest(group_id="g", member_id="m")))
        times.turn(0.02, 0.02, (0.02, SimpleNamespace(protocol=times)))
        assert "Times" in times.kinds()

    def test_many_short_items(self, times: Times) -> None:
        times.turn(0.5, 0.5)
        assert times.kinds()[MANY].counts[BOUNDS.index(0.5)] == 1

    def test_short_turns_are_those_that_nobody_told_of(self, times: Times) -> None:
        times.meter.turns = 10
        times.turn(0.25, 0.2, (0.2, fire))
        times.now += 1.0
        times.meter.idle_seconds = 0.9
        short = times.kinds()[SHORT]
        assert short.counts == [10, *[0] * len(BOUNDS)]
        assert short.seconds == pytest.approx(0.1)

    def test_longer_than_all_bounds(self, times: Times) -> None:
        times.turn(60, 1, (60, fire))
        assert times.kinds()["fire"].counts[-1] == 1

    def test_a_collection_of_garbage_is_none_of_the_requests_work(self, times: Times, stalls: list[str]) -> None:
        times.meter.on_gc_event("start", {})
        times.now += 0.09
        times.meter.on_gc_event("stop", {})
        times.turn(0.11, 0.11, (0.11, fire))
        assert times.kinds()[GARBAGE].counts[BOUNDS.index(0.25)] == 1
        times.turn(0.11, 0.11, (0.11, fire))
        assert times.kinds()["fire"].counts[BOUNDS.index(0.25)] == 1
        assert [re.findall("[0-9]+ ms garbage", line) for line in stalls] == [["90 ms garbage"], ["0 ms garbage"]]


class TestLost:
    @pytest.fixture
    def times(self) -> Times:
        times = Times()
        times.meter.start()
        times.poll(0.1)
        return times

    def test_time_without_a_core_is_given_back_once(self, times: Times) -> None:
        times.work(0.5)
        times.wait_for_a_core(0.25)
        assert times.lost() == pytest.approx(0.25)
        times.work(0.5)
        assert times.lost() == pytest.approx(0)
        times.wait_for_a_core(0.125)
        assert times.lost() == pytest.approx(0.125)
        assert times.meter.run_queue_seconds == pytest.approx(0.375)

    def test_work_is_none(self, times: Times) -> None:
        times.work(3)
        assert times.lost() == pytest.approx(0)

    def test_waiting_for_a_disk_is_none(self, times: Times) -> None:
        """Nobody else had the core, so the others could not have been served sooner."""
        times.now += 0.75
        times.queued += 0.01  # when it was woken
        assert times.lost() == pytest.approx(0.01)

    def test_what_was_lost_before_the_turn_is_none(self, times: Times) -> None:
        """To be woken late belongs to the wait for events."""
        times.poll(0.5, queued=0.4)
        times.work(0.25)
        assert times.lost() == pytest.approx(0)
        times.poll(0.5, queued=0.4)
        times.wait_for_a_core(0.125)
        assert times.lost() == pytest.approx(0.125)

    def test_no_more_than_the_turn_has_lasted(self, times: Times) -> None:
        for _ in range(100):
            times.wait_for_a_core(0.01)  # of earlier turns, too short to be asked about
        times.poll(0.1)
        times.work(0.02)
        assert times.lost() <= 0.02

    def test_the_cpu_of_the_turn_does_not_begin_anew(self, times: Times, stalls: list[str]) -> None:
        times.meter.read_cpu()
        times.work(0.3)
        times.wait_for_a_core(0.1)
        times.lost()
        times.work(0.2)
        times.meter.end_turn(times.now)
        assert "took 600 ms (500 ms CPU" in stalls[0]


class TestLine:
    def test_names_request_client_topic_and_size(self, times: Times, stalls: list[str]) -> None:
        topics = [ProduceRequest.TopicProduceData(name=name) for name in ("big", "small", "tiny")]
        made = request(ProduceRequest(acks=-1, timeout_ms=1, topic_data=topics), size=61_000_000)
        connection = serve(times.meter, made)
        made.body = None  # as that of one that waits for its replicas
        times.turn(0.1205, 0.1185, (0.1195, connection))
        assert stalls == [
            "A turn of the reactor took 120 ms (118 ms CPU, 0 ms garbage collection), 119 ms of them for Produce v5 of client "
            "'loader' (127.0.0.1:9092-127.0.0.1:5555-3), topic big and 2 more, 61000000 bytes"
        ]

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            (DeleteTopicsRequest(topic_names=["a"], timeout_ms=1), "topic a, 7 bytes"),
            (MetadataRequest(topics=None), "-3), 7 bytes"),
            (
                FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=bytes(15) + b"\1")]),
                "topic AAAAAAAAAAAAAAAAAAAAAQ, 7 bytes",
            ),
        ],
    )
    def test_topics_of_other_requests(self, times: Times, stalls: list[str], body: Message, told: str) -> None:
        times.turn(0.2, 0.2, (0.2, serve(times.meter, request(body, size=7))))
        assert told in stalls[0]

    def test_none_below_the_limit(self, times: Times, stalls: list[str]) -> None:
        times.turn(0.099, 0.099, (0.099, fire))
        assert not stalls

    def test_an_earlier_stall_is_not_told_again(self, times: Times, stalls: list[str]) -> None:
        times.turn(0.2, 0.2, (0.2, fire))
        times.turn(0.2, 0.2)
        assert stalls[1].endswith("for many short items")


def be_busy(seconds: float = 0.03) -> None:
    end = monotonic() + seconds
    while monotonic() < end:
        pass


class TestReactor:
    def test_functions_that_timers_and_other_threads_call(self) -> None:
        reactor = BrokerReactor()
        reactor.callFromThread(be_busy)
        reactor.callLater(0.01, reactor.stop)
        reactor.run(installSignalHandlers=False)
        kinds = dict(reactor.meter.by_kind())
        assert sum(kinds["be_busy"].counts) == 1
        assert sum(sum(turns.counts) for turns in kinds.values()) == reactor.meter.turns
        assert reactor.meter.idle_seconds < 0.03

    def test_an_event_of_a_connection_has_the_requests_name(self) -> None:
        loop = Loopback()
        client = loop.connect(loop.listen())
        answer = loop.answer

        def slowly(request: Request) -> None:
            be_busy()
            answer(request)

        loop.answer = slowly  # type: ignore[method-assign]
        client.heartbeat()
        client.response()
        loop.turns(1)
        kinds = dict(loop.server.time_slice.meter.by_kind())
        assert sum(kinds["Heartbeat"].counts) == 1
        assert kinds["Heartbeat"].seconds >= 0.03
        assert loop.server.time_slice.meter.request is None
        loop.close()

    def test_an_answer_given_later_has_its_requests_name(self) -> None:
        loop = Loopback()
        loop.hold = True
        client = loop.connect(loop.listen())
        client.heartbeat()
        loop.until(lambda: bool(loop.requests))

        def answer() -> None:
            be_busy()
            loop.answer(loop.requests[0])

        loop.reactor.callFromThread(answer)
        client.response()
        loop.turns(2)
        assert dict(loop.server.time_slice.meter.by_kind())["Heartbeat"].seconds >= 0.03
        loop.close()

    def test_waiting_is_no_work(self) -> None:
        reactor = BrokerReactor()
        reactor.callLater(0.03, reactor.stop)
        reactor.run(installSignalHandlers=False)
        assert reactor.meter.idle_seconds >= 0.02
