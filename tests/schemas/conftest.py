from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkapy.schemas import SchemaRegistryClient
from tests.schemas.registry_server import RegistryServer, running_registry


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def registry(server: RegistryServer) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient(server.url, max_retries=0) as client:
        yield client
