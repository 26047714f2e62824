"""The same calls with kafka-python's admin client and with ours, on one broker: the answers have to be the same."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    assert process.stop() == 0


class Module:
    """One of the two packages, with a client."""

    def __init__(self, name: str, address: str) -> None:
        self.admin: ModuleType = import_module(f"{name}.admin")
        self.topics: ModuleType = import_module(f"{name}.admin._topics" if name == "kafka" else f"{name}.admin")
        structs = import_module(f"{name}.structs")
        self.TP, self.OM, self.TPR = structs.TopicPartition, structs.OffsetAndMetadata, structs.TopicPartitionReplica
        self.client = self.admin.KafkaAdminClient(bootstrap_servers=address)

    def outcome(self, call: Callable[[Any, Module], Any]) -> str:
        try:
            result = call(self.client, self)
        except Exception as error:
            return f"raised {type(error).__name__}"
        if hasattr(result, "API_KEY"):
            return "a response"
        text = re.sub(r"kafkapy|kafka", "kafka", repr(_sorted(result)))
        text = re.sub(r"'(topic_id|usable_bytes|total_bytes)': [^,}]+", r"'\1': ...", text)
        return re.sub(r"'message': .*?\"", "...", text)


def _sorted(value: Any) -> Any:
    """Without an order where there is none."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=repr)}
    if isinstance(value, list):
        items = [_sorted(item) for item in value]
        return sorted(items) if items and all(isinstance(item, str) for item in items) else items
    return value


def resource(m: Module, configs: Any = None, name: str = "t") -> Any:
    return [m.admin.ConfigResource("topic", name, configs)]


def anything(m: Module) -> Any:
    a = m.admin
    pattern = a.ResourcePatternFilter(a.ResourceType.ANY, None, a.ACLResourcePatternType.ANY)
    return a.ACLFilter(None, None, a.ACLOperation.ANY, a.ACLPermissionType.ANY, pattern)


TOPIC = {"t": {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "5000"}}}

