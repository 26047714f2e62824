"""A request while the broker handles it, and the context of its sender (Kafka's `RequestChannel.Request`,
`RequestContext`)."""

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
"""APIs whose handlers report whether a response has errors, because the hot paths know that anyway."""


class RequestContext:
    """What is known about the sender.

    One object per connection; `client_id` and `api_key` are those of its latest request."""

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
        """`number`: increases with each accepted connection."""
        self.connection_id = connection_id
        self.number = number
        self.client_host = client_host
        """In Java's notation of an InetAddress: `/127.0.0.1`."""
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.principal = principal
        self.authentication: Authentication = NOT_AUTHENTICATED
        self.client_id = ""
        self.api_key: ApiKey | None = None
        self.client_software_name = "unknown"
        self.client_software_version = "unknown"


class AnswerChannel:
    """The connection that a request came from.

    A base class, not a Protocol, so that calls from compiled code are direct."""

    closed: bool

    def send_response(self, request: Request, response: Message, throttle_ms: int = 0) -> None:
        raise NotImplementedError

    def request_done(self, throttle_ms: int = 0) -> None:
        raise NotImplementedError

    def close(self, reason: str) -> None:
        raise NotImplementedError

    def answer_awaiting_now(self) -> None:
        raise NotImplementedError

    def mark_follower(self) -> None:
        raise NotImplementedError

    def has_peer(self) -> bool:
        """Return whether the client is still connected. A request may be handled after its client has disconnected."""
        raise NotImplementedError

    def hold(self, request: Request, later: Iterable[Any]) -> None:
        raise NotImplementedError

    def written(self, body: Any) -> None:
        raise NotImplementedError


class Request:
    """A decoded request. It is answered exactly once: by `respond`, `no_response` or `close_connection`.

    Invariant: the `memoryview`s in `body` (records) point into the connection's receive buffer, and are valid only
    until the handler first awaits.
    """

    __slots__ = (
        "answer",
        "answer_now",
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
        "gc_pause",
        "has_unappended",
        "kept",
        "on_sent",
        "size",
        "times",
        "unfinished",
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
        """Size of its frame, in bytes."""
        self.began_ns = self.busy_ns = 0
        """When its handler was called, while it runs; how long it ran. Measured only if there are quotas."""
        self.answer: tuple[Message, int, float] | None = None
        """(response, throttle in ms, time) of a response that waits for earlier ones."""
        self.times: tuple[float, float] | None = None
        """When it was received and when its handler returned; for a request that others may follow before it is
        answered."""

        self.encoded: tuple[list[Any], dict[int, int]] | None = None
        """The response in parts, and the number of each error code in it, if a thread has encoded it."""

        self.failed = False
        """Of a Produce or Fetch: the response has errors, which must be counted.

        For other APIs they are always counted."""

        self.on_sent: Callable[[], object] | None = None
        """Called after the response was sent or queued."""

        self.kept: tuple[object, ...] = ()
        """Objects made for it; if there are many, a thread frees them."""

        self.gc_pause: object = None
        """Pauses the garbage collector, for a request with very many objects."""

        self.unfinished: Completion[Any] | None = None
        """Work in a thread that may continue after the client was answered with a time-out."""

        self.answer_now: Callable[[], object] | None = None
        """Answers a Produce that waits for its replicas with its current state."""
        self.has_unappended = False
        """True for a Produce with records that are still to be appended."""

    def respond(self, response: Message, throttle_ms: int = 0) -> None:
        """Send the response; read the connection's next request after `throttle_ms` (KIP-219)."""
        self.channel.send_response(self, response, throttle_ms)

    def keep(self, *things: object) -> None:
        """Keep very large lists that the handler made (for example one item per partition), so that a thread frees
        them."""
        self.kept += things

    def encode(self, response: Message) -> None:
        """Encode the response that `respond` will be called with; in a thread."""
        codes = error_codes(response) if self.failed or self.api_key not in ERRORS_NOTED_BY_HANDLER else ()
        self.encoded = self.codec.encode_in_thread(self.correlation_id, response), Counter(codes)

    def answer_in_version(self, version: int) -> None:
        """Send the response in another version than the request's."""
        self.api_version = version
        self.codec = ApiCodec(self.api_key, version)

    def no_response(self, throttle_ms: int = 0) -> None:
        """Complete a request without a response (Produce with acks=0)."""
        self.channel.request_done(throttle_ms)

    def thread_ns(self) -> int:
        """Return for how long its handler has used the thread, in ns.

        Time after the handler first waited is not measured."""
        return time.perf_counter_ns() - self.began_ns if self.began_ns else self.busy_ns

    def close_connection(self, reason: str) -> None:
        """Close the connection instead of answering."""
        self.channel.close(reason)

    def leader_moved(self) -> None:
        """Answer waiting Produce requests: the leader of one of their partitions is another broker now.

        The producer sends to the new leader once it knows. So it must get the answers to all its batches that wait here
        first: if it sent newer batches in between, the new leader might not detect these as duplicates.
        """
        self.channel.answer_awaiting_now()

    def mark_follower(self) -> None:
        """Mark the connection as another broker's, which fetches as a follower."""
        self.channel.mark_follower()

    def hold(self, later: Iterable[Any]) -> None:
        """Handle no further request of the connection until `written`, because the records are not all appended yet.

        `later`: the partitions that are still to be appended. Their `records` stay valid while other requests are read.
        """
        self.channel.hold(self, later)

    def written(self) -> None:
        """End `hold`: all records are appended or have failed, so their memory is freed."""
        body, self.body = self.body, None
        self.channel.written(body)

    @property
    def cancelled(self) -> bool:
        """Whether the client has disconnected, so that no answer can be sent."""
        return self.channel.closed

    @property
    def kind(self) -> str:
        return self.api_key.title

    def description(self, body: Any) -> str:
        """Describe sender and request for the log. `body`: the request's content, if `self.body` has been removed."""
        about = f"{self.kind} v{self.api_version} of client {self.context.client_id!r} ({self.context.connection_id})"
        return f"{about}, {_topics(body or self.body)}{self.size} bytes"

    def __repr__(self) -> str:
        return (
            f"Request({self.api_key.name} v{self.api_version} #{self.correlation_id} of {self.context.connection_id})"
        )


def _topics(body: Any) -> str:
    """Return the first topic (or group, or resource) of a request, and the number of others."""
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
