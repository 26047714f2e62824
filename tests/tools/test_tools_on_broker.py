"""The tools one after the other on a broker of our own, as a user types them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy import KafkaProducer
from kafkapy.admin.client import AdminClient
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.tools.transactions.transactions import main as transactions_main
from tests.broker_process import BrokerProcess
from tests.tools.programs import main_of
from tests.waiting import HANG_SECONDS, wait_until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration

Run = Callable[..., str]
ABORT = "--topic txn --partition 0 --start-offset 0"


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(
        tmp_path_factory.mktemp("broker"),
        f"{zookeeper}/tools-{time.time_ns()}",
        offsets_topic_num_partitions="2",
        transaction_state_log_num_partitions="2",
        transaction_state_log_replication_factor="1",
        transaction_state_log_min_isr="1",
    )
    broker.start()
    wait_until(lambda: has_controller(broker), broker.log)
    yield broker
    broker.stop()


def has_controller(broker: BrokerProcess) -> bool:
    try:
        with AdminClient(broker.address) as admin:
            admin.list_partition_reassignments()
    except KafkaError:
        return False
    return True


@pytest.fixture
def run(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a tool in this process; what it says on stdout, or on stderr if it fails, which must be as expected."""

    def run(tool: str, command: str, status: int = 0) -> str:
        arguments = [*command.split(), "--bootstrap-server", broker.address]
        assert main_of(tool)(arguments) == status, capsys.readouterr().err
        printed = capsys.readouterr()
        return printed.err if status else printed.out

    return run


def produce(broker: BrokerProcess, topic: str, count: int) -> None:
    builder = MemoryRecordsBuilder()
    for i in range(count):
        builder.append(int(time.time() * 1000), b"k", b"v%d" % i)
    data = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    )
    host, _, port = broker.address.partition(":")
    with BlockingClient(host, int(port)) as client:
        (result,) = client.call(request).responses
    assert [p.error_code for p in result.partition_responses] == [0]


def dump(broker: BrokerProcess, topic: str, decoder: str) -> str:
    """What kafka-dump-log shows of all partitions."""
    logs = sorted(map(str, broker.data.glob(f"{topic}-*/*.log")))
    command = [sys.executable, "-m", "kafkapy.tools.dump_log", "--files", ",".join(logs), decoder]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def test_a_topic_from_its_creation_to_its_deletion(broker: BrokerProcess, run: Run, tmp_path: Path) -> None:
    assert run("topics", "--create --topic t --partitions 2 --config segment.bytes=20000") == "Created topic t.\n"
    assert "Topic 't' already exists." in run("topics", "--create --topic t", status=1)
    run("topics", "--alter --topic t --partitions 3")
    described = run("topics", "--describe --topic t").splitlines()
    assert described[0].endswith("PartitionCount: 3\tReplicationFactor: 1\tConfigs: segment.bytes=20000")
    assert len(described) == 4

    run("configs", "--alter --topic t --add-config retention.ms=3600000")
    assert "retention.ms=3600000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG" in run(
        "configs", "--describe --topic t"
    )
    run("configs", "--alter --topic t --delete-config retention.ms")
    assert "retention.ms" not in run("configs", "--describe --topic t")

    produce(broker, "t", 10)
    assert run("get_offsets", "--topic t") == "t:0:10\nt:1:0\nt:2:0\n"
    (tmp_path / "offsets.json").write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 4}]}')
    assert "partition: t-0\tlow_watermark: 4" in run("delete_records", f"--offset-json-file {tmp_path}/offsets.json")
    assert run("get_offsets", "--topic t --time earliest --partitions 0") == "t:0:4\n"
    assert '"partition":"t-0","size":' in run("log_dirs", "--describe --topic-list t")

    run("topics", "--delete --topic t")
    wait_until(lambda: "t" not in run("topics", "--list").split())
    assert "Topic 't' does not exist as expected" in run("topics", "--delete --topic t", status=1)


