"""A private node of OpenSearch for tests.

with OpenSearchServer.private() as server:
    server.request("GET", "/")
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from tests.databases.java_server import JavaServer


class OpenSearchServer(JavaServer):
    """One node, without security and plugins."""

    program = "OpenSearchNode.java"
    pom = "opensearch.xml"
    options = ("-Xmx512m", "-Dopensearch.networkaddress.cache.ttl=60")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the JSON of the answer; None: there is no such thing."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"Content-Type": "application/json"} if data else {}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise AssertionError(f"{error.code}: {error.read().decode()}") from error

    def documents(self, index: str) -> dict[str, Any]:
        """All documents of an index by their ids, also those written last."""
        self.request("POST", f"/{index}/_refresh")
        found = self.request("POST", f"/{index}/_search", {"size": 10_000, "query": {"match_all": {}}})
        return {} if found is None else {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}

    def is_ready(self) -> bool:
        try:
            return self.request("GET", "/_cluster/health") is not None
        except (OSError, AssertionError):
            return False
