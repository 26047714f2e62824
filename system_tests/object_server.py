"""A server with S3's interface that can be restarted and keeps its objects."""

from __future__ import annotations

from typing import Any

from kafkapy.common.free_ports import free_ports
from system_tests.services import HOST

_LOGIN = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}


class ObjectServer:
    """moto's server in this process, so that objects outlive a restart. A context manager; needs `moto` and `boto3`."""

    def __init__(self, bucket: str) -> None:
        (self._port,) = free_ports(1)
        self._bucket_name = bucket
        self.url = f"http://{HOST}:{self._port}"
        self._server: Any = None

    def start(self) -> None:
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(HOST, self._port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def objects(self) -> dict[str, bytes]:
        """Return all objects by their names."""
        return {each.key: each.get()["Body"].read() for each in self._bucket().objects.all()}

    def sink_config(self) -> dict[str, str]:
        """What a sink needs to write there."""
        return {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "s3.bucket.name": self._bucket_name,
            "s3.region": "us-east-1",
            "store.url": self.url,
            "aws.access.key.id": "test",
            "aws.secret.access.key": "test",
        }

    def _bucket(self) -> Any:
        import boto3

        return boto3.resource("s3", endpoint_url=self.url, **_LOGIN).Bucket(self._bucket_name)

    def __enter__(self) -> ObjectServer:
        self.start()
        self._bucket().create()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
