"""An application on a secured cluster, by Java's configs of TLS and SASL."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.producer import KafkaProducer
from kafkapy.streams import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder
from kafkapy.testing import KafkaCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


def test_all_clients_of_an_application_log_in(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    builder, string = StreamsBuilder(), Serdes.string()
    (
        builder.stream("lines", Consumed.with_(string, string))
        .group_by(lambda key, line: line, Grouped.with_(string, string))
        .count()
        .to_stream()
        .to("counts", Produced.with_(string, Serdes.long()))
    )
    with KafkaCluster(secured=True) as cluster:
        cluster.create_topics("lines:1,counts:1")
        cluster.allow("alice", topic="lines")
        cluster.allow("alice", topic="counts")
        cluster.allow("alice", topic="lines-app", prefixed=True)  # internal topics
        cluster.allow("alice", group="lines-app")
        cluster.allow("alice", transactional_id="lines-app", prefixed=True)
        config = {
            **cluster.client_options("alice", "java"),
            "application.id": "lines-app",
            "processing.guarantee": "exactly_once_v2",
            "state.dir": str(tmp_path),
            "replication.factor": 1,
        }
        with KafkaProducer(**cluster.client_options("alice")) as producer:
            for line in ("a", "b", "a"):
                producer.send("lines", line.encode())
        streams = KafkaStreams(builder.build(), config)
        streams.set_uncaught_exception_handler(failures.append)
        with streams:
            wait_until(lambda: failures or len(cluster.records("counts")) >= 2)
        assert not failures
        assert {record.key for record in cluster.records("counts")} == {b"a", b"b"}
