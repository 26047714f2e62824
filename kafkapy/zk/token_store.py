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
"""ZooKeeper ends a connection whose request is larger than 1 MB (jute.maxbuffer), however often it is repeated."""


def token_path(token_id: str) -> str:
    """Where a token is.

    Raises:
        ValueError: ZooKeeper has no such path.
    """
    path = f"{TOKENS_PATH}/{token_id}"
    if "/" in token_id or not paths.is_valid(path):
        raise ValueError(f"no id of a delegation token: {token_id!r:.100}")
    return path


class ZkTokenStore:
    """Reads and writes tokens. Every method blocks; `ZooKeeperError`s are the client's, as `KafkaZkClient` raises them."""

    def __init__(self, zk_client: KafkaZkClient, time: Time) -> None:
        self._zk_client = zk_client
        self._time = time

    def patience(self, timeout_ms: int) -> AbstractContextManager[None]:
        """In the block, this thread waits no longer than that for a lost connection: `ZooKeeperClientTimeoutError`."""
        return self._zk_client.patience(timeout_ms)

    def create_token_paths(self) -> None:
        """Create the parents of all nodes, as far as they are missing."""
        for path in (CHANGES_PATH, TOKENS_PATH):
            self._create_if_missing(path, None)

    def load_all(self) -> list[TokenInformation]:
        """Every token. A node that has none is logged and left out, as in Kafka."""
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
        """The token as it is in ZooKeeper now; None if there is none.

        Raises:
            ValueError: It is no id, or the node has what is no token.
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
            self._zk_client.set_data(path, data)  # an earlier try of ours

    def update(self, token: TokenInformation) -> bool:
        """Write the token over the one of its id; False if that is gone. (Kafka creates it again, and so undoes its removal.)"""
        try:
            self._zk_client.set_data(token_path(token.token_id), _data_of(token))
        except NoNodeError:
            return False
        return True

    def remove(self, token_id: str) -> None:
        """Delete the token; one that is gone is as good as deleted."""
        self._zk_client.delete_path(token_path(token_id))

    def notify(self, token_id: str) -> None:
        """Tell every broker that the token is new, has changed or is gone."""
        self._zk_client.create_sequential(f"{CHANGES_PATH}/{SEQUENCE_PREFIX}", token_id.encode())

    def listener(
        self, changed: Callable[[str], object], reload: Callable[[], object]
    ) -> ZkNodeChangeNotificationListener:
        """What calls `changed` with the id of every notification, and `reload` for a new session, on its thread; not started."""
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
    """None of an empty node. Raises ValueError."""
    if not data:
        return None
    token = parse_token(data)
    if token.token_id != token_id:
        raise ValueError(f"the node of delegation token {token_id} has {token.token_id!r:.100}")
    return token
