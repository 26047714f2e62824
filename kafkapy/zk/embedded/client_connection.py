"""A client's connection as the server sees it, without its socket."""

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
"""With the length before it."""
REPLY_HEADER_SIZE = 16
_EVENT = struct.Struct("!ii")


@dataclass(slots=True)
class ConnectionStats:
    """For the four-letter words; latencies in ms."""

    received: int = 0
    sent: int = 0
    requests: int = 0
    latency_ms: float = 0.0
    least_ms: float = 0.0
    most_ms: float = 0.0
    last_ms: float = 0.0

    def add(self, latency_ms: float) -> None:
        self.least_ms = latency_ms if not self.requests else min(self.least_ms, latency_ms)
        self.most_ms = max(self.most_ms, latency_ms)
        self.requests += 1
        self.latency_ms += latency_ms
        self.last_ms = latency_ms

    def reset(self) -> None:
        self.received = self.sent = self.requests = 0
        self.latency_ms = self.least_ms = self.most_ms = self.last_ms = 0.0

    @property
    def average_ms(self) -> float:
        return self.latency_ms / self.requests if self.requests else 0.0


class ClientConnection:
    """Invariant: `session_id` is 0 until the client has a session here, and `closed` is for ever."""

    def __init__(
        self,
        host: str,
        port: int,
        send: Callable[[bytes], None],
        hang_up: Callable[[], None],
        now_ms: int,
        total: ConnectionStats | None = None,
    ) -> None:
        """`send` takes what is for the client, in order; `hang_up` ends the connection after what was sent.

        `total`: the statistics of the server.
        """
        self.host = host
        self.port = port
        self.session_id = 0
        self.timeout_ms = 0
        self.identities: tuple[Identity, ...] = (Identity("ip", host),)
        self.sasl: DigestMd5Server | None = None
        """While an exchange goes on."""
        self.closed = False
        self.stats = ConnectionStats()
        self._total = total or ConnectionStats()
        self.established_ms = now_ms
        self.last_op = "NA"
        self.last_cxid = -1
        self.last_zxid = -1
        self.last_response_ms = 0
        self._send = send
        self._hang_up = hang_up

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
        """What was sent arrives; nothing is sent or heard any more."""
        if not self.closed:
            self.closed = True
            self._hang_up()
