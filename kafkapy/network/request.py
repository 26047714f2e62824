"""A request on its way through the broker, and who sent it (Kafka's `RequestChannel.Request`, `RequestContext`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from kafkapy.common import uuid
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.response_errors import error_codes
from kafkapy.runtime.completion import Completion
from kafkapy.security.authentication import NOT_AUTHENTICATED, Authentication
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal

ERRORS_NOTED_BY_HANDLER: Final = (ApiKey.PRODUCE, ApiKey.FETCH)
"""On the hot paths the handler knows whether there was an error at all."""


class RequestContext:
    """What is known of the sender. One object for each connection; `client_id` and `api_key` are those of its latest request."""

    __slots__ = (
        "api_key",
        "authentication",
        "client_host",
        "client_id",
        "client_software_name",
        "client_software_version",
        "connection_id",
        "listener_name",
        "number",
        "principal",
        "security_protocol",
    )

    def __init__(
        self,
        connection_id: str,
        client_host: str,
        listener_name: str,
        security_protocol: str = "PLAINTEXT",
        principal: KafkaPrincipal = ANONYMOUS,
        number: int = 0,
    ) -> None:
        """`number`: of a connection that was accepted later it is greater."""
        self.connection_id = connection_id
        self.number = number
        self.client_host = client_host
        """As Java prints an InetAddress: `/127.0.0.1`."""
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.principal = principal
        self.authentication: Authentication = NOT_AUTHENTICATED
        self.client_id = ""
        self.api_key: ApiKey | None = None
        self.client_software_name = "unknown"
        self.client_software_version = "unknown"


class AnswerChannel:
    """Where a request came from, as the request sees it. A base class, not a Protocol: calls from compiled code stay direct."""

    closed: bool

    def send_response(self, request: Request, response: Message, throttle_ms: int = 0) -> None:
        raise NotImplementedError

    def request_done(self, throttle_ms: int = 0) -> None:
        raise NotImplementedError

    def close(self, reason: str) -> None:
        raise NotImplementedError

    def hurry_awaiting(self) -> None:
        raise NotImplementedError

    def is_of_follower(self) -> None:
        raise NotImplementedError

    def has_peer(self) -> bool:
        """Is the client still there? What it sent before it went may come to be handled later."""
        raise NotImplementedError

    def hold(self, request: Request, later: Iterable[Any]) -> None:
        raise NotImplementedError

    def written(self, body: Any) -> None:
        raise NotImplementedError


class Request:
    """One decoded request. It is answered exactly once: by `respond`, `no_response` or `close_connection`.

    Invariant: the `memoryview`s inside `body` (records) point into the connection's receive buffer only while the handler runs
    for the first time: a handler that waits must be done with them before.
    """

    __slots__ = (
        "afterwards",
        "answer",
        "api_key",
        "api_version",
        "began_ns",
        "body",
        "busy_ns",
        "channel",
        "codec",
        "context",
        "correlation_id",
        "encoded",
        "failed",
        "hurry",
        "kept",
        "rest",
        "size",
        "times",
        "unfinished",
        "unwritten",
    )

    def __init__(
        self,
        channel: AnswerChannel,
        context: RequestContext,
        codec: ApiCodec,
        correlation_id: int,
        body: Any,
    ) -> None:
        self.channel = channel
        self.context = context
        self.codec = codec
        self.api_key = codec.api_key
        self.api_version = codec.version
        self.correlation_id = correlation_id
        self.body = body
        self.size = 0
        """Bytes of its frame."""
        self.began_ns = self.busy_ns = 0
        """When its handler was called, while that is at work; how long it was. Only measured where there are quotas."""
        self.answer: tuple[Message, int, float] | None = None
        """(response, throttle in ms, when) of one that has to wait for the answers before it."""
        self.times: tuple[float, float] | None = None
        """When it was received and when its handler returned; of one that others follow before it is answered."""

        self.encoded: tuple[list[Any], dict[int, int]] | None = None
        """The response in pieces, and how often each error code is in it, of one that was too large to be encoded in passing."""

        self.failed = False
        """Of a Produce or Fetch: there are errors in the answer, which are to be counted. Those of other APIs are always."""

        self.afterwards: Callable[[], object] | None = None
        """Called when the answer is on its way."""

        self.kept: tuple[object, ...] = ()
        """What was made for it; it is freed in a thread if that takes long."""

        self.rest: object = None
        """A `Rest` of the collector, while there is very much in the request."""

        self.unfinished: Completion[Any] | None = None
        """Work in a thread that may go on when the client was told that its time is up."""

        self.hurry: Callable[[], object] | None = None
        """Answers a Produce that waits for its replicas with what there is."""
        self.unwritten = False
        """A Produce some of whose records are still to be appended."""

    def respond(self, response: Message, throttle_ms: int = 0) -> None:
        """Send the response; read the connection's next request after `throttle_ms` (KIP-219)."""
        self.channel.send_response(self, response, throttle_ms)

    def keep(self, *things: object) -> None:
        """The handler has made lists of very many objects, for example one for each partition: free them afterwards."""
        self.kept += things

    def encode(self, response: Message) -> None:
        """Encode what `respond` will be called with; in a thread."""
        codes = error_codes(response) if self.failed or self.api_key not in ERRORS_NOTED_BY_HANDLER else ()
        self.encoded = self.codec.encode_in_thread(self.correlation_id, response), Counter(codes)

    def answer_in_version(self, version: int) -> None:
        """The response will be of another version than the request."""
        self.api_version = version
        self.codec = ApiCodec(self.api_key, version)

    def no_response(self, throttle_ms: int = 0) -> None:
        """The request is done and has no answer (Produce with acks=0)."""
        self.channel.request_done(throttle_ms)

    def thread_ns(self) -> int:
        """How long it has kept the thread so far. What it does after it had to wait is not measured."""
        return time.perf_counter_ns() - self.began_ns if self.began_ns else self.busy_ns

    def close_connection(self, reason: str) -> None:
        """The only answer is to hang up."""
        self.channel.close(reason)

    def leader_moved(self) -> None:
        """A Produce waits, and of one of its partitions the leader is another broker now.

        The producer turns to that one as soon as it hears of it. So it must hear of all its batches that wait here, of any
        request: were it to send newer ones there in between, the new leader might not know these again.
        """
        self.channel.hurry_awaiting()

    def is_of_follower(self) -> None:
        """Another broker sends it, to follow partitions."""
        self.channel.is_of_follower()

    def hold(self, later: Iterable[Any]) -> None:
        """A Produce is not done when its handler returns: nothing may follow it before its records are in the log.

        `later`: its partitions that are still to be appended. Their `records` stay as they are while other requests are read.
        """
        self.channel.hold(self, later)

    def written(self) -> None:
        """The records of one that was held are in the log, or never will be: their memory goes."""
        body, self.body = self.body, None
        self.channel.written(body)

    @property
    def cancelled(self) -> bool:
        """True when the sender has gone: nobody will read the answer."""
        return self.channel.closed

    @property
    def kind(self) -> str:
        return self.api_key.title

    def description(self, body: Any) -> str:
        """Who asks for what, for a line of the log; `body`: what it asks for, if `self.body` is gone already."""
        about = f"{self.kind} v{self.api_version} of client {self.context.client_id!r} ({self.context.connection_id})"
        return f"{about}, {_topics(body or self.body)}{self.size} bytes"

    def __repr__(self) -> str:
        return (
            f"Request({self.api_key.name} v{self.api_version} #{self.correlation_id} of {self.context.connection_id})"
        )


def _topics(body: Any) -> str:
    """Of what a request is about: the first, and how many more there are."""
    for field in ("topic_data", "topics", "topic_names", "topic_states", "resources", "groups"):
        if named := getattr(body, field, None):
            names = (
                getattr(named[0], name, "") for name in ("name", "topic", "topic_name", "resource_name", "group_id")
            )
            name = named[0] if isinstance(named[0], str) else next(filter(None, names), "")
            name = name or uuid.to_string(getattr(named[0], "topic_id", uuid.ZERO_UUID))
            more = f" and {len(named) - 1} more" if len(named) > 1 else ""
            return f"{field.split('_')[0].removesuffix('s')} {name}{more}, "
    return ""
