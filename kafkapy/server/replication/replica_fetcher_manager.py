"""The fetchers of this broker, and their connections to leaders (Kafka's `ReplicaFetcherManager`)."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from kafkapy.clients.driver import Driver, TimerHandle
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common import metadata_version
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import CancelledError, Completion, spawn
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.replication.replica_fetcher import (
    FetcherConfig,
    FollowerQuota,
    ReplicaFetcher,
    Replicas,
)

log = logging.getLogger("kafkapy.server.ReplicaFetcherManager")

FIRST_WITH_REPLICA_STATE = 15
LONG_POLL_GRACE_MS = 10
"""A fetch still pending this long after partitions were added is a long poll: it is aborted, so that they needn't wait
for it."""


class InitialFetch(NamedTuple):
    """The leader and the offset from which a partition is to be fetched."""

    topic_id: bytes
    leader_id: int
    leader_epoch: int
    offset: int


class ReplicaFetcherManager:
    """Invariant: a partition is in at most one fetcher, that of its leader. On the reactor thread."""

    def __init__(
        self,
        config: KafkaConfig,
        driver: Driver,
        replicas: Replicas,
        quota: FollowerQuota,
        address_of: Callable[[int], Address | None],
        broker_epoch: Callable[[], int],
        clock: Clock,
    ) -> None:
        """`address_of(broker_id)` returns the address of its inter-broker listener; None while it is not alive.
        `broker_epoch`: this broker's."""
        self._config = config
        self._driver = driver
        self._replicas = replicas
        self._quota = quota
        self._address_of = address_of
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._fetchers: dict[tuple[int, int], FetcherLoop] = {}
        self._where: dict[TopicPartition, FetcherLoop] = {}
        self._num_fetchers = config.num_replica_fetchers
        self._stopped = False

    def add(self, partitions: Mapping[TopicPartition, InitialFetch]) -> None:
        """Start to fetch these partitions."""
        if self._stopped:
            return
        touched: dict[FetcherLoop, None] = {}
        for partition, initial in partitions.items():
            loop = self._fetcher_for(partition, initial.leader_id)
            before = self._where.get(partition)
            if before is not None and before is not loop:
                before.machine.remove(partition)
            try:
                loop.machine.add(partition, initial.topic_id, initial.leader_epoch, initial.offset)
            except KafkaError as error:
                log.error("Partition %s can't be followed: %s", partition, error.message)
                continue
            self._where[partition] = loop
            touched[loop] = None
        for loop in touched:
            loop.wake()

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            loop = self._where.pop(partition, None)
            if loop is not None:
                loop.machine.remove(partition)

    def work_on(self, partition: TopicPartition) -> Completion[None] | None:
        """Return the work of the partition's fetcher on its log in a thread. Other code must wait for it before
        changing the partition, or it would block on the log's lock on the reactor thread."""
        loop = self._where.get(partition)
        return None if loop is None else loop.machine.changes.of(partition)

    def stop_idle_fetchers(self) -> None:
        for key, loop in list(self._fetchers.items()):
            if not loop.machine.partitions and not loop.machine.failed:
                loop.stop()
                del self._fetchers[key]

    def resize(self, num_fetchers: int) -> None:
        """Apply a new `num.replica.fetchers`: redistribute the partitions, once no thread works for a fetcher."""
        if num_fetchers == self._num_fetchers or self._stopped:
            return
        for loop in self._fetchers.values():
            if (change := loop.machine.changes.under_way) is not None:
                change.add_callback(lambda _: self.resize(num_fetchers))
                return
        log.info("num.replica.fetchers changes from %d to %d", self._num_fetchers, num_fetchers)
        self._num_fetchers = num_fetchers
        again = {
            partition: InitialFetch(fetch.topic_id, loop.leader_id, fetch.leader_epoch, fetch.fetch_offset)
            for loop in self._fetchers.values()
            for partition, fetch in loop.machine.partitions.items()
        }
        self.remove(again)
        self.add(again)
        self.stop_idle_fetchers()

    def shutdown(self) -> None:
        self._stopped = True
        for loop in self._fetchers.values():
            loop.stop()
        self._fetchers.clear()
        self._where.clear()

    # --- for metrics

    @property
    def failed_partitions_count(self) -> int:
        return sum(len(loop.machine.failed) for loop in self._fetchers.values())

    @property
    def max_lag(self) -> int:
        """Return the largest lag of any followed partition, in records."""
        return max(
            (fetch.lag or 0 for loop in self._fetchers.values() for fetch in loop.machine.partitions.values()),
            default=0,
        )

    def lags(self) -> Iterator[tuple[int, int, TopicPartition, int]]:
        """Yield (leader, number of the fetcher, partition, lag in records) for each partition that has been fetched."""
        for loop in list(self._fetchers.values()):
            for partition, fetch in list(loop.machine.partitions.items()):
                if fetch.lag is not None:
                    yield loop.leader_id, loop.number, partition, fetch.lag

    # --- creation

    def _fetcher_for(self, partition: TopicPartition, leader_id: int) -> FetcherLoop:
        number = zlib.crc32(f"{partition.topic}-{partition.partition}".encode()) % self._num_fetchers
        key = (leader_id, number)
        loop = self._fetchers.get(key)
        if loop is None:
            loop = self._fetchers[key] = self._make(leader_id, number)
        return loop

    def _make(self, leader_id: int, number: int) -> FetcherLoop:
        config = self._config
        version = config.inter_broker_protocol_version
        machine = ReplicaFetcher(
            FetcherConfig(
                broker_id=config.broker_id,
                leader_id=leader_id,
                min_bytes=config.replica_fetch_min_bytes,
                max_wait_ms=config.replica_fetch_wait_max_ms,
                max_bytes=config.replica_fetch_response_max_bytes,
                partition_max_bytes=config.replica_fetch_max_bytes,
                backoff_ms=config.replica_fetch_backoff_ms,
                fetch_version=metadata_version.fetch_version(version),
                offset_for_leader_epoch_version=metadata_version.offset_for_leader_epoch_version(version),
                list_offsets_version=metadata_version.list_offsets_version(version),
                truncates_on_fetch=metadata_version.is_truncation_on_fetch_supported(version),
            ),
            self._replicas,
            self._quota,
            self._clock,
        )
        client_config = inter_broker_client_config(
            config, f"broker-{config.broker_id}-fetcher-{number}", config.replica_socket_timeout_ms
        )
        client_config.receive_buffer_bytes = config.replica_socket_receive_buffer_bytes
        client = NodeClient(self._driver, client_config, lambda: self._address_of(leader_id))
        log.info("Fetcher %d to broker %d starts", number, leader_id)
        return FetcherLoop(leader_id, number, machine, client, self._driver, self._broker_epoch, self._clock)


