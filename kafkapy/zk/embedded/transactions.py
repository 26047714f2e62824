"""Transactions of the tree, in the format of ZooKeeper's log (zookeeper.jute, module txn).

An entry of the log is a header (session, cxid, zxid, milliseconds, type) and the record of that type. `apply` of the
tree takes only these, from clients and from the log alike.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import Acls, decode_acls, encode_acls
from kafkapy.zk.embedded.jute import INT, LONG, Decoder, MalformedError, buffer, string, strings

_HEADER = struct.Struct("!qiqqi")


class TxnHeader(NamedTuple):
    session_id: int
    cxid: int
    zxid: int
    time_ms: int


class CreateTxn(NamedTuple):
    """`type`: CREATE, CREATE2, CREATE_CONTAINER or CREATE_TTL. `parent_cversion`: the new cversion of the parent; -1:
    plus one.
    """

    type: int
    path: str
    data: bytes | None
    acls: Acls
    parent_cversion: int
    ephemeral: bool = False
    ttl_ms: int = 0

    def encode(self) -> bytes:
        start = string(self.path) + buffer(self.data) + encode_acls(self.acls)
        if self.type in (codes.CREATE, codes.CREATE2):
            start += b"\1" if self.ephemeral else b"\0"
        return (
            start + INT.pack(self.parent_cversion) + (LONG.pack(self.ttl_ms) if self.type == codes.CREATE_TTL else b"")
        )

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> CreateTxn:
        path, data, acls = decoder.string(), decoder.buffer(), decode_acls(decoder)
        ephemeral = decoder.boolean() if kind in (codes.CREATE, codes.CREATE2) else False
        # Before 3.4 this field did not exist.
        parent_cversion = decoder.int32() if decoder.remaining >= 4 else -1
        return cls(
            kind, path, data, acls, parent_cversion, ephemeral, decoder.int64() if kind == codes.CREATE_TTL else 0
        )


class DeleteTxn(NamedTuple):
    """`type`: DELETE or DELETE_CONTAINER."""

    type: int
    path: str

    def encode(self) -> bytes:
        return string(self.path)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> DeleteTxn:
        return cls(kind, decoder.string())


class SetDataTxn(NamedTuple):
    path: str
    data: bytes | None
    version: int

    @property
    def type(self) -> int:
        return codes.SET_DATA

    def encode(self) -> bytes:
        return string(self.path) + buffer(self.data) + INT.pack(self.version)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> SetDataTxn:
        return cls(decoder.string(), decoder.buffer(), decoder.int32())


class SetAclTxn(NamedTuple):
    path: str
    acls: Acls
    version: int

    @property
    def type(self) -> int:
        return codes.SET_ACL

    def encode(self) -> bytes:
        return string(self.path) + encode_acls(self.acls) + INT.pack(self.version)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> SetAclTxn:
        return cls(decoder.string(), decode_acls(decoder), decoder.int32())


class CheckVersionTxn(NamedTuple):
    """Only in a multi: it was checked during preparation."""

    path: str
    version: int

    @property
    def type(self) -> int:
        return codes.CHECK

    def encode(self) -> bytes:
        return string(self.path) + INT.pack(self.version)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> CheckVersionTxn:
        return cls(decoder.string(), decoder.int32())


class CreateSessionTxn(NamedTuple):
    timeout_ms: int

    @property
    def type(self) -> int:
        return codes.CREATE_SESSION

    def encode(self) -> bytes:
        return INT.pack(self.timeout_ms)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> CreateSessionTxn:
        return cls(decoder.int32())


class CloseSessionTxn(NamedTuple):
    """`paths`: the session's nodes, which are deleted with it; before 3.6 the log didn't have them."""

    paths: tuple[str, ...]

    @property
    def type(self) -> int:
        return codes.CLOSE_SESSION

    def encode(self) -> bytes:
        return strings(self.paths)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> CloseSessionTxn:
        return cls(tuple(decoder.vector(decoder.string)) if decoder.remaining >= 4 else ())


class ErrorTxn(NamedTuple):
    """A failed request, which takes a zxid, too."""

    code: int

    @property
    def type(self) -> int:
        return codes.ERROR

    def encode(self) -> bytes:
        return INT.pack(self.code)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> ErrorTxn:
        return cls(decoder.int32())


Op: TypeAlias = (
    CreateTxn | DeleteTxn | SetDataTxn | SetAclTxn | CheckVersionTxn | CreateSessionTxn | CloseSessionTxn | ErrorTxn
)


class MultiTxn(NamedTuple):
    """Atomic: with an `ErrorTxn` among the operations none is applied."""

    ops: tuple[Op, ...]

    @property
    def type(self) -> int:
        return codes.MULTI

    @property
    def failed(self) -> bool:
        return any(op.type == codes.ERROR for op in self.ops)

    def encode(self) -> bytes:
        return INT.pack(len(self.ops)) + b"".join(INT.pack(op.type) + buffer(op.encode()) for op in self.ops)

    @classmethod
    def decode(cls, kind: int, decoder: Decoder) -> MultiTxn:
        def op() -> Op:
            kind, data = decoder.int32(), decoder.buffer()
            return _decode_op(kind, Decoder(data or b""))

        return cls(tuple(decoder.vector(op, least_size=8)))


Txn: TypeAlias = Op | MultiTxn

_DECODERS: dict[int, Callable[[int, Decoder], Op]] = {
    codes.CREATE: CreateTxn.decode,
    codes.CREATE2: CreateTxn.decode,
    codes.CREATE_CONTAINER: CreateTxn.decode,
    codes.CREATE_TTL: CreateTxn.decode,
    codes.DELETE: DeleteTxn.decode,
    codes.DELETE_CONTAINER: DeleteTxn.decode,
    codes.SET_DATA: SetDataTxn.decode,
    codes.SET_ACL: SetAclTxn.decode,
    codes.CHECK: CheckVersionTxn.decode,
    codes.CREATE_SESSION: CreateSessionTxn.decode,
    codes.CLOSE_SESSION: CloseSessionTxn.decode,
    codes.ERROR: ErrorTxn.decode,
}


def _decode_op(kind: int, decoder: Decoder) -> Op:
    decode = _DECODERS.get(kind)
    if decode is None:
        raise MalformedError(f"a transaction of the unknown type {kind}")
    return decode(kind, decoder)


def encode_entry(header: TxnHeader, txn: Txn) -> bytes:
    return _HEADER.pack(*header, txn.type) + txn.encode()


def decode_entry(data: bytes) -> tuple[TxnHeader, Txn]:
    """Decode an entry, ignoring what follows the record (the digest of ZooKeeper 3.6 and later). `MalformedError` for
    anything else.
    """
    if len(data) < _HEADER.size:
        raise MalformedError("the header of a transaction is cut short")
    *numbers, kind = _HEADER.unpack_from(data)
    decoder = Decoder(data, _HEADER.size)
    return TxnHeader(*numbers), MultiTxn.decode(kind, decoder) if kind == codes.MULTI else _decode_op(kind, decoder)
