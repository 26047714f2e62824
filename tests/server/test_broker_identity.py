"""Which broker of which cluster the directories belong to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.broker import Broker, EndPoint
from kafkapy.log.files.checkpoints import BrokerMetadata, BrokerMetadataCheckpoint
from kafkapy.server.broker_identity import (
    InconsistentBrokerError,
    broker_id,
    check_end_points,
    cluster_id,
    write_meta_properties,
)


class FakeZooKeeper:
    """A cluster with this id, or none yet."""

    def __init__(self, known: str | None = None, *brokers: Broker) -> None:
        self.known = known
        self.brokers = brokers

    def get_all_brokers_in_cluster(self) -> list[Broker]:
        return [*self.brokers]

    def get_or_create_cluster_id(self, proposed: str) -> str:
        self.known = self.known or proposed
        return self.known


def directory(path: Path, broker: int | None = None, cluster: str | None = None) -> str:
    """A log directory, with meta.properties if one of the two is given."""
    path.mkdir(parents=True)
    if broker is not None or cluster is not None:
        BrokerMetadataCheckpoint(str(path)).write(BrokerMetadata(broker, cluster))
    return str(path)


def no_generation() -> int:
    raise AssertionError("no id was to be generated")


def identify(configured: int, *directories: str, generation: bool = True, generate: Any = no_generation) -> int:
    return broker_id(configured, generation, generate, directories)


def test_the_first_broker_makes_the_clusters_id(tmp_path: Path) -> None:
    zookeeper: Any = FakeZooKeeper()
    made = cluster_id(zookeeper, [directory(tmp_path / "a")])
    assert len(made) == 22
    assert cluster_id(zookeeper, [directory(tmp_path / "b", 1, made), str(tmp_path / "not-there")]) == made


def test_directories_of_another_cluster_are_refused(tmp_path: Path) -> None:
    zookeeper: Any = FakeZooKeeper("this")
    path = directory(tmp_path / "a", 1, "that")
    with pytest.raises(InconsistentBrokerError) as refusal:
        cluster_id(zookeeper, [directory(tmp_path / "b"), path])
    assert "this" in str(refusal.value)
    assert "that" in str(refusal.value)
    assert path in str(refusal.value)


def test_configured_stored_and_generated_ids(tmp_path: Path) -> None:
    empty, stored = directory(tmp_path / "empty"), directory(tmp_path / "stored", 5)
    assert identify(3, empty) == 3
    assert identify(5, empty, stored) == 5
    assert identify(-1, empty, stored, generation=False) == 5
    assert identify(-1, empty, generate=lambda: 1001) == 1001


def test_ids_that_contradict_each_other(tmp_path: Path) -> None:
    five, six = directory(tmp_path / "five", 5), directory(tmp_path / "six", 6)
    with pytest.raises(InconsistentBrokerError, match=r"Configured broker.id 3 doesn't match stored broker.id 5"):
        identify(3, five)
    with pytest.raises(InconsistentBrokerError, match=r"across log.dirs.*\[5, 6\]"):
        identify(5, five, six)


def test_neither_an_id_nor_leave_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InconsistentBrokerError, match=r"set broker.id"):
        identify(-1, directory(tmp_path / "empty"), generation=False)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("broker.id=five\n", "'five' is no number"),
        ("broker.id=5\nversion=9\n", "version=9 is unknown"),
        ("\x00\x8f random = bytes", "neither broker.id nor cluster.id"),
    ],
)
def test_a_meta_properties_that_can_not_be_read(tmp_path: Path, content: str, why: str) -> None:
    path = directory(tmp_path / "a")
    (tmp_path / "a" / "meta.properties").write_text(content)
    with pytest.raises(
        InconsistentBrokerError, match=rf"{path}/meta\.properties: .*{why}.* Restore it .* or remove it"
    ):
        identify(5, path)


def test_meta_properties_are_written_where_they_are_missing(tmp_path: Path) -> None:
    new, old = directory(tmp_path / "new"), directory(tmp_path / "old", 5, "c")
    before = (tmp_path / "old" / "meta.properties").stat().st_mtime_ns
    failed: list[str] = []
    bad = directory(tmp_path / "bad")
    (tmp_path / "bad" / "meta.properties").mkdir()
    write_meta_properties([new, bad, old], 5, "c", lambda directory, doing, error: failed.append(directory))
    assert failed == [bad]
    assert BrokerMetadataCheckpoint(new).read() == BrokerMetadata(5, "c")
    assert (tmp_path / "old" / "meta.properties").stat().st_mtime_ns == before


def advertising(broker: int, *ports: int) -> Broker:
    return Broker(broker, tuple(EndPoint("myhost", port, f"L{port}", "PLAINTEXT") for port in ports))


def test_an_address_that_another_broker_advertises() -> None:
    zookeeper: Any = FakeZooKeeper("c", advertising(1, 9092, 9093), advertising(2, 9094))
    check_end_points(zookeeper, advertising(3, 9095))
    check_end_points(zookeeper, advertising(2, 9094))  # its own registration, of before
    with pytest.raises(
        InconsistentBrokerError, match="myhost:9093 in advertised listeners are already registered by broker 1"
    ):
        check_end_points(zookeeper, advertising(2, 9093, 9096))
