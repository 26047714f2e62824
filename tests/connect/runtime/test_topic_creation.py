"""`kafkapy.connect.runtime.topic_creation`: groups of topics and their options."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.admin.topics import NewTopic
from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.runtime.topic_creation import TopicCreation, configured_groups
from kafkapy.protocol.errors import Errors, KafkaError

DEFAULTS = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}
CONFIG = {
    **DEFAULTS,
    "topic.creation.groups": "compacted, many",
    "topic.creation.compacted.include": "state.*, table\\.[ab]",
    "topic.creation.compacted.exclude": "state-tmp.*",
    "topic.creation.compacted.cleanup.policy": "compact",
    "topic.creation.many.include": "s.*",
    "topic.creation.many.partitions": "7",
    "topic.creation.many.replication.factor": "2",
}


class Admin:
    """Topics that exist, and those that are created."""

    def __init__(self, *existing: str, outcome: KafkaError | None = None) -> None:
        self.existing = set(existing)
        self.created: list[NewTopic] = []
        self.outcome = outcome

    def describe_topics(self, names: list[str]) -> dict[str, object]:
        unknown = KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        return {name: object() if name in self.existing else unknown for name in names}

    def create_topics(self, topics: list[NewTopic]) -> dict[str, object]:
        self.created += topics
        return {topic.name: self.outcome for topic in topics}


def creation(admin: Any, config: dict[str, str]) -> TopicCreation:
    groups = configured_groups(config)
    assert groups is not None
    return TopicCreation(admin, groups)


@pytest.mark.parametrize(
    ("topic", "partitions", "replicas", "others"),
    [
        ("state1", 3, 1, {"cleanup.policy": "compact"}),
        ("table.a", 3, 1, {"cleanup.policy": "compact"}),
        ("table.ab", 3, 1, {}),
        ("state-tmp1", 7, 2, {}),
        ("sales", 7, 2, {}),
        ("other", 3, 1, {}),
    ],
)
def test_the_first_group_that_matches_has_the_options(
    topic: str, partitions: int, replicas: int, others: dict[str, str]
) -> None:
    admin = Admin()
    creation(admin, CONFIG).ensure(topic)
    (made,) = admin.created
    assert (made.name, made.num_partitions, made.replication_factor, made.topic_configs) == (
        topic,
        partitions,
        replicas,
        others,
    )


def test_what_exists_is_left_alone() -> None:
    admin = Admin("state1")
    found = creation(admin, CONFIG)
    found.ensure("state1")
    found.ensure("state1")
    assert admin.created == []


def test_without_permission_the_task_says_what_to_do() -> None:
    admin = Admin(outcome=KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(ConnectException, match="Ensure that the task is authorized to create topics"):
        creation(admin, CONFIG).ensure("state1")


def test_without_options_the_broker_creates_topics() -> None:
    assert configured_groups({"name": "a"}) is None


def test_groups_need_the_default_options() -> None:
    with pytest.raises(ConfigException, match=r"topic\.creation\.default\."):
        configured_groups({"topic.creation.groups": "g", "topic.creation.g.include": "a"})
