"""HTTP server of `kafkapy-streams run --listen`: /ready, /live and /metrics."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.common.prometheus_text import CONTENT_TYPE, head, label, sample
from kafkapy.tools.common.command_line import ToolError

_JSON: Final = "application/json"
_IDLE_SECONDS: Final = 10

Samples = Sequence[tuple[str, str, str, Mapping[str, str], float]]
"""Name, kind, sentence, labels, value."""


class Supervised(Protocol):
    """The part of the supervisor that the page uses."""

    def states(self) -> dict[int, str]:
        """The state of each process, by its number."""

    def samples(self) -> Samples:
        """All metrics, of all processes."""


@contextmanager
def serve(address: str | None, supervisor: Supervised) -> Iterator[str | None]:
    """Serve the page in the background.

    Args:
        address: host:port; None: there is no page.
        supervisor: The source of states and metrics.

    Raises:
        ToolError: It cannot listen at the address.
    """
    if address is None:
        yield None
        return

    class Handler(BaseHTTPRequestHandler):
        timeout = _IDLE_SECONDS

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE, metrics_text(supervisor.samples()))
            elif self.path == "/ready":
                states = supervisor.states()
                ready = all(state == "RUNNING" for state in states.values())
                self._answer(200 if ready else 503, _JSON, json.dumps({"ready": ready, "processes": states}))
            elif self.path == "/live":
                self._answer(200, _JSON, json.dumps({"live": True}))
            else:
                self._answer(404, "text/plain; charset=utf-8", "There is /ready, /live and /metrics\n")

        def _answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ToolError(f"--listen: {address!r} is no host:port")
    try:
        server = ThreadingHTTPServer((host, int(port)), Handler)
    except (OSError, OverflowError) as problem:
        raise ToolError(f"Nothing can be served at {address}: {cause_and_remedy(problem, '--listen')}") from None
    thread = threading.Thread(target=server.serve_forever, name="streams-page", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def metrics_text(samples: Samples) -> str:
    """Samples in Prometheus's text format, those of one metric together."""
    families: dict[str, list[str]] = {}
    for name, kind, doc, labels, value in samples:
        lines = families.setdefault(name, [head(name, kind, doc)])
        lines.append(sample(name, _labels(labels), value))
    return "".join(line for lines in families.values() for line in lines)


def _labels(labels: Mapping[str, str]) -> Iterable[str]:
    return [label(name, value) for name, value in labels.items()]
