"""How many partitions clients may make and delete (KIP-599; Kafka's `ControllerMutationQuotaManager`)."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from kafkapy.common.rate import Rate
from kafkapy.common.time import Time
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, Tags
from kafkapy.server.quotas.client_quota_manager import UNLIMITED, ClientQuotaManager, ClientSensors
from kafkapy.server.quotas.quota_entity import QuotaType
from kafkapy.server.quotas.token_bucket import TokenBucket


class MutationSensors(ClientSensors):
    """A bucket besides the rate; the rate is only a metric.

    Topics are made and deleted in threads. Invariant: `_bucket` and `rate` are touched under `_lock` only.
    """

    __slots__ = ("_bucket", "_lock")

    def __init__(self, tags: Tags, rate: Rate, bucket: TokenBucket) -> None:
        super().__init__(tags, rate)
        self._bucket = bucket
        self._lock = Lock()

    def spend_unless_exceeded(self, partitions: int, now: int) -> int:
        """How long until there is no debt, ms; 0: there was none, and so many are spent."""
        with self._lock:
            wait = self._debt_ms(now)
            if not wait:
                self._spend(partitions, now)
            return wait

    def spend(self, partitions: int, now: int) -> int:
        """How long until there is no debt afterwards, ms."""
        with self._lock:
            self._spend(partitions, now)
            return self._debt_ms(now)

    def per_second(self, now: int) -> float:
        with self._lock:
            return self.rate.per_second(now)

    def tokens(self, now: int) -> float | None:
        """How many more there may be at once; None: there is no limit."""
        with self._lock:
            return None if self.limit == UNLIMITED else self._bucket.tokens(self.limit, now)

    def _spend(self, partitions: int, now: int) -> None:
        self.rate.record(partitions, now)
        if self.limit == UNLIMITED:
            self._bucket.fill()  # as it does at once in Kafka, where no limit is one of 2^63
        else:
            self._bucket.record(partitions, self.limit, now)

    def _debt_ms(self, now: int) -> int:
        return 0 if self.limit == UNLIMITED else self._bucket.throttle_ms(self.limit, now)


class ControllerMutationQuota:
    """What one request may change; made for each, used in any thread (Kafka's trait of this name). This one: all."""

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

    def _wait(self, throttle_ms: int, now: int) -> None:
        self._throttle_ms, self._recorded_ms = throttle_ms, now


class StrictControllerMutationQuota(_BucketQuota):
    """Takes any number while there is no debt, and none while there is."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        wait = self._sensors.spend_unless_exceeded(partitions, now)
        if wait:
            self._wait(wait, now)
            raise KafkaError(Errors.THROTTLING_QUOTA_EXCEEDED)


class PermissiveControllerMutationQuota(_BucketQuota):
    """Takes everything, and has the client wait while there is a debt: for versions that know no other answer."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        wait = self._sensors.spend(partitions, now)
        if wait:
            self._wait(wait, now)


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

    def limits_changed(self) -> None:
        """Without quotas there is no request that could find its bucket full again: so the debts go with the last quota."""
        super().limits_changed()
        if not self.enabled:
            self._sensors = {}

    def _new_sensors(self, tags: Tags) -> ClientSensors:
        # A rate of Kafka's default windows: 2 of 30 s.
        return MutationSensors(tags, Rate(2, 30_000), TokenBucket(self._num_samples, self._window_seconds))
