"""Names of remote topics, beside what Java's policies say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.mirror import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy

ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/java_policies.tsv").read_text().splitlines()]


def policy_of(kind: str, separator: str, internal: str) -> ReplicationPolicy:
    policy = DefaultReplicationPolicy() if kind == "default" else IdentityReplicationPolicy()
    configs = {"source.cluster.alias": "A"}
    if separator != ".":
        configs["replication.policy.separator"] = separator
    if internal != "-":
        configs["replication.policy.internal.topic.separator.enabled"] = internal
    policy.configure(configs)
    return policy


def java(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("kind", ["default", "identity"])
def test_names_are_those_of_java(kind: str) -> None:
    rows = [row for row in ROWS if row[0] == kind]
    assert len(rows) == 108
    for _, separator, internal, topic, *wanted in rows:
        policy = policy_of(kind, separator, internal)
        found = [
            policy.format_remote_topic("S", topic),
            policy.topic_source(topic),
            policy.upstream_topic(topic),
            policy.original_topic(topic),
            policy.is_heartbeats_topic(topic),
            policy.is_checkpoints_topic(topic),
            policy.is_mm2_internal_topic(topic),
            policy.is_internal_topic(topic),
            policy.offset_syncs_topic("X"),
            policy.checkpoints_topic("X"),
        ]
        assert list(map(java, found)) == wanted, (separator, internal, topic)


def test_a_policy_that_goes_in_circles_ends() -> None:
    class Circle(ReplicationPolicy):
        def upstream_topic(self, topic: str) -> str | None:
            return {"a": "b", "b": "a"}[topic]

    assert Circle().original_topic("a") == "b"


def test_names_of_a_policy_of_ones_own() -> None:
    policy = ReplicationPolicy()
    assert policy.offset_syncs_topic("B") == "mm2-offset-syncs.B.internal"
    assert policy.checkpoints_topic("A") == "A.checkpoints.internal"
    assert policy.is_checkpoints_topic("A.checkpoints.internal") and policy.is_internal_topic("x-internal")
