"""LeaderAndIsr, StopReplica and UpdateMetadata: the controller's requests."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.runtime.completion import FairLock, gather
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.reconfiguration.change_handlers import usable_topic_configs
from kafkapy.server.replication.leadership import (
    Leadership,
    PartitionOrder,
    is_of_old_controller,
    leader_and_isr_response,
    orders_of,
    stop_orders_of,
    stop_replica_response,
)
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replication_quota import ReplicationThrottles
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.state.change")

ORDERS_PER_CHECKPOINT = 5
"""Orders between two checks of the time slice: deleting a log takes up to 0.6 ms."""

LOG_MAKERS = 3
"""Threads that create the logs of a chunk of orders: most of the time is spent in the file system."""

T = TypeVar("T")


@dataclass(eq=False)
class ControlHandler:
    """Carries out the controller's orders.

    Invariant: requests that create and stop replicas are processed one after the other, in order of arrival on all
    connections, even if one yields in between.
    """

    _authorizer: Authorizer
    _broker_epoch: Callable[[], int]
    _leadership: Leadership
    _replica_manager: ReplicaManager
    _in_thread: InThread
    _zk_client: KafkaZkClient
    _log_manager: LogManager
    _config: KafkaConfig
    _throttles: ReplicationThrottles
    _metadata_cache: MetadataCache
    _clock: Clock
    _metadata_changed: Callable[[MetadataCache], object] = lambda cache: None
    """Called after each UpdateMetadata: a plug-in of quotas may count partitions."""
    _one_after_the_other: FairLock = field(default_factory=FairLock, init=False)

    def require_cluster_action(self, request: Request) -> None:
        """`KafkaError` CLUSTER_AUTHORIZATION_FAILED unless the sender may act as a broker."""
        if not self._authorizer.authorize(
            request.context, ACLOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)

    def _is_stale(self, body: LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest) -> bool:
        """Return whether the request was meant for an earlier registration of this broker. Broker epoch -1: not
        checked."""
        if body.broker_epoch == -1 or body.broker_epoch >= self._broker_epoch():
            return False
        log.info(
            "%s of controller %d (epoch %d) is fenced: it was meant for an earlier life of this broker, of epoch %d, which is of "
            "epoch %d now. Nothing changes; the controller will speak to the new one.",
            type(body).__name__, body.controller_id, body.controller_epoch, body.broker_epoch, self._broker_epoch(),
        )  # fmt: skip
        return True

    async def handle_leader_and_isr(self, request: Request) -> LeaderAndIsrResponse:
        self.require_cluster_action(request)
        body: LeaderAndIsrRequest = request.body
        if self._is_stale(body):
            return LeaderAndIsrResponse(error_code=Errors.STALE_BROKER_EPOCH.code)
        errors: dict[TopicPartition, Errors] = {}
        async with self._one_after_the_other:
            for chunk in _chunks(orders_of(body)):
                await self._prepare_new_partitions(body, chunk)
                for orders in _between_checkpoints(chunk):
                    await self._clock.checkpoint()
                    await self._leadership.let_fetchers_finish(orders)
                    error = self._leadership.become_leader_or_follower(body, orders, errors)
                    if error is not Errors.NONE:
                        raise KafkaError(error)
        return leader_and_isr_response(body, request.api_version, errors)

    async def _prepare_new_partitions(self, body: LeaderAndIsrRequest, orders: Sequence[PartitionOrder]) -> None:
        """Read the configs and throttles of topics that are new here, because no notification of them follows, and
        create the logs.

        Both run in threads, so that a topic with a thousand partitions does not block the reactor.
        """
        known = self._replica_manager
        if body.controller_epoch < known.controller_epoch:
            return  # the request will be refused; the log of a deleted topic would be left behind
        new = [
            order
            for order in orders
            if known.broker_id in order.state.replicas
            and known.is_unknown(order.partition)
            and self._log_manager.get_log(order.partition) is None
        ]
        if not new:
            return
        topics = {order.partition.topic for order in new}
        configs = await self._in_thread(self._zk_client.get_entities_configs, "topics", topics)
        for topic, overrides in configs.items():
            self._log_manager.update_topic_config(topic, usable_topic_configs(self._config, topic, overrides))
            self._throttles.update_topic(topic, overrides, known.broker_id)
        shares = [new[first::LOG_MAKERS] for first in range(min(LOG_MAKERS, len(new)))]
        await gather(*(self._in_thread(_make_logs, self._log_manager, share) for share in shares))

    async def handle_stop_replica(self, request: Request) -> StopReplicaResponse:
        self.require_cluster_action(request)
        body: StopReplicaRequest = request.body
        if self._is_stale(body):
            return stop_replica_response(Errors.STALE_BROKER_EPOCH, {})
        errors: dict[TopicPartition, Errors] = {}
        async with self._one_after_the_other:
            for chunk in _chunks(stop_orders_of(body, request.api_version)):
                for orders in _between_checkpoints(chunk):
                    await self._clock.checkpoint()
                    await self._leadership.let_fetchers_finish(orders)
                    error = self._leadership.stop_replicas(body, orders, errors)
                    if error is not Errors.NONE:
                        return stop_replica_response(error, {})
        return stop_replica_response(Errors.NONE, errors)

    async def handle_update_metadata(self, request: Request) -> UpdateMetadataResponse:
        self.require_cluster_action(request)
        body: UpdateMetadataRequest = request.body
        if self._is_stale(body):
            return UpdateMetadataResponse(error_code=Errors.STALE_BROKER_EPOCH.code)
        replica_manager = self._replica_manager
        if is_of_old_controller(body, replica_manager.controller_epoch):
            return UpdateMetadataResponse(error_code=Errors.STALE_CONTROLLER_EPOCH.code)
        replica_manager.controller_epoch = body.controller_epoch
        deleted = self._metadata_cache.update(body)
        if deleted:
            self._leadership.partitions_deleted(deleted)
            for topic in {partition.topic for partition in deleted}:
                if not self._metadata_cache.contains_topic(topic):
                    replica_manager.topic_stats.forget(topic)
        self._metadata_changed(self._metadata_cache)
        return UpdateMetadataResponse()


def _chunks(orders: Iterator[T]) -> Iterator[Sequence[T]]:
    """Yield at least one chunk, perhaps empty: even a request without orders announces a controller epoch."""
    some = iter(chunks(orders))
    yield next(some, ())
    yield from some


def _between_checkpoints(chunk: Sequence[T]) -> Iterator[Sequence[T]]:
    starts = range(0, max(1, len(chunk)), ORDERS_PER_CHECKPOINT)
    return (chunk[start : start + ORDERS_PER_CHECKPOINT] for start in starts)


def _make_logs(log_manager: LogManager, new: list[PartitionOrder]) -> None:
    for partition, topic_id, state in new:
        with contextlib.suppress(
            KafkaError, OSError
        ):  # the error recurs, and is returned, when the partition opens its log
            log_manager.get_or_create_log(partition, None if topic_id == ZERO_UUID else topic_id, state.is_new)
