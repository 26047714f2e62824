"""Partitions of repartition topics, and tasks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.partition_counts import (
    MissingSourceTopicsError,
    partition_groups,
    repartition_partitions,
)
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.topology.topology_builder import Subgraph


def subgraph(id: int, sources: Sequence[str], sinks: Sequence[str] = ()) -> Subgraph:
    return Subgraph(id, [], {}, {}, dict.fromkeys(sources, "source"), set(sinks), set())


CHAIN = [subgraph(0, ["a", "b"], ["r1"]), subgraph(1, ["r1"], ["r2"]), subgraph(2, ["r2"], ["out"])]


def test_a_repartition_topic_has_as_many_as_the_most_it_is_made_from() -> None:
    counts = repartition_partitions(CHAIN, {"r1": None, "r2": None}, [], {"a": 3, "b": 5})
    assert counts == {"r1": 5, "r2": 5}


def test_what_the_topology_enforces_goes_first() -> None:
    assert repartition_partitions(CHAIN, {"r1": 2, "r2": None}, [], {"a": 3, "b": 5}) == {"r1": 2, "r2": 2}


def test_it_has_as_many_as_the_topic_that_it_is_joined_with() -> None:
    graphs = [subgraph(0, ["a"], ["r1"]), subgraph(1, ["r1", "b"])]
    assert repartition_partitions(graphs, {"r1": None}, [{"r1", "b"}], {"a": 3, "b": 7}) == {"r1": 7}


def test_topics_that_are_joined_need_the_same_number() -> None:
    with pytest.raises(TopologyException, match=r"Topics not co-partitioned: \[{a=3, b=7}\]"):
        repartition_partitions([subgraph(0, ["a", "b"])], {}, [{"a", "b"}], {"a": 3, "b": 7})


def test_an_enforced_number_must_fit_the_topic_that_it_is_joined_with() -> None:
    graphs = [subgraph(0, ["a"], ["r1"]), subgraph(1, ["r1", "b"])]
    with pytest.raises(TopologyException, match=r"Number of partitions \[2\] of repartition topic \[r1\]"):
        repartition_partitions(graphs, {"r1": 2}, [{"r1", "b"}], {"a": 3, "b": 7})


def test_missing_topics_are_named() -> None:
    with pytest.raises(MissingSourceTopicsError, match="Missing source topics: b"):
        repartition_partitions([subgraph(0, ["a", "b"])], {}, [], {"a": 3})


def test_a_task_has_the_partitions_of_one_number() -> None:
    tasks = partition_groups([subgraph(0, ["a", "b"]), subgraph(1, ["r"])], {"a": 1, "b": 2, "r": 1})
    assert tasks == {
        TaskId(0, 0): [TopicPartition("a", 0), TopicPartition("b", 0)],
        TaskId(0, 1): [TopicPartition("b", 1)],
        TaskId(1, 0): [TopicPartition("r", 0)],
    }
