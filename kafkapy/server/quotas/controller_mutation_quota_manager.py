"""How many partitions clients may make and delete (KIP-599; Kafka's `ControllerMutationQuotaManager`)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.common.rate import Rate
from kafkapy.common.time import Time
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, Tags
from kafkapy.server.quotas.client_quota_manager import UNLIMITED, ClientQuotaManager, ClientSensors
from kafkapy.server.quotas.quota_entity import QuotaType
from kafkapy.server.quotas.token_bucket import TokenBucket


class MutationSensors(ClientSensors):
    """A bucket besides the rate; the rate is only a metric."""

    __slots__ = ("bucket",)

    def __init__(self, tags: Tags, rate: Rate, bucket: TokenBucket) -> None:
        super().__init__(tags, rate)
        self.bucket = bucket


class ControllerMutationQuota:
    """What one request may change; made for each (Kafka's trait of this name). This one: as much as it likes."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        """Before so many partitions are made or deleted.

        Raises:
            KafkaError: THROTTLING_QUOTA_EXCEEDED: they may not be now.
        """

    def throttle_ms(self) -> int:
        """For how long the client has to wait after the answer."""
        return 0


UNBOUNDED = ControllerMutationQuota()
"""Where there are no quotas of this type."""


class _BucketQuota(ControllerMutationQuota):
    """Invariant: `_throttle_ms` is what had to be waited at `_recorded_ms`; 0 until a quota was exceeded."""

    __slots__ = ("_now", "_recorded_ms", "_sensors", "_throttle_ms")

    def __init__(self, sensors: MutationSensors, now: Callable[[], int]) -> None:
        self._sensors = sensors
        self._now = now
        self._throttle_ms = 0
        self._recorded_ms = 0

    def throttle_ms(self) -> int:
        """Less what has passed since: the request may have waited for the controller."""
        return max(self._throttle_ms - (self._now() - self._recorded_ms), 0) if self._throttle_ms else 0

    def _spend(self, partitions: int, now: int) -> None:
        sensors = self._sensors
        sensors.rate.record(partitions, now)
        if sensors.limit != UNLIMITED:
            sensors.bucket.record(partitions, sensors.limit, now)

    def _debt_ms(self, now: int) -> int:
        """Remembers it, if there is any."""
        sensors = self._sensors
        if sensors.limit == UNLIMITED:
            return 0
        wait = sensors.bucket.throttle_ms(sensors.limit, now)
        if wait:
            self._throttle_ms, self._recorded_ms = wait, now
        return wait


class StrictControllerMutationQuota(_BucketQuota):
    """Takes any number while there is no debt, and none while there is."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        if self._debt_ms(now):
            raise KafkaError(Errors.THROTTLING_QUOTA_EXCEEDED)
        self._spend(partitions, now)


class PermissiveControllerMutationQuota(_BucketQuota):
    """Takes everything, and has the client wait while there is a debt: for versions that know no other answer."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        self._spend(partitions, now)
        self._debt_ms(now)


class ControllerMutationQuotaManager(ClientQuotaManager):
    """Makes the quota of each request.

    Example:
        >>> from kafkapy.common.time import MockTime
        >>> from kafkapy.server.quotas.quota_entity import QuotaEntity
        >>> mutations = ControllerMutationQuotaManager(MockTime())
        >>> mutations.update_quota(QuotaEntity("alice", None), 5.0)
        >>> quota = mutations.quota_for(KafkaPrincipal("User", "alice"), "app", is_strict=False)
        >>> quota.record(85)
        >>> quota.throttle_ms()
        6000
    """

    def __init__(
        self,
        time: Time,
        num_samples: int = 11,
        window_seconds: int = 1,
        callback: ClientQuotaCallback | None = None,
        quotas_changed: Callable[[], object] = lambda: None,
    ) -> None:
        """`controller.quota.window.num`, `controller.quota.window.size.seconds`."""
        super().__init__(QuotaType.CONTROLLER_MUTATION, time, num_samples, window_seconds, callback, quotas_changed)

    def quota_for(self, principal: KafkaPrincipal, client_id: str, is_strict: bool) -> ControllerMutationQuota:
        """`UNBOUNDED` if there are no quotas of this type."""
        if not self.enabled:
            return UNBOUNDED
        sensors = self.sensors_of(principal, client_id, self._time.monotonic_ms())
        assert isinstance(sensors, MutationSensors)
        kind = StrictControllerMutationQuota if is_strict else PermissiveControllerMutationQuota
        return kind(sensors, self._time.monotonic_ms)

    def _new_sensors(self, tags: Tags) -> ClientSensors:
        # A rate of Kafka's default windows: 2 of 30 s.
        return MutationSensors(tags, Rate(2, 30_000), TokenBucket(self._num_samples, self._window_seconds))
