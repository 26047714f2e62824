"""Two brokers under real traffic, and what their pages of metrics say of it."""

from __future__ import annotations

import gzip
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.admin import KafkaAdminClient, NewTopic
from kafkapy.consumer import KafkaConsumer
from kafkapy.producer import KafkaProducer
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from tests.broker_process import BrokerProcess
from tests.scraped_page import Page, scrape
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

RECORDS = 100
MINE, OTHERS = TopicPartition("alone", 0), TopicPartition("alone", 1)


def await_started(broker: BrokerProcess) -> None:
    """It listens long before."""
    wait_until(lambda: "] started" in broker.log(), broker.log)


def await_ready(url: str) -> None:
    """The controller is elected a moment after the start."""
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=HANG_SECONDS) as response:
                assert response.read() == b"ready\n"
                return
        except urllib.error.HTTPError as error:
            assert error.code == 503
            why = error.read().decode()
        time.sleep(0.02)
    pytest.fail(why)


def metrics_url(broker: BrokerProcess) -> str:
    found: list[str] = re.findall(r"Metrics are served at (http\S+)", broker.log())
    return found[-1]


@pytest.fixture(scope="module")
def brokers(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[BrokerProcess]]:
    """Broker 0 and 1. Topic `both` is on both of them, `alone` has a partition on each, as have the groups."""
    directory = tmp_path_factory.mktemp("metrics")
    started = []
    try:
        for broker_id in (0, 1):
            broker = BrokerProcess(
                directory / str(broker_id), f"{zookeeper}/metrics-endpoint", kafkapy_metrics_listener="127.0.0.1:0",
                broker_id=str(broker_id), controlled_shutdown_enable="false",
            )  # fmt: skip
            broker.start()
            started.append(broker)
            await_started(broker)
        yield started
    finally:
        for broker in started:
            broker.stop()


@pytest.fixture(scope="module")
def pages(brokers: list[BrokerProcess]) -> list[Page]:
    """After a group has read half of what was produced."""
    servers = [broker.address for broker in brokers]
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics(
        [
            NewTopic("both", 1, 2),
            NewTopic("alone", replica_assignments={0: [0], 1: [1]}),
        ]
    )
    producer = KafkaProducer(bootstrap_servers=servers, acks="all")
    for partition in (*[TopicPartition("both", 0)] * RECORDS, *[MINE] * RECORDS, *[OTHERS] * RECORDS):
        producer.send(partition.topic, b"x" * 100, partition=partition.partition)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id="readers", enable_auto_commit=False)
    consumer.assign([MINE, OTHERS])
    consumer.seek_to_beginning()
    read = 0
    while read < 2 * RECORDS:
        read += sum(map(len, consumer.poll(1000).values()))
    consumer.commit({MINE: OffsetAndMetadata(10, "", -1), OTHERS: OffsetAndMetadata(70, "", -1)})
    consumer.close()
    admin.close()
    pages: list[Page] = []

    def show_all() -> bool:
        """The followers have caught up, and the coordinator has asked for the offsets of the other broker."""
        pages[:] = [scrape(metrics_url(broker)) for broker in brokers]
        lags = [page.get("kafka_consumergroup_lag_sum", consumergroup="readers", topic="alone") for page in pages]
        behind = [page.get("kafka_server_replicafetchermanager_maxlag", clientId="Replica") for page in pages]
        return 2 * RECORDS - 80 in lags and not any(behind)

    wait_until(show_all)
    return pages


def one_of(pages: list[Page], has: Callable[[Page], object]) -> Page:
    (page,) = [page for page in pages if has(page)]
    return page


def test_health_and_gzip(brokers: list[BrokerProcess]) -> None:
    url = metrics_url(brokers[0])
    for path, said in (("healthz", b"alive\n"), ("readyz", b"ready\n")):
        with urllib.request.urlopen(url.replace("metrics", path), timeout=HANG_SECONDS) as response:
            assert response.read() == said
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert Page(gzip.decompress(response.read()).decode()).value("process_open_fds") > 10


def test_health_has_an_address_without_metrics(zk_connect: str, tmp_path: Path) -> None:
    """From before its listeners are bound."""
    broker = BrokerProcess(tmp_path, zk_connect, kafkapy_health_listener="127.0.0.1:0")
    broker.start()
    await_started(broker)
    (url,) = re.findall(r"Health is served at (http\S+)/healthz", broker.log())
    await_ready(url)
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{url}/metrics", timeout=HANG_SECONDS)
    assert broker.log().index("Health is served") < broker.log().index("Registered broker")
    assert broker.stop() == 0


