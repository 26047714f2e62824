"""All client quotas of a broker, as its request path and its configs see them (Kafka's `QuotaFactory.QuotaManagers`)."""

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
"""The first versions that know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""

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
    """Of an entity below /config/ips that is a name: of IPv4 if there is one, as in Java. Asks the name server, so it blocks; an
    address it leaves as it is."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])


class QuotaManagers:
    """Produce, fetch, request time, controller mutations, connections by address. On the reactor thread.

    An answer is sent at once and tells how long the client should wait; the broker reads nothing of the connection for as long
    (KIP-219), whatever the version: only old versions of Kafka held back the answer.

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
        """`callback`: a plug-in (`client.quota.callback.class`); `resolve(host)`: the address of an /config/ips entity."""
        changed = self._quotas_changed
        self.enabled = False
        """Is anything but `ips` to be looked at? One attribute check for each request."""
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
        """Addresses of hosts below /config/ips that were looked up and not applied yet; None: the name is not known."""
        self._limited: dict[str, str] = {}
        """Entities below /config/ips that have a quota, and the address that it holds for: a name may mean another one later."""
        self._all: tuple[ClientQuotaManager, ...] = (self.produce, self.fetch, self.requests, self.mutations)
        self._quotas_changed()

    @classmethod
    def of_config(cls, config: KafkaConfig, time: Time) -> QuotaManagers:
        """As the configs of a broker say. A plug-in is given all its properties, those that are no configs of Kafka as well.

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
        """Count a request whose answer is ready to be encoded; for how long its connection is to be muted, ms.

        Args:
            response: Its `throttle_time_ms` is set, if it has one. None: the protocol has no answer (Produce with acks=0).
                What is set already (by a handler that has used `fetch_throttle_ms` or `mutations_for`) counts as well.
            thread_nanos: How long the request has kept a thread busy.
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
        """Before a consumer's Fetch is answered with `size` bytes (`fetch_response_size`): how long it has to wait instead, ms.

        If that is more than 0, the answer is to be empty, with this `throttle_time_ms` and the id of the session, whose state is
        left as it was; the bytes are not counted then.
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
        """More than this a consumer's Fetch should not read: it would be throttled whatever came before."""
        if not self.fetch.enabled:
            return MAX_INT
        context = request.context
        most = self.fetch.max_in_window(context.principal, context.client_id, self._time.monotonic_ms())
        return int(max(min(most, MAX_INT), 0))

    def mutations_for(self, request: Request) -> ControllerMutationQuota:
        """What this request may make and delete: strict or permissive by its API and version.

        The answer's `throttle_time_ms` is to be set to its `throttle_ms()`. Where topics are made in passing (Metadata,
        FindCoordinator) it is permissive.
        """
        if not self.mutations.enabled:
            return UNBOUNDED
        is_strict = request.api_version >= FIRST_STRICT.get(request.api_key, _NEVER_STRICT)
        return self.mutations.quota_for(request.context.principal, request.context.client_id, is_strict)

    def exempt(self, thread_nanos: int) -> None:
        """Count a follower's Fetch, which is never throttled here."""
        if self.requests.enabled:
            self.requests.record_exempt(thread_nanos, self._time.monotonic_ms())

    def sent(self, request: Request, network_nanos: int) -> None:
        """Count what it took to encode and send the answer of a request that is not exempt: it tells in the next one."""
        if self.requests.enabled and not _is_exempt(request.api_key, None):
            context = request.context
            self.requests.record_time(context.principal, context.client_id, network_nanos, self._time.monotonic_ms())

    # ------------------------------------------------------------------------------------------------------ the quotas

    def apply(self, entity_type: str, entity: str, configs: Mapping[str, str]) -> None:
        """Take over all the configs of an entity below /config/users, /config/clients or /config/ips.

        Args:
            entity: Its sanitized path: `alice`, `alice/clients/app`, `<default>`, `127.0.0.1`.
            configs: An entity without quotas has none from now on. Others (SCRAM credentials) are left aside.

        Raises:
            ValueError: The entity or a value cannot be understood (`ConfigException` is one); nothing is changed.
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
        """Before `apply`, in a thread that may block: the address of a host below /config/ips. An unknown one shows there."""
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
        """Raises ValueError: the name is not known."""
        try:
            address = self._resolved[entity] if entity in self._resolved else self._resolve(desanitize(entity))
        except OSError:
            address = None
        if address is None:
            raise ValueError(f"Unable to resolve address {entity}")
        return address

    def handlers(self) -> dict[str, Callable[[str, dict[str, str]], object]]:
        """For `ZkConfigChangeListener`: `apply`, by type of entity."""
        return {entity_type: partial(self.apply, entity_type) for entity_type in (CLIENTS, USERS, IPS)}

    def cluster_metadata_changed(self, metadata: Any) -> None:
        """After each UpdateMetadata: a plug-in may count the partitions that are led here."""
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
        """Forget clients that have not been here for an hour; to be called every `EXPIRE_MS`."""
        now = self._time.monotonic_ms()
        for manager in self._all:
            manager.expire(now)
        self.ips.expire(now)

    def close(self) -> None:
        """The broker stops."""
        if self.callback is not None:
            self.callback.close()


def _is_exempt(api_key: ApiKey, error: Errors | None) -> bool:
    """Requests of other brokers are not throttled; a sender that may not make them is (Kafka's `RequestHandlerHelper`)."""
    if error is None:
        return api_key in _EXEMPT
    return api_key.cluster_action and error is not Errors.CLUSTER_AUTHORIZATION_FAILED


def _tell(response: Message | None, throttle_ms: int) -> int:
    if hasattr(response, "throttle_time_ms"):
        setattr(response, "throttle_time_ms", throttle_ms)  # noqa: B010 Message has no such field, most of its classes do
    return throttle_ms
