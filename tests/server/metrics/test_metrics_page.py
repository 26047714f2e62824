"""How the page is made from a table, and what the table itself must be like."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.metrics import Histogram
from kafkapy.common.prometheus_text import head
from kafkapy.runtime.chunks import CHUNK
from kafkapy.server.metrics.config import MetricsConfig
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.metric import (
    BrokerMetric,
    Buckets,
    Kind,
    Omitted,
    counter,
    gauge,
    histograms,
    summaries,
    summary,
)
from kafkapy.server.metrics.of_controller import CONTROLLER_STATES
from kafkapy.server.metrics.table import METRICS
from tests.exposition_grammar import check
from tests.scraped_page import Page

SOURCES: Any = SimpleNamespace()


def page(*metrics: BrokerMetric) -> Page:
    return Page(b"".join(pieces(metrics, SOURCES)).decode())


def many(count: int) -> BrokerMetric:
    return gauge("many", "", "Many.", lambda _: (((f"n{i}",), i) for i in range(count)), "name")


class TestPage:
    def test_a_gauge_and_a_counter(self) -> None:
        made = page(gauge("g", "", "A gauge.", lambda _: 1.5), counter("c_total", "", "A counter.", lambda _: 3))
        assert made.text == (
            "# HELP g A gauge.\n# TYPE g gauge\ng 1.5\n# HELP c_total A counter.\n# TYPE c_total counter\nc_total 3\n"
        )

    def test_a_summary(self) -> None:
        histogram = Histogram()
        histogram.add([1.0, 3.0])
        made = page(summaries("s", "", "S.", lambda _: [(("Produce",), summary(histogram))], "request"))
        assert made.value("s", request="Produce", quantile="0.5") == 1
        assert made.value("s", request="Produce", quantile="0.999") == 3
        assert made.value("s_count", request="Produce") == 2
        assert made.value("s_sum", request="Produce") == 4
        assert [(family.name, family.type) for family in made.families] == [("s", "summary")]

    def test_a_summary_of_long_ago_has_no_quantiles(self) -> None:
        made = page(summaries("s", "", "S.", lambda _: [((), summary(Histogram()))]))
        assert made.samples == {("s_count", frozenset()): 0, ("s_sum", frozenset()): 0}

    def test_many_samples_come_in_pieces_under_one_head(self) -> None:
        count = 3 * CHUNK + 1
        made = list(pieces([many(count)], SOURCES))
        assert len(made) == 4
        text = b"".join(made).decode()
        assert text.count("# TYPE") == text.count("# HELP") == 1
        assert Page(text).value("many", name=f"n{count - 1}") == count - 1

    def test_a_histogram(self) -> None:
        made = page(histograms("h", "", "H.", lambda _: [(("a",), Buckets((0.5, 1.0), (3, 0, 2), 9.5))], "work"))
        assert [(family.name, family.type) for family in made.families] == [("h", "histogram")]
        buckets = [made.value("h_bucket", work="a", le=bound) for bound in ("0.5", "1.0", "+Inf")]
        assert buckets == [3, 3, 5]
        assert (made.value("h_count", work="a"), made.value("h_sum", work="a")) == (5, 9.5)

    def test_what_is_left_out_is_told(self) -> None:
        some: list[Any] = [(("n",), 1), Omitted(9)]
        every: list[Any] = [((), 1), Omitted(0)]
        cut = gauge("cut", "", "Cut.", lambda _: iter(some), "name")
        whole = gauge("whole", "", "Whole.", lambda _: iter(every))
        made = page(cut, whole)
        assert made.value("cut", name="n") == 1
        assert made.value("kafkapy_metrics_left_out_series", metric="cut") == 9
        assert made.get("kafkapy_metrics_left_out_series", metric="whole") is None

    def test_a_walk_is_left_where_it_wants_to_be(self) -> None:
        walk: list[Any] = [None, (("a",), 1), None, None, (("b",), 2)]
        made = list(pieces([gauge("walk", "", "Walk.", lambda _: iter(walk), "name")], SOURCES))
        assert [piece.count(b"walk{") for piece in made] == [0, 1, 0, 1]
        assert b"".join(made).count(b"# TYPE") == 1

    def test_labels_are_escaped(self) -> None:
        made = page(gauge("g", "", "G.", lambda _: [(('a"b\\c\nd',), 1)], "name"))
        assert made.value("g", name='a"b\\c\nd') == 1

    def test_one_that_fails_does_not_take_the_others_along(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail(_: object) -> float:
            raise RuntimeError("broken")

        made = page(gauge("bad", "", "Bad.", fail), gauge("good", "", "Good.", lambda _: 1))
        assert made.samples == {("good", frozenset()): 1}
        assert "Metric bad can't be read" in caplog.text


class TestTable:
    def test_names(self) -> None:
        names = [metric.name for metric in METRICS]
        assert len(set(names)) == len(names)
        for metric in METRICS:
            assert re.fullmatch("[a-z_]+", metric.name)
            assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name
            assert metric.doc.endswith(".")
            assert "|" not in metric.doc + metric.kafka

    def test_heads_are_as_the_format_has_them(self) -> None:
        check("".join(head(metric.name, metric.kind.value, metric.doc) for metric in METRICS))

    @pytest.mark.parametrize(
        "name",
        [
            "kafka_server_brokertopicmetrics_messagesin_total",
            "kafka_server_brokertopicmetrics_bytesin_total",
            "kafka_server_brokertopicmetrics_bytesout_total",
            "kafka_server_brokertopicmetrics_totalproducerequests_total",
            "kafka_server_brokertopicmetrics_totalfetchrequests_total",
            "kafka_server_brokertopicmetrics_failedproducerequests_total",
            "kafka_server_brokertopicmetrics_failedfetchrequests_total",
            "kafka_server_replicamanager_leadercount",
            "kafka_server_replicamanager_partitioncount",
            "kafka_server_replicamanager_underreplicatedpartitions",
            "kafka_server_replicamanager_underminisrpartitioncount",
            "kafka_server_replicamanager_partitionswithlatetransactionscount",
            "kafka_controller_kafkacontroller_activecontrollercount",
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            "kafka_controller_controllerstats_uncleanleaderelections_total",
            "kafka_cluster_partition_atminisr",
            "kafka_cluster_partition_underminisr",
            "kafka_log_log_size",
            "kafka_log_logmanager_offlinelogdirectorycount",
            "kafka_network_socketserver_networkprocessoravgidle_percent",
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
            "kafka_consumergroup_lag",
            "kafka_consumergroup_lag_sum",
            "kafka_consumergroup_current_offset",
            "kafka_consumergroup_members",
            "kafka_topic_partition_current_offset",
            "kafka_topic_partition_oldest_offset",
            "kafka_topic_partition_in_sync_replica",
            "kafka_topic_partition_leader",
            "kafka_topic_partition_replicas",
            "kafka_topic_partition_under_replicated_partition",
            "kafka_topic_partitions",
            "kafka_brokers",
            "kafka_cluster_partition_replicascount",
            "kafka_server_kafkaserver_linux_disk_read_bytes",
            "kafka_server_kafkaserver_linux_disk_write_bytes",
            "process_open_fds",
        ],
    )
    def test_what_public_dashboards_graph(self, name: str) -> None:
        assert name in {metric.name for metric in METRICS}

    def test_each_state_of_the_controller_is_timed(self) -> None:
        assert sum("rateandtimems" in metric.name for metric in METRICS) == len(CONTROLLER_STATES)


class TestConfig:
    @pytest.mark.parametrize(
        ("listener", "expected"),
        [
            ("localhost:9404", ("localhost", 9404)),
            (":0", ("", 0)),
            ("[::1]:80", ("::1", 80)),
        ],
    )
    def test_listeners(self, listener: str, expected: tuple[str, int]) -> None:
        properties = {"kafkapy.metrics.listener": listener, "broker.id": "1", "kafkapy.metrics.max.series": "5"}
        config = MetricsConfig.take_from(properties)
        assert config is not None
        assert config == (expected, 5)
        assert str(config.address) == listener
        assert properties == {"broker.id": "1"}

    def test_off(self) -> None:
        assert MetricsConfig.take_from({}) is None

    @pytest.mark.parametrize("listener", ["9404", "localhost", "localhost:x", "a:65536", "http://a:1", "a:-1"])
    def test_wrong_listeners(self, listener: str) -> None:
        with pytest.raises(ValueError, match="host:port is expected"):
            MetricsConfig.take_from({"kafkapy.metrics.listener": listener})

    @pytest.mark.parametrize("most", ["0", "-1", "many"])
    def test_wrong_limits(self, most: str) -> None:
        with pytest.raises(ValueError, match="a number of at least 1 is expected"):
            MetricsConfig.take_from({"kafkapy.metrics.max.series": most})
