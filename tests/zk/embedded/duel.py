"""The same random requests to the embedded ZooKeeper and to the real one, answer by answer and event by event.

What differs for good reasons is taken out: session ids, milliseconds, the order of children's names. zxids are compared as they
are: both servers begin with empty directories.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import OPEN_ACL, Acl, encode_acls
from kafkapy.zk.embedded.jute import INT, LONG, Decoder, string, strings
from tests.zk.embedded.raw_client import Answer, RawClient, create, create_ttl, delete, multi, read, set_data

CLIENTS = 3
NAMES = "abc"
ACL_LISTS = (
    OPEN_ACL,
    OPEN_ACL,
    OPEN_ACL,
    (Acl(31, "auth", ""),),
    (Acl(1, "world", "anyone"), Acl(31, "digest", "u:" + "x" * 28)),
    (Acl(31, "ip", "127.0.0.1"),),
    (Acl(1, "ip", "10.0.0.0/8"),),
    (),
    (Acl(31, "world", "nobody"),),
)

WITHOUT_BODY = frozenset(
    (codes.DELETE, codes.SET_WATCHES, codes.SET_WATCHES2, codes.CHECK_WATCHES, codes.REMOVE_WATCHES)
)


@dataclass(frozen=True)
class Move:
    """What a client does next: a request, or to close its session and open another (kind CLOSE_SESSION), or to be cut off and
    carry its session on (kind 0)."""

    client: int
    kind: int
    body: bytes = b""


class Moves:
    """Requests that meet each other often: few paths, few versions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._zxid = 0

    def next(self, zxid: int) -> Move:
        self._zxid = zxid
        kind, make = self.random.choices(_KINDS, _WEIGHTS)[0]
        return Move(self.random.randrange(CLIENTS), kind, make(self))

    # --- what requests are made of

    def path(self) -> str:
        if self.random.random() < 0.03:
            return self.random.choice(
                ("/", "", "a", "/a/", "//", "/zookeeper", "/zookeeper/config", "/a/../b", "/\x01", "/a\0b", "/é")
            )
        depth = self.random.choices((1, 2, 3), (5, 3, 1))[0]
        return "".join(f"/{self.random.choice(NAMES)}" for _ in range(depth))

    def version(self) -> int:
        return self.random.choice((-1, -1, -1, 0, 1, 2, -2))

    def data(self) -> bytes | None:
        return self.random.choice((None, b"", b"x", bytes(self.random.randrange(200))))

    def acls(self) -> tuple[Acl, ...]:
        return self.random.choice(ACL_LISTS)

    def create(self, flags: int | None = None) -> bytes:
        chosen = self.random.choices((0, 1, 2, 3, 4, 5, 9, -1), (60, 15, 8, 8, 2, 1, 1, 1))[0]
        return create(self.path(), self.data(), chosen if flags is None else flags, self.acls())

    def container(self) -> bytes:
        return self.create(4)

    def ttl(self) -> bytes:
        """Not below 0: that would be the end of the real one."""
        return create_ttl(
            self.path(), self.random.choice((0, 5, 5, 5, 6)), self.random.choice((0, 1, 1 << 39, 1 << 41))
        )

    def delete(self) -> bytes:
        return delete(self.path(), self.version())

    def set_data(self) -> bytes:
        return set_data(self.path(), self.data(), self.version())

    def read(self) -> bytes:
        return read(self.path(), self.random.random() < 0.5)

    def only_path(self) -> bytes:
        return string(self.path())

    def set_acl(self) -> bytes:
        return string(self.path()) + encode_acls(self.acls()) + INT.pack(self.version())

    def auth(self) -> bytes:
        return INT.pack(0) + string("digest") + string(self.random.choice(("u:p", "v:q")))

    def add_watch(self) -> bytes:
        return string(self.path()) + INT.pack(self.random.choice((0, 1, 1, 2)))

    def watch_kind(self) -> bytes:
        return string(self.path()) + INT.pack(self.random.choice((1, 2, 3, 4, 5, 6)))

    def set_watches(self) -> bytes:
        since = LONG.pack(max(0, self._zxid - self.random.randrange(40)))
        return since + b"".join(strings([self.path() for _ in range(self.random.randrange(3))]) for _ in range(3))

    def set_watches2(self) -> bytes:
        return self.set_watches() + b"".join(
            strings([self.path() for _ in range(self.random.randrange(2))]) for _ in range(2)
        )

    def multi(self) -> bytes:
        makers: tuple[tuple[int, Callable[[], bytes]], ...] = (
            (codes.CREATE, self.create),
            (codes.CREATE2, self.create),
            (codes.CREATE_CONTAINER, self.container),
            (codes.DELETE, self.delete),
            (codes.SET_DATA, self.set_data),
            (codes.CHECK, self.delete),
        )
        chosen = self.random.choices(makers, (8, 3, 1, 3, 4, 2), k=self.random.randrange(5))
        return multi(*((kind, make()) for kind, make in chosen))

    def multi_read(self) -> bytes:
        return multi(*((self.random.choice((codes.GET_DATA, codes.GET_CHILDREN)), read(self.path())) for _ in range(3)))

    def nothing(self) -> bytes:
        return b""

    def garbage(self) -> bytes:
        return self.random.randbytes(self.random.randrange(6))


