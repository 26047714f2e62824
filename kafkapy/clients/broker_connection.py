"""One connection of a client to one broker: handshake, pipeline, time-outs, throttling."""

from __future__ import annotations

import logging
from collections import deque
from enum import Enum
from typing import Any, NamedTuple, Protocol

from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.client_apis import Api
from kafkapy.clients.completion import CancelledError, Completion, spawn
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import Connection
from kafkapy.clients.driver import Driver, SocketOptions, Timer, Transport
from kafkapy.clients.frames import ReceiveBuffer
from kafkapy.errors import (
    DisconnectError,
    KafkaConnectionError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest

_log = logging.getLogger("kafkapy.clients")

ANY_VERSION = 32767
_THROTTLING_PRODUCE_VERSION = 6
"""Brokers that know it answer a throttled client at once and expect it to wait (KIP-219); older ones wait themselves."""

_REAUTHENTICATE_AT = 0.85
"""Part of the session's life after which a client authenticates again (KIP-368)."""


class State(Enum):
    WAITING = "waiting for the end of the back-off"
    CONNECTING = "connecting"
    READY = "ready"
    AUTHENTICATING = "authenticating again"
    CLOSED = "closed"


class Owner(Protocol):
    """What a connection tells the client it belongs to."""

    driver: Driver
    config: ClientConfig
    scratch: memoryview

    def connection_ready(self, connection: BrokerConnection) -> None: ...

    def connection_lost(self, connection: BrokerConnection, reason: str, was_ready: bool) -> None: ...


class Waiting(NamedTuple):
    """A request that has not been sent yet."""

    message: Any
    api_key: Api
    min_version: int
    max_version: int
    timeout_ms: float
    deadline_ms: float
    completion: Completion[Any]


class BrokerConnection:
    """Requests in, completions out; a `Channel` to the transport below.

    Invariant: `_waiting` holds, in order, requests that could not be sent yet: because the handshake is not done, the
    limit of requests in flight is reached or the broker has asked for a pause. Each completion that was given away ends:
    with its response, an error of its own, or what ended the connection.
    """

    def __init__(self, owner: Owner, node_id: int, host: str, port: int, connect_timeout_ms: float) -> None:
        self.owner = owner
        self.node_id = node_id
        self.host = host
        self.port = port
        self.state = State.WAITING
        self.last_used_ms = owner.driver.time.monotonic_ms()
        self._driver = owner.driver
        self._config = owner.config
        self._connect_timeout_ms = connect_timeout_ms
        self.connection = Connection(
            owner.config.client_id,
            request_timeout_ms=owner.config.request_timeout_ms,
            max_response_bytes=owner.config.receive_message_max_bytes,
            time=owner.driver.time,
        )
        self._input = ReceiveBuffer(owner.scratch, owner.config.receive_message_max_bytes)
        self._in_flight = self.connection.in_flight
        self._max_in_flight = owner.config.max_in_flight_requests_per_connection
        self._waiting: deque[Waiting] = deque()
        self._transport: Transport | None = None
        self._throttled = False
        self._timer: Timer | None = None
        self._timer_due_ms = 0.0
        self._later: list[Timer] = []
        self._authentication_error: KafkaError | None = None
        self.established: Completion[NodeApiVersions] = Completion()
        """What the broker serves, once the handshake is done."""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def pending(self) -> int:
        """Requests that are not answered, sent or not."""
        return len(self._in_flight) + len(self._waiting)

    @property
    def can_send(self) -> bool:
        """Would a request go out at once?"""
        return self.state is State.READY and not self._throttled and len(self._in_flight) < self._max_in_flight

    # --- connecting

    def open(self, delay_ms: float) -> None:
        """Connect, after the back-off."""
        if delay_ms > 0:
            self._later.append(self._driver.call_later(delay_ms, self._connect))
        else:
            self._connect()

    def _connect(self) -> None:
        if self.state is State.WAITING:
            self.state = State.CONNECTING
            base = self._config.socket
            options = SocketOptions(
                base.send_buffer_bytes, base.receive_buffer_bytes, base.options, self._connect_timeout_ms, base.tls
            )
            self._transport = self._driver.connect(self.host, self.port, self, options)

    def connected(self) -> None:
        spawn(self._handshake())

    async def _handshake(self) -> None:
        try:
            await self._negotiate()
            if self._config.security.sasl_mechanism is not None:
                await self._authenticate()
        except CancelledError:
            return
        except KafkaError as error:
            self._handshake_failed(error)
            return
        except Exception as error:  # a token provider of the user
            self._handshake_failed(SaslAuthenticationFailedError(f"{type(error).__name__}: {error}"))
            return
        self.state = State.READY
        self.owner.connection_ready(self)
        assert self.connection.versions is not None
        self.established.set_result(self.connection.versions)
        self._pump()

    def _handshake_failed(self, error: KafkaError) -> None:
        if self.state is not State.CLOSED:
            if not error.retriable:
                self._authentication_error = as_client_error(error)
            self._lost(str(error))

    async def _negotiate(self) -> None:
        answer = None
        pinned = self._config.pinned_versions
        if pinned is not None:
            self.connection.versions = pinned
            return
        while True:
            completion: Completion[Any] = Completion()
            step = self.connection.negotiate(answer, completion)
            if step is None:
                return
            self._write([step[1]])
            answer = await completion

    async def _authenticate(self) -> None:
        """SaslHandshake and the mechanism's exchange (KIP-43, KIP-152)."""
        security = self._config.security
        name = security.sasl_mechanism or ""
        answer = await self._exchange(SaslHandshakeRequest(mechanism=name), ApiKey.SASL_HANDSHAKE)
        if answer.error_code == Errors.UNSUPPORTED_SASL_MECHANISM.code:
            offered = ", ".join(answer.mechanisms)
            raise error_for(answer.error_code, f"The broker offers {offered or 'no mechanism'}, not {name}")
        if answer.error_code:
            raise error_for(answer.error_code)
        mechanism = security.mechanism()
        said: bytes | None = await self._driver.run_in_thread(mechanism.first)
        while said is not None:
            answer = await self._exchange(SaslAuthenticateRequest(auth_bytes=said), ApiKey.SASL_AUTHENTICATE)
            if answer.error_code:
                raise error_for(answer.error_code, answer.error_message)
            said = mechanism.next(answer.auth_bytes)
        lifetime = answer.session_lifetime_ms
        if lifetime > 0:
            self._later.append(self._driver.call_later(lifetime * _REAUTHENTICATE_AT, self._begin_reauthentication))

    def _begin_reauthentication(self) -> None:
        if self.state is State.READY:
            self.state = State.AUTHENTICATING
            if not self._in_flight:
                spawn(self._reauthenticate())

    async def _reauthenticate(self) -> None:
        try:
            await self._authenticate()
        except CancelledError:
            return
        except Exception as error:
            if self.state is not State.CLOSED:
                self._lost(f"authenticating again failed: {error}")
            return
        self.state = State.READY
        self._pump()

    def _exchange(self, message: Any, api_key: Api) -> Completion[Any]:
        """A request of the handshake, past those that wait."""
        versions = self.connection.versions
        assert versions is not None
        completion: Completion[Any] = Completion()
        version = versions.latest_usable(api_key)
        timeout = self._config.request_timeout_ms
        self._write(self.connection.send_parts(message, api_key, version, timeout, completion))
        return completion

    # --- sending

    def send(
        self, message: Any, api_key: Api, min_version: int, max_version: int, timeout_ms: float
    ) -> Completion[Any]:
        completion: Completion[Any] = Completion()
        if self.can_send and not self._waiting:
            self._transmit(message, api_key, min_version, max_version, timeout_ms, completion)
        elif self.state is State.CLOSED:
            completion.set_exception(KafkaConnectionError(f"The connection to {self.address} is closed"))
        else:
            deadline = self._driver.time.monotonic_ms() + timeout_ms
            self._waiting.append(Waiting(message, api_key, min_version, max_version, timeout_ms, deadline, completion))
            self._watch_deadline(deadline)
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
        connection = self.connection
        versions = connection.versions
        assert versions is not None
        try:
            version = versions.latest_usable(api_key, min_version, max_version)
            if hasattr(message, "build"):
                message = message.build(version)
            parts = connection.send_parts(message, api_key, version, timeout_ms, completion)
        except KafkaError as error:
            completion.set_exception(as_client_error(error))
            return
        except Exception as error:
            completion.set_exception(error)
            return
        self._write(parts)
        if api_key is ApiKey.PRODUCE and message.acks == 0:
            completion.set_result(None)

    def _write(self, parts: list[Any]) -> None:
        if self._transport is not None:
            if self._in_flight:
                self._watch_deadline(self._in_flight[-1].deadline_ms)
            self.last_used_ms = self._driver.time.monotonic_ms()
            self._transport.write(parts)

    def _pump(self) -> None:
        """Send what waited, as far as it may be sent now."""
        while self._waiting and self.can_send:
            waiting = self._waiting.popleft()
            self._transmit(*waiting[:5], waiting.completion)

    # --- receiving

    def receive_buffer(self) -> memoryview:
        return self._input.buffer()

    def bytes_received(self, count: int) -> None:
        self.last_used_ms = self._driver.time.monotonic_ms()
        try:
            for frame, owned in self._input.received(count):
                request, response = self.connection.receive_frame(frame, owned)
                if getattr(response, "throttle_time_ms", 0) > 0:
                    self._throttle(response.throttle_time_ms)
                request.context.set_result(response)
                if self._transport is None:
                    return  # a callback closed it
        except KafkaError as error:
            self._lost(error.message)
            return
        if self._waiting:
            self._pump()
        if self.state is State.AUTHENTICATING and not self._in_flight:
            spawn(self._reauthenticate())

    def _throttle(self, ms: int) -> None:
        versions = self.connection.versions
        served = versions.ranges.get(ApiKey.PRODUCE) if versions is not None else None
        if not self._throttled and served is not None and served[1] >= _THROTTLING_PRODUCE_VERSION:
            self._throttled = True
            self._driver.call_later(ms, self._unthrottle)

    def _unthrottle(self) -> None:
        self._throttled = False
        self._pump()

    # --- time-outs

    def _watch_deadline(self, deadline_ms: float) -> None:
        """One timer for all requests: at the earliest deadline there may be."""
        if self._timer is not None:
            if self._timer_due_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer_due_ms = deadline_ms
        delay = max(0.0, deadline_ms - self._driver.time.monotonic_ms())
        self._timer = self._driver.call_later(delay + 1, self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._timer = None
        now = self._driver.time.monotonic_ms()
        overdue = next((request for request in self._in_flight if request.deadline_ms <= now), None)
        if overdue is not None:
            # Answers come in order: what was asked after it would be late as well. So Kafka's clients hang up.
            sentence = f"{self.address} did not answer {overdue.api_key.title} within {now - overdue.sent_ms} ms"
            overdue.context.set_exception(KafkaTimeoutError(sentence))
            self._lost(sentence)
            return
        late = [waiting for waiting in self._waiting if waiting.deadline_ms <= now]
        if late:
            self._waiting = deque(waiting for waiting in self._waiting if waiting.deadline_ms > now)
        for waiting in late:
            sentence = f"{waiting.api_key.title} could not be sent to {self.address} within {waiting.timeout_ms:g} ms"
            waiting.completion.set_exception(KafkaTimeoutError(f"{sentence}: {self.state.value}"))
        deadlines = [request.deadline_ms for request in self._in_flight]
        deadlines += [waiting.deadline_ms for waiting in self._waiting]
        if deadlines and self.state is not State.CLOSED:
            self._watch_deadline(min(deadlines))

    # --- the end

    def disconnected(self, reason: str) -> None:
        self._lost(reason)

    def _lost(self, reason: str) -> None:
        was_ready = self.state in (State.READY, State.AUTHENTICATING)
        if self.state is not State.CLOSED:
            requests = self._end()
            self.owner.connection_lost(self, reason, was_ready)
            self._fail(requests, reason, was_ready)

    def close(self, error: KafkaError | None = None) -> None:
        """By our own will; what is not answered fails."""
        if self.state is not State.CLOSED:
            self._authentication_error = error
            self._fail(self._end(), "closed by the client", True)

    def _end(self) -> tuple[list[Completion[Any]], list[Completion[Any]]]:
        self.state = State.CLOSED
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
        for timer in (self._timer, *self._later):
            if timer is not None:
                timer.cancel()
        self._timer = None
        sent = [request.context for request in self._in_flight]
        unsent = [waiting.completion for waiting in self._waiting]
        self._in_flight.clear()
        self._waiting.clear()
        return sent, unsent

    def _fail(
        self, requests: tuple[list[Completion[Any]], list[Completion[Any]]], reason: str, was_ready: bool
    ) -> None:
        sent, unsent = requests
        verb = "ended" if was_ready else "could not be established"
        sentence = f"The connection to {self.address} {verb}: {reason}"
        for completion in sent:
            completion.set_exception(self._authentication_error or DisconnectError(sentence))
        for completion in unsent:
            completion.set_exception(self._authentication_error or KafkaConnectionError(sentence))
        self.established.set_exception(self._authentication_error or KafkaConnectionError(sentence))

    @property
    def authentication_error(self) -> KafkaError | None:
        """Why there is no use in trying again: the credentials or versions don't fit."""
        return self._authentication_error
