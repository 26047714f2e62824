"""An application on a real broker: counts, exactly once, two instances, state that is restored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer import KafkaConsumer
from kafkapy.producer import KafkaProducer
from kafkapy.streams import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, Topology
from kafkapy.streams.assignment.task_id import HostInfo
from kafkapy.streams.errors import InvalidStateStorePartitionException, UnknownStateStoreException
from kafkapy.streams.queries.store_query import QueryableStoreTypes, StoreQueryParameters
from kafkapy.testing import KafkaCluster
from kafkapy.tools import streams_application_reset
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

LINES = ["to be or not to be", "that is the question", "to be"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


def word_count(prefix: str) -> Topology:
    builder, string = StreamsBuilder(), Serdes.string()
    (
        builder.stream(f"{prefix}-lines", Consumed.with_(string, string))
        .flat_map_values(lambda line: line.split())
        .group_by(lambda key, word: word, Grouped.with_(string, string))
        .count(materialized=Materialized.as_("counts"))
        .to_stream()
        .to(f"{prefix}-counts", Produced.with_(string, Serdes.long()))
    )
    return builder.build()


class Application:
    """A word count with its topics, and what came out of it."""

    def __init__(self, cluster: KafkaCluster, prefix: str, guarantee: str) -> None:
        self.prefix, self.guarantee, self.bootstrap = prefix, guarantee, cluster.bootstrap_servers
        cluster.create_topic(f"{prefix}-lines", partitions=3)
        cluster.create_topic(f"{prefix}-counts", partitions=2)
        self.failures: list[BaseException] = []
        self.producer = KafkaProducer(bootstrap_servers=self.bootstrap)
        self.consumer = KafkaConsumer(
            f"{prefix}-counts",
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            group_id=None,
        )
        self.truth: dict[str, int] = {}
        self.counts: dict[str, list[int]] = {}

    def instance(self, state: Path, **more: object) -> KafkaStreams:
        streams = KafkaStreams(
            word_count(self.prefix),
            {
                **more,
                "application.id": self.prefix,
                "bootstrap.servers": self.bootstrap,
                "state.dir": str(state),
                "processing.guarantee": self.guarantee,
                "commit.interval.ms": 100,
                "statestore.cache.max.bytes": 0,
                "session.timeout.ms": 6000,
                "replication.factor": 1,
            },
        )
        streams.set_uncaught_exception_handler(self.failures.append)
        return streams

    def feed(self, rounds: int) -> None:
        for number in range(rounds):
            line = LINES[number % len(LINES)]
            self.producer.send(f"{self.prefix}-lines", line.encode())
            for word in line.split():
                self.truth[word] = self.truth.get(word, 0) + 1
        self.producer.flush()

    def check(self) -> None:
        """Each word has counted from 1 up to the truth, one by one."""
        deadline = time.monotonic() + HANG_SECONDS
        while {word: seen[-1] for word, seen in self.counts.items()} != self.truth:
            assert not self.failures
            assert time.monotonic() < deadline, (self.truth, self.counts)
            for records in self.consumer.poll(200).values():
                for record in records:
                    seen = self.counts.setdefault((record.key or b"").decode(), [])
                    seen.append(int.from_bytes(record.value or b"", "big"))
        assert self.counts == {word: list(range(1, count + 1)) for word, count in self.truth.items()}

    def close(self) -> None:
        self.producer.close()
        self.consumer.close()


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_words_are_counted_on_over_restarts(cluster: KafkaCluster, tmp_path: Path, guarantee: str) -> None:
    application = Application(cluster, f"restart-{guarantee.replace('_', '-')}", guarantee)
    with application.instance(tmp_path / "a"):
        application.feed(30)
        application.check()
    with application.instance(tmp_path / "a") as streams:  # its stores are on disk
        application.feed(30)
        application.check()
        counts = streams.store("counts")
        assert dict(counts.all()) == application.truth
        assert counts.get("be") == application.truth["be"]
        timed = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.timestamped_key_value_store())
        assert streams.store(timed).get("be").value == application.truth["be"]
        parts = [
            dict(streams.store(StoreQueryParameters("counts").with_partition(number)).all()) for number in range(3)
        ]
        assert sorted(word for part in parts for word in part) == sorted(application.truth)
        with pytest.raises(UnknownStateStoreException):
            streams.store("unknown")
        with pytest.raises(InvalidStateStorePartitionException):
            streams.store(StoreQueryParameters("counts").with_partition(3))
    with pytest.raises(RuntimeError, match="not running"):
        streams.store("counts")
    with application.instance(tmp_path / "b"):  # its stores come from the changelogs
        application.feed(30)
        application.check()
    application.close()


def test_a_second_instance_takes_tasks_over(cluster: KafkaCluster, tmp_path: Path) -> None:
    application = Application(cluster, "two", "exactly_once_v2")
    first, second = application.instance(tmp_path / "1"), application.instance(tmp_path / "2")
    first.start()
    application.feed(30)
    application.check()
    second.start()
    application.feed(30)
    application.check()
    assert first.close(HANG_SECONDS * 1000)
    application.feed(30)
    application.check()
    assert second.state() == "RUNNING"
    assert second.close(HANG_SECONDS * 1000)
    application.close()


def test_an_application_that_was_reset_counts_again(
    cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application = Application(cluster, "reset", "at_least_once")
    with application.instance(tmp_path) as streams:
        application.feed(30)
        application.check()
    reset = [
        "--bootstrap-server",
        cluster.bootstrap_servers,
        "--application-id",
        "reset",
        "--input-topics",
        "reset-lines",
    ]
    internal = "[reset-counts-changelog, reset-counts-repartition]"
    assert streams_application_reset.main([*reset, "--dry-run"]) == 0
    assert f"Deleting inferred internal topics {internal}" in capsys.readouterr().out
    assert "reset-counts-changelog" in cluster.admin.list_topics()
    assert streams_application_reset.main(reset) == 0
    wait_until(lambda: "reset-counts-changelog" not in cluster.admin.list_topics())
    streams.clean_up()
    assert not list((tmp_path / "reset").glob("[0-9]*"))
    application.counts.clear()
    with application.instance(tmp_path):
        application.check()
    application.close()


def test_a_running_application_is_not_reset(
    cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application = Application(cluster, "running", "at_least_once")
    with application.instance(tmp_path) as streams:
        wait_until(lambda: streams.state() == "RUNNING")
        arguments = ["--bootstrap-server", cluster.bootstrap_servers, "--application-id", "running"]
        assert streams_application_reset.main(arguments) == 1
    assert "Consumer group 'running' is still active" in capsys.readouterr().err
    application.close()


def _lags(streams: KafkaStreams) -> list[int]:
    return [lag.offset_lag for lag in streams.all_local_store_partition_lags().get("counts", {}).values()]


class Restores:
    """How many records were restored, by changelog partition."""

    def __init__(self) -> None:
        self.totals: dict[TopicPartition, int] = {}

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        self.totals[partition] = ending_offset - starting_offset

    def on_batch_restored(
        self, partition: TopicPartition, store: str, batch_end_offset: int, num_restored: int
    ) -> None:
        pass

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        pass

    def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        pass


def test_a_standby_replica_takes_over_with_its_stores(cluster: KafkaCluster, tmp_path: Path) -> None:
    application = Application(cluster, "standby", "exactly_once_v2")
    first, second = (
        application.instance(
            tmp_path / str(port), **{"num.standby.replicas": 1, "application.server": f"localhost:{port}"}
        )
        for port in (1, 2)
    )
    restores = Restores()
    second.set_global_state_restore_listener(restores)
    first.start()
    second.start()
    application.feed(60)
    application.check()
    wait_until(lambda: {first.state(), second.state()} == {"RUNNING"})
    wait_until(lambda: _lags(first) == _lags(second) == [0, 0, 0], lambda: (_lags(first), _lags(second)))
    copies = StoreQueryParameters("counts").enable_stale_stores()
    assert dict(first.store(copies).all()) == dict(second.store(copies).all()) == application.truth
    where = first.query_metadata_for_key("counts", "question", Serdes.string().serializer())
    assert where is not None
    assert {where.active_host, *where.standby_hosts} == {HostInfo("localhost", 1), HostInfo("localhost", 2)}
    active = first if where.active_host.port == 1 else second
    assert active.store("counts").get("question") == application.truth["question"]
    had = set(restores.totals)
    assert first.close(HANG_SECONDS * 1000)
    application.feed(30)
    application.check()
    taken = {one: total for one, total in restores.totals.items() if one not in had}
    assert taken
    assert sum(taken.values()) == 0, taken  # the copies had all
    assert second.close(HANG_SECONDS * 1000)
    application.close()


def test_a_stream_is_joined_with_a_global_table(cluster: KafkaCluster, tmp_path: Path) -> None:
    for name, partitions in (("clicks", 2), ("users", 3), ("named-clicks", 1)):
        cluster.create_topic(name, partitions=partitions)
    builder, string = StreamsBuilder(), Serdes.string()
    users = builder.global_table("users", Consumed.with_(string, string), Materialized.as_("users"))
    (
        builder.stream("clicks", Consumed.with_(string, string))
        .join(users, lambda key, user: user, lambda user, name: f"{user}={name}")
        .to("named-clicks", Produced.with_(string, string))
    )
    config = {"application.id": "names", "bootstrap.servers": cluster.bootstrap_servers, "state.dir": str(tmp_path)}
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(20):
            producer.send("users", f"name {number}".encode(), key=f"u{number}".encode())
        producer.flush()
        with KafkaStreams(builder.build(), {**config, "commit.interval.ms": 100}) as streams:
            for number in range(20):
                producer.send("clicks", f"u{number}".encode())
            producer.flush()
            seen: set[bytes] = set()
            with KafkaConsumer(
                "named-clicks", bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest", group_id=None
            ) as consumer:
                deadline = time.monotonic() + HANG_SECONDS
                while len(seen) < 20:
                    assert time.monotonic() < deadline
                    assert streams.state() in ("REBALANCING", "RUNNING")
                    seen |= {record.value or b"" for found in consumer.poll(200).values() for record in found}
    assert seen == {f"u{number}=name {number}".encode() for number in range(20)}


def test_columns_from_topic_to_topic(cluster: KafkaCluster, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    cluster.create_topics("columns-in:2,columns-out:1")
    values = [b"%d" % number for number in range(2000)]
    for partition in range(2):
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            producer.send_many("columns-in", values[partition::2], [b"k"] * 1000, partition=partition)
            producer.flush()
    builder, string = StreamsBuilder(), Serdes.string()
    sizes: list[int] = []

    def counted(batch: Any) -> Any:
        sizes.append(batch.num_rows)
        return batch

    stream = builder.stream("columns-in", Consumed.with_(string, string)).map_batches(counted)
    stream.to("columns-out", Produced.with_(string, string))
    config = {
        "application.id": "columns",
        "bootstrap.servers": cluster.bootstrap_servers,
        "state.dir": str(tmp_path),
        "processing.guarantee": "exactly_once_v2",
        "replication.factor": 1,
    }
    with KafkaStreams(builder.build(), config):
        wait_until(lambda: len(cluster.records("columns-out")) >= 2000, lambda: len(cluster.records("columns-out")))
    written = [record.value for record in cluster.records("columns-out")]
    assert [value for value in written if int(value or b"") % 2] == values[1::2]
    assert [value for value in written if not int(value or b"") % 2] == values[::2]
    assert sum(sizes) == 2000
    assert max(sizes) > 500