_TABLE: tuple[tuple[int, Callable[[Moves], bytes], float], ...] = (
    (codes.CREATE, Moves.create, 14),
    (codes.CREATE2, Moves.create, 8),
    (codes.CREATE_CONTAINER, Moves.container, 1),
    (codes.CREATE_TTL, Moves.ttl, 1),
    (codes.DELETE, Moves.delete, 12),
    (codes.SET_DATA, Moves.set_data, 10),
    (codes.EXISTS, Moves.read, 8),
    (codes.GET_DATA, Moves.read, 8),
    (codes.GET_CHILDREN, Moves.read, 5),
    (codes.GET_CHILDREN2, Moves.read, 5),
    (codes.GET_ACL, Moves.only_path, 2),
    (codes.SET_ACL, Moves.set_acl, 2),
    (codes.SYNC, Moves.only_path, 1),
    (codes.MULTI, Moves.multi, 10),
    (codes.MULTI_READ, Moves.multi_read, 3),
    (codes.AUTH, Moves.auth, 0.5),
    (codes.ADD_WATCH, Moves.add_watch, 2),
    (codes.CHECK_WATCHES, Moves.watch_kind, 2),
    (codes.REMOVE_WATCHES, Moves.watch_kind, 2),
    (codes.SET_WATCHES, Moves.set_watches, 2),
    (codes.SET_WATCHES2, Moves.set_watches2, 2),
    (codes.GET_EPHEMERALS, Moves.only_path, 1),
    (codes.GET_ALL_CHILDREN_NUMBER, Moves.only_path, 1),
    (codes.WHO_AM_I, Moves.nothing, 0.5),
    (codes.PING, Moves.nothing, 1),
    (codes.GET_DATA, Moves.garbage, 0.5),
    (codes.CLOSE_SESSION, Moves.nothing, 0.5),
    (0, Moves.nothing, 0.5),
)
_KINDS = [(kind, make) for kind, make, _ in _TABLE]
_WEIGHTS = [weight for *_, weight in _TABLE]


