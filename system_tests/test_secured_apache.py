"""TLS and SASL of whatever speaks to a broker, against Apache Kafka's: they share one connection, and each is tried."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.apache import java
from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.metadata import Address
from kafkapy.clients.node_client import NodeClient
from kafkapy.common.broker import Broker
from kafkapy.common.free_ports import free_ports
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.to_arrow import to_arrow
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.errors import SaslAuthenticationFailedError
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.spark.offset_reader import OffsetReader
from kafkapy.spark.options import Mode, sink_options, source_options
from kafkapy.spark.partition_reader import KafkaInputPartition, PartitionReader
from kafkapy.spark.writer import write_task

pytestmark = pytest.mark.long

MODULE = "org.apache.kafka.common.security"
PLAIN, SCRAM = "PLAIN", "SCRAM-SHA-512"
LOGIN_MODULES = {PLAIN: f"{MODULE}.plain.PlainLoginModule", SCRAM: f"{MODULE}.scram.ScramLoginModule", "": ""}
WAYS = [("SASL_PLAINTEXT", PLAIN), ("SASL_PLAINTEXT", SCRAM), ("SASL_SSL", PLAIN), ("SASL_SSL", SCRAM), ("SSL", "")]


@dataclass
class SecuredBroker:
    """Apache Kafka with a listener for each protocol. `admin` may do everything."""

    directory: Path
    jars: str
    ports: dict[str, int]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def java(self, name: str, *args: str) -> subprocess.Popen[bytes]:
        log4j = f"-Dlog4j.configuration=file:{self.directory}/log4j.properties"
        command = [java(), "-Xmx384m", log4j, "-cp", self.jars, *args]
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=subprocess.STDOUT)

    def start(self) -> None:
        self._make_certificates()
        (self.directory / "log4j.properties").write_text(
            "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        )
        (self.directory / "zk.properties").write_text(
            f"dataDir={self.directory}/zk\nclientPort={self.ports['zk']}\nadmin.enableServer=false\n"
        )
        (self.directory / "server.properties").write_text(self._config())
        self.processes.append(self.java("zk", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zk.properties"))
        wait_for_port(self.ports["zk"])
        zookeeper = f"127.0.0.1:{self.ports['zk']}"
        user = ["--alter", "--entity-type", "users", "--entity-name", "admin"]
        secret = ["--add-config", f"{SCRAM}=[password=admin-secret]"]
        made = self.java("scram", "kafka.admin.ConfigCommand", "--zookeeper", zookeeper, *user, *secret)
        assert made.wait(60) == 0
        self.processes.append(self.java("kafka", "kafka.Kafka", "server.properties"))
        wait_for_port(self.ports["SASL_SSL"])

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(30)

    def _config(self) -> str:
        lines = [
            "broker.id=0",
            f"log.dirs={self.directory}/data",
            f"zookeeper.connect=127.0.0.1:{self.ports['zk']}",
            "offsets.topic.replication.factor=1",
            "listeners="
            + ",".join(f"{name}://127.0.0.1:{self.ports[name]}" for name in ("SASL_PLAINTEXT", "SASL_SSL", "SSL")),
            "security.inter.broker.protocol=SASL_PLAINTEXT",
            "sasl.mechanism.inter.broker.protocol=PLAIN",
            f"sasl.enabled.mechanisms={PLAIN},{SCRAM}",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={self.directory}/store.pem",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.directory}/ca.pem",
            "listener.name.ssl.ssl.client.auth=required",
            "connections.max.reauth.ms=4000",
            "authorizer.class.name=kafka.security.authorizer.AclAuthorizer",
            "super.users=User:admin;User:CN=kafkapy",
        ]
        login = 'required username="admin" password="admin-secret"'
        for listener in ("sasl_plaintext", "sasl_ssl"):
            name = f"listener.name.{listener}"
            lines.append(
                f'{name}.plain.sasl.jaas.config={MODULE}.plain.PlainLoginModule {login} user_admin="admin-secret";'
            )
            lines.append(f"{name}.scram-sha-512.sasl.jaas.config={MODULE}.scram.ScramLoginModule {login};")
        return "\n".join(lines) + "\n"

    def _make_certificates(self) -> None:
        def openssl(*args: str) -> None:
            subprocess.run(["openssl", *args], cwd=self.directory, check=True, capture_output=True)

        names = self.directory / "names"
        names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
        new_key = ["-newkey", "rsa:2048", "-nodes"]
        openssl("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *new_key, "-subj", "/CN=kafkapy", "-keyout", "own.key", "-out", "own.csr")
        sign = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        openssl("x509", "-req", "-in", "own.csr", *sign, "-out", "own.pem")
        openssl("pkcs8", "-topk8", "-nocrypt", "-in", "own.key", "-out", "own.p8")
        parts = [self.directory / name for name in ("own.p8", "own.pem", "ca.pem")]
        (self.directory / "store.pem").write_text("".join(part.read_text() for part in parts))

    def server(self, protocol: str) -> str:
        return f"127.0.0.1:{self.ports[protocol]}"

    def client_options(self, protocol: str, mechanism: str) -> dict[str, Any]:
        options: dict[str, Any] = {"bootstrap_servers": self.server(protocol), "security_protocol": protocol}
        if mechanism:
            options |= {"sasl_mechanism": mechanism, "sasl_plain_username": "admin"}
            options["sasl_plain_password"] = "admin-secret"
        if protocol.endswith("SSL"):
            options["ssl_cafile"] = str(self.directory / "ca.pem")
        if protocol == "SSL":
            options["ssl_certfile"] = str(self.directory / "store.pem")
        return options

    def spark_options(self, protocol: str, mechanism: str) -> dict[str, str]:
        options = {"kafka.bootstrap.servers": self.server(protocol), "kafka.security.protocol": protocol}
        if mechanism:
            login = f'{LOGIN_MODULES[mechanism]} required username="admin" password="admin-secret";'
            options |= {"kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}
        for store, file in (("truststore", "ca.pem"), ("keystore", "store.pem")):
            if protocol == "SSL" or (protocol == "SASL_SSL" and store == "truststore"):
                options |= {f"kafka.ssl.{store}.type": "PEM", f"kafka.ssl.{store}.location": str(self.directory / file)}
        return options

    def config_of_other_broker(self, protocol: str, mechanism: str) -> KafkaConfig:
        """Of a broker in the same cluster, that speaks to this one in that way."""
        properties = {
            "broker.id": "1",
            "zookeeper.connect": "unused:2181",
            "listeners": f"{protocol}://127.0.0.1:9092",
            "security.inter.broker.protocol": protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.directory / "ca.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / "store.pem"),
            "sasl.enabled.mechanisms": mechanism or "GSSAPI",
            "sasl.mechanism.inter.broker.protocol": mechanism or "GSSAPI",
            f"listener.name.{protocol.lower()}.{mechanism.lower()}.sasl.jaas.config": (
                f'{LOGIN_MODULES[mechanism]} required username="admin" password="admin-secret";'
            ),
        }
        return KafkaConfig(properties)


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"nobody listens on {port}")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    from benchmarks.apache import jars

    try:
        classpath = jars()
    except (SystemExit, subprocess.CalledProcessError) as error:
        pytest.skip(f"Apache Kafka can't be had: {error}")
    ports = dict(zip(("zk", "SASL_PLAINTEXT", "SASL_SSL", "SSL"), free_ports(4), strict=True))
    broker = SecuredBroker(tmp_path_factory.mktemp("secured"), classpath, ports)
    try:
        broker.start()
        with KafkaProducer(**broker.client_options("SASL_SSL", SCRAM)) as producer:
            for i in range(100):
                producer.send("t", b"%d" % i, partition=0)
            producer.flush()
        yield broker
    finally:
        broker.stop()


@pytest.fixture(params=WAYS, ids=["-".join(filter(None, way)) for way in WAYS])
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


def test_consumers(broker: SecuredBroker, way: tuple[str, str]) -> None:
    with KafkaConsumer(**broker.client_options(*way), auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition("t", 0)])
        assert sum(len(records) for records in consumer.poll(10_000).values()) == 100


def test_range_reads(broker: SecuredBroker, way: tuple[str, str]) -> None:
    table = to_arrow(broker.client_options(*way), "t")
    assert table.column("value").to_pylist() == [b"%d" % i for i in range(100)]


def test_spark_plans_reads_and_writes(broker: SecuredBroker, way: tuple[str, str]) -> None:
    given = broker.spark_options(*way)
    options = source_options({**given, "subscribe": "t"}, Mode.BATCH)
    planned = OffsetReader(options)
    try:
        partition = TopicPartition("t", 0)
        assert planned.resolve(options.end, starting=False)[partition] == 100
        task = KafkaInputPartition((OffsetRange(partition, 0, 100),))
        batches = PartitionReader(options).read(task)
        assert sum(batch.num_rows for batch in batches) == 100
    finally:
        planned.close()
    topic = f"written-{way[0]}-{way[1]}"
    write_task(iter([pa.record_batch({"value": [b"x", b"y"]})]), sink_options({**given, "topic": topic}))
    assert to_arrow(broker.client_options(*way), topic).column("value").to_pylist() == [b"x", b"y"]


def test_whoever_asks_and_waits(broker: SecuredBroker, way: tuple[str, str]) -> None:
    host, port = broker.server(way[0]).split(":")
    with BlockingClient(host, int(port), ClientConfig(**broker.client_options(*way))) as client:
        assert [b.node_id for b in client.call(MetadataRequest()).brokers] == [0]
        time.sleep(5)  # the session is renewed before the next request: the broker ends those that are not (KIP-368)
        assert [b.node_id for b in client.call(MetadataRequest()).brokers] == [0]


def test_followers(broker: SecuredBroker, way: tuple[str, str]) -> None:
    config = inter_broker_client_config(broker.config_of_other_broker(*way), "broker-1-fetcher-0", 30_000)
    host, port = broker.server(way[0]).split(":")
    driver = CallerDriver()
    try:
        client = NodeClient(driver, config, lambda: Address(host, int(port)))
        partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1 << 20)
        topics = [FetchRequest.FetchTopic(topic="t", partitions=[partition])]
        request = FetchRequest(replica_id=-1, max_bytes=1 << 20, topics=topics)
        answer = driver.run(client.call, request, 12)
        assert answer.responses[0].partitions[0].high_watermark == 100
    finally:
        driver.close()


def test_controller_channels(broker: SecuredBroker, way: tuple[str, str]) -> None:
    client_config = inter_broker_client_config(broker.config_of_other_broker(*way), "1", 30_000)
    manager = ControllerChannelManager(ControllerConfig(1, client=client_config))
    host, port = broker.server(way[0]).split(":")
    client = manager._blocking_client(Broker(0, (), None), host, int(port))
    try:
        assert [b.node_id for b in client.call(MetadataRequest(topics=[]), 9).brokers] == [0]
    finally:
        client.close()


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM])
def test_a_wrong_password(broker: SecuredBroker, mechanism: str) -> None:
    options = broker.client_options("SASL_SSL", mechanism) | {"sasl_plain_password": "wrong"}
    host, port = broker.server("SASL_SSL").split(":")
    with pytest.raises(SaslAuthenticationFailedError):
        BlockingClient(host, int(port), ClientConfig(**options)).connect()
    with pytest.raises(KafkaError, match=r"(?i)auth"):
        to_arrow(options, "t")
