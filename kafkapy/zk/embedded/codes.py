"""ZooKeeper's constants: operations, errors, events, permissions (zookeeper.jute, ZooDefs and KeeperException.Code of
3.9).
"""

from __future__ import annotations

from enum import IntEnum

# Operations, as plain integers, because each request looks one up.
CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_ACL, SET_ACL, GET_CHILDREN, SYNC = 1, 2, 3, 4, 5, 6, 7, 8, 9
PING, GET_CHILDREN2, CHECK, MULTI, CREATE2, RECONFIG = 11, 12, 13, 14, 15, 16
CHECK_WATCHES, REMOVE_WATCHES, CREATE_CONTAINER, DELETE_CONTAINER, CREATE_TTL, MULTI_READ = 17, 18, 19, 20, 21, 22
AUTH, SET_WATCHES, SASL, GET_EPHEMERALS, GET_ALL_CHILDREN_NUMBER = 100, 101, 102, 103, 104
SET_WATCHES2, ADD_WATCH, WHO_AM_I = 105, 106, 107
CREATE_SESSION, CLOSE_SESSION, ERROR = -10, -11, -1

NOTIFICATION_XID, PING_XID = -1, -2

READ, WRITE, CREATE_PERM, DELETE_PERM, ADMIN = 1, 2, 4, 8, 16


class Code(IntEnum):
    OK = 0
    RUNTIME_INCONSISTENCY = -2
    MARSHALLING_ERROR = -5
    UNIMPLEMENTED = -6
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    NO_AUTH = -102
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    INVALID_ACL = -114
    AUTH_FAILED = -115
    NO_WATCHER = -121
    RECONFIG_DISABLED = -123
    SESSION_CLOSED_REQUIRE_SASL_AUTH = -124


class KeeperError(Exception):
    """An error that a client receives instead of a result."""

    def __init__(self, code: Code, path: str = "") -> None:
        super().__init__(f"{code.name} {path}".rstrip())
        self.code = code
        self.path = path


class NodeEvent(IntEnum):
    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


SYNC_CONNECTED = 3
"""The only state in events of nodes."""
