"""Read requests, and requests for watches."""

from __future__ import annotations

import struct
from collections.abc import Callable

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import check, encode_acls, visible_acls
from kafkapy.zk.embedded.client_connection import ClientConnection
from kafkapy.zk.embedded.codes import Code, KeeperError, NodeEvent
from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.jute import INT, Decoder, MalformedError, buffer, string, strings
from kafkapy.zk.embedded.preparation import multi_headers
from kafkapy.zk.embedded.watches import ONCE, PERSISTENT, RECURSIVE
from kafkapy.zk.embedded.znode import Znode

_MULTI_HEADER = struct.Struct("!i?i")
_NO_ZXID = -1

_TRIMMED_BY_JAVA = "".join(map(chr, range(0x21)))
"""`String.trim` also strips control characters, and no spaces beyond ASCII."""

_CHILDREN, _DATA, _ANY, _PERSISTENT, _PERSISTENT_RECURSIVE = 1, 2, 3, 4, 5
"""The kinds of watches in `checkWatches` and `removeWatches`."""


def _readable(tree: DataTree, connection: ClientConnection, path: str) -> Znode:
    node = tree.nodes.get(path)
    if node is None:
        raise KeeperError(Code.NO_NODE, path)
    check(node.acls, codes.READ, connection.identities, path)
    return node


