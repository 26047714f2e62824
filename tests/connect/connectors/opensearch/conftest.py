"""One node of OpenSearch for the tests; each takes an index of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.databases.opensearch import OpenSearchServer


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    with OpenSearchServer.private() as server:
        yield server
