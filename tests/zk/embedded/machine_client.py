"""A machine in memory and its clients, without sockets."""

from __future__ import annotations

from kafkapy.common.time import MockTime
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.group_commit import NoJournal
from kafkapy.zk.embedded.jute import Decoder
from kafkapy.zk.embedded.machine import TxnJournal, ZooKeeperMachine
from kafkapy.zk.embedded.settings import Settings
from tests.zk.embedded.raw_client import Answer, answer_of, connect_request, request


def new_machine(
    settings: Settings | None = None, journal: TxnJournal | None = None, tree: DataTree | None = None
) -> ZooKeeperMachine:
    settings = settings or Settings(extended_types=True)
    return ZooKeeperMachine(tree or DataTree(settings.extended_types), settings, MockTime(), journal or NoJournal())


def clock_of(machine: ZooKeeperMachine) -> MockTime:
    assert isinstance(machine.time, MockTime)
    return machine.time


class MachineClient:
    """`frames`: what the machine sent, without lengths, in order; `hung_up` after the last."""

    def __init__(
        self,
        machine: ZooKeeperMachine,
        timeout_ms: int = 10_000,
        session_id: int = 0,
        password: bytes = bytes(16),
        host: str = "10.0.0.1",
    ) -> None:
        self.machine = machine
        self.frames: list[bytes] = []
        self.hung_up = False
        self._xid = 0
        self.connection = machine.connected(
            host, 4711, lambda data: self.frames.append(data[4:]), self._close_after_send
        )
        machine.received(self.connection, connect_request(timeout_ms, session_id, password))
        decoder = Decoder(self.frames.pop(0))
        decoder.int32()
        self.timeout_ms, self.session_id = decoder.int32(), decoder.int64()
        self.password = decoder.buffer() or b""

    def _close_after_send(self) -> None:
        self.hung_up = True

    def ask(self, kind: int, body: bytes = b"") -> Answer:
        """The answer; events before it stay in `frames`."""
        self._xid += 1
        self.machine.received(self.connection, request(self._xid, kind, body))
        return answer_of(self.frames.pop())

    def events(self) -> list[tuple[int, str]]:
        """Type and path of those that came, which are forgotten."""
        found = []
        for frame in self.frames:
            answer = answer_of(frame)
            assert answer.xid == codes.NOTIFICATION_XID
            decoder = Decoder(answer.body)
            kind, state, path = decoder.int32(), decoder.int32(), decoder.string()
            assert state == codes.SYNC_CONNECTED
            found.append((kind, path))
        self.frames.clear()
        return found

    def children(self, path: str) -> list[str]:
        decoder = Decoder(self.ask(codes.GET_CHILDREN, b"\0\0\0" + bytes([len(path)]) + path.encode() + b"\0").body)
        return sorted(decoder.vector(decoder.string))
