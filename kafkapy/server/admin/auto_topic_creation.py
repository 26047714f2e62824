"""Creates requested topics that do not exist (Kafka's `AutoTopicCreationManager`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, reason_invalid
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import spawn
from kafkapy.server.admin.zk_admin_manager import CreatableTopic, TopicChange, ZkAdminManager
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.quotas.quota_managers import QuotaManagers

log = logging.getLogger("kafkapy.server.AutoTopicCreationManager")


class AutoTopicCreationManager:
    """Creates topics in ZooKeeper on any broker, without asking the controller, and does not wait for their leaders.

    Invariant: a topic in `_in_flight` is being created right now, once. All calls come on the
    reactor thread.
    """

    def __init__(
        self,
        config: KafkaConfig,
        admin_manager: ZkAdminManager,
        metadata_cache: MetadataCache,
        in_thread: InThread,
        quotas: QuotaManagers,
    ) -> None:
        self._config = config
        self._admin_manager = admin_manager
        self._quotas = quotas
        self._metadata_cache = metadata_cache
        self._in_thread = in_thread
        self._in_flight: set[str] = set()

    async def create_topics(self, names: Iterable[str], request: Request) -> dict[str, Errors]:
        """Create the topics; return the error that Metadata has for each: LEADER_NOT_AVAILABLE after success, so that
        the client retries.

        The new partitions count as controller mutations of the request's sender, but the request is neither refused
        nor throttled for them.
        """
        errors: dict[str, Errors] = {}
        wanted: list[CreatableTopic] = []
        for name in dict.fromkeys(names):
            if reason_invalid(name):
                errors[name] = Errors.INVALID_TOPIC_EXCEPTION
            elif name in self._in_flight:
                errors[name] = Errors.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self._in_flight.add(name)
                wanted.append(self._creatable_topic(name))
        if wanted:
            try:
                for change in await self._create(wanted, request):
                    errors[change.topic] = _metadata_error(change)
            finally:
                self._in_flight.difference_update(topic.name for topic in wanted)
        return errors

    def create_internal_topic(self, name: str, request: Request) -> None:
        """Start creating `__consumer_offsets` or `__transaction_state`; callers retry later."""
        if name not in self._in_flight:
            spawn(self._create_internal_topic(name, request))

    async def _create_internal_topic(self, name: str, request: Request) -> None:
        try:
            errors = await self.create_topics([name], request)
        except Exception:
            log.exception("Could not create the internal topic %s", name)
            return
        if errors[name] is not Errors.LEADER_NOT_AVAILABLE:
            log.warning("Could not create the internal topic %s: %s", name, errors[name].name)

    async def _create(self, topics: list[CreatableTopic], request: Request) -> list[TopicChange]:
        count = self._quotas.mutations_for(request).record
        brokers = {broker.id: broker.rack for broker in self._metadata_cache.alive_brokers()}
        changes: list[TopicChange] = await self._in_thread(
            self._admin_manager.create_topics, topics, brokers, False, count
        )
        return changes

    def _creatable_topic(self, name: str) -> CreatableTopic:
        config = self._config
        if name == GROUP_METADATA_TOPIC:
            return _topic(
                name,
                config.offsets_topic_num_partitions,
                config.offsets_topic_replication_factor,
                {
                    "compression.type": "producer",
                    "cleanup.policy": "compact",
                    "segment.bytes": str(config.offsets_topic_segment_bytes),
                },
            )
        if name == TRANSACTION_STATE_TOPIC:
            return _topic(
                name,
                config.transaction_state_log_num_partitions,
                config.transaction_state_log_replication_factor,
                {
                    "compression.type": "uncompressed",
                    "cleanup.policy": "compact",
                    "min.insync.replicas": str(config.transaction_state_log_min_isr),
                    "segment.bytes": str(config.transaction_state_log_segment_bytes),
                    "unclean.leader.election.enable": "false",
                },
            )
        return _topic(name, config.num_partitions, config.default_replication_factor, {})


def _topic(name: str, num_partitions: int, replication_factor: int, configs: Mapping[str, str]) -> CreatableTopic:
    entries = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    return CreatableTopic(
        name=name, num_partitions=num_partitions, replication_factor=replication_factor, configs=entries
    )


def _metadata_error(change: TopicChange) -> Errors:
    made = change.succeeded or change.error.error is Errors.TOPIC_ALREADY_EXISTS
    return Errors.LEADER_NOT_AVAILABLE if made else change.error.error
