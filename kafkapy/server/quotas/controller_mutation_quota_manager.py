"""Limits how many partitions clients create and delete (KIP-599; Kafka's `ControllerMutationQuotaManager`)."""

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
    """A bucket in addition to the rate, which is only a metric.

    Topics are created and deleted in threads. Invariant: `_bucket` and `rate` are accessed only under `_lock`.
    """

    __slots__ = ("_bucket", "_lock")

    def __init__(self, tags: Tags, rate: Rate, bucket: TokenBucket) -> None:
        super().__init__(tags, rate)
        self._bucket = bucket
        self._lock = Lock()

    def spend_unless_exceeded(self, partitions: int, now: int) -> int:
        """Spend tokens unless there is a debt; return how long until there is none, ms: 0 if they were spent."""
        with self._lock:
            wait = self._debt_ms(now)
            if not wait:
                self._spend(partitions, now)
            return wait

    def spend(self, partitions: int, now: int) -> int:
        """Spend tokens; return how long until there is no debt, ms."""
        with self._lock:
            self._spend(partitions, now)
            return self._debt_ms(now)

    def per_second(self, now: int) -> float:
        with self._lock:
            return self.rate.per_second(now)

    def tokens(self, now: int) -> float | None:
        """Return the number of available tokens; None: there is no limit."""
        with self._lock:
            return None if self.limit == UNLIMITED else self._bucket.tokens(self.limit, now)

    def _spend(self, partitions: int, now: int) -> None:
        self.rate.record(partitions, now)
        if self.limit == UNLIMITED:
            self._bucket.fill()  # as in Kafka, where no limit means one of 2^63
        else:
            self._bucket.record(partitions, self.limit, now)

    def _debt_ms(self, now: int) -> int:
        return 0 if self.limit == UNLIMITED else self._bucket.throttle_ms(self.limit, now)


class ControllerMutationQuota:
    """The quota of one request; created for each, used in any thread (Kafka's trait of this name). This one is
    unlimited.
    """

    __slots__ = ()

    def record(self, partitions: int) -> None:
        """Record partitions before they are created or deleted.

        Raises:
            KafkaError: THROTTLING_QUOTA_EXCEEDED: the quota is exhausted.
        """

    def throttle_ms(self) -> int:
        """Return how long the client has to wait after the response, ms."""
        return 0


UNBOUNDED = ControllerMutationQuota()
"""Used if there are no quotas of this type."""


class _BucketQuota(ControllerMutationQuota):
    """A quota with a bucket.

    Invariant: `_throttle_ms` is the wait at `_recorded_ms`; 0 until a quota was exceeded.
    """

    __slots__ = ("_now", "_recorded_ms", "_sensors", "_throttle_ms")

    def __init__(self, sensors: MutationSensors, now: Callable[[], int]) -> None:
        self._sensors = sensors
        self._now = now
        self._throttle_ms = 0
        self._recorded_ms = 0

    def throttle_ms(self) -> int:
        """Return the remaining wait: the request may have waited for the controller meanwhile."""
        return max(self._throttle_ms - (self._now() - self._recorded_ms), 0) if self._throttle_ms else 0

    def _wait(self, throttle_ms: int, now: int) -> None:
        self._throttle_ms, self._recorded_ms = throttle_ms, now


class StrictControllerMutationQuota(_BucketQuota):
    """Accepts any number while there is no debt, and none otherwise."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        wait = self._sensors.spend_unless_exceeded(partitions, now)
        if wait:
            self._wait(wait, now)
            raise KafkaError(Errors.THROTTLING_QUOTA_EXCEEDED)


class PermissiveControllerMutationQuota(_BucketQuota):
    """Accepts everything, and throttles the client while there is a debt: for versions without the error code."""

    __slots__ = ()

    def record(self, partitions: int) -> None:
        now = self._now()
        wait = self._sensors.spend(partitions, now)
        if wait:
            self._wait(wait, now)


class ControllerMutationQuotaManager(ClientQuotaManager):
    """Creates the quota of each request.

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
        """Return the request's quota; `UNBOUNDED` if there are no quotas of this type."""
        if not self.enabled:
            return UNBOUNDED
        sensors = self.sensors_of(principal, client_id, self._time.monotonic_ms())
        assert isinstance(sensors, MutationSensors)
        kind = StrictControllerMutationQuota if is_strict else PermissiveControllerMutationQuota
        return kind(sensors, self._time.monotonic_ms)

    def limits_changed(self) -> None:
        """Remove the debts with the last quota, because without quotas no request refills the buckets."""
        super().limits_changed()
        if not self.enabled:
            self._sensors = {}

    def _new_sensors(self, tags: Tags) -> ClientSensors:
        # Kafka's default windows of a rate: 2 of 30 s.
        return MutationSensors(tags, Rate(2, 30_000), TokenBucket(self._num_samples, self._window_seconds))