def test_partitions_and_replicas(pages: list[Page]) -> None:
    for page in pages:
        assert page.value("kafka_server_replicamanager_underreplicatedpartitions") == 0
        assert page.value("kafka_log_log_logendoffset", topic="both", partition="0") == RECORDS
        assert page.value("kafka_log_log_size", topic="both", partition="0") > RECORDS * 100
        assert page.value("kafka_brokers") == 2
    leader = one_of(pages, lambda p: p.get("kafka_topic_partition_leader", topic="both", partition="0") is not None)
    follower = pages[1 - pages.index(leader)]
    assert leader.value("kafka_topic_partition_in_sync_replica", topic="both", partition="0") == 2
    assert leader.value("kafka_topic_partition_current_offset", topic="both", partition="0") == RECORDS
    assert leader.value("kafka_server_brokertopicmetrics_replicationbytesout_total") > RECORDS * 100
    assert follower.value("kafka_server_brokertopicmetrics_replicationbytesin_total") > RECORDS * 100
    assert follower.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 0
    assert leader.value("kafka_network_requestmetrics_requests_total", request="FetchFollower") > 0


def test_transactions(pages: list[Page]) -> None:
    for page in pages:
        assert page.value("kafkapy_transactional_ids", state="Ongoing") == 0
        assert page.value("kafka_server_replicamanager_partitionswithlatetransactionscount") == 0


def test_the_controller(pages: list[Page]) -> None:
    controller = one_of(pages, lambda p: p.value("kafka_controller_kafkacontroller_activecontrollercount"))
    other = pages[1 - pages.index(controller)]
    assert controller.value("kafka_controller_kafkacontroller_activebrokercount") == 2
    assert controller.value("kafka_controller_kafkacontroller_globaltopiccount") == 3
    assert controller.value("kafka_controller_kafkacontroller_offlinepartitionscount") == 0
    assert controller.value("kafka_controller_controllerstats_topicchangerateandtimems_count") > 0
    assert other.value("kafka_controller_kafkacontroller_globaltopiccount") == 0
    assert controller.value("kafka_server_sessionexpirelistener_sessionstate", state="CONNECTED") == 1
    assert controller.value("kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms_count") > 0


def test_traffic(pages: list[Page]) -> None:
    assert sum(p.get("kafka_server_brokertopicmetrics_messagesin_total", topic="both") or 0 for p in pages) == RECORDS
    for page in pages:
        assert page.value("kafka_server_brokertopicmetrics_messagesin_total", topic="alone") == RECORDS
        assert page.value("kafka_server_brokertopicmetrics_bytesin_total", topic="alone") > RECORDS * 100
        assert page.value("kafka_server_brokertopicmetrics_bytesout_total", topic="alone") > RECORDS * 100
        assert page.value("kafka_server_brokertopicmetrics_messagesin_total", topic="") >= RECORDS


def test_requests(pages: list[Page]) -> None:
    for page in pages:
        count = page.value("kafka_network_requestmetrics_requests_total", request="Produce")
        assert count > 0
        assert page.value("kafka_network_requestmetrics_totaltimems_count", request="Produce") == count
        median = page.value("kafka_network_requestmetrics_totaltimems", request="Produce", quantile="0.5")
        assert 0 < median <= page.value("kafka_network_requestmetrics_totaltimems_sum", request="Produce")
        assert page.value("kafka_network_requestmetrics_requests_total", request="FetchConsumer") > 0
        assert 0 < page.value("kafka_network_socketserver_networkprocessoravgidle_percent") <= 1
        assert page.value("kafka_server_socket_server_metrics_connection_count") >= 1


def test_the_lag_of_a_group_also_where_the_coordinator_has_no_replica(pages: list[Page]) -> None:
    labels = {"consumergroup": "readers", "topic": "alone"}
    page = one_of(pages, lambda p: p.value("kafka_server_groupmetadatamanager_numgroups"))
    assert page.value("kafka_consumergroup_current_offset", partition="0", **labels) == 10
    assert page.value("kafka_consumergroup_lag", partition="0", **labels) == RECORDS - 10
    assert page.value("kafka_consumergroup_lag", partition="1", **labels) == RECORDS - 70
    assert page.value("kafka_consumergroup_lag_sum", **labels) == 2 * RECORDS - 80
    assert page.value("kafka_consumergroup_members", consumergroup="readers") == 0


def test_other_pages(brokers: list[BrokerProcess]) -> None:
    url = metrics_url(brokers[0])
    assert b"/metrics" in urllib.request.urlopen(url.removesuffix("metrics")).read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}/nothing")


def test_a_port_in_use_is_waited_for(tmp_path: Path, zk_connect: str) -> None:
    """It may belong to a predecessor that is about to end."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        broker = BrokerProcess(tmp_path, zk_connect, kafkapy_metrics_listener=address)
        broker.launch()
        deadline = time.monotonic() + 20
        while f"kafkapy.metrics.listener={address} is taken. Trying again" not in broker.log():
            assert time.monotonic() < deadline, broker.log()
            time.sleep(0.02)
        assert "Registered broker" not in broker.log()
    await_started(broker)
    assert scrape(metrics_url(broker)).value("process_open_fds") > 10
    assert broker.stop() == 0
