"""Two instances over HTTP: each answers for both."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kafkapy.streams import Consumed, Grouped, KafkaStreams, Materialized, Serdes, StreamsBuilder, Topology
from kafkapy.testing import KafkaCluster
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

WORDS = [f"word-{number}" for number in range(20)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


def counts() -> Topology:
    builder, string = StreamsBuilder(), Serdes.string()
    (
        builder.stream("words", Consumed.with_(string, string))
        .group_by(lambda key, value: value, Grouped.with_(string, string))
        .count(materialized=Materialized.as_("counts"))
    )
    return builder.build()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def get(port: int, path: str) -> tuple[int, dict[str, Any]]:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=HANG_SECONDS) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def test_each_instance_answers_for_both(cluster: KafkaCluster, tmp_path: Path) -> None:
    cluster.create_topics("words:4")
    ports = [free_port(), free_port()]
    with ExitStack() as ending:
        instances = []
        for port in ports:
            configs = {
                "application.id": "counts",
                "bootstrap.servers": cluster.bootstrap_servers,
                "state.dir": str(tmp_path / str(port)),
                "application.server": f"127.0.0.1:{port}",
                "kafkapy.application.server.enable": True,
                "commit.interval.ms": 100,
                "replication.factor": 1,
            }
            instances.append(ending.enter_context(KafkaStreams(counts(), configs)))
        wait_until(lambda: all(one.state() == "RUNNING" for one in instances))
        cluster.produce_many("words", [word.encode() for word in WORDS])

        def all_words(port: int) -> set[str]:
            status, body = get(port, "/state/counts/keys")
            return {entry["key"] for entry in body["entries"]} if status == 200 else set()

        wait_until(lambda: all(all_words(port) == set(WORDS) for port in ports), lambda: list(map(all_words, ports)))
        own = [{key for key, _ in one.store("counts").all()} for one in instances]
        assert all(own)
        assert own[0] | own[1] == set(WORDS)
        assert not own[0] & own[1]
        for port in ports:
            status, body = get(port, "/state")
            assert status == 200
            assert sorted(one["host"] for one in body["instances"]) == sorted(f"127.0.0.1:{port}" for port in ports)
            for word in (min(own[0]), min(own[1])):
                status, body = get(port, f"/state/counts/keys/{word}")
                assert (status, body["key"], body["value"]) == (200, word, 1)
            assert get(port, "/state/counts/keys/nothing")[0] == 404
            assert get(port, "/state/others/keys/nothing")[0] == 404
        instances[1].close()
        wait_until(lambda: all_words(ports[0]) == set(WORDS), lambda: all_words(ports[0]))
