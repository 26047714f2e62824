"""Reads for fetches: immediately, and again when enough data is available."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion
from kafkapy.server.replication.delayed_fetch import DelayedFetch
from kafkapy.server.replication.fetch_params import FetchParams, FetchPartition, FetchResult, is_enough
from kafkapy.server.replication.replica_manager import ColdRead, ReplicaManager


class LogReads:
    """Fetches of consumers, and of followers without a session (Kafka's `ReplicaManager.fetchMessages`)."""

    def __init__(self, replicas: ReplicaManager, clock: Clock) -> None:
        self._replicas = replicas
        self._clock = clock

    async def fetch(self, params: FetchParams, fetches: list[FetchPartition]) -> list[FetchResult]:
        """Read. Return at once with enough data, with an error, or if no wait is requested; else after new data or the
        time-out."""
        progressed: list[TopicPartition] = []
        results = await self._read(params, fetches, progressed)
        for moved in chunks(progressed):
            self._replicas.role_changed(*moved)
            await self._clock.checkpoint()
        if params.max_wait_ms > 0 and results and not is_enough(params, results):
            await self._wait(params, fetches, results)
            results = await self._read(params, fetches)
        return results

    async def _read(
        self, params: FetchParams, fetches: list[FetchPartition], progressed: list[TopicPartition] | None = None
    ) -> list[FetchResult]:
        """Read once. With `progressed`, record the follower's position, as `ReplicaManager.read_from_log` does."""
        replicas = self._replicas
        results: list[FetchResult] = []
        size = 0
        for chunk in chunks(fetches):
            await self._clock.checkpoint()
            cold: list[ColdRead] = []
            found = replicas.read_from_log(params, chunk, progressed, cold, size)
            if cold:
                await replicas.look_up(cold)
                found = replicas.read_from_log(params, chunk, progressed, None, size)
            for result in found:
                size += result.size
            results += found
        return results

    async def _wait(self, params: FetchParams, fetches: list[FetchPartition], results: list[FetchResult]) -> None:
        """Wait for enough data, or the time-out."""
        woken: Completion[None] = Completion()
        operation = DelayedFetch(params, [], self._replicas, lambda: woken.set_result(None))
        purgatory = self._replicas.fetch_purgatory
        for chunk in chunks(list(zip(fetches, results, strict=True))):
            await self._clock.checkpoint()
            for fetch, result in chunk:
                if operation.completed:
                    return
                if result.start is not None:
                    # Watched before it is read, so that no event in between is missed.
                    purgatory.watch_also(operation, fetch.topic_partition)
                    operation.wait_also(fetch, result.start)
        purgatory.begin_time(operation)
        await woken
