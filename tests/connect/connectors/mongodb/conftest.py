"""One server for the tests; each begins without documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.databases.mongodb import MongoServer


@pytest.fixture(scope="session")
def mongodb_process() -> Iterator[MongoServer]:
    with MongoServer.private() as server:
        yield server


@pytest.fixture
def mongodb(mongodb_process: MongoServer) -> MongoServer:
    for database in ("sink", "source", "many"):
        for name in mongodb_process.client[database].list_collection_names():
            mongodb_process.client[database][name].delete_many({})
    return mongodb_process
