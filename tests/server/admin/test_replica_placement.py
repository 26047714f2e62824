"""Replica assignment: the examples of KIP-36 and Kafka's AdminUtils, and what must hold for any cluster."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.admin.replica_placement import MAX_PARTITIONS, assign_replicas_to_brokers, rack_alternated_brokers

NO_RACKS = dict.fromkeys(range(5), None)
RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_without_racks() -> None:
    assert assign_replicas_to_brokers(NO_RACKS, 10, 3, fixed_start_index=0) == {
        0: [0, 1, 2],
        1: [1, 2, 3],
        2: [2, 3, 4],
        3: [3, 4, 0],
        4: [4, 0, 1],
        5: [0, 2, 3],
        6: [1, 3, 4],
        7: [2, 4, 0],
        8: [3, 0, 1],
        9: [4, 1, 2],
    }


def test_with_racks() -> None:
    assert rack_alternated_brokers(RACKS) == [0, 3, 1, 5, 4, 2]
    assert assign_replicas_to_brokers(RACKS, 7, 3, fixed_start_index=0) == {
        0: [0, 3, 1],
        1: [3, 1, 5],
        2: [1, 5, 4],
        3: [5, 4, 2],
        4: [4, 2, 0],
        5: [2, 0, 3],
        6: [0, 4, 2],
    }


def test_racks_of_different_sizes() -> None:
    assert rack_alternated_brokers({0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}) == [0, 3, 4, 1, 2]


def test_new_partitions_carry_on() -> None:
    whole = assign_replicas_to_brokers(NO_RACKS, 10, 3, fixed_start_index=0)
    added = assign_replicas_to_brokers(NO_RACKS, 3, 3, fixed_start_index=0, start_partition_id=2)
    assert added == {partition: whole[partition] for partition in (2, 3, 4)}


@pytest.mark.parametrize(
    ("brokers", "partitions", "factor", "error", "message"),
    [
        (NO_RACKS, 0, 1, Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (NO_RACKS, 1, 0, Errors.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (NO_RACKS, 1, 6, Errors.INVALID_REPLICATION_FACTOR, "Replication factor: 6 larger than available brokers: 5."),
        (
            {0: "a", 1: None},
            1,
            1,
            Errors.UNKNOWN_SERVER_ERROR,
            "Not all brokers have rack information for replica rack aware assignment.",
        ),
    ],
)
def test_impossible(brokers: dict[int, str | None], partitions: int, factor: int, error: Errors, message: str) -> None:
    with pytest.raises(KafkaError) as raised:
        assign_replicas_to_brokers(brokers, partitions, factor)
    assert (raised.value.error, raised.value.message) == (error, message)


def test_more_partitions_than_a_node_of_zookeeper_holds() -> None:
    last = MAX_PARTITIONS - 1
    assert assign_replicas_to_brokers({7: None}, 1, 1, start_partition_id=last) == {last: [7]}
    for partitions, start in ((2, last), (MAX_PARTITIONS + 1, -1), ((1 << 31) - 1, -1), ((1 << 31) - 5, 4)):
        with pytest.raises(KafkaError) as raised:
            assign_replicas_to_brokers(NO_RACKS, partitions, 1, start_partition_id=start)
        assert raised.value.error is Errors.INVALID_PARTITIONS


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[int, str | None], int]:
    racked = draw(st.booleans())
    rack = st.sampled_from("abc") if racked else st.none()
    brokers = draw(st.dictionaries(st.integers(0, 100), rack, min_size=1, max_size=9))
    return brokers, draw(st.integers(1, len(brokers)))


@given(clusters(), st.integers(1, 40))
def test_any_cluster(cluster: tuple[dict[int, str | None], int], partitions: int) -> None:
    brokers, factor = cluster
    assignment = assign_replicas_to_brokers(brokers, partitions, factor)
    assert list(assignment) == list(range(partitions))
    racks = len(set(brokers.values()) - {None})
    for replicas in assignment.values():
        assert len(replicas) == factor == len(set(replicas))
        if racks:
            assert len({brokers[r] for r in replicas}) == min(racks, factor)
    leaders = Counter(replicas[0] for replicas in assignment.values())
    assert max(leaders.values()) - min(leaders.get(b, 0) for b in brokers) <= 1
