"""Errors of ZooKeeper, independent of kazoo."""

from __future__ import annotations


class ZooKeeperError(Exception):
    """ZooKeeper answered with an error; `path` is the znode, if any."""

    def __init__(self, message: str = "", path: str | None = None) -> None:
        super().__init__(message or f"{type(self).__name__} for {path}")
        self.path = path


class NoNodeError(ZooKeeperError):
    """The znode, or the parent of one to be created, does not exist."""


class NodeExistsError(ZooKeeperError):
    """The znode to be created exists already."""


class BadVersionError(ZooKeeperError):
    """The znode has another version than requested."""


class NotEmptyError(ZooKeeperError):
    """The znode to be deleted has children."""


class NoAuthError(ZooKeeperError):
    """The znode's ACL does not permit the operation."""


class InvalidAclError(ZooKeeperError):
    """The ACL is invalid for the server, or requires an authenticated client and this one is not."""


class RolledBackError(ZooKeeperError):
    """Another operation of the same multi failed, or an earlier one."""


class UnimplementedError(ZooKeeperError):
    """This server is too old for the request."""


class ConnectionLossError(ZooKeeperError):
    """The connection was lost during the request, which may or may not have been executed."""


class SessionExpiredError(ZooKeeperError):
    """The session of the request has ended; its ephemeral znodes are deleted."""


class ZooKeeperClientClosedError(ZooKeeperError):
    """The client has been closed."""


class ZooKeeperClientTimeoutError(ZooKeeperError):
    """No connection within the given time."""


class ZooKeeperClientAuthFailedError(ZooKeeperError):
    """The server refuses the client's SASL credentials (Kafka's `ZooKeeperClientAuthFailedException`)."""


class ControllerMovedError(Exception):
    """Another broker is controller now, so this one must resign (Kafka's `ControllerMovedException`)."""
