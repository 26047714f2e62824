"""All client quotas of a broker: the interface for request processing and configs (Kafka's
`QuotaFactory.QuotaManagers`)."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from kafkapy.common.limits import MAX_INT
from kafkapy.common.sanitizer import desanitize
from kafkapy.common.time import Time
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.zk_entity_configs import CLIENTS, IPS, USERS, ClientQuotaConfigs, IpConfigs
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, load_quota_callback
from kafkapy.server.quotas.client_quota_manager import ClientQuotaManager
from kafkapy.server.quotas.client_request_quota_manager import ClientRequestQuotaManager
from kafkapy.server.quotas.controller_mutation_quota_manager import (
    UNBOUNDED,
    ControllerMutationQuota,
    ControllerMutationQuotaManager,
)
from kafkapy.server.quotas.ip_connection_rates import IpConnectionRates
from kafkapy.server.quotas.quota_entity import QuotaType, entity_of_path

log = logging.getLogger("kafkapy.server.ClientQuotaManager")

EXPIRE_MS: Final = 30_000
"""How often `QuotaManagers.expire` is to be called."""

FIRST_STRICT: Final = {ApiKey.CREATE_TOPICS: 6, ApiKey.CREATE_PARTITIONS: 3, ApiKey.DELETE_TOPICS: 5}
"""The first versions with THROTTLING_QUOTA_EXCEEDED (KIP-599)."""

_EXEMPT: Final = frozenset(
    (
        *(ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN),
        *(ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_PARTITION),
    )
)
"""Other requests of brokers (AllocateProducerIds, AddPartitionsToTxn ...) are throttled if their user has a quota."""
_NEVER_STRICT: Final = 1 << 15
_IP_RATE: Final = "connection_creation_rate"


def _first_address(host: str) -> str:
    """Return the address of an /config/ips entity: a host name's IPv4 address if it has one, as in Java; an address
    itself. Blocks on the name server."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])


