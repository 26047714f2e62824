"""The broker's listeners: they accept connections within quotas, and close idle ones (Kafka's `SocketServer`)."""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import time
from collections.abc import Callable, Collection
from time import monotonic
from typing import Any, Protocol

from twisted.internet import error, protocol
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import maybeDeferred

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.common.broker import EndPoint
from kafkapy.common.metrics_requests import RequestStatsByApi
from kafkapy.common.rate import Rate
from kafkapy.network.authentication_counts import AuthenticationCounter, AuthenticationListener
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.connection_quotas import ConnectionLimits, ConnectionQuotas
from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.memory_pool import MemoryPool
from kafkapy.network.request import Request, RequestContext
from kafkapy.network.sasl_connection import SaslConnection
from kafkapy.network.tls_transport import TlsFactory, TlsPort
from kafkapy.network.transport import PlaintextPort
from kafkapy.protocol.api_codecs import ApiCodecs
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.wire import SchemaError
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import spawn
from kafkapy.runtime.time_slice import TimeSlice
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.sasl.authenticator import DEFAULT_MAX_RECEIVE_SIZE, SaslServerAuthenticator

log = logging.getLogger("kafkapy.network.SocketServer")


class IpRates(Protocol):
    """What the server needs of `IpConnectionRates`."""

    enabled: bool

    def throttle_ms(self, ip: str) -> int:
        """Count a connection. A result above 0 says to close it unread after that time."""
        ...


NewAuthenticator = Callable[[RequestContext], SaslServerAuthenticator]

MAX_DELAYED_REFUSALS = 1000
"""Refused connections that are closed after a delay, because they came too fast.

Further ones are closed at once: each is a descriptor.
"""

IDLE_SCAN_SECONDS = 1.0

_IDLE_SCAN_BATCH = 500

_IPV4_MAPPED = "::ffff:"
"""Prefix of an IPv4 client's address on a dual-stack socket."""


