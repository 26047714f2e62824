"""The listeners: accepts connections within their quotas and closes idle ones (Kafka's `SocketServer`, `ConnectionQuotas`)."""

from __future__ import annotations

import ipaddress
import logging
import socket
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet import error, protocol
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import maybeDeferred

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.common.metrics_requests import RequestStatsByApi
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.request import Request, RequestContext
from kafkapy.network.transport import PlaintextPort
from kafkapy.protocol.api_keys import ApiKey

log = logging.getLogger("kafkapy.network.SocketServer")

IDLE_SCAN_SECONDS = 1.0

_IPV4_MAPPED = "::ffff:"
"""How an IPv4 client's address begins on a socket that serves both families."""


def _all_addresses() -> str:
    """The interface for "every address of this machine", as Java has it: IPv6 and IPv4 alike, where there is IPv6."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::", 0))
    except OSError:
        return ""
    return "::"


ALL_ADDRESSES = _all_addresses()


def _as_java(ip: str) -> str:
    """An address as Java prints it: of IPv6 all eight groups, without leading zeros."""
    if ":" not in ip:
        return ip
    address, _, scope = ip.partition("%")
    groups = ipaddress.IPv6Address(address).exploded.split(":")
    return ":".join(f"{int(group, 16):x}" for group in groups) + (f"%{scope}" if scope else "")


@dataclass
class ConnectionLimits:
    """`max.connections`, `max.connections.per.ip` with overrides, `connections.max.idle.ms`; may be changed while running."""

    max_connections: int = 2147483647
    max_connections_per_ip: int = 2147483647
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """by address"""
    max_idle_ms: int = 600_000

    def allowed_from(self, ip: str) -> int:
        return self.max_connections_per_ip_overrides.get(ip, self.max_connections_per_ip)


def limits_by_address(overrides: Mapping[str, int]) -> dict[str, int]:
    """`max.connections.per.ip.overrides` may name hosts: the limits by their addresses. `ConfigException`: an unknown host."""
    limits = {}
    for host, limit in overrides.items():
        try:
            for *_, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
                limits[str(address[0])] = limit
        except OSError as problem:
            raise ConfigException.invalid(
                "max.connections.per.ip.overrides", host, f"the host is not known: {problem}"
            ) from problem
    return limits


class ListenError(Exception):
    """A listener could not be bound; the message says which and why."""


class SocketServer:
    """All listeners of a broker.

    Invariant: `_channels` holds every open channel, `_per_ip` the number of them by client address; the ports accept exactly
    while fewer than `limits.max_connections` channels are open (an inter-broker listener of its own is exempt).
    """

    def __init__(
        self,
        reactor: Any,
        enabled_apis: Collection[ApiKey],
        max_request_size: int,
        limits: ConnectionLimits,
        exempt_listeners: Collection[str] = (),
        *,
        send_buffer: int = -1,
        receive_buffer: int = -1,
    ) -> None:
        """`send_buffer`, `receive_buffer`: bytes of the kernel's buffers for each connection, -1: as the system likes."""
        self.reactor = reactor
        self.max_request_size = max_request_size
        self.limits = limits
        self.enabled_apis = frozenset(enabled_apis)
        self._handler: Callable[[Request], None] | None = None
        self._exempt = frozenset(exempt_listeners)
        self._send_buffer = send_buffer
        self._receive_buffer = receive_buffer
        self._ports: dict[str, Any] = {}
        self._channels: set[KafkaChannel] = set()
        self._per_ip: dict[str, int] = {}
        self._accepting = True
        self._sequence = 0
        self._idle_scan: Any = None
        self.request_stats: RequestStatsByApi | None = None
        """Set before the first connection, where requests are to be measured."""

    now = staticmethod(time.monotonic)

    @property
    def connection_count(self) -> int:
        return len(self._channels)

    @property
    def accepted(self) -> int:
        """Connections so far."""
        return self._sequence

    # ------------------------------------------------------------------------------------------------ listeners

    def listen(self, endpoint: EndPoint, backlog: int = 50) -> int:
        """Bind one listener, its door shut; the port it got. `ListenError` if the address is taken or unknown."""
        factory: Any = _ChannelFactory(self, endpoint)
        interface = ALL_ADDRESSES if endpoint.host in ("", None, "0.0.0.0") else endpoint.host
        port = PlaintextPort(endpoint.port, factory, backlog, interface, self.reactor)
        try:
            port.startListening()
        except error.CannotListenError as problem:
            raise ListenError(
                f"Socket server failed to bind to {endpoint.host or '0.0.0.0'}:{endpoint.port}: {problem.socketError}. "
                f"Another process may use the port; stop it or choose another port in 'listeners'."
            ) from problem
        port.stopReading()
        if self._receive_buffer > 0:
            # Accepted connections inherit it; set later it could not widen the TCP window any more.
            port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer)
        if self._send_buffer > 0:
            port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer)
        self._ports[endpoint.listener_name] = port
        if self._idle_scan is None:
            self._idle_scan = self.reactor.callLater(IDLE_SCAN_SECONDS, self._close_idle)
        bound: int = port.getHost().port
        return bound

    def bound_port(self, listener_name: str) -> int:
        port: int = self._ports[listener_name].getHost().port
        return port

    def start_accepting(self, handler: Callable[[Request], None]) -> None:
        """Open the doors of the listeners; `handler` gets every request."""
        self._handler = handler
        for port in self._ports.values():
            port.startReading()

    async def stop_listening(self) -> None:
        ports, self._ports = self._ports, {}
        for port in ports.values():
            await maybeDeferred(port.stopListening)

    def shutdown(self) -> None:
        """Close every connection."""
        if self._idle_scan is not None and self._idle_scan.active():
            self._idle_scan.cancel()
        for channel in list(self._channels):
            channel.closed = True
            channel.transport.close_now()

    # ------------------------------------------------------------------------------------------------ connections

    def accept(self, endpoint: EndPoint, address: IPv4Address | IPv6Address) -> KafkaChannel | None:
        """A channel for a new connection, or None if its address has too many."""
        ip = address.host.removeprefix(_IPV4_MAPPED)
        if self._per_ip.get(ip, 0) >= self.limits.allowed_from(ip):
            log.info("Rejected connection from /%s: max.connections.per.ip is %d", ip, self.limits.allowed_from(ip))
            return None
        self._sequence += 1
        context = RequestContext(
            f"{endpoint.host}:{endpoint.port}-{_as_java(ip)}:{address.port}-{self._sequence}",
            f"/{_as_java(ip)}",
            endpoint.listener_name,
            endpoint.security_protocol,
        )
        assert self._handler is not None
        channel = KafkaChannel(self, context, self._handler)
        channel.peer = ip
        return channel

    def channel_opened(self, channel: KafkaChannel) -> None:
        self._channels.add(channel)
        ip = channel.peer
        self._per_ip[ip] = self._per_ip.get(ip, 0) + 1
        self.check_accepting()

    def channel_closed(self, channel: KafkaChannel) -> None:
        if channel not in self._channels:
            return
        self._channels.discard(channel)
        ip = channel.peer
        left = self._per_ip.get(ip, 1) - 1
        if left:
            self._per_ip[ip] = left
        else:
            self._per_ip.pop(ip, None)
        self.check_accepting()

    def check_accepting(self) -> None:
        """Stop or go on accepting, as `max.connections` says."""
        wanted = len(self._channels) < self.limits.max_connections
        if wanted == self._accepting:
            return
        self._accepting = wanted
        for name, port in self._ports.items():
            if name not in self._exempt:
                if wanted:
                    port.startReading()
                else:
                    port.stopReading()

    def _close_idle(self) -> None:
        self._idle_scan = self.reactor.callLater(IDLE_SCAN_SECONDS, self._close_idle)
        if self.limits.max_idle_ms < 0:
            return
        oldest = self.now() - self.limits.max_idle_ms / 1000
        for channel in [c for c in self._channels if c.is_idle(oldest)]:
            channel.abort(f"idle for more than {self.limits.max_idle_ms} ms (connections.max.idle.ms)")


class _ChannelFactory(protocol.ServerFactory):
    noisy = False

    def __init__(self, server: SocketServer, endpoint: EndPoint) -> None:
        self._server = server
        self._endpoint = endpoint

    def buildProtocol(self, addr: Any) -> KafkaChannel | None:
        return self._server.accept(self._endpoint, addr)
