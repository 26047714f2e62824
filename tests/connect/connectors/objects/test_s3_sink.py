"""The sink beside a server of S3's interface, with workers that are killed."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import s3fs
from moto.server import ThreadedMotoServer

from kafkapy.connect.connectors.objects.stores import ObjectStore
from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration

LOGIN = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_url: str) -> Any:
    found = boto3.resource("s3", endpoint_url=s3_url, **LOGIN).Bucket(f"b{uuid.uuid4().hex}")
    found.create()
    return found


def contents(bucket: Any) -> dict[str, bytes]:
    return {each.key: each.get()["Body"].read() for each in bucket.objects.all()}


@pytest.mark.parametrize("kill", [Kill("put", 2), Kill("pre_commit", 3)], ids=str)
def test_objects_have_each_record_once_whenever_a_worker_is_killed(s3_url: str, bucket: Any, kill: Kill) -> None:
    values = [b"%d" % i for i in range(200)]
    config = {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "topics": "orders",
        "s3.bucket.name": bucket.name,
        "s3.region": "us-east-1",
        "store.url": s3_url,
        "aws.access.key.id": "test",
        "aws.secret.access.key": "test",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "s3.compression.type": "gzip",
        "flush.size": "30",
        "rotate.idle.interval.ms": "300",
        "consumer.override.max.poll.records": "45",
    }

    def written() -> list[bytes]:
        texts = (gzip.decompress(data) for name, data in sorted(contents(bucket).items()) if "_cuts" not in name)
        return [line.strip(b'"') for text in texts for line in text.splitlines()]

    with KafkaCluster(topics="orders") as cluster:
        cluster.produce_many("orders", values)
        test = ConnectorTest(
            cluster.bootstrap_servers, {"connector.client.config.override.policy": "All"}, timeout_s=HANG_SECONDS
        )
        test.sink(config, values, written, [kill]).check(exactly_once=True)
    assert "topics/orders/partition=0/orders+0+0000000180.json.gz" in contents(bucket)


def store(s3_url: str, bucket: Any) -> ObjectStore:
    options = {"key": "test", "secret": "test", "endpoint_url": s3_url, "client_kwargs": {"region_name": "us-east-1"}}
    return ObjectStore(f"s3://{bucket.name}", options, 5 << 20)


def test_large_files_come_in_parts_and_nothing_is_listed(
    s3_url: str, bucket: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a bucket was listed")

    monkeypatch.setattr(s3fs.S3FileSystem, "_lsdir", refuse)
    path = tmp_path / "large"
    path.write_bytes(b"0123456789abcdef" * (12 << 16))
    files = store(s3_url, bucket)
    files.upload(str(path), "a/large")
    files.write(b"small", "a/small")
    assert (files.read("a/small"), files.read("a/none")) == (b"small", None)
    assert contents(bucket) == {"a/large": path.read_bytes(), "a/small": b"small"}


def test_an_upload_that_fails_leaves_nothing(
    s3_url: str, bucket: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(12 << 20))
    files = store(s3_url, bucket)
    call = s3fs.S3FileSystem.call_s3

    def fail(self: Any, method: str, *args: Any, **options: Any) -> Any:
        if method == "upload_part" and options.get("PartNumber") == 2:
            raise ConnectionError("no network")
        return call(self, method, *args, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "call_s3", fail)
    with pytest.raises(Exception, match="cannot be uploaded"):
        files.upload(str(path), "a/large")
    assert contents(bucket) == {}
    assert list(bucket.multipart_uploads.all()) == []
