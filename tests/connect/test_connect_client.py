"""`kafkapy.connect.connect_client`, against a server that answers what the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kafkapy.connect.connect_client import ConnectClient, ConnectRequestError


class Worker:
    """Answers requests by `answers`, in order, and keeps them in `requests`."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        worker = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parsed = json.loads(body) if body else None
                worker.requests.append((self.command, self.path, dict(self.headers), parsed))
                status, answer = worker.answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def test_requests_have_the_workers_form(worker: Worker) -> None:
    client = ConnectClient(f"{worker.url}/prefix/", ("alice", "secret"))
    worker.answers += [(201, b"{}"), (204, b""), (202, b"{}"), (200, b'{"offsets": []}'), (200, b'{"message": "m"}')]
    client.create("a b/ü", {"x": "1"}, "PAUSED")
    client.change_state("a", "pause")
    client.restart("a", tasks=True)
    assert client.offsets("a") == []
    assert client.alter_offsets("a", [{"partition": {}, "offset": None}]) == "m"
    assert [(method, path, body) for method, path, _, body in worker.requests] == [
        ("POST", "/prefix/connectors", {"name": "a b/ü", "config": {"x": "1"}, "initial_state": "PAUSED"}),
        ("PUT", "/prefix/connectors/a/pause", None),
        ("POST", "/prefix/connectors/a/restart?includeTasks=true&onlyFailed=false", None),
        ("GET", "/prefix/connectors/a/offsets", None),
        ("PATCH", "/prefix/connectors/a/offsets", {"offsets": [{"partition": {}, "offset": None}]}),
    ]
    assert worker.requests[0][2]["Authorization"] == "Basic YWxpY2U6c2VjcmV0"
    assert client.path("connectors", "a b/ü") == "/connectors/a%20b%2F%C3%BC"


def test_a_request_is_sent_again_while_the_group_rebalances(worker: Worker) -> None:
    pauses: list[float] = []
    client = ConnectClient(worker.url, sleep=pauses.append)
    conflict = b'{"error_code": 409, "message": "Cannot complete request momentarily due to stale configuration"}'
    worker.answers += [(409, conflict), (409, conflict), (200, b"{}")]
    client.put_config("a", {})
    assert len(worker.requests) == 3 and len(pauses) == 2


def test_it_gives_up_at_last(worker: Worker) -> None:
    client = ConnectClient(worker.url, timeout_s=0.5, sleep=lambda _: None)
    worker.answers += [(409, b'{"message": "a rebalance is expected"}')] * 3
    with pytest.raises(ConnectRequestError, match="a rebalance is expected") as caught:
        client.delete("a")
    assert caught.value.status == 409 and not worker.answers


def test_refusals(worker: Worker) -> None:
    client = ConnectClient(worker.url)
    worker.answers += [
        (409, b'{"message": "Connector a already exists"}'),
        (502, b"<html>"),
        (500, b""),
        (200, b"<html>"),
    ]
    for sentence in ("already exists", "<html>", "GET /connectors was answered with status 500", "is no JSON"):
        with pytest.raises(ConnectRequestError, match=sentence):
            client.get("connectors")


def test_a_worker_that_does_not_answer(worker: Worker) -> None:
    worker.server.socket.close()
    with pytest.raises(ConnectRequestError, match=rf"No worker answers at {worker.url}"):
        ConnectClient(worker.url).get()


@pytest.mark.parametrize("url", ["localhost:8083", "ftp://a", "http://"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ConnectRequestError, match="is no URL of a worker"):
        ConnectClient(url)