def test_a_group_from_its_first_offset_to_its_deletion(broker: BrokerProcess, run: Run) -> None:
    run("topics", "--create --topic offsets --partitions 1")
    produce(broker, "offsets", 10)
    run("consumer_groups", "--reset-offsets --group g --topic offsets --to-latest --execute")
    assert run("consumer_groups", "--list") == "g\n"
    assert "Empty" in run("consumer_groups", "--list --state")
    run("consumer_groups", "--reset-offsets --group g --topic offsets:0 --shift-by -3 --execute")
    row = run("consumer_groups", "--describe --group g").splitlines()[-1].split()
    assert row[:6] == ["g", "offsets", "0", "7", "10", "3"]
    assert (
        run("consumer_groups", "--reset-offsets --group g --all-topics --to-current --export --dry-run")
        == "offsets,0,7\n"
    )
    assert "Successful" in run("consumer_groups", "--delete-offsets --group g --topic offsets")
    run("consumer_groups", "--reset-offsets --group g --topic offsets --to-earliest --execute")
    assert "was successful" in run("consumer_groups", "--delete --group g")
    assert "Error: Consumer group 'g' does not exist." in run("consumer_groups", "--describe --group g", status=1)
    dumped = dump(broker, "__consumer_offsets", "--offsets-decoder")
    assert 'key: {"type":"1","data":{"group":"g","topic":"offsets","partition":0}} payload: <DELETE>' in dumped


def test_the_cluster(broker: BrokerProcess, run: Run) -> None:
    assert run("cluster", "cluster-id").startswith("Cluster ID: ")
    assert run("broker_api_versions", "").startswith(f"{broker.address} (id: 0 rack: null) -> (\n\tProduce(0): 0 to 11")
    run("configs", "--alter --broker-defaults --add-config log.cleaner.threads=2")
    wait_until(lambda: "log.cleaner.threads=2 sensitive=false" in run("configs", "--describe --broker-defaults"))
    assert "There is no live broker with id 7" in run("configs", "--describe --broker 7", status=1)


def test_a_transaction_is_seen_and_ended(broker: BrokerProcess, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def transactions(command: str) -> list[list[str]]:
        assert transactions_main(["--bootstrap-server", broker.address, *command.split()]) == 0, capsys.readouterr().err
        header, *rows = capsys.readouterr().out.splitlines()
        assert header
        return [row.split() for row in rows]

    run("topics", "--create --topic txn --partitions 1")
    with KafkaProducer(bootstrap_servers=broker.address, transactional_id="payments") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("txn", b"v").get(HANG_SECONDS)
        ((_, coordinator, producer_id, state),) = transactions("list")
        assert (coordinator, state) == ("0", "Ongoing")
        assert transactions("list --duration-filter 3600000") == []
        (described,) = transactions("describe --transactional-id payments")
        assert described[:6] == ["0", "payments", producer_id, "0", "Ongoing", "60000"]
        assert described[8] == "txn-0"
        (open_producer,) = transactions("describe-producers --topic txn --partition 0")
        assert (open_producer[0], open_producer[5]) == (producer_id, "0")
        assert transactions("find-hanging --topic txn --max-transaction-timeout 0") == []  # its coordinator knows it
        assert transactions_main([*f"--bootstrap-server {broker.address} abort".split(), *ABORT.split()]) == 0
        assert transactions("describe-producers --topic txn --partition 0")[0][5] == "None"
        assert transactions_main([*f"--bootstrap-server {broker.address} abort".split(), *ABORT.split()]) == 1
        sentence = "Could not find any open transactions starting at offset 0 on partition txn-0\n"
        assert capsys.readouterr().err == sentence
        producer.abort_transaction()
    dumped = dump(broker, "__transaction_state", "--transaction-log-decoder")
    assert f"key: transaction_metadata::transactionalId=payments payload: producerId:{producer_id}," in dumped
    assert "state=Ongoing,partitions=[txn-0]" in dumped
