"""A client's connection on the server side, without its socket."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.security.sasl.digest_md5 import DigestMd5Server
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import Acls, Identity, is_allowed
from kafkapy.zk.embedded.codes import NodeEvent
from kafkapy.zk.embedded.jute import string

REPLY_HEADER = struct.Struct("!iiqi")
"""Including the length before it."""
REPLY_HEADER_SIZE = 16
_EVENT = struct.Struct("!ii")


@dataclass(slots=True)
class ConnectionStats:
    """For the four-letter words; latencies in ms."""

    received: int = 0
    sent: int = 0
    requests: int = 0
    latency_ms: float = 0.0
    min_ms: float = 0.0
    max_ms: float = 0.0
    last_ms: float = 0.0

    def add(self, latency_ms: float) -> None:
        self.min_ms = latency_ms if not self.requests else min(self.min_ms, latency_ms)
        self.max_ms = max(self.max_ms, latency_ms)
        self.requests += 1
        self.latency_ms += latency_ms
        self.last_ms = latency_ms

    def reset(self) -> None:
        self.received = self.sent = self.requests = 0
        self.latency_ms = self.min_ms = self.max_ms = self.last_ms = 0.0

    @property
    def average_ms(self) -> float:
        return self.latency_ms / self.requests if self.requests else 0.0


class ClientConnection:
    """A connection.

    Invariant: `session_id` is 0 until the client has a session here, and `closed` is final.
    """

    def __init__(
        self,
        host: str,
        port: int,
        send: Callable[[bytes], None],
        close_after_send: Callable[[], None],
        now_ms: int,
        total: ConnectionStats | None = None,
    ) -> None:
        """`send` sends bytes to the client, in order; `close_after_send` closes the connection after that.

        `total`: the statistics of the server.
        """
        self.host = host
        self.port = port
        self.session_id = 0
        self.timeout_ms = 0
        self.identities: tuple[Identity, ...] = (Identity("ip", host),)
        self.sasl: DigestMd5Server | None = None
        """Set during an exchange."""
        self.closed = False
        self.stats = ConnectionStats()
        self._total = total or ConnectionStats()
        self.established_ms = now_ms
        self.last_op = "NA"
        self.last_cxid = -1
        self.last_zxid = -1
        self.last_response_ms = 0
        self._send = send
        self._close_after_send = close_after_send

    def send(self, data: bytes) -> None:
        if not self.closed:
            self._send(data)

    def reply(self, xid: int, zxid: int, code: int = 0, body: bytes = b"") -> None:
        self.stats.sent += 1
        self._total.sent += 1
        self.send(REPLY_HEADER.pack(REPLY_HEADER_SIZE + len(body), xid, zxid, code) + body)

    def notify(self, event: NodeEvent, path: str, zxid: int, acls: Acls | None) -> None:
        if acls is None or is_allowed(acls, codes.READ, self.identities):
            self.reply(codes.NOTIFICATION_XID, zxid, 0, _EVENT.pack(event, codes.SYNC_CONNECTED) + string(path))

    def add_identity(self, scheme: str, name: str) -> None:
        identity = Identity(scheme, name)
        if identity not in self.identities:
            self.identities += (identity,)

    def close(self) -> None:
        """Close after sent bytes have been delivered; nothing is sent or received any more."""
        if not self.closed:
            self.closed = True
            self._close_after_send()
