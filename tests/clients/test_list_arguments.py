"""A string is no list of names: on all three faces, for every argument that takes a list."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from twisted.internet.testing import MemoryReactorClock

import kafkapy
from kafkapy import TopicPartition, aio, helpers, tx
from kafkapy.admin import ConfigResource, NewTopic
from kafkapy.admin.client import AdminClient
from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.clients.facade import operations
from kafkapy.clients.list_arguments import _list_parameters, check_list, check_lists
from tests.fake_broker import FakeBroker

P0 = TopicPartition("t", 0)
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("create_topics", ("abc",)),
    ("create_topics", (NewTopic("abc"),)),
    ("delete_topics", ("abc",)),
    ("delete_topics", (b"abc",)),
    ("describe_topics", ("abc",)),
    ("describe_topics", (uuid.UUID(int=1),)),
    ("wait_for_topics", ("abc",)),
    ("describe_topic_partitions", ("abc",)),
    ("describe_groups", ("abc",)),
    ("delete_groups", ("abc",)),
    ("describe_consumer_groups", ("abc",)),
    ("delete_consumer_groups", ("abc",)),
    ("remove_group_members", ("g", "abc")),
    ("list_groups", ("12",)),
    ("list_groups", (12,)),
    ("list_groups", (None, "Stable")),
    ("list_consumer_groups", ("12",)),
    ("list_consumer_group_offsets", ("g", None, P0)),
    ("list_group_offsets", ({"g": "abc"},)),
    ("delete_group_offsets", ("g", P0)),
    ("describe_configs", (ConfigResource("topic", "t"),)),
    ("alter_configs", ("abc",)),
    ("reset_configs", ("abc",)),
    ("list_config_resources", ("topic",)),
    ("elect_leaders", (0, "abc")),
    ("elect_leaders", (0, {"t": "01"})),
    ("perform_leader_election", (0, "abc")),
    ("alter_partition_reassignments", ({P0: "12"},)),
    ("list_partition_reassignments", ("abc",)),
    ("describe_log_dirs", ("abc",)),
    ("describe_transactions", ("abc",)),
    ("list_transactions", ("12",)),
    ("find_hanging_transactions", ("12",)),
    ("describe_producers", (P0,)),
    ("create_acls", ("abc",)),
    ("delete_acls", ("abc",)),
    ("create_delegation_token", ("abc",)),
    ("describe_delegation_token", ("abc",)),
    ("alter_user_scram_credentials", ("abc",)),
    ("describe_user_scram_credentials", ("abc",)),
]


def _core_call(name: str, args: tuple[Any, ...]) -> None:
    method = getattr(KafkaPythonCore, name).__get__(object())
    check_lists(method, args, {})


@pytest.mark.parametrize(("name", "args"), CALLS)
def test_no_operation_takes_a_string_for_a_list(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"takes a list, not .*: write \["):
        _core_call(name, args)


def test_each_operation_that_takes_a_list_is_above() -> None:
    found = {name: _list_parameters(method) for name, method in operations(KafkaPythonCore).items()}
    assert {name for name, each in found.items() if each.lists or each.mappings} == {name for name, _ in CALLS}


@pytest.mark.parametrize("given", [["a"], ("a",), {"a"}, {"a": 1}.keys(), iter("a")])
def test_what_is_a_list(given: Any) -> None:
    check_list("topics", given)
    _core_call("delete_topics", (given,))
    _core_call("create_topics", ({"a": {"num_partitions": 1}},))
    _core_call("list_group_offsets", ("g",))
    _core_call("elect_leaders", (0, {"t": [0]}))


def test_all_faces_say_so() -> None:
    said = r"topics takes a list, not 'abc': write \['abc'\]"
    with FakeBroker() as broker:
        with kafkapy.KafkaAdminClient(bootstrap_servers=broker.address) as admin:
            with pytest.raises(TypeError, match=said):
                admin.delete_topics("abc")
            with pytest.raises(TypeError, match="new_topics takes a list, not 'abc'"):
                admin.create_topics(new_topics="abc")
        with AdminClient(broker.address) as tools, pytest.raises(TypeError, match=said):
            tools.delete_topics("abc")

        async def main() -> None:
            async with aio.KafkaAdminClient(bootstrap_servers=broker.address) as admin:
                with pytest.raises(TypeError, match=said):
                    await admin.delete_topics("abc")

        asyncio.run(main())
    failures: list[Any] = []
    reactor = MemoryReactorClock()
    tx.KafkaAdminClient(reactor=reactor).delete_topics("abc").addErrback(failures.append)
    assert [str(failure.value) for failure in failures] == ["topics takes a list, not 'abc': write ['abc']"]


def test_consumers_and_helpers() -> None:
    with FakeBroker() as broker, kafkapy.KafkaConsumer(bootstrap_servers=broker.address) as consumer:
        calls: list[Any] = [consumer.assign, consumer.beginning_offsets, consumer.end_offsets, consumer.subscribe]
        for call in calls:
            for given in ("abc", P0):
                with pytest.raises(TypeError):
                    call(given)
        with pytest.raises(TypeError, match="timestamps is a dict"):
            consumer.offsets_for_times("abc")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="partitions takes a list"):
            consumer.to_arrow("t", partitions="01")
    with pytest.raises(TypeError, match="partitions takes a list"):
        helpers.read_in_parallel("t", partitions="01")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="configs takes a list"):
        ConfigResource("topic", "t", "retention.ms")
