"""The client's half of one connection as a machine without I/O: bytes and time in, bytes and completions out.

    send(message)   ->  `out`  ~~ transport ~~>  broker
    receive(count)  <~~ transport ~~  broker   ->  completions

It owns no socket, timer or thread. Its driver (`NodeConnection`) writes `out`, calls `check` at `deadline_ms`, runs
`work` on a thread that may block, and closes the connection when `failure` is set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.client_apis import Api
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.frames import Receiver
from kafkapy.clients.handshake import Agreed, Ask, Blocking, Conversation, authenticate, handshake
from kafkapy.clients.network_metrics import NodeMetrics
from kafkapy.clients.pipeline import Pipeline
from kafkapy.common.time import Time
from kafkapy.errors import (
    DisconnectError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoResponseError,
    SaslAuthenticationFailedError,
    WrongProtocolError,
    as_client_error,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import Completion

ANY_VERSION = 32767
NO_DEADLINE = float("inf")

_FIRST_CORRELATION_ID = int.from_bytes(b"\r\n\r\n", "big")
"""To an HTTP server these bytes end a request: it responds with an error immediately, which identifies it."""

_THROTTLING_PRODUCE_VERSION = 6
"""From this version on, brokers answer a throttled client immediately and expect it to wait (KIP-219); older ones
delay the response."""

_REAUTHENTICATE_AT = 0.85
"""Fraction of the session's lifetime after which a client authenticates again (KIP-368)."""


class ConnectionState(Enum):
    WAITING = "waiting for the end of the back-off"
    CONNECTING = "connecting"
    READY = "ready"
    AUTHENTICATING = "authenticating again"
    CLOSED = "closed"


_FOLLOWING = {
    ConnectionState.WAITING: (ConnectionState.CONNECTING, ConnectionState.CLOSED),
    ConnectionState.CONNECTING: (ConnectionState.READY, ConnectionState.CLOSED),
    ConnectionState.READY: (ConnectionState.AUTHENTICATING, ConnectionState.CLOSED),
    ConnectionState.AUTHENTICATING: (ConnectionState.READY, ConnectionState.CLOSED),
    ConnectionState.CLOSED: (),
}
"""All transitions. The handshake is part of CONNECTING; a session is renewed (KIP-368) in AUTHENTICATING: it waits
until all requests in flight are answered, and then sends only the mechanism's messages."""

_READY, _CLOSED = ConnectionState.READY, ConnectionState.CLOSED
"""Aliases for the hot path: each request compares them, and an attribute of an enumeration is slower."""


class Waiting(NamedTuple):
    """A request that has not been sent yet."""

    message: Any
    api_key: Api
    min_version: int
    max_version: int
    timeout_ms: float
    completion: Completion[Any]
    deadline_ms: float