CALLS: dict[str, Callable[[Any, Module], Any]] = {
    "create": lambda c, m: c.create_topics(TOPIC, wait_for_metadata=True),
    "create again": lambda c, m: c.create_topics(["t"]),
    "create again, quietly": lambda c, m: c.create_topics(["t"], raise_errors=False),
    "validate": lambda c, m: c.create_topics(["x"], validate_only=True),
    "invalid name": lambda c, m: c.create_topics([m.topics.NewTopic("a/b", 1, 1)]),
    "too many replicas": lambda c, m: c.create_topics([m.topics.NewTopic("r", 1, 5)]),
    "nothing to create": lambda c, m: c.create_topics([]),
    "describe": lambda c, m: c.describe_topics(["t"]),
    "describe unknown": lambda c, m: c.describe_topics(["nope"]),
    "list": lambda c, m: c.list_topics(),
    "cluster": lambda c, m: c.describe_cluster(),
    "features": lambda c, m: c.describe_features(),
    "log dirs": lambda c, m: c.describe_log_dirs(["t"]),
    "log dirs of a partition": lambda c, m: c.describe_log_dirs({"t": [1]}, brokers=[0]),
    "configs": lambda c, m: c.describe_configs(resource(m)),
    "all configs": lambda c, m: c.describe_configs(resource(m), include_synonyms=True, config_filter="all"),
    "dynamic configs": lambda c, m: c.describe_configs(resource(m), config_filter="dynamic"),
    "some configs": lambda c, m: c.describe_configs(resource(m, ["flush.ms"]), config_filter="all"),
    "broker configs": lambda c, m: c.describe_configs([m.admin.ConfigResource("broker", "0")], config_filter="static"),
    "alter": lambda c, m: c.alter_configs(resource(m, {"flush.ms": "77"})),
    "alter back": lambda c, m: c.alter_configs(resource(m, {"flush.ms": ("DELETE", None)})),
    "alter unknown": lambda c, m: c.alter_configs(resource(m, {"nonsense": "1"})),
    "alter to nonsense": lambda c, m: c.alter_configs(resource(m, {"flush.ms": "x"})),
    "alter without increments": lambda c, m: c.alter_configs(resource(m, {"flush.ms": "78"}), incremental=False),
    "reset one": lambda c, m: c.reset_configs(resource(m, ["flush.ms"])),
    "reset all": lambda c, m: c.reset_configs(resource(m, [])),
    "more partitions": lambda c, m: c.create_partitions({"t": 3}),
    "assigned partitions": lambda c, m: c.create_partitions({"t": {"count": 4, "assignments": [[0]]}}),
    "fewer partitions": lambda c, m: c.create_partitions({"t": 1}),
    "elect": lambda c, m: c.elect_leaders(0, {"t": [0]}),
    "reassign": lambda c, m: c.alter_partition_reassignments({m.TP("t", 0): [0]}),
    "cancel a reassignment": lambda c, m: c.alter_partition_reassignments({m.TP("t", 0): None}),
    "reassign to nobody": lambda c, m: c.alter_partition_reassignments({m.TP("t", 0): []}),
    "reassignments": lambda c, m: c.list_partition_reassignments(),
    "delete records": lambda c, m: c.delete_records({m.TP("t", 0): -1}),
    "delete records out of range": lambda c, m: c.delete_records({m.TP("t", 0): 100}),
    "delete records of nothing": lambda c, m: c.delete_records({m.TP("nope", 0): 100}),
    "offsets": lambda c, m: c.list_partition_offsets({m.TP("t", 0): m.admin.OffsetSpec.LATEST, m.TP("t", 1): 5}),
    "commit for a group": lambda c, m: c.alter_group_offsets("g", {m.TP("t", 0): m.OM(0, "m", -1)}),
    "committed": lambda c, m: c.list_group_offsets("g"),
    "committed of partitions": lambda c, m: c.list_group_offsets({"g": [m.TP("t", 0), m.TP("t", 1)]}),
    "committed of nobody": lambda c, m: c.list_group_offsets({}),
    "reset offsets": lambda c, m: c.reset_group_offsets(
        "g", {m.TP("t", 0): 7, m.TP("t", 1): m.admin.OffsetTimestamp(3)}
    ),
    "groups": lambda c, m: c.list_groups(),
    "empty groups": lambda c, m: c.list_groups(states_filter=["empty"]),
    "describe groups": lambda c, m: c.describe_groups(["g", "nobody"]),
    "delete offsets": lambda c, m: c.delete_group_offsets("g", [m.TP("t", 0)]),
    "delete offsets of nobody": lambda c, m: c.delete_group_offsets("nobody", [m.TP("t", 0)]),
    "remove a member": lambda c, m: c.remove_group_members("g", [m.admin.MemberToRemove("x")]),
    "delete groups": lambda c, m: c.delete_groups(["g", "nobody"]),
    "acls": lambda c, m: c.describe_acls(anything(m)),
    "delete acls": lambda c, m: c.delete_acls([anything(m)]),
    "users": lambda c, m: c.describe_user_scram_credentials(["nobody"]),
    "quorum": lambda c, m: c.describe_metadata_quorum(),
    "topic partitions": lambda c, m: c.describe_topic_partitions(["t"]),
    "config resources": lambda c, m: c.list_config_resources(),
    "producers": lambda c, m: c.describe_producers([m.TP("t", 0)]),
    "update features": lambda c, m: c.update_features({"metadata.version": 3}),
    "delete": lambda c, m: c.delete_topics(["t"]),
    "delete again": lambda c, m: c.delete_topics(["t"]),
    "delete again, quietly": lambda c, m: c.delete_topics(["t"], raise_errors=False),
}


def succeeds(module: Module, call: Callable[[Any, Module], Any]) -> bool:
    return module.outcome(call).startswith("{")


def test_every_answer_is_kafka_pythons(broker: BrokerProcess) -> None:
    outcomes: list[dict[str, str]] = []
    for name in ("kafka", "kafkapy", "kafka"):  # twice, since the first ever meets a group coordinator that is loading
        module = Module(name, broker.address)
        wait_until(partial(succeeds, module, lambda c, m: c.list_group_offsets("any")))
        wait_until(partial(succeeds, module, lambda c, m: c.create_topics(["t"], validate_only=True)))
        outcomes.append({label: module.outcome(call) for label, call in CALLS.items()})
        module.client.close()
    _, ours, theirs = outcomes
    for label in CALLS:
        assert (label, ours[label]) == (label, theirs[label])


def test_nothing_of_kafka_pythons_interface_is_missing() -> None:
    for name in ("kafka", "kafka.admin", "kafka.structs", "kafka.errors", "kafka.serializer"):
        theirs, ours = import_module(name), import_module(name.replace("kafka", "kafkapy", 1))
        public = getattr(theirs, "__all__", None) or [
            n for n, value in vars(theirs).items() if isinstance(value, type) and not n.startswith("_")
        ]
        for attribute in public:
            if attribute not in ("KafkaConsumer", "KafkaProducer"):
                assert _has(ours, attribute), f"{ours.__name__}.{attribute}"
    from kafka.admin import KafkaAdminClient as Theirs

    from kafkapy.admin import KafkaAdminClient as Ours

    assert {n for n in dir(Theirs) if not n.startswith("_")} <= set(dir(Ours))


def _has(module: ModuleType, attribute: str) -> bool:
    try:
        return hasattr(module, attribute)
    except ImportError:  # a client that is not part of this installation
        return False
