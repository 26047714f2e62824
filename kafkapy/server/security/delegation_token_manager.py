"""A cluster's delegation tokens, loaded and changed by one broker (Kafka's `DelegationTokenManagerZk`; KIP-48)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafkapy.common.time import Time
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.delegation_tokens import (
    DelegationToken,
    DelegationTokens,
    TokenChange,
    TokenInformation,
    TokenLifetimes,
    create_token,
    expire_token,
    new_token_id,
    renew_token,
)
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.sasl.scram_server import TokenLogin
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.zk.change_notifications import ZkNodeChangeNotificationListener
from kafkapy.zk.errors import ZooKeeperClientTimeoutError
from kafkapy.zk.token_store import ZkTokenStore

log = logging.getLogger("kafkapy.server.DelegationTokenManager")

UPDATE_TIMEOUT_MS: Final = 30_000
"""Time limit of a change, including the wait for ZooKeeper and for another change: the default time-out of clients."""

_TOKEN_ID_BYTES: Final = 16


class DelegationTokenManager:
    """Has all tokens in memory, and writes changes to ZooKeeper first.

    Invariant: `_lock` is held from the reading or writing of a node until the memory is updated, so that the memory
    never returns to an earlier state; it is read without the lock. Once `startup` has returned, changes by any broker
    arrive by a notification.

    Methods that change or load tokens block on ZooKeeper; the others do not, and may be called on the reactor thread.
    """

    def __init__(
        self,
        secret_key: str | None,
        limits: TokenLifetimes,
        store: ZkTokenStore,
        time: Time,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Has no tokens before `startup`.

        Args:
            secret_key: `delegation.token.secret.key`; None or empty: tokens are off.
            limits: `delegation.token.max.lifetime.ms` and `delegation.token.expiry.time.ms`.
            store: The store of tokens.
            time: The broker's clock.
            random_bytes: For the ids of tokens.
        """
        self.enabled = bool(secret_key)
        """False: the brokers have no secret key, so there are no tokens."""
        self._tokens = DelegationTokens(secret_key or "")
        self._limits = limits
        self._store = store
        self._time = time
        self._random_bytes = random_bytes
        self._lock = threading.Lock()
        self._listener: ZkNodeChangeNotificationListener | None = None

    @classmethod
    def of_config(cls, config: KafkaConfig, store: ZkTokenStore, time: Time) -> DelegationTokenManager:
        """Create it from the broker's configs."""
        limits = TokenLifetimes(config.delegation_token_max_lifetime_ms, config.delegation_token_expiry_time_ms)
        return cls(config.token_secret_key, limits, store, time)

    def startup(self) -> None:
        """Create missing znodes, start listening, and load all tokens; do nothing if tokens are off."""
        if not self.enabled:
            return
        self._store.create_token_paths()
        self._listener = self._store.listener(self._changed, self._load)
        self._listener.startup()
        self._load()

    def shutdown(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.shutdown()
            self._listener = None

    # --- queries
    # ----------------------------------------------------------------------------------------------------------

    def login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """Return the SCRAM login with this token; see `DelegationTokens.login`."""
        return self._tokens.login(mechanism, token_id)

    def all(self) -> list[TokenInformation]:
        """Return all tokens, including expired ones that are not removed yet."""
        return self._tokens.all()

    def of_hmac(self, hmac: bytes) -> TokenInformation | None:
        """Return the token with this HMAC, if this broker has it."""
        return self._tokens.of_hmac(hmac)

    def with_hmac(self, token: TokenInformation) -> DelegationToken:
        """Return the token and its HMAC."""
        return DelegationToken(token, self._tokens.hmac(token.token_id))

    # --- changes ------------------------------------------------------------------------------------------------------

    def create(
        self,
        owner: KafkaPrincipal,
        requester: KafkaPrincipal,
        renewers: Sequence[KafkaPrincipal],
        max_lifetime_ms: int,
    ) -> DelegationToken:
        """Create a token; `max_lifetime_ms` of 0 or less means the broker's.

        Raises:
            KafkaError: DELEGATION_TOKEN_AUTH_DISABLED if tokens are off, INVALID_REQUEST if there are too many renewers
                for a node of ZooKeeper, REQUEST_TIMED_OUT if that is unreachable for too long.
        """
        with self._changing():
            token_id = new_token_id(self._random_bytes(_TOKEN_ID_BYTES))
            now_ms = self._time.milliseconds()
            token = create_token(token_id, owner, requester, renewers, max_lifetime_ms, self._limits, now_ms)
            try:
                self._store.create(token)
            except ValueError as error:
                raise KafkaError(Errors.INVALID_REQUEST, str(error)) from None
            self._tokens.put(token)
            self._store.notify(token_id)
        log.info("Created a delegation token: %s for owner: %s", token_id, owner)
        return self.with_hmac(token)

    def renew(self, principal: KafkaPrincipal, hmac: bytes, renew_period_ms: int) -> TokenChange:
        """Renew the token with this HMAC; see `renew_token`. Errors are those of `create`."""

        def rule(token: TokenInformation | None) -> TokenChange:
            return renew_token(token, principal, renew_period_ms, self._limits, self._time.milliseconds())

        return self._change(hmac, rule, "Delegation token renewed for token: %s for owner: %s")

    def expire(self, principal: KafkaPrincipal, hmac: bytes, expiry_period_ms: int) -> TokenChange:
        """Let the token with this HMAC expire, or remove it; see `expire_token`. Errors are those of `create`."""

        def rule(token: TokenInformation | None) -> TokenChange:
            return expire_token(token, principal, expiry_period_ms, self._time.milliseconds())

        return self._change(hmac, rule, "Updated expiry time for token: %s for owner: %s")

    def remove_expired(self) -> None:
        """Remove the expired tokens, periodically on the controller. Failures are retried next time."""
        if not self.enabled:
            return
        for token in self._tokens.expired(self._time.milliseconds()):
            with self._changing():
                # It may have been renewed meanwhile.
                now = self._tokens.get(token.token_id)
                if now is None or not now.is_expired(self._time.milliseconds()):
                    continue
                log.info("Delegation token expired for token: %s for owner: %s", token.token_id, token.owner)
                self._remove(now)

    def _change(
        self, hmac: bytes, rule: Callable[[TokenInformation | None], TokenChange], sentence: str
    ) -> TokenChange:
        with self._changing():
            token = self._tokens.of_hmac(hmac)
            change = rule(token)
            if token is None or change.error is not Errors.NONE:
                return change
            if change.token is None:
                self._remove(token)
                log.info("Token expired for token: %s for owner: %s", token.token_id, token.owner)
            elif self._store.update(change.token):
                self._tokens.put(change.token)
                self._store.notify(token.token_id)
                log.info(sentence, token.token_id, token.owner)
            else:
                # Another broker has removed it; its notification is pending.
                self._tokens.remove(token.token_id)
                return TokenChange(Errors.DELEGATION_TOKEN_NOT_FOUND)
            return change

    def _remove(self, token: TokenInformation) -> None:
        """Requires `_lock`."""
        self._store.remove(token.token_id)
        self._tokens.remove(token.token_id)
        self._store.notify(token.token_id)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold `_lock`, and limit the wait for it and for ZooKeeper to `UPDATE_TIMEOUT_MS`. Raises KafkaError."""
        if not self.enabled:
            raise KafkaError(Errors.DELEGATION_TOKEN_AUTH_DISABLED)
        # While ZooKeeper is unreachable, the thread that reads a change holds the lock.
        if not self._lock.acquire(timeout=UPDATE_TIMEOUT_MS / 1000):
            raise KafkaError(Errors.REQUEST_TIMED_OUT)
        try:
            with self._store.time_limit(UPDATE_TIMEOUT_MS):
                yield
        except ZooKeeperClientTimeoutError:
            raise KafkaError(Errors.REQUEST_TIMED_OUT) from None
        finally:
            self._lock.release()

    # --- changes by other brokers
    # -----------------------------------------------------------------------------------------

    def _changed(self, token_id: str) -> None:
        """Process a change of the token by any broker. Raises ValueError for an invalid token."""
        with self._lock:
            token = self._store.get(token_id)
            log.info("Processing Token Notification for tokenId: %s", token_id)
            if token is None:
                self._tokens.remove(token_id)
            else:
                self._tokens.put(token)

    def _load(self) -> None:
        with self._lock:
            loaded = self._store.load_all()
            log.info("Loading the token cache. Total token count: %d", len(loaded))
            for gone in {token.token_id for token in self._tokens.all()} - {token.token_id for token in loaded}:
                self._tokens.remove(gone)
            for token in loaded:
                self._tokens.put(token)
