"""What can go wrong with ZooKeeper, without a word of kazoo."""

from __future__ import annotations


class ZooKeeperError(Exception):
    """ZooKeeper answered with an error; `path` is the znode it was about, if any."""

    def __init__(self, message: str = "", path: str | None = None) -> None:
        super().__init__(message or f"{type(self).__name__} for {path}")
        self.path = path


class NoNodeError(ZooKeeperError):
    """The znode, or the parent of one to be created, is not there."""


class NodeExistsError(ZooKeeperError):
    """The znode to be created is there already."""


class BadVersionError(ZooKeeperError):
    """The znode is at another version than the request asks for."""


class NotEmptyError(ZooKeeperError):
    """The znode to be deleted has children."""


class NoAuthError(ZooKeeperError):
    """The znode's ACL does not let us."""


class InvalidAclError(ZooKeeperError):
    """The ACL makes no sense to the server, or is for an authenticated client and this one is not."""


class RolledBackError(ZooKeeperError):
    """Another operation of the same multi failed, or this one came after the one that did."""


class UnimplementedError(ZooKeeperError):
    """This server is too old for the request."""


class ConnectionLossError(ZooKeeperError):
    """The connection went while the request was under way: it may or may not have been done."""


class SessionExpiredError(ZooKeeperError):
    """The session of the request has ended; its ephemeral znodes are gone."""


class ZooKeeperClientClosedError(ZooKeeperError):
    """The client was closed by us."""


class ZooKeeperClientTimeoutError(ZooKeeperError):
    """No connection within the given time."""


class ZooKeeperClientAuthFailedError(ZooKeeperError):
    """The server does not take the client's SASL credentials (Kafka's `ZooKeeperClientAuthFailedException`)."""


class ControllerMovedError(Exception):
    """Another broker is controller now: whoever sees this resigns (Kafka's `ControllerMovedException`)."""