class Side:
    """One of the two servers with its clients."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.clients = [RawClient(address) for _ in range(CLIENTS)]
        self.zxid = 0

    def move(self, move: Move) -> list[object]:
        """What the client is answered, then what each client heard of it, in a form that both servers must agree on."""
        client = self.clients[move.client]
        if move.kind == 0:
            client.close()
            self.clients[move.client] = RawClient(self.address, session_id=client.session_id, password=client.password)
            return [self.clients[move.client].session_id == client.session_id]
        try:
            answer = client.ask(move.kind, move.body)
        except ConnectionError:
            self.clients[move.client] = RawClient(self.address)
            return ["hung up"]
        told: list[object] = [self._comparable(move.kind, answer)]
        if move.kind == codes.CLOSE_SESSION:
            # The nodes of a session go in no order that could be told.
            told += sorted(self._events(), key=repr)
            self.clients[move.client] = RawClient(self.address)
        if answer.zxid > 0:
            self.zxid = answer.zxid
        return told + self._events()

    def _events(self) -> list[object]:
        """Each is asked for a ping, so that what was sent before has come."""
        found: list[object] = []
        for number, client in enumerate(self.clients):
            try:
                client.ask(codes.PING)
            except ConnectionError:
                found.append((number, "hung up"))
            for event in client.events:
                decoder = Decoder(event.body)
                found.append((number, event.zxid, decoder.int32(), decoder.int32(), decoder.string()))
            client.events.clear()
        return found

    def _comparable(self, kind: int, answer: Answer) -> object:
        if answer.code:
            return answer.zxid, answer.code, answer.body
        return answer.zxid, answer.code, self._comparable_body(kind, Decoder(answer.body))

    def _comparable_body(self, kind: int, decoder: Decoder) -> object:
        if kind in (codes.CREATE, codes.SYNC):
            return decoder.string()
        if kind in (codes.CREATE2, codes.CREATE_CONTAINER, codes.CREATE_TTL):
            return decoder.string(), self._stat(decoder)
        if kind in (codes.SET_DATA, codes.EXISTS, codes.SET_ACL):
            return self._stat(decoder)
        if kind == codes.GET_DATA:
            return decoder.buffer(), self._stat(decoder)
        if kind in (codes.GET_CHILDREN, codes.GET_EPHEMERALS):
            return sorted(decoder.vector(decoder.string))
        if kind == codes.GET_CHILDREN2:
            return sorted(decoder.vector(decoder.string)), self._stat(decoder)
        if kind == codes.GET_ACL:
            acls = decoder.vector(lambda: (decoder.int32(), decoder.string(), decoder.string()))
            return sorted(acls), self._stat(decoder)
        if kind in (codes.MULTI, codes.MULTI_READ):
            return self._multi(decoder)
        if kind == codes.WHO_AM_I:
            return sorted(decoder.vector(lambda: (decoder.string(), decoder.string())))
        return decoder.rest()

    def _multi(self, decoder: Decoder) -> list[object]:
        results: list[object] = []
        while True:
            header = decoder.int32(), decoder.boolean(), decoder.int32()
            if header[1]:
                return [*results, header, decoder.rest()]
            kind = header[0]
            body = decoder.int32() if kind == codes.ERROR else None
            if kind not in (codes.ERROR, codes.CHECK, codes.DELETE):
                body = self._comparable_body(kind, decoder)  # type: ignore[assignment]
            results.append((header, body))

    def _stat(self, decoder: Decoder) -> object:
        """Without the times; the owner as the number of the client."""
        numbers = list(struct.unpack("!qqqqiiiqiiq", decoder.take(68)))
        owners = {client.session_id: number for number, client in enumerate(self.clients)}
        numbers[7] = owners.get(numbers[7], "another") if numbers[7] else "nobody"
        del numbers[2:4]
        return tuple(numbers)

    def close(self) -> None:
        for client in self.clients:
            client.close()


def fight(embedded: tuple[str, int], real: tuple[str, int], seed: int, rounds: int) -> int:
    """`AssertionError` at the first difference; returns how many answers and events were compared."""
    ours, theirs, moves = Side(embedded), Side(real), Moves(seed)
    compared = 0
    try:
        for number in range(rounds):
            move = moves.next(theirs.zxid)
            our, their = ours.move(move), theirs.move(move)
            assert our == their, f"round {number} of seed {seed}, {move}:\nembedded {our}\nreal     {their}"
            compared += len(our)
    finally:
        ours.close()
        theirs.close()
    return compared
