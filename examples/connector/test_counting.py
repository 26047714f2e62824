"""The connector in a worker, which is killed on the way."""

from __future__ import annotations

from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster


def test_no_number_is_lost() -> None:
    config = {
        "connector.class": f"{__package__}.counting:CountingConnector".lstrip("."),
        "topic": "numbers",
        "to": "20",
    }
    with KafkaCluster(topics="numbers") as cluster:
        test = ConnectorTest(cluster.bootstrap_servers)
        delivered = test.source(config, "numbers", [b"%d" % n for n in range(1, 21)], [Kill("poll", 2), Kill("commit")])
        delivered.check()
