"""Tracks the usage of one type of quota (Kafka's `ClientQuotaManager`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from typing import Final

from kafkapy.common.rate import MAX_THROTTLE_MS, Rate
from kafkapy.common.sampled_stat import SampledStat
from kafkapy.common.time import Time
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, QuotasByEntity, Tags
from kafkapy.server.quotas.quota_entity import QuotaEntity, QuotaType

log = logging.getLogger("kafkapy.server.ClientQuotaManager")

INACTIVE_MS: Final = 3_600_000
"""Age at which unused sensors are removed (Kafka's `InactiveSensorExpirationTimeSeconds`)."""

MAX_SENSORS: Final = 10_000
"""Above this number, sensors are removed as soon as their windows have passed, because their rate is 0 then."""

MOST_SENSORS: Final = 2 * MAX_SENSORS
"""Above this number, the least recently used half is removed even within the windows."""

MAX_CLIENTS: Final = 20_000
"""Limit of cached pairs of user and client id."""

MAX_CLIENT_ID: Final = 1024
"""Longer client ids are truncated, because a request may have one of 32,767 bytes, and each is kept for an hour."""

_SWEEP_MS: Final = 1000
_LOG_MS: Final = 60_000

UNLIMITED: Final = math.inf


class ClientSensors:
    """The recent usage of clients with the same tags, and their limit (of a `generation`)."""

    __slots__ = ("generation", "limit", "rate", "tags", "throttle_times", "used_ms")

    def __init__(self, tags: Tags, rate: Rate) -> None:
        self.tags = tags
        self.rate = rate
        self.limit = UNLIMITED
        self.generation = -1
        self.used_ms = 0
        """When they were last recorded or looked up, ms."""
        self.throttle_times: SampledStat | None = None
        """Throttle times of responses, ms; None: none was throttled."""

    def per_second(self, now: int) -> float:
        """Return the usage per second."""
        return self.rate.per_second(now)


class ClientQuotaManager:
    """Records usage and computes throttle times. On the reactor thread.

    A change of quotas applies from the next request on, even for known clients; their past usage still counts. Current
    throttling is not changed.

    Invariant: `_by_client` refers only to members of `_sensors`, and is emptied at each change of the quotas. The limit
    of sensors is valid if their generation is the manager's.

    Example:
        >>> from kafkapy.common.time import MockTime
        >>> produce = ClientQuotaManager(QuotaType.PRODUCE, MockTime())
        >>> produce.update_quota(QuotaEntity("alice", None), 1000.0)
        >>> produce.record_and_throttle_ms(KafkaPrincipal("User", "alice"), "app", 11_500, now=0)
        1500
    """

    def __init__(
        self,
        quota_type: QuotaType,
        time: Time,
        num_samples: int = 11,
        window_seconds: int = 1,
        callback: ClientQuotaCallback | None = None,
        quotas_changed: Callable[[], object] = lambda: None,
    ) -> None:
        """`num_samples`: `quota.window.num`; `window_seconds`: `quota.window.size.seconds`; `callback`: a plug-in,
        which is called for each request.

        `quotas_changed` is called when `enabled` may have changed.
        """
        self.quota_type = quota_type
        self.enabled = callback is not None
        """Whether there is any quota of this type; otherwise nothing is recorded."""
        self._time = time
        self._num_samples = num_samples
        self._window_seconds = window_seconds
        self._by_entity = QuotasByEntity()
        self._callback: ClientQuotaCallback = callback or self._by_entity
        self._is_custom = callback is not None
        self._quotas_changed = quotas_changed
        self._generation = 0
        self._sensors: dict[tuple[tuple[str, str], ...], ClientSensors] = {}
        self._by_client: dict[tuple[str, str], ClientSensors] = {}
        self._swept_ms = -_SWEEP_MS
        self._logged_ms = -_LOG_MS
        self._longest_throttle_ms = MAX_THROTTLE_MS
        self._shared = self._new_sensors({})
        """Of all clients for which the plug-in fails: without a limit."""

    # ------------------------------------------------------------------------------------------------------ recording

    def record_and_throttle_ms(self, principal: KafkaPrincipal, client_id: str, value: float, now: int) -> int:
        """Record `value` (bytes, percent of a thread's second); return the throttle time, ms."""
        sensors = self.sensors_of(principal, client_id, now)
        rate, limit = sensors.rate, sensors.limit
        rate.record(value, now)
        return 0 if limit == UNLIMITED else rate.throttle_ms(limit, now, self._longest_throttle_ms)

    def record(self, principal: KafkaPrincipal, client_id: str, value: float, now: int) -> None:
        """Record `value` without throttling; it counts for later responses. A negative value undoes an earlier one."""
        self.sensors_of(principal, client_id, now).rate.record(value, now)

    def throttled(self, principal: KafkaPrincipal, client_id: str, throttle_ms: int, now: int) -> None:
        """Record that a response is throttled because of this quota, for its metric."""
        sensors = self.sensors_of(principal, client_id, now)
        if sensors.throttle_times is None:
            sensors.throttle_times = SampledStat()
        sensors.throttle_times.record(throttle_ms, now)

    def max_in_window(self, principal: KafkaPrincipal, client_id: str, now: int) -> float:
        """Return the usage above which a request is always throttled, even after silence: a fetch should not read more.
        `inf`: no limit.
        """
        if not self.enabled:
            return UNLIMITED
        limit = self.sensors_of(principal, client_id, now).limit
        return limit * (self._num_samples - 1) * self._window_seconds

    def quota(self, principal: KafkaPrincipal, client_id: str) -> float:
        """Return a client's limit per second; `inf`: none. For tests and tools."""
        tags = self._callback.quota_metric_tags(self.quota_type, principal, client_id)
        limit = self._callback.quota_limit(self.quota_type, tags)
        return UNLIMITED if limit is None else limit

    # ------------------------------------------------------------------------------------------------------ the quotas

    def update_quota(self, entity: QuotaEntity, limit: float | None) -> None:
        """Set the limit per second of an entity; None removes it."""
        if self._by_entity.limit_of(entity) == limit:
            return
        for callback in (self._by_entity, self._callback) if self._is_custom else (self._by_entity,):
            if limit is None:
                callback.remove_quota(self.quota_type, entity)
            else:
                callback.update_quota(self.quota_type, entity, limit)
        self.limits_changed()

    def limits_changed(self) -> None:
        """Invalidate all limits: each is looked up again on its next use."""
        self._generation += 1
        self._by_client.clear()
        self.enabled = self._is_custom or not self._by_entity.is_empty
        self._quotas_changed()

    # ------------------------------------------------------------------------------------------------------ sensors

    def sensors(self) -> Iterable[ClientSensors]:
        """Return a copy of all sensors, for metrics."""
        return list(self._sensors.values())

    def sensors_of(self, principal: KafkaPrincipal, client_id: str, now: int) -> ClientSensors:
        """Return a client's sensors with the current limit; creates missing ones."""
        if len(client_id) > MAX_CLIENT_ID:
            client_id = client_id[:MAX_CLIENT_ID]
        if self._is_custom:
            try:
                sensors = self._of_plug_in(principal, client_id, now)
            except Exception as error:
                self._plug_in_failed(error, now)
                return self._shared
        else:
            key = principal.name, client_id
            found = self._by_client.get(key)
            if found is None:
                tags = self._callback.quota_metric_tags(self.quota_type, principal, client_id)
                found = self._of_tags(tags, now)
                if len(self._by_client) >= MAX_CLIENTS:
                    self._by_client.clear()
                self._by_client[key] = found
            sensors = found
        sensors.used_ms = now
        return sensors

    def _of_plug_in(self, principal: KafkaPrincipal, client_id: str, now: int) -> ClientSensors:
        tags = dict(self._callback.quota_metric_tags(self.quota_type, principal, client_id))
        if self._callback.quota_reset_required(self.quota_type):
            self._generation += 1
        return self._of_tags(tags, now)

    def _of_tags(self, tags: Tags, now: int) -> ClientSensors:
        key = tuple(tags.items())
        sensors = self._sensors.get(key)
        if sensors is None:
            if len(self._sensors) >= MAX_SENSORS:
                self._make_room(now)
            sensors = self._new_sensors(tags)
            self._sensors[key] = sensors
        if sensors.generation != self._generation:
            limit = self._callback.quota_limit(self.quota_type, tags)
            sensors.limit = UNLIMITED if limit is None else limit
            sensors.generation = self._generation
        return sensors

    def _new_sensors(self, tags: Tags) -> ClientSensors:
        return ClientSensors(tags, Rate(self._num_samples, self._window_seconds * 1000))

    def _plug_in_failed(self, error: Exception, now: int) -> None:
        if now - self._logged_ms >= _LOG_MS:
            self._logged_ms = now
            log.error("The client quota callback fails; %s is not throttled", self.quota_type.value, exc_info=error)

    # ------------------------------------------------------------------------------------------------------ expiry

    @property
    def information_ms(self) -> int:
        """Return the age from which on unused sensors equal new ones, ms."""
        return (self._num_samples + 1) * self._window_seconds * 1000

    def expire(self, now: int) -> None:
        """Remove clients that have been inactive for an hour. To be called about once in 30 s."""
        self._forget(now - INACTIVE_MS)

    def _make_room(self, now: int) -> None:
        if now - self._swept_ms >= _SWEEP_MS:
            self._swept_ms = now
            self._forget(now - self.information_ms)
        if len(self._sensors) >= MOST_SENSORS:
            by_use = sorted(self._sensors.items(), key=lambda item: item[1].used_ms)
            self._sensors = dict(by_use[len(by_use) // 2 :])
            self._by_client.clear()

    def _forget(self, unused_since: int) -> None:
        sensors = self._sensors
        kept = {key: each for key, each in sensors.items() if each.used_ms > unused_since}
        if len(kept) < len(sensors):
            self._sensors = kept
            self._by_client.clear()