class QuotaManagers:
    """Quotas of produce, fetch, request time, controller mutations, and connections by address. On the reactor thread.

    A response is sent immediately with its throttle time, during which the connection is muted (KIP-219), for every
    version of the API.

    Invariant: `enabled` is false exactly if none of the four managers has a quota; then nothing here need be called.
    """

    def __init__(
        self,
        time: Time,
        num_samples: int = 11,
        window_seconds: int = 1,
        mutation_samples: int = 11,
        mutation_window_seconds: int = 1,
        callback: ClientQuotaCallback | None = None,
        resolve: Callable[[str], str] = _first_address,
    ) -> None:
        """`callback`: a plug-in (`client.quota.callback.class`); `resolve(host)` returns the address of an /config/ips
        entity."""
        changed = self._quotas_changed
        self.enabled = False
        """Whether any quota other than `ips` is set; checked for each request."""
        self.callback = callback
        self.produce = ClientQuotaManager(QuotaType.PRODUCE, time, num_samples, window_seconds, callback, changed)
        self.fetch = ClientQuotaManager(QuotaType.FETCH, time, num_samples, window_seconds, callback, changed)
        self.requests = ClientRequestQuotaManager(time, num_samples, window_seconds, callback, changed)
        self.mutations = ControllerMutationQuotaManager(
            time, mutation_samples, mutation_window_seconds, callback, changed
        )
        self.ips = IpConnectionRates(time, num_samples, window_seconds)
        self._time = time
        self._resolve = resolve
        self._resolved: dict[str, str | None] = {}
        """Resolved hosts below /config/ips that are not applied yet; None: the name is unknown."""
        self._limited: dict[str, str] = {}
        """Entities below /config/ips with a quota, and its address: a name may resolve to another one later."""
        self._all: tuple[ClientQuotaManager, ...] = (self.produce, self.fetch, self.requests, self.mutations)
        self._quotas_changed()

    @classmethod
    def of_config(cls, config: KafkaConfig, time: Time) -> QuotaManagers:
        """Return the managers for a broker's configs. A plug-in gets all the broker's properties, unknown ones
        included.

        Raises:
            ConfigException: `client.quota.callback.class` cannot be used.
        """
        path = config.client_quota_callback_class
        return cls(
            time,
            config.quota_window_num,
            config.quota_window_size_seconds,
            config.controller_quota_window_num,
            config.controller_quota_window_size_seconds,
            load_quota_callback(path, config.originals) if path else None,
        )

    def _quotas_changed(self) -> None:
        managers: tuple[ClientQuotaManager, ...] = getattr(self, "_all", ())
        self.enabled = any(manager.enabled for manager in managers)

    # ------------------------------------------------------------------------------------------------------ requests

    def answered(
        self, request: Request, response: Message | None, thread_nanos: int, error: Errors | None = None
    ) -> int:
        """Record a request whose response is ready to be encoded; return how long its connection is to be muted, ms.

        Args:
            response: Its `throttle_time_ms` is set, if it has one. None: the protocol has no response (Produce with
                acks=0). A time that a handler has already set (from `fetch_throttle_ms` or `mutations_for`) counts as
                well.
            thread_nanos: Time that threads have spent on the request.
            error: The request has failed, and `response` says so.
        """
        told: int = getattr(response, "throttle_time_ms", 0)
        api_key = request.api_key
        if api_key is ApiKey.FETCH and error is None:
            return told
        now = self._time.monotonic_ms()
        if _is_exempt(api_key, error):
            if self.requests.enabled:
                self.requests.record_exempt(thread_nanos, now)
            return told
        principal, client_id = request.context.principal, request.context.client_id
        other: ClientQuotaManager = self.mutations
        if api_key is ApiKey.PRODUCE and error is None:
            other = self.produce
            if other.enabled:
                told = other.record_and_throttle_ms(principal, client_id, request.size, now)
        waits = 0
        if self.requests.enabled:
            if response is None:
                self.requests.record_exempt(thread_nanos, now)
            else:
                waits = self.requests.time_and_throttle_ms(principal, client_id, thread_nanos, now)
        if not told and not waits:
            return 0
        (other if told > waits else self.requests).throttled(principal, client_id, max(told, waits), now)
        return _tell(response, max(told, waits))

    def fetch_throttle_ms(self, request: Request, size: int, thread_nanos: int) -> int:
        """Return the throttle time of a consumer's Fetch before a response of `size` bytes (`fetch_response_size`),
        ms.

        If it is more than 0, the response must be empty, with this `throttle_time_ms` and the session's id, and the
        session's state unchanged; the bytes are not recorded then.
        """
        now = self._time.monotonic_ms()
        principal, client_id = request.context.principal, request.context.client_id
        waits = for_bytes = 0
        if self.requests.enabled:
            waits = self.requests.time_and_throttle_ms(principal, client_id, thread_nanos, now)
        if self.fetch.enabled:
            for_bytes = self.fetch.record_and_throttle_ms(principal, client_id, size, now)
        if not waits and not for_bytes:
            return 0
        if self.fetch.enabled:
            self.fetch.record(principal, client_id, -size, now)
        (self.fetch if for_bytes > waits else self.requests).throttled(principal, client_id, max(waits, for_bytes), now)
        return max(waits, for_bytes)

    def fetch_max_bytes(self, request: Request) -> int:
        """Return the most bytes that a consumer's Fetch should read: more would be throttled even after silence."""
        if not self.fetch.enabled:
            return MAX_INT
        context = request.context
        most = self.fetch.max_in_window(context.principal, context.client_id, self._time.monotonic_ms())
        return int(max(min(most, MAX_INT), 0))

    def mutations_for(self, request: Request) -> ControllerMutationQuota:
        """Return the request's quota for creations and deletions: strict or permissive by its API and version.

        The response's `throttle_time_ms` is to be set to its `throttle_ms()`. It is permissive for automatic topic
        creation (Metadata, FindCoordinator).
        """
        if not self.mutations.enabled:
            return UNBOUNDED
        is_strict = request.api_version >= FIRST_STRICT.get(request.api_key, _NEVER_STRICT)
        return self.mutations.quota_for(request.context.principal, request.context.client_id, is_strict)

    def exempt(self, thread_nanos: int) -> None:
        """Record the time of a follower's Fetch, which is never throttled by client quotas."""
        if self.requests.enabled:
            self.requests.record_exempt(thread_nanos, self._time.monotonic_ms())

    def sent(self, request: Request, network_nanos: int) -> None:
        """Record the time to encode and send the response of a request that is not exempt; it counts for the next request."""
        if self.requests.enabled and not _is_exempt(request.api_key, None):
            context = request.context
            self.requests.record_time(context.principal, context.client_id, network_nanos, self._time.monotonic_ms())

    # ------------------------------------------------------------------------------------------------------ the quotas

    def apply(self, entity_type: str, entity: str, configs: Mapping[str, str]) -> None:
        """Apply all configs of an entity below /config/users, /config/clients or /config/ips.

        Args:
            entity: Its sanitized path: `alice`, `alice/clients/app`, `<default>`, `127.0.0.1`.
            configs: Quotas that are missing here are removed. Other configs (SCRAM credentials) are ignored.

        Raises:
            ValueError: The entity or a value is invalid (`ConfigException` is a subclass); nothing is changed.
        """
        if entity_type == IPS:
            self._apply_ip(entity, configs)
            return
        named = entity_of_path(entity_type, entity)
        limits = {
            name: float(key.parse(configs[name]))
            for name, key in ClientQuotaConfigs.definition.items()
            if name in configs
        }
        for manager in self._all:
            manager.update_quota(named, limits.get(manager.quota_type.config))

    def look_up(self, entity_type: str, entity: str) -> None:
        """Resolve a host below /config/ips. Blocks; to be called before `apply`, which reports an unknown host."""
        if entity_type == IPS and entity != DEFAULT_ENTITY:
            self._resolved[entity] = None
            with contextlib.suppress(OSError):
                self._resolved[entity] = self._resolve(desanitize(entity))

    def _apply_ip(self, entity: str, configs: Mapping[str, str]) -> None:
        key = IpConfigs.definition[_IP_RATE]
        connections: int | None = key.parse(configs[_IP_RATE]) if _IP_RATE in configs else None
        if entity == DEFAULT_ENTITY:
            self.ips.update_quota(None, connections)
            return
        address = None if connections is None else self._address_of(entity)
        self._resolved.pop(entity, None)
        if (former := self._limited.pop(entity, None)) is not None:
            self.ips.update_quota(former, None)
        if address is not None:
            self.ips.update_quota(address, connections)
            self._limited[entity] = address

    def _address_of(self, entity: str) -> str:
        """Raises ValueError: the name is unknown."""
        try:
            address = self._resolved[entity] if entity in self._resolved else self._resolve(desanitize(entity))
        except OSError:
            address = None
        if address is None:
            raise ValueError(f"Unable to resolve address {entity}")
        return address

    def handlers(self) -> dict[str, Callable[[str, dict[str, str]], object]]:
        """Return `apply` by type of entity, for `ZkConfigChangeListener`."""
        return {entity_type: partial(self.apply, entity_type) for entity_type in (CLIENTS, USERS, IPS)}

    def cluster_metadata_changed(self, metadata: Any) -> None:
        """Notify the plug-in after each UpdateMetadata: its quotas may depend on the partitions that this broker leads."""
        if self.callback is None:
            return
        try:
            changed = self.callback.update_cluster_metadata(metadata)
        except Exception:
            log.exception("The client quota callback fails")
            return
        if changed:
            for manager in self._all:
                manager.limits_changed()

    def expire(self) -> None:
        """Remove clients that have been inactive for an hour; to be called every `EXPIRE_MS`."""
        now = self._time.monotonic_ms()
        for manager in self._all:
            manager.expire(now)
        self.ips.expire(now)

    def close(self) -> None:
        """Close the plug-in; called when the broker stops."""
        if self.callback is not None:
            self.callback.close()


def _is_exempt(api_key: ApiKey, error: Errors | None) -> bool:
    """Return whether it is a request of another broker, and authorized (Kafka's `RequestHandlerHelper`)."""
    if error is None:
        return api_key in _EXEMPT
    return api_key.cluster_action and error is not Errors.CLUSTER_AUTHORIZATION_FAILED


def _tell(response: Message | None, throttle_ms: int) -> int:
    if hasattr(response, "throttle_time_ms"):
        setattr(response, "throttle_time_ms", throttle_ms)  # noqa: B010 Message has no such field, most of its classes do
    return throttle_ms
