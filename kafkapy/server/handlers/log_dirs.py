"""AlterReplicaLogDirs and DescribeLogDirs: moves replicas between log dirs, and describes these (KIP-113, KIP-827)."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.manager.future_logs import is_future
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.replication.replica_alter_log_dirs import ReplicaAlterLogDirsManager
from kafkapy.server.replication.replica_manager import ReplicaManager


@dataclass(eq=False)
class LogDirsHandler:
    """Describes and changes the log dirs of this broker's replicas."""

    _authorizer: Authorizer
    _log_dir_moves: ReplicaAlterLogDirsManager
    _log_manager: LogManager
    _config: KafkaConfig
    _replica_manager: ReplicaManager
    _in_thread: InThread
    _clock: Clock

    async def handle_alter_replica_log_dirs(self, request: Request) -> AlterReplicaLogDirsResponse:
        """Start moves between this broker's log dirs, without waiting for their end."""
        body: AlterReplicaLogDirsRequest = request.body
        allowed = self._authorizer.authorize(request.context, ACLOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
        wanted: dict[TopicPartition, str] = {}
        for order in body.dirs:
            for ordered in order.topics:
                for chunk in chunks(ordered.partitions):
                    await self._clock.checkpoint()
                    wanted.update((TopicPartition(ordered.name, index), order.path) for index in chunk)
        request.keep(wanted)
        topics: dict[str, AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = {}
        for name, path in wanted.items():
            await self._clock.checkpoint()
            error = self._log_dir_moves.alter(name, path) if allowed else Errors.CLUSTER_AUTHORIZATION_FAILED
            topic = topics.get(name.topic)
            if topic is None:
                topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult(topic_name=name.topic)
                topics[name.topic] = topic
            topic.partitions.append(
                AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult(
                    partition_index=name.partition, error_code=error.code
                )
            )
        return AlterReplicaLogDirsResponse(results=list(topics.values()))

    async def handle_describe_log_dirs(self, request: Request) -> DescribeLogDirsResponse:
        """Return sizes by directory, topic and partition (KIP-113, KIP-827)."""
        body: DescribeLogDirsRequest = request.body
        if not self._authorizer.authorize(request.context, ACLOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
            return DescribeLogDirsResponse(
                error_code=Errors.CLUSTER_AUTHORIZATION_FAILED.code if request.api_version >= 3 else 0
            )
        wanted = None
        if body.topics is not None:
            wanted = await self._wanted(body.topics)
        by_dir: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for log in self._log_manager.all_logs():
            await self._clock.checkpoint()
            name = log.topic_partition
            if wanted is None or name in wanted:
                by_dir[log.parent_dir][name.topic].append(
                    DescribeLogDirsResponse.DescribeLogDirsPartition(
                        partition_index=name.partition,
                        partition_size=log.size,
                        offset_lag=self._lag(log),
                        is_future_key=is_future(log),
                    )
                )
        return DescribeLogDirsResponse(
            results=[await self._log_dir(path, by_dir[path]) for path in map(os.path.abspath, self._config.log_dirs)]
        )

    async def _wanted(self, topics: Sequence[DescribeLogDirsRequest.DescribableLogDirTopic]) -> set[TopicPartition]:
        """Return the requested partitions that have a log."""
        current, future = self._log_manager.logs, self._log_manager.future.logs
        wanted: set[TopicPartition] = set()
        for topic in topics:
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                names = (TopicPartition(topic.topic, index) for index in chunk)
                wanted.update(name for name in names if name in current or name in future)
        return wanted

    def _lag(self, log: Log) -> int:
        """Return the lag in records: a future log's behind the current one, a current log's behind its high watermark;
        -1 if the log is not in use."""
        partition = self._replica_manager.partition(log.topic_partition)
        if partition is None or partition.log is None:
            return -1
        if is_future(log):
            return partition.log.log_end_offset - log.log_end_offset
        return max(0, partition.log.high_watermark - log.log_end_offset)

    async def _log_dir(self, path: str, topics: dict[str, list[Any]]) -> DescribeLogDirsResponse.DescribeLogDirsResult:
        if not self._log_manager.is_log_dir_online(path):
            return DescribeLogDirsResponse.DescribeLogDirsResult(
                error_code=Errors.KAFKA_STORAGE_ERROR.code, log_dir=path
            )
        usage = await self._in_thread(os.statvfs, path)
        return DescribeLogDirsResponse.DescribeLogDirsResult(
            log_dir=path,
            topics=[
                DescribeLogDirsResponse.DescribeLogDirsTopic(
                    name=topic, partitions=sorted(partitions, key=attrgetter("partition_index"))
                )
                for topic, partitions in topics.items()
            ],
            total_bytes=usage.f_blocks * usage.f_frsize,
            usable_bytes=usage.f_bavail * usage.f_frsize,
        )