def _exists(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path, watch = decoder.string(), decoder.boolean()
    if "\0" in path:
        raise KeeperError(Code.BAD_ARGUMENTS, path)
    node = tree.nodes.get(path)
    if node is not None:
        check(node.acls, codes.READ, connection.identities, path)
    if watch:
        tree.data_watches.add(path, connection, ONCE)
    if node is None:
        raise KeeperError(Code.NO_NODE, path)
    return node.stat(tree.extended_types)


def _get_data(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path, watch = decoder.string(), decoder.boolean()
    node = _readable(tree, connection, path)
    if watch:
        tree.data_watches.add(path, connection, ONCE)
    return buffer(node.data) + node.stat(tree.extended_types)


def _children(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> Znode:
    path, watch = decoder.string(), decoder.boolean()
    node = _readable(tree, connection, path)
    if watch:
        tree.child_watches.add(path, connection, ONCE)
    return node


def _get_children(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    return strings(list(_children(tree, connection, decoder).children))


def _get_children2(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    node = _children(tree, connection, decoder)
    return strings(list(node.children)) + node.stat(tree.extended_types)


def _get_all_children_number(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path = decoder.string()
    _readable(tree, connection, path)
    return INT.pack(tree.all_children_count(path))


def _get_acl(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path = decoder.string()
    node = tree.nodes.get(path)
    if node is None:
        raise KeeperError(Code.NO_NODE, path)
    check(node.acls, codes.READ | codes.ADMIN, connection.identities, path)
    return encode_acls(visible_acls(node.acls, connection.identities)) + node.stat(tree.extended_types)


def _sync(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    """With one server, every answer is current."""
    return string(decoder.string())


def _multi_read(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    body = b""
    for kind in multi_headers(decoder):
        if kind not in (codes.GET_DATA, codes.GET_CHILDREN):
            raise MalformedError(f"operation {kind} can't be part of a multi that reads")
        start = decoder.position
        decoder.string()
        decoder.boolean()
        try:
            result = READS[kind][1](tree, connection, decoder.at(start))
        except KeeperError as error:
            body += _MULTI_HEADER.pack(codes.ERROR, False, error.code) + INT.pack(error.code)
        else:
            body += _MULTI_HEADER.pack(kind, False, 0) + result
    return body + _MULTI_HEADER.pack(-1, True, -1)


def _get_ephemerals(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    prefix = decoder.nullable_string() or ""
    wanted = "" if prefix.strip(_TRIMMED_BY_JAVA) in ("", "/") else prefix
    return strings([path for path in tree.ephemerals.get(connection.session_id, ()) if path.startswith(wanted)])


def _who_am_i(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    """For a digest, return the user without the digest."""
    told = [
        (each.scheme, each.id.partition(":")[0] if each.scheme == "digest" else each.id)
        for each in connection.identities
    ]
    return INT.pack(len(told)) + b"".join(string(scheme) + string(user) for scheme, user in told)


# --- watches


def _set_watches(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    _set_again(tree, connection, decoder)
    return b""


def _set_watches2(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    _set_again(tree, connection, decoder)
    for path in decoder.vector(decoder.string):
        tree.child_watches.add(path, connection, PERSISTENT)
        tree.data_watches.add(path, connection, PERSISTENT)
    for path in decoder.vector(decoder.string):
        tree.data_watches.add(path, connection, RECURSIVE)
    return b""


def _set_again(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> None:
    """Set the watches of a lost connection again; report changes since the last zxid that the client saw."""
    since = decoder.int64()
    data, existence, children = (decoder.vector(decoder.string) for _ in range(3))
    for path in data:
        node = tree.nodes.get(path)
        if node is None:
            connection.notify(NodeEvent.NODE_DELETED, path, _NO_ZXID, None)
        elif node.mzxid > since:
            connection.notify(NodeEvent.NODE_DATA_CHANGED, path, _NO_ZXID, None)
        else:
            tree.data_watches.add(path, connection, ONCE)
    for path in existence:
        if path in tree.nodes:
            connection.notify(NodeEvent.NODE_CREATED, path, _NO_ZXID, None)
        else:
            tree.data_watches.add(path, connection, ONCE)
    for path in children:
        node = tree.nodes.get(path)
        if node is None:
            connection.notify(NodeEvent.NODE_DELETED, path, _NO_ZXID, None)
        elif node.pzxid > since:
            connection.notify(NodeEvent.NODE_CHILDREN_CHANGED, path, _NO_ZXID, None)
        else:
            tree.child_watches.add(path, connection, ONCE)


def _add_watch(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path, mode = decoder.string(), decoder.int32()
    if mode not in (0, 1):
        raise MalformedError(f"there is no mode {mode} of watches")
    tree.data_watches.add(path, connection, RECURSIVE if mode else PERSISTENT)
    if not mode:
        tree.child_watches.add(path, connection, PERSISTENT)
    return INT.pack(0)


_TABLES = {
    _CHILDREN: (False, True, ONCE),
    _DATA: (True, False, ONCE),
    _ANY: (True, True, None),
    _PERSISTENT: (True, True, PERSISTENT),
    _PERSISTENT_RECURSIVE: (True, False, RECURSIVE),
}
"""For each kind of watches: whether they are in the table of data, and in that of children, and their way."""


def _check_watches(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path, (in_data, in_children, way) = decoder.string(), _kind(decoder)
    if not (
        (in_data and tree.data_watches.has(path, connection, way))
        or (in_children and tree.child_watches.has(path, connection, way))
    ):
        raise KeeperError(Code.NO_WATCHER, path)
    return b""


def _remove_watches(tree: DataTree, connection: ClientConnection, decoder: Decoder) -> bytes:
    path, (in_data, in_children, way) = decoder.string(), _kind(decoder)
    removed = in_children and tree.child_watches.remove(path, connection, way)
    if not ((in_data and tree.data_watches.remove(path, connection, way)) or removed):
        raise KeeperError(Code.NO_WATCHER, path)
    return b""


def _kind(decoder: Decoder) -> tuple[bool, bool, int | None]:
    kind = decoder.int32()
    if kind not in _TABLES:
        raise MalformedError(f"there is no type {kind} of watches")
    return _TABLES[kind]


READS: dict[int, tuple[str, Callable[[DataTree, ClientConnection, Decoder], bytes]]] = {
    codes.EXISTS: ("EXIS", _exists),
    codes.GET_DATA: ("GETD", _get_data),
    codes.GET_CHILDREN: ("GETC", _get_children),
    codes.GET_CHILDREN2: ("GETC", _get_children2),
    codes.GET_ALL_CHILDREN_NUMBER: ("GETACN", _get_all_children_number),
    codes.GET_ACL: ("GETA", _get_acl),
    codes.SYNC: ("SYNC", _sync),
    codes.MULTI_READ: ("MLTR", _multi_read),
    codes.GET_EPHEMERALS: ("GETE", _get_ephemerals),
    codes.WHO_AM_I: ("HOMI", _who_am_i),
    codes.SET_WATCHES: ("SETW", _set_watches),
    codes.SET_WATCHES2: ("STW2", _set_watches2),
    codes.ADD_WATCH: ("ADDW", _add_watch),
    codes.CHECK_WATCHES: ("CHKW", _check_watches),
    codes.REMOVE_WATCHES: ("REMW", _remove_watches),
}
"""By operation: its name in the four-letter words, and its function, which returns the answer's record or raises an
error.
"""
