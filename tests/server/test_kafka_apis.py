"""Every request gets an answer, whatever its handler does."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.many import free
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkapy.protocol.messages.envelope import EnvelopeRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.runtime.completion import Completion
from kafkapy.server.api_handlers import HANDLERS
from tests.server.broker_core import BrokerCore, Client

Handler = Callable[[Request], Any]
Install = Callable[[Handler], None]

HEARTBEAT = HeartbeatRequest(group_id="g", member_id="m")


@pytest.fixture
def install(core: BrokerCore) -> Install:
    """Puts a handler in the place of Heartbeat's and Produce's."""

    def put(handler: Handler) -> None:
        core.by_api[ApiKey.HEARTBEAT] = core.by_api[ApiKey.PRODUCE] = handler

    return put


def raises(error: Exception) -> Handler:
    def handler(request: Request) -> None:
        raise error

    return handler


def error(client: Client) -> Errors:
    response = client.response()
    return Errors.for_code(response.error_code)


def test_every_api_that_is_announced_has_a_handler(core: BrokerCore) -> None:
    assert core.by_api.keys() == HANDLERS.keys()
    assert all(callable(handler) for handler in core.by_api.values())


def test_a_message_is_sent(client: Client, install: Install) -> None:
    install(lambda request: HeartbeatResponse())
    client.send(HEARTBEAT, 4)
    assert error(client) is Errors.NONE


def test_none_means_later(client: Client, install: Install) -> None:
    later: list[Request] = []
    install(lambda request: later.append(request))
    client.send(HEARTBEAT, 4)
    assert client.response() is None
    later[0].respond(HeartbeatResponse())
    assert error(client) is Errors.NONE


def test_a_coroutine_may_wait(client: Client, install: Install) -> None:
    waiting: Completion[None] = Completion()

    async def handler(request: Request) -> HeartbeatResponse:
        await waiting
        return HeartbeatResponse()

    install(handler)
    client.send(HEARTBEAT, 4)
    assert client.response() is None
    waiting.set_result(None)
    assert error(client) is Errors.NONE


def test_errors_are_answered_in_the_apis_own_shape(
    client: Client, install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails_later(request: Request) -> None:
        raise KafkaError(Errors.REBALANCE_IN_PROGRESS)

    for handler, expected in (
        (raises(KafkaError(Errors.NOT_COORDINATOR)), Errors.NOT_COORDINATOR),
        (fails_later, Errors.REBALANCE_IN_PROGRESS),
        (raises(ValueError("a bug")), Errors.UNKNOWN_SERVER_ERROR),
    ):
        install(handler)
        client.send(HEARTBEAT, 4)
        assert error(client) is expected
    assert [r.exc_info is not None for r in caplog.records if r.levelno == logging.ERROR] == [True]


def test_an_answer_that_can_not_be_encoded_is_an_error(client: Client, install: Install) -> None:
    install(lambda request: HeartbeatResponse(error_code=1 << 40))
    client.send(HEARTBEAT, 4)
    assert error(client) is Errors.UNKNOWN_SERVER_ERROR


def test_where_an_error_has_no_answer_the_connection_ends(client: Client, install: Install) -> None:
    install(raises(ValueError("a bug")))
    client.send(ProduceRequest(acks=0, topic_data=[]), 9)
    assert client.response() is None
    assert client.closed


def test_nobody_is_answered_who_has_gone(core: BrokerCore, install: Install) -> None:
    waiting: Completion[None] = Completion()

    async def handler(request: Request) -> HeartbeatResponse:
        await waiting
        raise KafkaError(Errors.NOT_COORDINATOR)

    install(handler)
    client = core.connect()
    client.send(HEARTBEAT, 4)
    client.channel.connectionLost()
    waiting.set_result(None)
    assert client.response() is None


def test_an_envelope_ends_the_connection(client: Client) -> None:
    client.send(EnvelopeRequest(request_data=b"", request_principal=b"", client_host_address=b"\x7f\0\0\1"), 0)
    assert client.response() is None
    assert client.closed


def test_an_answer_with_much_in_it_is_encoded_in_a_thread(core: BrokerCore, client: Client) -> None:
    sent: list[Any] = []

    def in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Completion[Any]:
        sent.append((function, args))
        return Completion()

    core._apis._large_requests = LargeRequests(in_thread)
    many = DescribeGroupsResponse(groups=[DescribeGroupsResponse.DescribedGroup(group_id=str(g)) for g in range(2001)])
    core.by_api[ApiKey.DESCRIBE_GROUPS] = lambda request: many
    client.send(DescribeGroupsRequest(groups=[]), 5)
    ((encode, args),) = sent
    assert client.response() is None
    encode(*args)
    request = encode.__self__
    request.respond(*args)
    assert len(client.response().groups) == 2001


def test_large_requests_and_answers_are_forgotten_in_a_thread(core: BrokerCore, client: Client) -> None:
    answered: list[Request] = []
    describe = core.by_api[ApiKey.DESCRIBE_GROUPS]

    def handler(request: Request) -> Any:
        answered.append(request)
        return describe(request)

    core.by_api[ApiKey.DESCRIBE_GROUPS] = handler
    many = DescribeGroupsRequest(groups=[f"group {n}" for n in range(10_000)])
    client.send(many, 0)
    assert len(client.response().groups) == 10_000
    assert answered[0].body is None
    client.call(DescribeGroupsRequest(groups=["one"]), 0)
    assert answered[1].body is not None


def test_a_large_request_is_not_forgotten_while_a_thread_works_on_it(core: BrokerCore, client: Client) -> None:
    working: Completion[None] = Completion()
    describe = core.by_api[ApiKey.DESCRIBE_GROUPS]

    def handler(request: Request) -> Any:
        request.unfinished = working
        bodies.append(request.body)
        return describe(request)

    bodies: list[DescribeGroupsRequest] = []
    core.by_api[ApiKey.DESCRIBE_GROUPS] = handler
    client.send(DescribeGroupsRequest(groups=[f"group {n}" for n in range(10_000)]), 0)
    assert len(client.response().groups) == 10_000
    assert len(bodies[0].groups) == 10_000
    working.set_result(None)
    assert bodies[0].groups == []


class Kept:
    """Says in which thread it goes."""

    def __init__(self, gone_in: list[str]) -> None:
        self._gone_in = gone_in

    def __del__(self) -> None:
        self._gone_in.append(threading.current_thread().name)


@pytest.mark.parametrize("in_dict", [False, True])
def test_what_a_handler_keeps_is_freed_in_a_thread_after_the_answer(
    core: BrokerCore, client: Client, in_dict: bool
) -> None:
    gone_in: list[str] = []
    describe = core.by_api[ApiKey.DESCRIBE_GROUPS]

    def in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Completion[Any]:
        assert gone_in == []
        if function is free:
            assert len(client.response().groups) == 10_000
        thread = threading.Thread(target=function, args=args, kwargs=kwargs, name="frees")
        thread.start()
        thread.join()
        return Completion.of(None)

    def handler(request: Request) -> Any:
        made = [Kept(gone_in) for _ in range(2500)]
        request.keep(dict.fromkeys(made) if in_dict else made)
        return describe(request)

    core._apis._large_requests = LargeRequests(in_thread)
    core.by_api[ApiKey.DESCRIBE_GROUPS] = handler
    client.send(DescribeGroupsRequest(groups=[f"group {n}" for n in range(10_000)]), 0)
    assert gone_in == ["frees"] * 2500


def test_the_collector_rests_while_there_is_very_much_in_a_request(core: BrokerCore, client: Client) -> None:
    worked: list[bool] = []
    describe = core.by_api[ApiKey.LIST_OFFSETS]

    def handler(request: Request) -> Any:
        worked.append(gc.isenabled())
        return describe(request)

    core.by_api[ApiKey.LIST_OFFSETS] = handler
    for many, times in ((50_000, 1), (10, 1)):
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=1, timestamp=-1)
        topic = ListOffsetsRequest.ListOffsetsTopic(name="none", partitions=[partition] * many)
        client.call(ListOffsetsRequest(replica_id=-1, topics=[topic] * times), 1)
        assert gc.isenabled()
    assert worked == [False, True]
