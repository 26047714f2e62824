"""A cluster for the time of a test: its contents, and how it is emptied."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafkapy import KafkaConsumer
from kafkapy.admin.results import values_of
from kafkapy.testing import ClusterError, KafkaCluster
from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(topics="first:3") as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def as_new(kafka: KafkaCluster) -> None:
    kafka.reset()


def commit_all(kafka: KafkaCluster, topic: str, group: str) -> None:
    with KafkaConsumer(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        consumer_timeout_ms=HANG_SECONDS * 1000,
    ) as consumer:
        wanted = len(kafka.records(topic))
        for count, _ in enumerate(consumer, 1):
            if count == wanted:
                break


def test_records_come_back_by_partition_and_offset(kafka: KafkaCluster) -> None:
    assert kafka.produce_many("first", ["a", "b"], partition=2) == 2
    assert kafka.produce_many("first", [("k", "c"), (None, b"d")], partition=0) == 2
    found = [(r.partition, r.offset, r.key, r.value) for r in kafka.records("first")]
    assert found == [(0, 0, b"k", b"c"), (0, 1, None, b"d"), (2, 0, None, b"a"), (2, 1, None, b"b")]


def test_an_empty_topic_has_no_records(kafka: KafkaCluster) -> None:
    assert kafka.records(kafka.create_topic("empty")) == []


def test_lag_and_commits(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic("lagging", 2)
    kafka.produce_many(topic, ["1", "2", "3"], partition=0)
    commit_all(kafka, topic, "readers")
    kafka.wait_until_committed("readers", topic)
    kafka.produce_many(topic, ["4", "5"], partition=1)
    assert {name.partition: lag for name, lag in kafka.lag("readers").items()} == {0: 0, 1: 2}
    with pytest.raises(ClusterError, match=r"group readers has committed everything; its lag: .*2"):
        kafka.wait_until_committed("readers", topic, timeout=0.05)


def test_after_a_reset_all_is_as_new(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic("emptied", 2)
    kafka.produce_many(topic, [str(number) for number in range(100)])
    commit_all(kafka, topic, "gone")
    kafka.reset()
    assert kafka.records(topic) == []
    assert kafka.committed("gone") == {}
    assert kafka.admin.list_groups() == []
    kafka.produce_many(topic, ["new"], partition=0)
    assert [(record.offset, record.value) for record in kafka.records(topic)] == [(0, b"new")]


def test_what_was_emptied_does_not_come_back_after_a_crash(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic("crashed", 1)
    kafka.produce_many(topic, [str(number) for number in range(100)])
    commit_all(kafka, topic, "gone")
    kafka.reset()
    kafka.produce_many(topic, ["after"])
    kafka.kill()
    kafka.restart()
    assert [(record.offset, record.value) for record in kafka.records(topic)] == [(0, b"after")]
    assert kafka.committed("gone") == {}


def test_topics_that_are_there_stay_as_they_are(kafka: KafkaCluster) -> None:
    kafka.create_topics("twice:2")
    kafka.create_topics("twice:5,once")
    kafka.produce_many("twice", ["x"], partition=1)
    with pytest.raises(ValueError, match="partition"):
        kafka.produce_many("twice", ["x"], partition=2)
    kafka.delete_topic("once")
    assert "once" not in kafka.admin.list_topics()


def partitions_of(kafka: KafkaCluster, topic: str) -> int:
    return len(values_of(kafka.admin.describe_topics([topic]))[topic].partitions)


def test_a_topic_is_made_anew_right_after_it_was_deleted(kafka: KafkaCluster) -> None:
    for partitions in range(1, 5):
        kafka.create_topic("anew", partitions)
        assert partitions_of(kafka, "anew") == partitions
        kafka.produce_many("anew", ["a record"])
        kafka.delete_topic("anew")


def test_a_topic_is_made_anew_while_it_is_being_deleted(kafka: KafkaCluster) -> None:
    """Somebody else has deleted it, and did not wait."""
    for partitions in range(1, 5):
        kafka.create_topic("anew", partitions)
        assert partitions_of(kafka, "anew") == partitions
        kafka.admin.delete_topics(["anew"])


def test_a_config_of_the_cluster_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the config log\.dirs is the cluster's own"):
        KafkaCluster(config={"log_dirs": "/tmp"})


def test_a_broker_that_does_not_start_tells_why() -> None:
    with pytest.raises(ClusterError, match=r"num\.partitions"):
        KafkaCluster(config={"num_partitions": "many"}).start()


def test_data_stays_where_it_was_asked_to(tmp_path: Path) -> None:
    with KafkaCluster(topics="kept", data_dir=tmp_path) as first:
        first.produce_many("kept", ["1", "2"])
    with KafkaCluster(data_dir=tmp_path) as second:
        assert [record.value for record in second.records("kept")] == [b"1", b"2"]


def test_a_cluster_leaves_nothing_behind() -> None:
    threads, descriptors, children = _what_there_is()
    for _ in range(2):
        with KafkaCluster(topics="t") as cluster:
            cluster.produce_many("t", ["x"])
            assert [record.value for record in cluster.records("t")] == [b"x"]
            directory = cluster.directory
        assert not directory.exists()
    now_threads, now_descriptors, now_children = _what_there_is()
    assert now_threads <= threads
    assert now_descriptors <= descriptors, "servers of other tests may end meanwhile, so there may be fewer"
    assert now_children <= children


def _what_there_is() -> tuple[set[str], int, set[int]]:
    """Threads, number of descriptors, children of this process."""
    threads = {thread.name for thread in threading.enumerate()}
    children = {child.pid for child in psutil.Process().children(recursive=True)}
    return threads, len(os.listdir("/proc/self/fd")), children


def test_it_ends_with_the_process_that_has_started_it(tmp_path: Path) -> None:
    program = "import os, sys; from kafkapy.testing import KafkaCluster; c = KafkaCluster().start()\n"
    program += "print(c.brokers[0].process.pid, c.directory, flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None and process.stdin is not None
    pid, directory = process.stdout.readline().split()
    broker = psutil.Process(int(pid))
    process.kill()
    process.wait()
    broker.wait(HANG_SECONDS)
    assert not Path(directory).exists()
    process.stdin.close()
    process.stdout.close()