class FetcherLoop:
    """Sends the requests of its `ReplicaFetcher`, one at a time, until it is stopped."""

    def __init__(
        self,
        leader_id: int,
        number: int,
        machine: ReplicaFetcher,
        client: NodeClient,
        driver: Driver,
        broker_epoch: Callable[[], int],
        clock: Clock,
    ) -> None:
        self.leader_id = leader_id
        self.machine = machine
        self.number = number
        self._client = client
        self._driver = driver
        self._broker_epoch = broker_epoch
        self._clock = clock
        self._stopped = False
        self._idle: Completion[None] | None = None
        self._fetching: object | None = None
        """The Fetch in flight; None if there is none, or another request."""
        self._interrupted = False
        self._unreachable = False
        self._timer: TimerHandle | None = None
        self._task: Completion[None] | None = None

    def wake(self) -> None:
        """Process new partitions. A long poll in flight is aborted, so that they needn't wait for it."""
        if self._task is None:
            # In a later iteration of the event loop: the caller is in the middle of an operation.
            self._task = Completion()
            self._driver.call_soon(self._start)
        elif self._idle is not None:
            self._idle.set_result(None)
        elif self._fetching is not None and self._timer is None:
            fetching = self._fetching
            self._timer = self._driver.call_later(LONG_POLL_GRACE_MS, lambda: self._interrupt(fetching))

    def _interrupt(self, fetching: object) -> None:
        self._timer = None
        if self._fetching is fetching and not self._stopped:
            self._interrupted = True
            self._client.close()

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            log.info("Fetcher %d to broker %d stops", self.number, self.leader_id)
            if self._timer is not None:
                self._timer.cancel()
            self._client.close()
            if self._idle is not None:
                self._idle.set_result(None)

    def _start(self) -> None:
        if not self._stopped:
            self._task = spawn(self._run())

    async def _run(self) -> None:
        while not self._stopped:
            try:
                await self._turn()
            except CancelledError:
                raise
            except Exception:
                log.exception("Unexpected error in fetcher %d to broker %d", self.number, self.leader_id)
                await self._driver.sleep(self.machine.config.backoff_ms)

    async def _turn(self) -> None:
        machine = self.machine
        step = await machine.next_step(self._now())
        if step is None:
            await self._wait(machine.wake_ms(self._now()) - self._now())
            return
        request = step.request
        self._fetching = step if isinstance(request, FetchRequest) else None
        if isinstance(request, FetchRequest):
            request = VersionedRequest(FetchRequest, partial(self._signed, request))
        try:
            response = await self._client.call(request, step.version)
        except KafkaError as error:
            self._fetching = None
            if self._stopped:
                return
            if self._interrupted:
                self._interrupted = False
                machine.interrupted()
                return
            if not self._unreachable:
                self._unreachable = True
                log.info("Fetcher %d can't reach broker %d, trying again every %d ms: %s",
                         self.number, self.leader_id, machine.config.backoff_ms, error.message)  # fmt: skip
            machine.failed_to_ask(step, self._now())
            return
        self._fetching = None
        self._interrupted = False
        if self._unreachable:
            self._unreachable = False
            log.info("Fetcher %d has reached broker %d again", self.number, self.leader_id)
        if not self._stopped:
            await machine.handle(step, response, self._now())
            await self._flush()

    async def _flush(self) -> None:
        """Flush logs before the next fetch, whose offset acknowledges the records before it to the leader."""
        logs, self.machine.unflushed = self.machine.unflushed, []
        for flushed in [self._clock.in_thread(partition_log.flush) for partition_log in logs]:
            try:
                await flushed
            except KafkaError as error:
                log.error("What was fetched is not on the disk: %s", error.message)

    def _signed(self, request: FetchRequest, version: int) -> FetchRequest:
        """Return the request with this follower's id, in the version's format."""
        broker_id = self.machine.config.broker_id
        if version < FIRST_WITH_REPLICA_STATE:
            request.replica_id = broker_id
        else:
            request.replica_state = FetchRequest.ReplicaState(replica_id=broker_id, replica_epoch=self._broker_epoch())
        return request

    async def _wait(self, ms: float) -> None:
        idle: Completion[None] = Completion()
        self._idle = idle
        timer = self._driver.call_later(max(1, ms), lambda: idle.set_result(None))
        try:
            await idle
        finally:
            timer.cancel()
            self._idle = None

    def _now(self) -> int:
        return int(self._driver.time.monotonic_ms())
