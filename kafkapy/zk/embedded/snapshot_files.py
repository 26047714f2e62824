"""ZooKeeper's snapshots: `version-2/snapshot.ZXID`, hexadecimal, the last zxid that is certainly in it.

    int32 "ZKSN", int32 2, int64 database id (-1)
    int32 sessions, each int64 id, int32 time-out in ms
    int32 access lists, each int64 number and the vector
    nodes, each string path, buffer data, int64 number of its access list (-1: world:anyone, all), the stat; parents first
    string "/", int64 Adler-32 of all before, string "/"

ZooKeeper 3.6 and later write a digest of the tree and the zxid after that; they may be missing, and are passed over here.

While one is written, by another thread, the tree goes on changing: nodes may be newer than the zxid in the name says, and the
log's entries after that zxid are applied to it again (`DataTree`).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from kafkapy.common.capabilities import sync
from kafkapy.zk.embedded.acls import OPEN_ACL, Acls, decode_acls, encode_acls
from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.jute import LONG, Decoder, MalformedError, buffer, string
from kafkapy.zk.embedded.log_files import StorageError, sync_directory
from kafkapy.zk.embedded.znode import PERSISTED_STAT, Znode

_FILE_HEADER = struct.Struct("!4siq")
_SESSION = struct.Struct("!qi")
_COUNT = struct.Struct("!i")
_OPEN = -1
_END = string("/")
_PIECE = 1 << 20
"""Bytes that are written at once: the snapshot is never in memory as a whole."""


class TreeCopy:
    """The content of a snapshot, taken on the thread that changes the tree."""

    def __init__(self, tree: DataTree) -> None:
        self.zxid = tree.last_zxid
        self.sessions = dict(tree.sessions)
        self.nodes = [(path, node) for path, node in tree.nodes.items() if path != "/"]


def write_snapshot(directory: Path, copy: TreeCopy) -> Path:
    """Write and sync a snapshot under a temporary name, which is returned; it is valid once `publish` has renamed it."""
    path = directory / f".snapshot.{copy.zxid:x}.new"
    checksum = 1
    with open(path, "wb") as file:
        for piece in _pieces(copy):
            checksum = zlib.adler32(piece, checksum)
            file.write(piece)
        file.write(LONG.pack(checksum) + _END)
        file.flush()
        sync(file.fileno())
    return path


def publish(written: Path) -> None:
    os.replace(written, written.with_name(written.name[1:].removesuffix(".new")))
    sync_directory(written.parent)


def _pieces(copy: TreeCopy) -> Iterator[bytes]:
    yield _FILE_HEADER.pack(b"ZKSN", 2, -1) + _COUNT.pack(len(copy.sessions))
    yield b"".join(_SESSION.pack(*session) for session in copy.sessions.items())
    numbers: dict[Acls, int] = {}
    nodes = [(path, node, node.acls) for path, node in copy.nodes]
    for _, _, acls in nodes:
        if acls != OPEN_ACL:
            numbers.setdefault(acls, len(numbers) + 1)
    yield _COUNT.pack(len(numbers))
    yield b"".join(LONG.pack(number) + encode_acls(acls) for acls, number in numbers.items())
    piece: list[bytes] = []
    size = 0
    for path, node, acls in nodes:
        piece.append(string(path) + buffer(node.data) + LONG.pack(numbers.get(acls, _OPEN)) + node.persisted_stat())
        size += len(piece[-1])
        if size >= _PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece) + _END


def read_snapshot(path: Path, tree: DataTree) -> None:
    """Fill the tree, whose last zxid becomes that of the name. `StorageError`: it is damaged or incomplete."""
    data = path.read_bytes()
    try:
        _read(data, tree)
    except (MalformedError, KeyError, struct.error) as error:
        raise StorageError(f"{path} is damaged: {error}") from None


def _read(data: bytes, tree: DataTree) -> None:
    magic, version, _ = _FILE_HEADER.unpack_from(data)
    if magic != b"ZKSN" or version != 2:
        raise MalformedError("it does not begin with ZKSN and version 2")
    decoder = Decoder(data, _FILE_HEADER.size)
    tree.clear()
    for _ in range(decoder.int32()):
        session_id = decoder.int64()
        tree.sessions[session_id] = decoder.int32()
    lists: dict[int, Acls] = {_OPEN: OPEN_ACL}
    for _ in range(decoder.int32()):
        number = decoder.int64()
        lists[number] = decode_acls(decoder)
    while (path := decoder.string()) != "/":
        node = Znode(decoder.buffer(), lists[decoder.int64()], 0, 0)
        node.restore_stat(data, decoder.position)
        decoder.position += PERSISTED_STAT.size
        tree.add_loaded(path, node)
    end = decoder.position
    if decoder.int64() != zlib.adler32(data[:end]):
        raise MalformedError("its checksum is another one")
