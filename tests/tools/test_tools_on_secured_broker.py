"""Every tool that is a client, against a broker with TLS, SASL and ACLs, by the configs that Apache's tools take."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafkapy.common.properties import dump
from kafkapy.testing import KafkaCluster
from kafkapy.testing.cluster_security import JAVA
from tests.tools.programs import main_of

pytestmark = pytest.mark.integration

Place = dict[str, str]
"""What stands for itself in command lines: {servers}, {admin} and {bob}, files of their configs, {dir}."""

COMMAND_LINES = {
    "acls": ("--bootstrap-server {servers} --command-config {admin} --list", "principal=User:alice"),
    "broker_api_versions": ("--bootstrap-server {servers} --command-config {admin}", "Produce(0)"),
    "cluster": ("cluster-id --bootstrap-server {servers} --config {admin}", "Cluster ID:"),
    "configs": (
        "--bootstrap-server {servers} --command-config {admin} --describe --entity-type users",
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=4096",
    ),
    "console_producer": ("--bootstrap-server {servers} --producer.config {admin} --topic tools", ""),
    "console_consumer": (
        "--bootstrap-server {servers} --consumer.config {admin} --topic tools --from-beginning --max-messages 1",
        "typed",
    ),
    "consumer_groups": ("--bootstrap-server {servers} --command-config {admin} --list", "console-consumer-"),
    "consumer_perf_test": (
        "--bootstrap-server {servers} --consumer.config {admin} --topic tools --messages 1 --from-latest --timeout 100",
        "start.time",
    ),
    "delete_records": (
        "--bootstrap-server {servers} --command-config {admin} --offset-json-file {dir}/offsets.json",
        "low_watermark: 0",
    ),
    "e2e_latency": ("{servers} tools 3 1 10 {admin}", "Percentiles"),
    "get_offsets": ("--bootstrap-server {servers} --command-config {admin} --topic tools", "tools:0:"),
    "leader_election": (
        "--bootstrap-server {servers} --admin.config {admin} --election-type preferred --topic tools --partition 0",
        "Valid replica already elected",
    ),
    "log_dirs": ("--bootstrap-server {servers} --command-config {admin} --describe", '"partition":"tools-0"'),
    "producer_perf_test": (
        "--topic tools --num-records 3 --record-size 10 --throughput -1 --producer-props bootstrap.servers={servers} "
        "--producer.config {admin}",
        "3 records sent",
    ),
    "reassign_partitions": (
        "--bootstrap-server {servers} --command-config {admin} --list",
        "No partition reassignments found.",
    ),
    "topics": ("--bootstrap-server {servers} --command-config {admin} --list", "tools"),
    "transactions": ("--bootstrap-server {servers} --command-config {admin} list", "TransactionalId"),
    "verifiable_consumer": (
        "--bootstrap-server {servers} --consumer.config {admin} --topic tools --group-id v --max-messages 1 "
        "--reset-policy earliest",
        "records_consumed",
    ),
    "verifiable_producer": (
        "--bootstrap-server {servers} --producer.config {admin} --topic tools --max-messages 1",
        "producer_send_success",
    ),
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    # It listens at addresses that its certificate does not name, too.
    with KafkaCluster(topics="tools:1", secured=True, host="0.0.0.0", advertised_host="127.0.0.1") as cluster:
        cluster.allow("alice", "READ", topic="tools")
        cluster.produce_many("tools", ["typed"])
        yield cluster


@pytest.fixture(scope="module")
def place(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Place:
    directory = tmp_path_factory.mktemp("configs")
    (directory / "offsets.json").write_text(
        json.dumps({"partitions": [{"topic": "tools", "partition": 0, "offset": 0}]})
    )
    found = {"servers": kafka.bootstrap_servers, "dir": str(directory)}
    for user in ("admin", "bob"):
        options = kafka.client_options(user, JAVA)
        del options["bootstrap.servers"]
        file = directory / f"{user}.properties"
        file.write_text(dump(options))
        found[user] = str(file)
    return found


def run(tool: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> SimpleNamespace:
    status = main_of(tool)(arguments)
    printed = capsys.readouterr()
    return SimpleNamespace(status=status, out=printed.out, err=printed.err)


@pytest.mark.parametrize("tool", COMMAND_LINES)
def test_a_tool(tool: str, place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"typed\n")))
    command, prints = COMMAND_LINES[tool]
    done = run(tool, command.format(**place).split(), capsys)
    assert (done.status, prints in done.out) == (0, True), (done.out, done.err)
    assert "ERROR" not in done.err


def test_one_who_may_not(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    bob = ["--bootstrap-server", place["servers"], "--command-config", place["bob"]]
    assert run("topics", [*bob, "--list"], capsys).out == "\n"
    listed = run("acls", [*bob, "--list"], capsys)
    assert (listed.status, "ClusterAuthorizationException" in listed.err) == (1, True)


def test_a_name_that_is_not_in_the_certificate(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Host names are checked, addresses too, unless the config says otherwise."""
    config = Path(place["dir"], "other.properties")
    config.write_text(Path(place["admin"]).read_text())
    elsewhere = place["servers"].replace("0.0.0.0", "127.0.0.2")
    arguments = ["--bootstrap-server", elsewhere, "--command-config", str(config), "--list"]
    refused = run("topics", arguments, capsys)
    assert (refused.status, "IP address mismatch, certificate is not valid for '127.0.0.2'" in refused.err) == (1, True)
    config.write_text(f"{config.read_text()}\nssl.endpoint.identification.algorithm=\n")
    assert run("topics", arguments, capsys).status == 0


def test_a_plaintext_client_on_a_port_of_tls(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    refused = run("topics", ["--bootstrap-server", place["servers"], "--list"], capsys)
    assert (refused.status, "answers in TLS; set security_protocol to SSL or SASL_SSL" in refused.err) == (1, True)