def _all_addresses() -> str:
    """Return the interface for all addresses, as Java binds it: dual-stack if there is IPv6."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::", 0))
    except OSError:
        return ""
    return "::"


ALL_ADDRESSES = _all_addresses()


def _as_java(ip: str) -> str:
    """Format an address as Java does: all eight groups of IPv6, without leading zeros."""
    if ":" not in ip:
        return ip
    address, _, scope = ip.partition("%")
    groups = ipaddress.IPv6Address(address).exploded.split(":")
    return ":".join(f"{int(group, 16):x}" for group in groups) + (f"%{scope}" if scope else "")


class ListenError(Exception):
    """A listener could not be bound; the message says which and why."""


def _listen_error(host: str | None, port: int, problem: object) -> ListenError:
    advice = cause_and_remedy(problem, "'listeners'")
    if isinstance(problem, OSError) and problem.errno == errno.EADDRNOTAVAIL:
        advice += ". An address that only clients see belongs into 'advertised.listeners'"
    return ListenError(f"Socket server failed to bind to {host or '0.0.0.0'}:{port}: {advice}.")


_ALL_HOSTS = ("", None, "0.0.0.0")


def bind_address(endpoint: EndPoint) -> str | None:
    """Return the address of the endpoint's host name; None if it has no name to look up. Blocks.

    Raises:
        ListenError: the name is unknown.
    """
    if endpoint.host in _ALL_HOSTS or isIPAddress(endpoint.host) or isIPv6Address(endpoint.host):
        return None
    try:
        return str(socket.getaddrinfo(endpoint.host, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
    except OSError as problem:
        raise _listen_error(endpoint.host, endpoint.port, problem) from problem


class SocketServer:
    """All listeners of a broker.

    Invariant: `_channels` holds every open channel, and `quotas` counts them. Connections are refused until
    `start_accepting` sets `_handler`. From then on a listener's port accepts exactly while the quotas have a slot for
    the listener and it is not in `_delayed`; listeners that accept are in `_accepting`.
    """

    def __init__(
        self,
        reactor: Any,
        enabled_apis: Collection[ApiKey],
        max_request_size: int,
        limits: ConnectionLimits,
        cold_reads: InThread,
        decoding: InThread,
        inter_broker_listener: str | None = None,
        *,
        make_rate: Callable[[], Rate] = Rate,
        send_buffer: int = -1,
        receive_buffer: int = -1,
        memory_pool: MemoryPool | None = None,
        tls_of: Callable[[EndPoint], TlsFactory | None] = lambda _: None,
        sasl_of: Callable[[EndPoint], NewAuthenticator | None] = lambda _: None,
        sasl_max_receive_size: int = DEFAULT_MAX_RECEIVE_SIZE,
        failed_authentication_delay: float = 0.1,
        ip_rates: IpRates | None = None,
        on_authentication: AuthenticationListener = lambda context, outcome: None,
        plaintext_principal: Callable[[RequestContext], KafkaPrincipal] | None = None,
    ) -> None:
        """Make a server without listeners.

        Args:
            cold_reads, decoding: Threads that may wait for a disk; threads that decode large requests.
            send_buffer, receive_buffer: Bytes of the kernel's buffers; -1: the system's default.
            memory_pool: Limits the memory of requests that have not wholly arrived.
            tls_of, sasl_of: Return the TLS settings and authenticators of a listener; None: without.
            ip_rates, on_authentication: Connection rates of addresses (KIP-612); called with each outcome.
            plaintext_principal: Returns the principal of connections of PLAINTEXT listeners; None: ANONYMOUS.
        """
        self.reactor = reactor
        self.cold_reads = cold_reads
        self._large_requests = LargeRequests(decoding)
        self.memory_pool = memory_pool
        self._tls_of, self._sasl_of = tls_of, sasl_of
        self._sasl_max_receive_size = sasl_max_receive_size
        self.failed_authentication_delay = failed_authentication_delay
        self._ip_rates = ip_rates
        self.authentications = AuthenticationCounter(on_authentication)
        self._plaintext_principal = plaintext_principal
        self._refused_for, self._kept_refused = 0.0, 0
        self.max_request_size = max_request_size
        self.quotas = ConnectionQuotas(limits, inter_broker_listener, lambda: int(self.now() * 1000), make_rate)
        self.codecs = ApiCodecs(enabled_apis)
        self._handler: Callable[[Request], None] | None = None
        self._send_buffer, self._receive_buffer = send_buffer, receive_buffer
        self._ports: dict[str, PlaintextPort] = {}
        self._channels: set[KafkaChannel] = set()
        self._accepting: set[str] = set()
        self._cut_off: set[str] = set()  # listeners whose connections are closed at once (`cut_off`)
        self._delayed: dict[str, Any] = {}
        self._sequence = 0
        self.refused = 0
        """Connections refused because of a limit, or closed to make room."""
        self._idle_scan: Any = None
        self.request_stats: RequestStatsByApi | None = None
        """Set before the first connection, if requests are measured."""
        self.time_slice: TimeSlice = getattr(reactor, "time_slice", None) or TimeSlice()

    now: Callable[[], float] = staticmethod(time.monotonic)

    @property
    def connection_count(self) -> int:
        return len(self._channels)

    @property
    def accepted(self) -> int:
        """The number of connections accepted so far."""
        return self._sequence

    # ------------------------------------------------------------------------------------------------ listeners

    def listen(self, endpoint: EndPoint, backlog: int = 50, address: str | None = None) -> int:
        """Bind a listener and return its port. It accepts connections only after `start_accepting`.

        `address`: the result of `bind_address`; None if the endpoint has no host name to look up.

        Raises:
            ListenError: the address cannot be bound.
        """
        tls = self._tls_of(endpoint)
        sasl = self._sasl_of(endpoint)
        factory: Any = (
            _ChannelFactory(self, endpoint, sasl) if tls is None else _TlsChannelFactory(self, endpoint, sasl, tls)
        )
        interface = (ALL_ADDRESSES if endpoint.host in _ALL_HOSTS else endpoint.host) if address is None else address
        kind = PlaintextPort if tls is None else TlsPort
        port = kind(endpoint.port, factory, backlog, interface, self.reactor)
        try:
            port.startListening()
        except error.CannotListenError as problem:
            raise _listen_error(endpoint.host, endpoint.port, problem.socketError) from problem
        port.stopReading()
        if self._receive_buffer > 0:
            # Accepted connections inherit it; set later, it could no longer widen the TCP window.
            port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        if self._send_buffer > 0:
            port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        self._ports[endpoint.listener_name] = port
        if self._handler is not None:
            self._open(port)
        self.quotas.add_listener(endpoint.listener_name)
        if self._idle_scan is None:
            self._idle_scan = self.reactor.callLater(IDLE_SCAN_SECONDS, self._close_idle, [])
        self.check_accepting()
        bound: int = port.getHost().port
        return bound

    def bound_port(self, listener_name: str) -> int:
        port: int = self._ports[listener_name].getHost().port
        return port

    def start_accepting(self, handler: Callable[[Request], None]) -> None:
        """Start to accept connections; `handler` is called with every request.

        Raises:
            ListenError: another process listens at an address by now.
        """
        self._handler = handler
        for port in self._ports.values():
            self._open(port)
        self.check_accepting()

    def _open(self, port: PlaintextPort) -> None:
        try:
            port.open()
        except error.CannotListenError as problem:
            raise _listen_error(problem.interface, problem.port, problem.socketError) from problem

    async def stop_listening(self) -> None:
        """Stop accepting connections; open ones stay open."""
        for name in list(self._ports):
            await self._stop_listener(name)

    async def remove_listener(self, name: str) -> None:
        """Stop one listener and close its connections."""
        await self._stop_listener(name)
        self._abort_all_of(name, f"the listener {name} is removed")

    def cut_off(self, name: str) -> int:
        """Close the connections of one listener, and refuse new ones until `restore_listener`. Returns how many were closed."""
        self._cut_off.add(name)
        return self._abort_all_of(name, f"the listener {name} is cut off")

    def restore_listener(self, name: str) -> None:
        self._cut_off.discard(name)

    def _abort_all_of(self, name: str, reason: str) -> int:
        channels = [channel for channel in self._channels if channel.context.listener_name == name]
        for channel in channels:
            channel.abort(reason)
        return len(channels)

    async def _stop_listener(self, name: str) -> None:
        port = self._ports.pop(name)
        self.quotas.remove_listener(name)
        self._accepting.discard(name)
        if delayed := self._delayed.pop(name, None):
            delayed.cancel()
        await maybeDeferred(port.stopListening)

    def shutdown(self) -> None:
        """Close every connection."""
        for delayed in self._delayed.values():
            delayed.cancel()
        self._delayed.clear()
        if self._idle_scan is not None and self._idle_scan.active():
            self._idle_scan.cancel()
        for channel in list(self._channels):
            channel.closed = True
            channel.transport.close_now()

    # ------------------------------------------------------------------------------------------------ connections

    def free_slots(self, listener: str) -> int:
        """Return how many connections may be accepted before the quotas must be checked again.

        The quotas count finished connections. Sockets that the ports have accepted, on any listener, are subtracted.
        """
        slots = 1 if self.quotas.is_rated(listener) else self.quotas.slots(listener)
        return slots - sum(port.accepted_count for port in self._ports.values())

    def accept(
        self, endpoint: EndPoint, address: IPv4Address | IPv6Address, new_authenticator: NewAuthenticator | None = None
    ) -> KafkaChannel | None:
        """Make the channel of a new connection, or return None if it is refused."""
        if endpoint.listener_name in self._cut_off:
            return None
        ip = address.host.removeprefix(_IPV4_MAPPED)
        if self._ip_rates is not None and self._ip_rates.enabled:
            self._refused_for = self._ip_rates.throttle_ms(ip) / 1000
            if self._refused_for:
                self.refused += 1
                return None
        self.quotas.accepted(endpoint.listener_name)
        self._delay(endpoint.listener_name)
        if self.quotas.is_full_for(ip):
            self.refused += 1
            allowed = self.quotas.limits.allowed_from(ip)
            log.info("Rejected connection from /%s: max.connections.per.ip is %d", ip, allowed)
            return None
        self._sequence += 1
        context = RequestContext(
            f"{endpoint.host}:{endpoint.port}-{_as_java(ip)}:{address.port}-{self._sequence}",
            f"/{_as_java(ip)}",
            endpoint.listener_name,
            endpoint.security_protocol,
            number=self._sequence,
        )
        if self._plaintext_principal is not None and endpoint.security_protocol == "PLAINTEXT":
            try:
                context.principal = self._plaintext_principal(context)
            except Exception as problem:
                why = type(problem).__name__
                log.info("Rejected connection from %s: the principal builder raised %s", context.client_host, why)
                self.refused += 1
                return None
        assert self._handler is not None
        channel = KafkaChannel(self, context, self._handler)
        channel.peer = ip
        if new_authenticator is not None:
            authenticator = new_authenticator(context)
            channel.sasl = SaslConnection(
                authenticator, context, self.codecs, self._sasl_max_receive_size, self.authentications
            )
        return channel

    def close_refused(self, connection: socket.socket) -> None:
        """Close a refused connection: at once, or, if it came too fast, when the next may come, which slows the client
        down."""
        seconds, self._refused_for = self._refused_for, 0.0
        if seconds and self._kept_refused < MAX_DELAYED_REFUSALS:
            self._kept_refused += 1
            self.reactor.callLater(seconds, self._close_kept, connection)
        else:
            connection.close()

    def _close_kept(self, connection: socket.socket) -> None:
        self._kept_refused -= 1
        connection.close()

    def decode(self, channel: KafkaChannel, request: Request, frame: memoryview | bytes, position: int) -> None:
        spawn(self._decode(channel, request, frame, position))

    async def _decode(self, channel: KafkaChannel, request: Request, frame: memoryview | bytes, position: int) -> None:
        try:
            await self._large_requests.decode(request, frame, position)
        except SchemaError as error:
            channel.close(f"malformed request: {error}")
        except Exception:
            log.exception("Could not decode %r", request)
            channel.close("a request could not be decoded")
        channel.decoded(request)

    def release(self, produce: Any) -> None:
        self._large_requests.release(produce)

    def channel_opened(self, channel: KafkaChannel) -> None:
        self._channels.add(channel)
        self.quotas.opened(channel.context.listener_name, channel.peer)
        self.check_accepting()

    def channel_closed(self, channel: KafkaChannel) -> None:
        if channel not in self._channels:
            return
        self._channels.discard(channel)
        self.quotas.closed(channel.context.listener_name, channel.peer)
        self.check_accepting()

    def set_limits(self, limits: ConnectionLimits) -> None:
        """Apply new limits, also to open connections."""
        self.quotas.limits = limits
        for name in list(self._delayed):
            self._delayed.pop(name).cancel()
            self._delay(name)
        self.check_accepting()

    def check_accepting(self) -> None:
        """Start or stop accepting according to the quotas; close connections beyond them."""
        if self.quotas.excess:
            self._close_excess()
        for name, port in self._ports.items():
            wanted = self._handler is not None and name not in self._delayed and self.quotas.slots(name) > 0
            if wanted and name not in self._accepting:
                self._accepting.add(name)
                port.startReading()
            elif not wanted and name in self._accepting:
                self._accepting.discard(name)
                port.stopReading()

    def _delay(self, listener: str) -> None:
        """Delay the next connection if they come too fast."""
        if delay := self.quotas.delay_ms(listener):
            self._delayed[listener] = self.reactor.callLater(delay / 1000, self._delay_is_over, listener)
            self.check_accepting()

    def _delay_is_over(self, listener: str) -> None:
        del self._delayed[listener]
        self.check_accepting()

    def _close_excess(self) -> None:
        """Close the unprotected connections that have been idle longest."""
        closing = sum(channel.closed for channel in self._channels)
        others = [c for c in self._channels if not self.quotas.is_protected(c.context.listener_name) and not c.closed]
        others.sort(key=lambda channel: channel.last_active)
        for channel in others[: max(self.quotas.excess - closing, 0)]:
            self.refused += 1
            channel.abort("max.connections is exceeded, and it was idle for longest")

    def _close_idle(self, left: list[KafkaChannel]) -> None:
        """Close idle connections. `left`: those that this scan has not checked yet; if empty, the next scan starts."""
        max_idle_ms = self.quotas.limits.max_idle_ms
        left = left or list(self._channels)
        some, left = left[:_IDLE_SCAN_BATCH], left[_IDLE_SCAN_BATCH:]
        self._idle_scan = self.reactor.callLater(0 if left else IDLE_SCAN_SECONDS, self._close_idle, left)
        if max_idle_ms < 0:
            return
        oldest = self.now() - max_idle_ms / 1000
        for channel in some:
            if not channel.closed and channel.is_idle(oldest):
                channel.abort(f"idle for more than {max_idle_ms} ms (connections.max.idle.ms)")


class _ChannelFactory(protocol.ServerFactory):
    noisy = False

    def __init__(self, server: SocketServer, endpoint: EndPoint, sasl: NewAuthenticator | None) -> None:
        self._server = server
        self._endpoint = endpoint
        self._sasl = sasl
        self.cold_reads = server.cold_reads

    def free_slots(self) -> int:
        return self._server.free_slots(self._endpoint.listener_name)

    def should_yield(self) -> bool:
        return monotonic() >= self._server.time_slice.ends

    def close_refused(self, connection: socket.socket) -> None:
        self._server.close_refused(connection)

    def buildProtocol(self, addr: Any) -> Any:
        return self._server.accept(self._endpoint, addr, self._sasl)


class _TlsChannelFactory(_ChannelFactory):
    def __init__(
        self, server: SocketServer, endpoint: EndPoint, sasl: NewAuthenticator | None, tls: TlsFactory
    ) -> None:
        super().__init__(server, endpoint, sasl)
        self.new_session, self.principal_of = tls.new_session, tls.principal_of
        self.on_authentication = server.authentications.ended
