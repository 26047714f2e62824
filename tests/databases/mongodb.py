"""A private server that speaks MongoDB's protocol, for tests: mongo-java-server, with its data in memory.

    with MongoServer.private() as server:
        server.client["db"]["collection"].insert_one({"a": 1})

Its change streams are those of one collection; MongoDB itself has more in its events.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tests.databases.java_server import JavaServer


class MongoServer(JavaServer):
    """Without authentication; each start begins without data."""

    program = "MongoNode.java"
    pom = "mongodb.xml"
    options = ("-Xmx128m",)

    @property
    def uri(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/?serverSelectionTimeoutMS=2000"

    @cached_property
    def client(self) -> Any:
        """A client that waits long."""
        from pymongo import MongoClient

        return MongoClient(f"mongodb://127.0.0.1:{self.port}", serverSelectionTimeoutMS=60_000)

    def is_ready(self) -> bool:
        from pymongo import MongoClient
        from pymongo.errors import PyMongoError

        try:
            client: Any = MongoClient(self.uri, serverSelectionTimeoutMS=200)
            with client:
                return bool(client.admin.command("ping"))
        except PyMongoError:
            return False