class Connection:
    """Invariant: `_waiting` holds, in order, requests that could not be sent yet, because the handshake is not done,
    the
    limit of requests in flight is reached, or the broker throttles the client. Each completion that was returned ends:
    with its response, an error of its own, or the connection's error. `deadline_ms` is never later than the next time
    at which `check` has work.
    """

    def __init__(
        self,
        config: ClientConfig,
        address: str,
        time: Time,
        receiver: Receiver,
        metrics: NodeMetrics | None = None,
    ) -> None:
        self.address = address
        self._host = address.rpartition(":")[0].strip("[]")
        self.state = ConnectionState.WAITING
        self.versions: NodeApiVersions | None = config.pinned_versions
        self.established: Completion[NodeApiVersions] = Completion()
        """The broker's versions; set when the handshake is done."""
        self.last_used_ms = time.monotonic_ms()
        self.out: list[Any] = []
        """Buffers to be written, in order."""
        self.deadline_ms = NO_DEADLINE
        self.work: Callable[[], bytes] | None = None
        """A function to be called on a thread that may block; afterwards call `work_done`."""
        self.failure: KafkaError | None = None
        """The error after which the connection must be closed; `reason` is its text for messages."""
        self.reason = ""
        self.authentication_error: KafkaError | None = None
        """The error that makes another attempt useless: wrong credentials, incompatible versions."""
        self.receive_buffer = receiver.buffer
        """Returns writable memory for the next bytes."""
        self._receiver = receiver
        self._config = config
        self._time = time
        self._metrics = metrics
        self._pipeline = Pipeline(config.client_id, time, _FIRST_CORRELATION_ID)
        self._in_flight = self._pipeline.in_flight
        self._max_in_flight = config.max_in_flight_requests_per_connection
        self._waiting: deque[Waiting] = deque()
        self._throttled_until_ms = 0.0
        self._renew_at_ms = NO_DEADLINE
        self._conversation: Conversation | None = None

    @property
    def pending(self) -> int:
        """Return the number of unanswered requests, sent or not."""
        return len(self._in_flight) + len(self._waiting)

    @property
    def is_unanswered(self) -> bool:
        """Return whether the peer has accepted the connection, and has not answered the handshake yet."""
        return self.state is ConnectionState.CONNECTING and self._conversation is not None

    @property
    def can_send(self) -> bool:
        """Return whether a request would be sent immediately."""
        return self.state is _READY and not self._throttled_until_ms and len(self._in_flight) < self._max_in_flight

    def _become(self, state: ConnectionState) -> None:
        assert state in _FOLLOWING[self.state], (self.state, state)
        self.state = state

    # --- the handshake, and its renewal

    def connecting(self) -> None:
        self._become(ConnectionState.CONNECTING)

    def connected(self) -> None:
        """Begin the handshake: the transport is open."""
        self._converse(handshake(self._config, self._host))

    def _renew(self) -> None:
        assert self.versions is not None
        self._converse(authenticate(self._config, self.versions, self._host))

    def _converse(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._step(lambda: conversation.send(None))

    def _step(self, resume: Callable[[], Ask | Blocking]) -> None:
        try:
            step = resume()
        except StopIteration as end:
            self._agreed(end.value)
        except KafkaError as error:
            self._refused(error)
        except Exception as error:  # from the user's token provider
            self._refused(SaslAuthenticationFailedError(f"{type(error).__name__}: {error}"))
        else:
            if isinstance(step, Blocking):
                self.work = step.work
            else:
                answer: Completion[Any] = Completion()
                answer.add_callback(self.work_done)
                timeout = self._config.request_timeout_ms
                self.out += self._pipeline.send(step.message, step.api_key, step.version, timeout, answer)
                self._watch(self._in_flight[-1].deadline_ms)

    def work_done(self, outcome: Completion[Any]) -> None:
        """Continue the handshake with the result of `work`, or with its error."""
        conversation = self._conversation
        if conversation is None or self.state is _CLOSED:
            return
        error = outcome.exception()
        if error is None:
            self._step(lambda: conversation.send(outcome.result()))
        else:
            self._step(lambda: conversation.throw(error))

    def _agreed(self, agreed: Agreed) -> None:
        self._conversation = None
        self.versions = agreed.versions
        if agreed.lifetime_ms > 0:
            self._renew_at_ms = self._time.monotonic_ms() + agreed.lifetime_ms * _REAUTHENTICATE_AT
            self._watch(self._renew_at_ms)
        self._become(_READY)
        self.established.set_result(agreed.versions)
        self._pump()

    def _refused(self, error: KafkaError) -> None:
        self._conversation = None
        if self.state is ConnectionState.AUTHENTICATING:
            self._give_up(error, f"authenticating again failed: {error}")
            return
        if not error.retriable:
            self.authentication_error = as_client_error(error)
        self._give_up(error, str(error))

    def _give_up(self, error: KafkaError, reason: str) -> None:
        self.failure = error
        self.reason = reason

    # --- sending

    def send(
        self, message: Any, api_key: Api, min_version: int, max_version: int, timeout_ms: float
    ) -> Completion[Any]:
        """Send or queue a request; return the completion of its response. See `NetworkClient.send`."""
        completion: Completion[Any] = Completion()
        if (
            self.state is _READY
            and not self._throttled_until_ms
            and len(self._in_flight) < self._max_in_flight
            and not self._waiting
        ):
            self._transmit(message, api_key, min_version, max_version, timeout_ms, completion)
        elif self.state is _CLOSED:
            completion.set_exception(KafkaConnectionError(f"The connection to {self.address} is closed"))
        else:
            deadline = self._time.monotonic_ms() + timeout_ms
            self._waiting.append(Waiting(message, api_key, min_version, max_version, timeout_ms, completion, deadline))
            self._watch(deadline)
        return completion

    def _transmit(
        self,
        message: Any,
        api_key: Api,
        min_version: int,
        max_version: int,
        timeout_ms: float,
        completion: Completion[Any],
    ) -> None:
        try:
            version = self.versions.latest_usable(api_key, min_version, max_version)  # type: ignore[union-attr]
            if hasattr(message, "build"):
                message = message.build(version)
            parts = self._pipeline.send(message, api_key, version, timeout_ms, completion)
        except KafkaError as error:
            completion.set_exception(as_client_error(error))
            return
        except Exception as error:
            completion.set_exception(error)
            return
        if self._metrics is not None:
            self._metrics.sent.record(sum(map(len, parts)), self._time.monotonic_ms())
        self.out = self.out + parts if self.out else parts
        if api_key is ApiKey.PRODUCE and message.acks == 0:
            self.last_used_ms = self._time.monotonic_ms()
            completion.set_result(None)
            return
        deadline = self._in_flight[-1].deadline_ms
        if deadline < self.deadline_ms:
            self.deadline_ms = deadline

    def _pump(self) -> None:
        """Send waiting requests, as far as they may be sent now."""
        while self._waiting and self.can_send:
            self._transmit(*self._waiting.popleft()[:6])

    # --- receiving

    def receive(self, count: int) -> bool:
        """Process `count` bytes in the memory that `receive_buffer` returned last; return whether the driver has work.

        Usually it has none: requests that result from a response are written by `send`.
        """
        self.last_used_ms = self._time.monotonic_ms()
        quiet = self.state is _READY
        try:
            for frame, owned in self._receiver.received(count):
                request, response = self._pipeline.receive(frame, owned)
                throttle_ms = getattr(response, "throttle_time_ms", 0)
                if self._metrics is not None:
                    now = self.last_used_ms
                    self._metrics.answered(request.api_key, len(frame) + 4, now - request.sent_ms, throttle_ms, now)
                if throttle_ms > 0:
                    self._throttle(throttle_ms)
                    quiet = False
                request.context.set_result(response)
                if self.state is _CLOSED or self.failure is not None:
                    return True  # a callback closed the connection, or the broker rejects the client
        except WrongProtocolError as error:
            sentence = f"{self.address} {error.message}"
            self._give_up(WrongProtocolError(sentence), sentence)
            return True
        except KafkaError as error:
            self._give_up(error, error.message)
            return True
        if self._waiting:
            self._pump()
            quiet = False
        if self.state is ConnectionState.AUTHENTICATING:
            self._renew_when_quiet()
        return not quiet

    def _throttle(self, ms: int) -> None:
        served = self.versions.ranges.get(ApiKey.PRODUCE) if self.versions is not None else None
        if not self._throttled_until_ms and served is not None and served[1] >= _THROTTLING_PRODUCE_VERSION:
            self._throttled_until_ms = self._time.monotonic_ms() + ms
            self._watch(self._throttled_until_ms)

    # --- time

    def _watch(self, deadline_ms: float) -> None:
        self.deadline_ms = min(self.deadline_ms, deadline_ms)

    def check(self) -> None:
        """Do what is due: time out requests, end a throttle, renew the session."""
        now = self._time.monotonic_ms()
        if self._overdue(now):
            return
        self._drop_late(now)
        if self._throttled_until_ms and self._throttled_until_ms <= now:
            self._throttled_until_ms = 0.0
            self._pump()
        if self._renew_at_ms <= now:
            self._renew_at_ms = NO_DEADLINE
            if self.state is _READY:
                self._become(ConnectionState.AUTHENTICATING)
                self._renew_when_quiet()
        deadlines = [request.deadline_ms for request in self._in_flight]
        deadlines += [waiting.deadline_ms for waiting in self._waiting]
        self.deadline_ms = min(self._throttled_until_ms or NO_DEADLINE, self._renew_at_ms, *deadlines)

    def _overdue(self, now: float) -> bool:
        overdue = next((request for request in self._in_flight if request.deadline_ms <= now), None)
        if overdue is None:
            return False
        # Responses are in order, so later requests would time out as well: like Kafka's clients, close the connection.
        sentence = f"{self.address} did not answer {overdue.api_key.title} within {now - overdue.sent_ms} ms"
        error = NoResponseError(sentence)
        self._give_up(error, sentence)
        overdue.context.set_exception(error)
        return True

    def _drop_late(self, now: float) -> None:
        late = [waiting for waiting in self._waiting if waiting.deadline_ms <= now]
        if late:
            self._waiting = deque(waiting for waiting in self._waiting if waiting.deadline_ms > now)
        for waiting in late:
            sentence = f"{waiting.api_key.title} could not be sent to {self.address} within {waiting.timeout_ms:g} ms"
            waiting.completion.set_exception(KafkaTimeoutError(f"{sentence}: {self.state.value}"))

    def _renew_when_quiet(self) -> None:
        if not self._in_flight and self._conversation is None and self.failure is None:
            self._renew()

    # --- the end

    def close(self) -> Callable[[str, KafkaError | None], None]:
        """Stop sending and receiving; return a function that fails all unanswered requests.

        Call it with a description of the connection's end, and the error for the requests (None: one made from the
        description).
        """
        self._become(_CLOSED)
        sent, unsent = list(self._in_flight), list(self._waiting)
        self._in_flight.clear()
        self._waiting.clear()
        self.out.clear()
        self.work = self._conversation = None
        self.deadline_ms = self._renew_at_ms = NO_DEADLINE
        self._throttled_until_ms = 0.0

        def fail(what: str, error: KafkaError | None) -> None:
            sentence = f"The connection to {self.address} {what}"
            for request in sent:
                request.context.set_exception(error or DisconnectError(sentence))
            for waiting in unsent:
                waiting.completion.set_exception(error or KafkaConnectionError(sentence))
            self.established.set_exception(error or KafkaConnectionError(sentence))

        return fail
