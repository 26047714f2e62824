"""Sequences of faults follow from their seed."""

from __future__ import annotations

from system_tests.faults import CONTROLLER, FAULTS, sequence


def test_same_seed_same_sequence() -> None:
    assert sequence(7, 200, 3) == sequence(7, 200, 3)
    assert sequence(7, 20, 3) == sequence(7, 200, 3)[:20]
    assert sequence(7, 200, 3) != sequence(8, 200, 3)


def test_known_sequence() -> None:
    """So that a seed in a report means the same tomorrow, on another machine."""
    assert [str(fault) for fault in sequence(1, 3, 1)] == [
        "half_closed_connections of broker 0, 0.4 s",
        "few_descriptors of the controller, 4.0 s; a consumer leaves, another comes",
        "pause of the controller, 1.6 s",
    ]


def test_every_kind_comes_up_before_one_comes_twice() -> None:
    names = [fault.name for fault in sequence(3, 2 * len(FAULTS), 3)]
    assert set(names[: len(FAULTS)]) == set(names[len(FAULTS) :]) == set(FAULTS)


def test_whom_faults_befall() -> None:
    assert {fault.broker for fault in sequence(1, 200, 3)} == {CONTROLLER, 0, 1, 2}
    assert {fault.broker for fault in sequence(1, 200, 1)} == {CONTROLLER, 0}
    assert 20 < sum(fault.churn for fault in sequence(1, 200, 1)) < 100


def test_partitions() -> None:
    sides = {fault.sides for fault in sequence(1, 500, 3) if fault.name == "partition"}
    assert ("brokers", "clients", "zookeeper") in sides and ("zookeeper",) in sides
    alone = [fault for fault in sequence(1, 500, 1) if fault.name == "partition"]
    assert all(fault.sides and "brokers" not in fault.sides for fault in alone)
    assert all(not fault.sides for fault in sequence(1, 500, 3) if fault.name != "partition")


def test_how_long_they_last() -> None:
    for fault in sequence(1, 500, 3):
        shortest, longest = FAULTS[fault.name].seconds
        assert shortest <= fault.seconds <= longest
