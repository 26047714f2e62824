"""Delegation tokens in ZooKeeper, in Kafka's bytes (`DelegationTokenInfoZNode`, `DelegationTokenChangeNotificationZNode`).

| node | data |
| --- | --- |
| /delegation_token/tokens/<id> | JSON: the token without its HMAC, see `token_bytes` |
| /delegation_token/token_changes/token_change_<number> | text: the id of a token that is new, has changed or is gone |
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from kafkapy.common.time import Time
from kafkapy.security.delegation_tokens import TokenInformation, parse_token, token_bytes
from kafkapy.zk import paths
from kafkapy.zk.change_notifications import ZkNodeChangeNotificationListener
from kafkapy.zk.errors import NodeExistsError, NoNodeError
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.DelegationTokenManager")

TOKENS_PATH: Final = "/delegation_token/tokens"
CHANGES_PATH: Final = "/delegation_token/token_changes"
SEQUENCE_PREFIX: Final = "token_change_"

MAX_TOKEN_BYTES: Final = 1_000_000
"""ZooKeeper closes a connection whose request is larger than 1 MB (jute.maxbuffer), however often it is repeated."""


def token_path(token_id: str) -> str:
    """Return a token's path.

    Raises:
        ValueError: ZooKeeper does not allow the path.
    """
    path = f"{TOKENS_PATH}/{token_id}"
    if "/" in token_id or not paths.is_valid(path):
        raise ValueError(f"no id of a delegation token: {token_id!r:.100}")
    return path


class ZkTokenStore:
    """Reads and writes tokens. Every method blocks; `ZooKeeperError`s are those of `KafkaZkClient`."""

    def __init__(self, zk_client: KafkaZkClient, time: Time) -> None:
        self._zk_client = zk_client
        self._time = time

    def time_limit(self, timeout_ms: int) -> AbstractContextManager[None]:
        """Limit how long this thread waits for a lost connection within the block; then `ZooKeeperClientTimeoutError`
        is raised.
        """
        return self._zk_client.time_limit(timeout_ms)

    def create_token_paths(self) -> None:
        """Create the missing parents of all nodes."""
        for path in (CHANGES_PATH, TOKENS_PATH):
            self._create_if_missing(path, None)

    def load_all(self) -> list[TokenInformation]:
        """Return every token. An invalid node is logged and skipped, as in Kafka."""
        names = [name for name in sorted(self._zk_client.get_children(TOKENS_PATH)) if "/" not in name]
        found = self._zk_client.get_many([f"{TOKENS_PATH}/{name}" for name in names])
        tokens = []
        for name, node in zip(names, found, strict=True):
            try:
                token = None if node is None else _parsed(name, node[0])
            except ValueError as error:
                log.error("Error while getting Token for tokenId: %s: %s", name, error)
                continue
            if token is not None:
                tokens.append(token)
        return tokens

    def get(self, token_id: str) -> TokenInformation | None:
        """Read the token from ZooKeeper; None if there is none.

        Raises:
            ValueError: The id is invalid, or the node does not contain a token.
        """
        node = self._zk_client.get_many([token_path(token_id)])[0]
        return None if node is None else _parsed(token_id, node[0])

    def create(self, token: TokenInformation) -> None:
        """Write a new token.

        Raises:
            ValueError: It is larger than a node may be.
        """
        path, data = token_path(token.token_id), _data_of(token)
        if not self._create_if_missing(path, data):
            self._zk_client.set_data(path, data)  # an earlier attempt of this broker

    def update(self, token: TokenInformation) -> bool:
        """Overwrite a token; return False if it is deleted. (Kafka creates it again, which undoes its removal.)"""
        try:
            self._zk_client.set_data(token_path(token.token_id), _data_of(token))
        except NoNodeError:
            return False
        return True

    def remove(self, token_id: str) -> None:
        """Delete the token; a missing one counts as deleted."""
        self._zk_client.delete_path(token_path(token_id))

    def notify(self, token_id: str) -> None:
        """Notify every broker that the token is new, changed or deleted."""
        self._zk_client.create_sequential(f"{CHANGES_PATH}/{SEQUENCE_PREFIX}", token_id.encode())

    def listener(
        self, changed: Callable[[str], object], reload: Callable[[], object]
    ) -> ZkNodeChangeNotificationListener:
        """Return a listener that calls `changed` with the id of every notification, and `reload` for a new session, on
        its thread; not started.
        """
        return ZkNodeChangeNotificationListener(
            self._zk_client, CHANGES_PATH, SEQUENCE_PREFIX, lambda data: changed(data.decode()), self._time, reload
        )

    def _create_if_missing(self, path: str, data: bytes | None) -> bool:
        try:
            self._zk_client.create_recursive(path, data)
        except NodeExistsError:
            return False
        return True


def _data_of(token: TokenInformation) -> bytes:
    data = token_bytes(token)
    if len(data) > MAX_TOKEN_BYTES:
        raise ValueError(f"a delegation token of {len(data)} bytes is larger than a node of ZooKeeper")
    return data


def _parsed(token_id: str, data: bytes | None) -> TokenInformation | None:
    """Return None for an empty node. Raises ValueError."""
    if not data:
        return None
    token = parse_token(data)
    if token.token_id != token_id:
        raise ValueError(f"the node of delegation token {token_id} has {token.token_id!r:.100}")
    return token
