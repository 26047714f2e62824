"""A fetch of very many partitions, over several turns: nobody waits until all of them are read."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.clock import Clock, portions, some_of
from kafkapy.runtime.completion import Completion
from kafkapy.server.replication.delayed_fetch import DelayedFetch
from kafkapy.server.replication.fetch_params import FetchParams, FetchPartition, FetchResult, is_enough
from kafkapy.server.replication.replica_manager import ColdRead, ReplicaManager


async def fetch_in_turns(
    replicas: ReplicaManager, clock: Clock, params: FetchParams, fetches: list[FetchPartition]
) -> list[FetchResult]:
    """What `ReplicaManager.fetch_messages` finds."""
    progressed: list[TopicPartition] = []
    results = await _read(replicas, clock, params, fetches, progressed)
    for moved in portions(progressed):
        replicas.role_changed(*moved)
        if clock.turn_is_over():
            await clock.turn()
    if params.max_wait_ms > 0 and results and not is_enough(params, results):
        await _wait(replicas, clock, params, fetches, results)
        results = await _read(replicas, clock, params, fetches)
    return results


async def _read(
    replicas: ReplicaManager,
    clock: Clock,
    params: FetchParams,
    fetches: list[FetchPartition],
    progressed: list[TopicPartition] | None = None,
) -> list[FetchResult]:
    """With `progressed` it is noted what a follower has stored, as `ReplicaManager.read_from_log` says."""
    results: list[FetchResult] = []
    size = 0
    for some in portions(fetches):
        if clock.turn_is_over():
            await clock.turn()
        cold: list[ColdRead] = []
        found = replicas.read_from_log(params, some, progressed, cold, size)
        if cold:
            looked_up: Completion[None] = Completion()
            replicas.look_up(cold, lambda done=looked_up: done.set_result(None))  # type: ignore[misc]
            await looked_up
            found = replicas.read_from_log(params, some, progressed, None, size)
        size += sum(result.size for result in found)
        results += found
    return results


async def _wait(
    replicas: ReplicaManager,
    clock: Clock,
    params: FetchParams,
    fetches: list[FetchPartition],
    results: list[FetchResult],
) -> None:
    """Until there is enough, or the time is up."""
    woken: Completion[None] = Completion()
    operation = DelayedFetch(params, [], replicas, lambda: woken.set_result(None))
    purgatory = replicas.fetch_purgatory
    for some in some_of(zip(fetches, results, strict=True)):
        if clock.turn_is_over():
            await clock.turn()
        for fetch, result in some:
            if operation.completed:
                return
            if result.start is not None:
                # It is watched before it is looked at, so nothing that happens to it meanwhile is missed.
                purgatory.watch_also(operation, fetch.topic_partition)
                operation.wait_also(fetch, result.start)
    purgatory.begin_time(operation)
    await woken
