"""`kafkapy.connect.topics.topic_admin`: the internal topics of a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.admin.topics import NewTopic
from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.topics.topic_admin import ensure_compacted
from kafkapy.protocol.errors import Errors, KafkaError

TOPIC = NewTopic("offsets", 25, 3)


class Admin:
    def __init__(self, outcome: KafkaError | None, policy: str = "compact") -> None:
        self.outcome = outcome
        self.policy = policy
        self.created: list[NewTopic] = []

    def create_topics(self, topics: list[NewTopic]) -> dict[str, Any]:
        self.created += topics
        return {topic.name: self.outcome for topic in topics}

    def describe_configs(self, resources: list[Any]) -> dict[Any, Any]:
        return {resources[0]: [SimpleNamespace(name="cleanup.policy", value=self.policy)]}


def ensure(admin: Any) -> None:
    ensure_compacted(admin, TOPIC, "offset.storage.topic", "source connector offsets")


def test_a_new_topic_is_compacted() -> None:
    admin = Admin(None)
    ensure(admin)
    (made,) = admin.created
    assert made.topic_configs == {"cleanup.policy": "compact"}


def test_too_few_brokers_the_message_names_the_config() -> None:
    with pytest.raises(ConnectException, match=r"Set offset\.storage\.replication\.factor to the number of brokers"):
        ensure(Admin(KafkaError(Errors.INVALID_REPLICATION_FACTOR)))


def test_a_topic_that_deletes_records_is_refused() -> None:
    exists = KafkaError(Errors.TOPIC_ALREADY_EXISTS)
    ensure(Admin(exists))
    with pytest.raises(ConfigException, match=r"supplied via the 'offset\.storage\.topic' property"):
        ensure(Admin(exists, "compact,delete"))
