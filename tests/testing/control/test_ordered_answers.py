"""Errors and late answers in place of a broker's own."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from kafkapy.network.request import AnswerChannel, Request, RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.testing.control.ordered_answers import OrderedAnswers


class Broker:
    """Handles what reaches it; `answers` of the rules are kept apart."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.ordered = OrderedAnswers("CLIENTS", self.clock)
        self.handled: list[Request] = []
        self.handle = self.ordered.before(self.handled.append)

    def ask(self, body: Message, version: int, listener: str = "CLIENTS") -> Request:
        request = Request(
            AnswerChannel(),
            RequestContext("1", "/127.0.0.1", listener),
            ApiCodec(ApiKey(body.API_KEY), version),
            1,
            body,
        )
        request.channel.closed = False
        self.handle(request)
        return request


def test_a_rule_holds_as_often_as_it_was_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, answers = Broker(), []
    monkeypatch.setattr(
        "kafkapy.testing.control.ordered_answers._answer", lambda request, error: answers.append(error.name)
    )
    broker.ordered.answer_with("HEARTBEAT", "REBALANCE_IN_PROGRESS", 1)
    broker.ordered.answer_with("HEARTBEAT", "UNKNOWN_MEMBER_ID", None)
    for _ in range(3):
        broker.ask(HeartbeatRequest(), 4)
    assert answers == ["REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"] and not broker.handled
    broker.ordered.clear()
    broker.ask(HeartbeatRequest(), 4)
    assert len(broker.handled) == 1


def test_other_apis_and_other_brokers_pass() -> None:
    broker = Broker()
    broker.ordered.answer_with("FETCH", "UNKNOWN_SERVER_ERROR", None)
    broker.ordered.delay("HEARTBEAT", 1000, None)
    broker.ask(HeartbeatRequest(), 4, listener="BROKERS")
    assert len(broker.handled) == 1


def test_what_is_late_keeps_its_records() -> None:
    """They lie in memory that the next request is read into."""
    broker = Broker()
    memory = bytearray(b"records")
    part = ProduceRequest.PartitionProduceData(index=0, records=memoryview(memory))
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[part])
    broker.ordered.delay(None, 1000, 1)
    request = broker.ask(ProduceRequest(acks=1, topic_data=[topic]), 9)
    memory[:] = b"another"
    broker.clock.advance(0.9)
    assert not broker.handled and request.has_unappended
    broker.clock.advance(0.2)
    assert broker.handled == [request] and bytes(part.records) == b"records"


def test_nobody_is_answered_who_has_gone() -> None:
    broker = Broker()
    broker.ordered.delay(None, 1000, None)
    broker.ask(HeartbeatRequest(), 4).channel.closed = True
    broker.clock.advance(2)
    assert not broker.handled


def test_the_past_is_refused() -> None:
    with pytest.raises(ValueError, match="a delay of -1 ms lies in the past"):
        Broker().ordered.delay(None, -1, None)
