"""Access lists of znodes, and those of Kafka's znodes (Kafka's `ZkData`)."""

from __future__ import annotations

from typing import Final, NamedTuple


class Acl(NamedTuple):
    """One entry: the permissions of an identity. `perms` is a sum of 1 (read), 2 (write), 4 (create), 8 (delete) and 16
    (admin).
    """

    perms: int
    scheme: str
    id: str


Acls = tuple[Acl, ...]

OPEN_ACL: Final[Acls] = (Acl(31, "world", "anyone"),)
READ_ACL: Final[Acls] = (Acl(1, "world", "anyone"),)
CREATOR_ALL_ACL: Final[Acls] = (Acl(31, "auth", ""),)
"""For each authenticated identity of the creator; without one the server refuses it."""

CONSUMERS_PATH: Final = "/consumers"
SENSITIVE_ROOT_PATHS: Final = ("/config/users", "/config/brokers", "/delegation_token/tokens")
"""Only brokers may read znodes here: credentials, and passwords."""

SECURE_ROOT_PATHS: Final = (
    *("/admin", "/brokers", "/cluster", "/config", "/controller", "/controller_epoch", "/isr_change_notification"),
    *(
        "/latest_producer_id_block",
        "/log_dir_event_notification",
        "/delegation_token",
        "/kafka-acl-extended",
        "/migration",
    ),
    *("/feature", "/kafka-acl", "/kafka-acl-changes", "/kafka-acl-extended/prefixed", "/kafka-acl-extended-changes"),
)
"""The roots that `zookeeper-security-migration.sh` processes."""


def default_acls(is_secure: bool, path: str) -> Acls:
    """The list of a znode of Kafka's.

    Args:
        is_secure: `zookeeper.set.acl`.
        path: The znode's, without the chroot.

    Example:
        >>> default_acls(True, "/config/users/alice")
        (Acl(perms=31, scheme='auth', id=''),)
        >>> len(default_acls(True, "/brokers")), default_acls(False, "/brokers") is OPEN_ACL
        (2, True)
    """
    if not is_secure or path == CONSUMERS_PATH:
        return OPEN_ACL
    if path.startswith(SENSITIVE_ROOT_PATHS):
        return CREATOR_ALL_ACL
    return CREATOR_ALL_ACL + READ_ACL
