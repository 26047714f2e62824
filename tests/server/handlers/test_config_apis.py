"""The answers are those a real Apache Kafka 3.9.1 broker gave to the same requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.time import MockTime
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.configs import ConfigsHandler
from kafkapy.server.policies import AlterConfigPolicy, AlteredConfigs, PolicyViolation
from kafkapy.server.reconfiguration.change_handlers import config_handlers
from kafkapy.server.replication.replication_quota import ReplicationQuota, ReplicationThrottles
from tests.config_zookeeper import ConfigZooKeeper

pytestmark = pytest.mark.usefixtures("logging_restored")

TOPIC, BROKER, LOGGER, CLIENT_METRICS = 2, 4, 8, 16
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


class Denies(Authorizer):
    """May do everything but one operation on one type of resource."""

    enabled = True

    def __init__(self, operation: str, resource_type: str) -> None:
        self.denied = (operation, resource_type)

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: object,
    ) -> bool:
        return (operation.name, resource_type.name) != self.denied


class FakeBroker:
    """What the handlers use of a broker; its ZooKeeper has the topic `t`."""

    def __init__(self, **properties: str) -> None:
        static = {name.replace("_", "."): value for name, value in properties.items()}
        config = KafkaConfig.from_properties({"zookeeper.connect": "z:1", "broker.id": "0", **static})
        self.zookeeper = ConfigZooKeeper()
        self.zookeeper.add_topic("t")
        self.config = config
        self.dynamic_config = DynamicBrokerConfig(config)
        self.authorizer: Any = AllowAll()
        self.controller: Any = SimpleNamespace(is_active=True)
        self.clock = MockClock()
        self.policy: Any = None

    def handler(self) -> ConfigsHandler:
        cache: Any = SimpleNamespace(contains_topic=lambda topic: topic == "t" or topic.startswith("many-"))
        zk_client: Any = self.zookeeper
        clock = self.clock
        return ConfigsHandler(
            self.authorizer, cache, clock.in_thread, zk_client, self.dynamic_config, self.controller, clock, self.policy
        )

    def hear_of_changes(self) -> None:
        """What the change listener does."""
        self.throttles = ReplicationThrottles(*(ReplicationQuota(MockTime()) for _ in range(3)))
        handlers = config_handlers(
            self.config,
            self.dynamic_config,
            lambda topic, own: None,
            lambda topic: None,
            self.throttles,
            dict.fromkeys(("clients", "users", "ips"), lambda entity, own: None),
        )
        for entity in self.zookeeper.notifications:
            entity_type, _, name = entity.partition("/")
            handlers[entity_type](name, self.zookeeper.get_entity_configs(entity_type, name))

    def ask(self, handler: Callable[[ConfigsHandler, Any], Awaitable[Any]], body: Any, version: int) -> Any:
        """The response, as it comes out of the wire."""
        received = type(body).decode(body.encode(version), version)
        request = SimpleNamespace(body=received, api_version=version, context=None)

        async def answer() -> Any:
            return await handler(self.handler(), request)

        response = asyncio.run(answer())
        return type(response).decode(response.encode(version), version)

    def describe(self, kind: int, name: str, keys: list[str] | None = None, version: int = 4, **options: bool) -> Any:
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=keys
        )
        body = DescribeConfigsRequest(resources=[resource], **options)
        return self.ask(ConfigsHandler.handle_describe_configs, body, version).results[0]

    def entry(self, kind: int, name: str, key: str, **options: bool) -> Any:
        (entry,) = self.describe(kind, name, [key], **options).configs
        return entry

    def incremental(self, kind: int, name: str, *ops: tuple[str, int, str | None], validate_only: bool = False) -> Any:
        request = IncrementalAlterConfigsRequest
        resource = request.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[request.AlterableConfig(name=k, config_operation=o, value=v) for k, o, v in ops],
        )
        body = request(resources=[resource], validate_only=validate_only)
        (result,) = self.ask(ConfigsHandler.handle_incremental_alter_configs, body, 1).responses
        return Errors.for_code(result.error_code), result.error_message

    def alter(self, kind: int, name: str, *pairs: tuple[str, str | None], validate_only: bool = False) -> Any:
        request = AlterConfigsRequest
        resource = request.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[request.AlterableConfig(name=key, value=value) for key, value in pairs],
        )
        body = request(resources=[resource], validate_only=validate_only)
        (result,) = self.ask(ConfigsHandler.handle_alter_configs, body, 2).responses
        return Errors.for_code(result.error_code), result.error_message


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


def synonyms(entry: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


# -------------------------------------------------------------------------------------------------------- describe


@pytest.mark.parametrize("version", range(5))
def test_a_topic_has_36_configs_in_every_version(broker: FakeBroker, version: int) -> None:
    result = broker.describe(TOPIC, "t", version=version)
    assert (result.error_code, result.error_message, len(result.configs)) == (0, "", 36)


def test_a_topics_own_config_goes_before_the_brokers(broker: FakeBroker) -> None:
    broker.zookeeper.add_topic("t", {"max.message.bytes": "70000"})
    entry = broker.entry(TOPIC, "t", "max.message.bytes", include_synonyms=True, include_documentation=True)
    assert (entry.value, entry.config_source, entry.config_type, entry.read_only) == ("70000", 1, 3, False)
    assert entry.documentation
    assert synonyms(entry) == [("max.message.bytes", "70000", 1), ("message.max.bytes", "1048588", 5)]


def test_where_a_topics_value_may_come_from(broker: FakeBroker) -> None:
    entry = broker.entry(TOPIC, "t", "cleanup.policy", include_synonyms=True)
    assert synonyms(entry) == [("log.cleanup.policy", "delete", 5)]
    assert entry.documentation is None
    entry = broker.entry(TOPIC, "t", "retention.ms", include_synonyms=True)
    assert (entry.value, entry.config_source, synonyms(entry)) == ("604800000", 5, [])
    entry = broker.entry(TOPIC, "t", "remote.storage.enable", include_synonyms=True)
    assert (entry.value, entry.config_source) == ("false", 5)


def test_every_level_of_a_broker_config_in_order() -> None:
    broker = FakeBroker(message_max_bytes="1")
    broker.dynamic_config.initialize({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    levels = [("message.max.bytes", "3", 2), ("message.max.bytes", "2", 3), ("message.max.bytes", "1", 4)]
    entry = broker.entry(BROKER, "0", "message.max.bytes", include_synonyms=True)
    assert (entry.value, entry.config_source) == ("3", 2)
    assert synonyms(entry) == [*levels, ("message.max.bytes", "1048588", 5)]
    entry = broker.entry(TOPIC, "t", "max.message.bytes", include_synonyms=True)
    assert (entry.value, entry.config_source, synonyms(entry)[:3]) == ("3", 2, levels)
    entry = broker.entry(BROKER, "", "message.max.bytes", include_synonyms=True)
    assert (entry.value, entry.config_source, synonyms(entry)) == ("2", 3, levels[1:2])


def test_a_broker_shows_what_is_not_internal_and_what_is_set() -> None:
    broker = FakeBroker(some_plugin_key="secret", ssl_key_password="pw", log_initial_task_delay_ms="5")
    entries = {entry.name: entry for entry in broker.describe(BROKER, "0").configs}
    assert len(entries) == 328 - 14 + 2
    plugin, password = entries["some.plugin.key"], entries["ssl.key.password"]
    assert (plugin.value, plugin.is_sensitive, plugin.config_type, plugin.config_source) == (None, True, 0, 4)
    assert (password.value, password.is_sensitive, password.config_type) == (None, True, 9)
    assert entries["log.initial.task.delay.ms"].value == "5"
    assert (entries["broker.id"].read_only, entries["num.io.threads"].read_only) == (True, False)
    assert entries["node.id"].config_source == 4
    assert entries["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"
    assert entries["advertised.listeners"].value is None


def test_names_that_are_asked_for_and_do_not_exist_are_left_out(broker: FakeBroker) -> None:
    assert [entry.name for entry in broker.describe(TOPIC, "t", ["retention.ms", "nope"]).configs] == ["retention.ms"]
    assert len(broker.describe(TOPIC, "t", []).configs) == 36


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "no", Errors.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", Errors.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        (
            BROKER,
            "4711",
            Errors.INVALID_REQUEST,
            "Unexpected broker id, expected 0 or empty string, but received 4711",
        ),
        (BROKER, "x", Errors.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (LOGGER, "", Errors.INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "5", Errors.INVALID_REQUEST, "Unexpected broker id, expected 0 but received 5"),
        (CLIENT_METRICS, "", Errors.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (
            CLIENT_METRICS,
            "x",
            Errors.INVALID_REQUEST,
            "Config type client-metrics is only supported on KRaft clusters",
        ),
    ],
)
def test_what_cannot_be_described(broker: FakeBroker, kind: int, name: str, error: Errors, message: str) -> None:
    result = broker.describe(kind, name)
    assert (Errors.for_code(result.error_code), result.error_message, result.configs) == (error, message, [])


def test_a_type_that_does_not_exist_fails_the_request(broker: FakeBroker) -> None:
    with pytest.raises(KafkaError, match="Unexpected resource type UNKNOWN for resource x"):
        broker.describe(99, "x")


def test_what_the_sender_may_not_see_comes_last_with_its_error(broker: FakeBroker) -> None:
    broker.authorizer = Denies("DESCRIBE_CONFIGS", "TOPIC")
    request = DescribeConfigsRequest
    resources = [
        request.DescribeConfigsResource(resource_type=TOPIC, resource_name="t", configuration_keys=None),
        request.DescribeConfigsResource(resource_type=BROKER, resource_name="", configuration_keys=None),
    ]
    response: DescribeConfigsResponse = broker.ask(
        ConfigsHandler.handle_describe_configs, request(resources=resources), 4
    )
    assert [(result.resource_type, result.error_code) for result in response.results] == [
        (BROKER, 0),
        (TOPIC, Errors.TOPIC_AUTHORIZATION_FAILED.code),
    ]


# ----------------------------------------------------------------------------------------------------------- alter


def test_single_configs_are_set_deleted_and_announced(broker: FakeBroker) -> None:
    assert broker.incremental(TOPIC, "t", ("retention.ms", SET, "5"), ("segment.ms", SET, "6")) == (Errors.NONE, None)
    assert broker.zookeeper.get_entity_configs("topics", "t") == {"retention.ms": "5", "segment.ms": "6"}
    broker.incremental(TOPIC, "t", ("retention.ms", DELETE, None))
    assert broker.zookeeper.get_entity_configs("topics", "t") == {"segment.ms": "6"}
    assert broker.zookeeper.notifications == ["topics/t", "topics/t"]


def test_lists_are_appended_to_and_subtracted_from(broker: FakeBroker) -> None:
    def policy() -> str:
        return broker.zookeeper.get_entity_configs("topics", "t")["cleanup.policy"]

    broker.incremental(TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert policy() == "delete,compact"
    broker.incremental(TOPIC, "t", ("cleanup.policy", APPEND, "compact,delete"))
    assert policy() == "delete,compact"
    broker.incremental(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
    assert policy() == "compact"
    broker.incremental(TOPIC, "t", ("cleanup.policy", SUBTRACT, "compact"))
    assert policy() == ""
    broker.incremental(TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    assert policy() == "compact"


def test_the_older_request_replaces_all_configs(broker: FakeBroker) -> None:
    broker.incremental(TOPIC, "t", ("segment.ms", SET, "6"))
    assert broker.alter(TOPIC, "t", ("retention.ms", "5")) == (Errors.NONE, None)
    assert broker.zookeeper.get_entity_configs("topics", "t") == {"retention.ms": "5"}


def test_validate_only_changes_nothing(broker: FakeBroker) -> None:
    before = dict(broker.zookeeper.nodes)
    assert broker.incremental(TOPIC, "t", ("segment.ms", SET, "7"), validate_only=True)[0] is Errors.NONE
    assert broker.alter(BROKER, "0", ("num.io.threads", "9"), validate_only=True)[0] is Errors.NONE
    assert broker.incremental(LOGGER, "0", ("root", SET, "TRACE"), validate_only=True)[0] is Errors.NONE
    assert broker.incremental(TOPIC, "t", ("segment.ms", SET, "x"), validate_only=True)[0] is Errors.INVALID_CONFIG
    assert broker.zookeeper.nodes == before


def test_broker_configs_take_effect_when_the_broker_hears_of_them(broker: FakeBroker) -> None:
    assert broker.incremental(BROKER, "0", ("message.max.bytes", SET, "5")) == (Errors.NONE, None)
    assert broker.incremental(BROKER, "", ("num.io.threads", SET, "9")) == (Errors.NONE, None)
    assert broker.zookeeper.notifications == ["brokers/0", "brokers/<default>"]
    broker.hear_of_changes()
    assert (broker.config.message_max_bytes, broker.config.num_io_threads) == (5, 9)
    broker.incremental(BROKER, "0", ("message.max.bytes", DELETE, None))
    broker.hear_of_changes()
    assert broker.config.message_max_bytes == 1048588


INVALID_T = "Invalid config value for resource ConfigResource(type=TOPIC, name='t'): "


@pytest.mark.parametrize(
    ("kind", "name", "op", "error", "message"),
    [
        (
            TOPIC,
            "t",
            ("segment.ms", SET, "soon"),
            Errors.INVALID_CONFIG,
            INVALID_T + "Invalid value soon for configuration segment.ms: Not a number of type LONG",
        ),
        (TOPIC, "t", ("nope", SET, "1"), Errors.INVALID_CONFIG, "Unknown topic config name: nope"),
        (TOPIC, "t", ("segment.ms", 9, "1"), Errors.UNKNOWN_SERVER_ERROR, None),
        (TOPIC, "t", ("nope", APPEND, "1"), Errors.UNKNOWN_SERVER_ERROR, None),
        (TOPIC, "t", ("segment.ms", SET, None), Errors.INVALID_REQUEST, "Null value not supported for : segment.ms"),
        (
            TOPIC,
            "t",
            ("segment.ms", APPEND, "1"),
            Errors.INVALID_CONFIG,
            "Config value append is not allowed for config key: segment.ms",
        ),
        (
            TOPIC,
            "t",
            ("segment.ms", SUBTRACT, "1"),
            Errors.INVALID_CONFIG,
            "Config value subtract is not allowed for config key: segment.ms",
        ),
        (
            TOPIC,
            "no",
            ("segment.ms", SET, "60000"),
            Errors.UNKNOWN_TOPIC_OR_PARTITION,
            "The topic 'no' does not exist.",
        ),
        (TOPIC, "", ("segment.ms", SET, "1"), Errors.INVALID_REQUEST, "Default topic resources are not allowed."),
        (
            TOPIC,
            "..",
            ("segment.ms", SET, "60000"),
            Errors.INVALID_CONFIG,
            "Invalid config value for resource ConfigResource(type=TOPIC, name='..'): "
            'Invalid path string "/config/topics/.." caused by relative paths not allowed @16',
        ),
        (
            BROKER,
            "0",
            ("broker.id", SET, "9"),
            Errors.INVALID_REQUEST,
            "Cannot update these configs dynamically: Set(broker.id)",
        ),
        (BROKER, "7", ("a", SET, "b"), Errors.INVALID_REQUEST, "Unexpected broker id, expected 0, but received 7"),
        (BROKER, "x", ("a", SET, "b"), Errors.INVALID_REQUEST, "Node id must be an integer, but it is: x"),
        (BROKER, "0", ("num.io.threads", 9, "5"), Errors.INVALID_REQUEST, "Unknown operations type 9"),
        (
            BROKER,
            "0",
            ("listener.name.plaintext.plain.sasl.jaas.config", SET, "x"),
            Errors.INVALID_CONFIG,
            "Invalid config value for resource ConfigResource(type=BROKER, name='0'): "
            "Password encoder secret not configured",
        ),
        (
            CLIENT_METRICS,
            "x",
            ("interval.ms", SET, "5"),
            Errors.INVALID_REQUEST,
            "AlterConfigs is only supported for topics and brokers, but resource type is CLIENT_METRICS",
        ),
        (99, "x", ("a", SET, "b"), Errors.INVALID_REQUEST, "Unknown resource type 99"),
        (
            LOGGER,
            "0",
            ("kafka.server.KafkaApis", SET, "LOUD"),
            Errors.INVALID_CONFIG,
            "Cannot set the log level of kafka.server.KafkaApis to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        (LOGGER, "0", ("no.such", SET, "INFO"), Errors.INVALID_CONFIG, "Logger no.such does not exist!"),
        (
            LOGGER,
            "0",
            ("root", DELETE, None),
            Errors.INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            LOGGER,
            "0",
            ("root", APPEND, "INFO"),
            Errors.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (LOGGER, "4", ("root", SET, "INFO"), Errors.INVALID_REQUEST, "Unexpected node id. Expected 0, but received 0"),
    ],
)
def test_what_cannot_be_altered(
    broker: FakeBroker, kind: int, name: str, op: tuple[str, int, str | None], error: Errors, message: str | None
) -> None:
    before = dict(broker.zookeeper.nodes)
    assert broker.incremental(kind, name, op) == (error, message)
    assert broker.zookeeper.nodes == before


def test_a_config_twice_in_a_request_is_refused(broker: FakeBroker) -> None:
    refusal = (Errors.INVALID_REQUEST, "Error due to duplicate config keys")
    assert broker.incremental(TOPIC, "t", ("segment.ms", SET, "1"), ("segment.ms", DELETE, None)) == refusal
    assert broker.alter(TOPIC, "t", ("segment.ms", "1"), ("segment.ms", "1")) == refusal


def test_a_resource_twice_in_a_request_is_refused_and_the_others_go_on(broker: FakeBroker) -> None:
    request = IncrementalAlterConfigsRequest
    resources = [
        request.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[request.AlterableConfig(name="message.max.bytes", config_operation=SET, value="9")],
        )
        for kind, name in ((TOPIC, "t"), (BROKER, "0"), (TOPIC, "t"))
    ]
    response = broker.ask(ConfigsHandler.handle_incremental_alter_configs, request(resources=resources), 1)
    assert [(r.resource_type, Errors.for_code(r.error_code)) for r in response.responses] == [
        (TOPIC, Errors.INVALID_REQUEST),
        (BROKER, Errors.NONE),
        (TOPIC, Errors.INVALID_REQUEST),
    ]
    assert broker.zookeeper.notifications == ["brokers/0"]


def test_the_older_request_knows_no_loggers(broker: FakeBroker) -> None:
    assert broker.alter(LOGGER, "0", ("root", "INFO")) == (Errors.INVALID_REQUEST, "Unknown resource type 8")


def test_log_levels_change_at_once(broker: FakeBroker) -> None:
    name = "kafka.server.KafkaApis"
    assert broker.incremental(LOGGER, "0", (name, SET, "ERROR")) == (Errors.NONE, None)
    entry = broker.entry(LOGGER, "0", name)
    assert (entry.value, entry.config_source, entry.read_only, entry.config_type) == ("ERROR", 6, False, 0)
    assert not logging.getLogger("kafkapy.server.KafkaApis").isEnabledFor(logging.WARNING)
    broker.incremental(LOGGER, "0", (name, DELETE, None))
    assert broker.entry(LOGGER, "0", name).value == broker.entry(LOGGER, "0", "root").value


def test_who_may_not_alter_is_told_so(broker: FakeBroker) -> None:
    broker.authorizer = Denies("ALTER_CONFIGS", "TOPIC")
    assert broker.incremental(TOPIC, "t", ("segment.ms", SET, "1")) == (Errors.TOPIC_AUTHORIZATION_FAILED, None)
    broker.authorizer = Denies("ALTER_CONFIGS", "CLUSTER")
    assert broker.alter(BROKER, "0", ("num.io.threads", "9")) == (Errors.CLUSTER_AUTHORIZATION_FAILED, None)
    assert broker.incremental(LOGGER, "0", ("root", SET, "INFO")) == (Errors.CLUSTER_AUTHORIZATION_FAILED, None)
    assert broker.zookeeper.notifications == []


def test_a_topic_that_is_being_deleted_gets_no_config_node(broker: FakeBroker) -> None:
    broker.zookeeper.nodes.clear()
    assert broker.alter(TOPIC, "t", ("segment.ms", "5")) == (
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        "Topic 't' does not exist.",
    )
    assert broker.zookeeper.nodes == {}


def alter_many(broker: FakeBroker, count: int) -> dict[str, Errors]:
    request = IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name="segment.ms", config_operation=SET, value="7")
    resources = [
        request.AlterConfigsResource(resource_type=TOPIC, resource_name=f"many-{n}", configs=[config])
        for n in range(count)
    ]
    answer = broker.ask(ConfigsHandler.handle_incremental_alter_configs, request(resources=resources), 1)
    return {response.resource_name: Errors.for_code(response.error_code) for response in answer.responses}


def test_configs_of_many_topics_are_read_and_written_at_once(broker: FakeBroker) -> None:
    for n in range(1, 200):
        broker.zookeeper.add_topic(f"many-{n}")
    broker.zookeeper.broken = {"many-5"}
    now = iter(range(10_000))
    broker.clock.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    errors = alter_many(broker, 200)
    assert broker.zookeeper.requests == 4
    assert broker.clock.yields >= 30
    assert errors.pop("many-0") is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert errors.pop("many-5") is Errors.UNKNOWN_SERVER_ERROR
    assert set(errors.values()) == {Errors.NONE}
    assert broker.zookeeper.notifications == [f"topics/{topic}" for topic in errors]
    assert all(broker.zookeeper.get_entity_configs("topics", topic) == {"segment.ms": "7"} for topic in errors)


# ------------------------------------------------------------------------------------------------------ policy


class Policy(AlterConfigPolicy):
    """Refuses `retention.ms=1`; fails for `retention.ms=2`."""

    def __init__(self) -> None:
        self.asked: list[AlteredConfigs] = []

    def validate(self, altered: AlteredConfigs) -> None:
        self.asked.append(altered)
        if altered.configs.get("retention.ms") == "1":
            raise PolicyViolation("too short")
        if altered.configs.get("retention.ms") == "2":
            raise RuntimeError("a defect")


def test_a_policy_is_asked_for_topics_and_brokers(broker: FakeBroker) -> None:
    policy = broker.policy = Policy()
    assert broker.alter(TOPIC, "t", ("retention.ms", "1")) == (Errors.POLICY_VIOLATION, "too short")
    assert broker.incremental(TOPIC, "t", ("retention.ms", 0, "1")) == (Errors.POLICY_VIOLATION, "too short")
    refused = broker.incremental(TOPIC, "t", ("retention.ms", 0, "1"), validate_only=True)
    assert refused == (Errors.POLICY_VIOLATION, "too short")
    assert broker.alter(TOPIC, "t", ("retention.ms", "2"))[0] is Errors.UNKNOWN_SERVER_ERROR
    assert broker.zookeeper.get_entity_configs("topics", "t") == {}
    assert broker.alter(TOPIC, "t", ("retention.ms", "3")) == (Errors.NONE, None)
    assert len(policy.asked) == 5
    assert broker.alter(TOPIC, "t", ("no.such.config", "1"))[0] is Errors.INVALID_CONFIG
    assert len(policy.asked) == 5, "only what is valid"
    broker.incremental(TOPIC, "t", ("retention.ms", 1, "x"), ("cleanup.policy", 2, "compact"))
    assert policy.asked[-1] == (TOPIC, "t", {"retention.ms": None, "cleanup.policy": "compact"})
    broker.incremental(BROKER, "", ("log.cleaner.threads", 0, "2"))
    assert policy.asked[-1] == (BROKER, "", {"log.cleaner.threads": "2"})
    broker.incremental(BROKER, "0", ("log.cleaner.threads", 0, "2"))
    assert policy.asked[-1] == (BROKER, "0", {"log.cleaner.threads": "2"})
