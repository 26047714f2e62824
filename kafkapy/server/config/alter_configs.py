"""AlterConfigs and IncrementalAlterConfigs (Kafka's `ConfigAdminManager` and the config half of `ZkAdminManager`).

Configs are checked against the broker's state, in a thread if hosts have to be resolved; ZooKeeper is read and written
in a thread, too. Every broker, including this one, applies a change when ZooKeeper notifies it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.config_def import ConfigException
from kafkapy.common.topic_names import reason_invalid
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.log.log_config import LogConfig, check_topic_configs
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock, InThread
from kafkapy.server.api_error import NO_ERROR, ApiError
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.config import runtime_loggers, zk_entity_configs
from kafkapy.server.config.alter_operations import ConfigOp, OpType, apply_ops, require_well_formed
from kafkapy.server.config.config_resource import ConfiguredResource, require_this_broker, resource_type_of
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY, DynamicBrokerConfig
from kafkapy.server.config.dynamic_config_rules import broker_config_key
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.policies import AlterConfigPolicy, AlteredConfigs
from kafkapy.zk import paths
from kafkapy.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger("kafkapy.server.ConfigAdminManager")

_UNEXPECTED_BROKER = "Unexpected broker id, expected {id}, but received {name}"
_NODE_NOT_A_NUMBER = "Node id must be an integer, but it is: {name}"


Alteration = AlterConfigsRequest.AlterConfigsResource | IncrementalAlterConfigsRequest.AlterConfigsResource
"""The resource, and the operations."""


class ConfigAdminManager:
    """Alters the configs of one request.

    `incremental`: whether the operations change single configs (IncrementalAlterConfigs); otherwise all others are
    removed.
    """

    def __init__(
        self,
        zk_client: KafkaZkClient,
        metadata_cache: MetadataCache,
        dynamic_config: DynamicBrokerConfig,
        authorizer: Authorizer,
        in_thread: InThread,
        context: RequestContext,
        incremental: bool,
        validate_only: bool,
        policy: AlterConfigPolicy | None = None,
    ) -> None:
        self._zk_client = zk_client
        self._metadata_cache = metadata_cache
        self._dynamic_config = dynamic_config
        self._config = dynamic_config.config
        self._authorizer = authorizer
        self._in_thread = in_thread
        self._context = context
        self._incremental = incremental
        self._validate_only = validate_only
        self._policy = policy
        self._stored: dict[str, dict[str, str]] = {}
        self._existing: set[str] = set()
        self._changed: dict[str, dict[str, str]] = {}
        """Configs of topics to be written."""

    async def alter_all(self, clock: Clock, resources: Sequence[Alteration]) -> list[ApiError]:
        """Alter the configs of the resources, without duplicates; return their errors. All topics share the requests to
        ZooKeeper.
        """
        topics: list[str] = []
        for chunk in chunks(resources):
            await clock.checkpoint()
            names = [resource.resource_name for resource in chunk if _is_topic(resource)]
            topics += filter(self._metadata_cache.contains_topic, names)
        try:
            await self._in_thread(self._read_ahead, topics)
        except Exception as error:
            log.error("Error processing alter configs request", exc_info=error)
            return [ApiError.from_exception(error)] * len(resources)
        errors: list[ApiError] = []
        for resource in resources:
            await clock.checkpoint()
            errors.append(await self._alter(resource))
        if not self._changed:
            return errors
        failed = await self._in_thread(self._write)
        for number, resource in enumerate(resources):
            await clock.checkpoint()
            if _is_topic(resource):
                errors[number] = failed.get(resource.resource_name, errors[number])
        return errors

    def _read_ahead(self, topics: list[str]) -> None:
        if not topics:
            return
        if self._incremental:
            self._stored = self._zk_client.get_entities_configs(zk_entity_configs.TOPICS, topics)
        self._existing, _ = self._zk_client.look_for_topics(topics)

    def _write(self) -> dict[str, ApiError]:
        try:
            failed: Mapping[str, Exception] = zk_entity_configs.change_topic_configs(self._zk_client, self._changed)
        except Exception as error:
            failed = dict.fromkeys(self._changed, error)
        for topic, reason in failed.items():
            log.error("Error processing alter configs request for topic %s", topic, exc_info=reason)
        return {topic: ApiError.from_exception(reason) for topic, reason in failed.items()}

    async def _alter(self, alteration: Alteration) -> ApiError:
        code, name = alteration.resource_type, alteration.resource_name
        resource = ConfiguredResource(resource_type_of(code), name)
        ops = _ops_of(alteration)
        try:
            require_well_formed(ops)
            match resource.type:
                case ConfigResourceType.TOPIC:
                    self._authorize(resource, ResourceType.TOPIC, name)
                    await self._alter_topic(resource, ops)
                case ConfigResourceType.BROKER:
                    await self._alter_broker(resource, ops)
                case ConfigResourceType.BROKER_LOGGER if self._incremental:
                    self._alter_loggers(resource, ops)
                case ConfigResourceType.CLIENT_METRICS:
                    self._authorize(resource, ResourceType.CLUSTER, CLUSTER_NAME)
                    raise KafkaError(
                        Errors.INVALID_REQUEST,
                        "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS",
                    )
                case _:
                    raise KafkaError(Errors.INVALID_REQUEST, f"Unknown resource type {code}")
        except ConfigException as error:
            message = f"Invalid config value for resource {resource}: {error}"
            log.info("%s", message)
            return ApiError(Errors.INVALID_CONFIG, message)
        except KafkaError as error:
            log.info("Error processing alter configs request for resource %s: %s", resource, error)
            return ApiError.from_exception(error)
        except Exception as error:
            log.error("Error processing alter configs request for resource %s", resource, exc_info=error)
            return ApiError.from_exception(error)
        return NO_ERROR

    async def _alter_topic(self, resource: ConfiguredResource, ops: Sequence[ConfigOp]) -> None:
        topic = resource.name
        if not topic:
            raise KafkaError(Errors.INVALID_REQUEST, "Default topic resources are not allowed.")
        # Kafka reads the configs from ZooKeeper before it checks that the topic exists.
        if self._incremental and (reason := paths.reason_invalid(f"/config/{zk_entity_configs.TOPICS}/{topic}")):
            raise ConfigException(reason)
        configs = apply_ops(ops, self._stored.get(topic, {}), LogConfig.definition)
        if not self._metadata_cache.contains_topic(topic):
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
        if reason := reason_invalid(topic):
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, reason)
        if topic not in self._existing:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{topic}' does not exist.")
        config = self._config
        check_topic_configs(configs, config.log_config_defaults(), config.remote_log_storage_system_enable)
        await self._ask_policy(resource, ops)
        if not self._validate_only:
            log.info("Updating topic %s with new configuration : %s", topic, configs)
            self._changed[topic] = configs

    async def _alter_broker(self, resource: ConfiguredResource, ops: Sequence[ConfigOp]) -> None:
        dynamic_config, broker_id = self._dynamic_config, self._config.broker_id
        per_broker = bool(resource.name)
        if per_broker:
            require_this_broker(resource.name, broker_id, _UNEXPECTED_BROKER, _NODE_NOT_A_NUMBER)
        entity = str(broker_id) if per_broker else DEFAULT_ENTITY
        before: dict[str, str] = {}
        if self._incremental:
            for op in ops:
                if op.operation not in tuple(OpType):
                    raise KafkaError(Errors.INVALID_REQUEST, f"Unknown operations type {op.operation}")
            stored = await self._in_thread(self._zk_client.get_entity_configs, zk_entity_configs.BROKERS, entity)
            before = dynamic_config.from_persistent(stored, per_broker)
        configs = apply_ops(ops, before, KafkaConfig.definition)
        try:
            await self._in_thread(dynamic_config.validate, configs, per_broker)
        except ConfigException as error:
            raise KafkaError(Errors.INVALID_REQUEST, str(error)) from None
        self._authorize(resource, ResourceType.CLUSTER, CLUSTER_NAME)
        await self._ask_policy(resource, ops)
        persistent = await self._in_thread(dynamic_config.to_persistent, configs, per_broker)
        if not self._validate_only:
            whom = f"broker {entity}" if per_broker else "brokers"
            log.info("Updating %s with new configuration : %s", whom, _loggable(configs))
            await self._in_thread(
                zk_entity_configs.change_entity_config, self._zk_client, zk_entity_configs.BROKERS, entity, persistent
            )

    async def _ask_policy(self, resource: ConfiguredResource, ops: Sequence[ConfigOp]) -> None:
        """Raise the policy's exception, if any."""
        if self._policy is not None:
            configs = {op.name: None if op.operation == OpType.DELETE else op.value for op in ops}
            altered = AlteredConfigs(resource.type, resource.name, configs)
            await self._in_thread(self._policy.validate, altered)

    def _alter_loggers(self, resource: ConfiguredResource, ops: Sequence[ConfigOp]) -> None:
        self._authorize(resource, ResourceType.CLUSTER, CLUSTER_NAME)
        require_this_broker(
            resource.name,
            self._config.broker_id,
            "Unexpected node id. Expected {id}, but received {id}",
            _NODE_NOT_A_NUMBER,
        )
        runtime_loggers.validate_level_changes(ops)
        if not self._validate_only:
            runtime_loggers.change_levels(ops)

    def _authorize(self, resource: ConfiguredResource, resource_type: ResourceType, name: str) -> None:
        if not self._authorizer.authorize(self._context, ACLOperation.ALTER_CONFIGS, resource_type, name):
            raise KafkaError(
                Errors.TOPIC_AUTHORIZATION_FAILED
                if resource.type is ConfigResourceType.TOPIC
                else Errors.CLUSTER_AUTHORIZATION_FAILED
            )


def _loggable(configs: dict[str, str]) -> dict[str, str]:
    """Return the configs without secrets and possible secrets."""
    shown = {}
    for name, value in configs.items():
        key = broker_config_key(name)
        shown[name] = value if key is not None and key.type.name != "PASSWORD" else "[hidden]"
    return shown


def _is_topic(alteration: Alteration) -> bool:
    return resource_type_of(alteration.resource_type) is ConfigResourceType.TOPIC


def _ops_of(alteration: Alteration) -> list[ConfigOp]:
    """AlterConfigs supports only `set`."""
    if isinstance(alteration, IncrementalAlterConfigsRequest.AlterConfigsResource):
        return [ConfigOp(config.name, config.config_operation, config.value) for config in alteration.configs]
    return [ConfigOp(config.name, OpType.SET, config.value) for config in alteration.configs]
