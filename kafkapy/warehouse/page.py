"""What `run` serves: `/metrics` for Prometheus, and a page with pictures of completeness and freshness, in one piece."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kafkapy.common.prometheus_text import CONTENT_TYPE
from kafkapy.warehouse.audit import kept_report
from kafkapy.warehouse.metrics import RunProgress, freshness_seconds, prometheus
from kafkapy.warehouse.snapshot import State
from kafkapy.warehouse.warehouse import Warehouse

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b2733; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .2rem .6rem; text-align: right; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2), .good, .bad { text-align: left; }
tr:nth-child(even) { background: #f3f6f9; } .bad { color: #b3261e; font-weight: 600; } svg { width: 100%; height: auto; }
"""
_WIDTH, _HEIGHT = 900, 180
_HOURS = 72
"""So many of the last are shown."""


@contextmanager
def serve(warehouse: Warehouse, progress: RunProgress) -> Iterator[str | None]:
    """The page's URL; None if the configuration has no port for it. Raises OSError if the port is taken."""
    config = warehouse.config
    if not config.http_port:
        yield None
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            report = kept_report(warehouse)
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE, prometheus(warehouse.state, progress, report))
            elif self.path == "/":
                self._answer(200, "text/html; charset=utf-8", page(warehouse.state, progress, report))
            else:
                self._answer(404, "text/plain; charset=utf-8", "There is / and /metrics\n")

        def _answer(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer((config.http_host, config.http_port), Handler)
    thread = threading.Thread(target=server.serve_forever, name="warehouse-page", daemon=True)
    thread.start()
    try:
        yield f"http://{config.http_host}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def page(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> str:
    """HTML."""
    fresh = [(each.done_ms, found) for each in progress.batches() if (found := freshness_seconds(each)) is not None]
    parts = [
        "<h2>Completeness</h2>",
        completeness_picture(report["hours"]) + _audit_table(report) if report else "<p>No audit has been run yet.</p>",
        "<h2>Freshness</h2>",
        freshness_picture(fresh) if fresh else "<p>No batch has been committed by this process yet.</p>",
        "<h2>Tables</h2>",
        _tables(state),
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Warehouse</title>'
        f'<meta http-equiv="refresh" content="30"><style>{_STYLE}</style></head><body><h1>Warehouse</h1>'
        f"{''.join(parts)}</body></html>"
    )


def completeness_picture(hours: Sequence[Mapping[str, Any]]) -> str:
    """A bar an hour and topic: how much of what the log has is in tables."""
    if not hours:
        return "<p>The last audit found no hour.</p>"
    hours = sorted(hours, key=lambda each: (each["hour"], each["topic"]))[-_HOURS:]
    step = _WIDTH / len(hours)
    bars = []
    for index, hour in enumerate(hours):
        height = max(hour["completeness"] * (_HEIGHT - 40), 1)
        colour = "#b3261e" if hour["problems"] else "#2e7d5b"
        label = f"{hour['topic']} {hour['hour']}: {hour['completeness']:.4%} of {hour['events']} events"
        bars.append(
            f'<rect x="{index * step:.1f}" y="{_HEIGHT - 20 - height:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height:.1f}" fill="{colour}"><title>{escape(label)}</title></rect>'
        )
    return _picture("Completeness by hour", bars, hours[0]["hour"], hours[-1]["hour"], "100 %")


def freshness_picture(points: Sequence[tuple[int, float]]) -> str:
    """`points`: time (ms) and seconds."""
    first, last = points[0][0], points[-1][0]
    most = max(max(seconds for _, seconds in points), 1.0)
    places = [
        f"{(at - first) / max(last - first, 1) * (_WIDTH - 10) + 5:.1f},{_HEIGHT - 20 - seconds / most * (_HEIGHT - 40):.1f}"
        for at, seconds in points
    ]
    line = f'<polyline points="{" ".join(places)}" fill="none" stroke="#1f5fa8" stroke-width="2"/>'
    dots = [
        f'<circle cx="{each.partition(",")[0]}" cy="{each.partition(",")[2]}" r="3" fill="#1f5fa8"/>' for each in places
    ]
    return _picture("Freshness in seconds", [line, *dots], _time(first), _time(last), f"{most:.1f} s")


def _picture(title: str, shapes: Sequence[str], left: str, right: str, top: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<line x1="0" y1="{_HEIGHT - 20}" x2="{_WIDTH}" y2="{_HEIGHT - 20}" stroke="#99a"/>{"".join(shapes)}'
        f'<text x="0" y="{_HEIGHT - 4}" font-size="12">{escape(left)}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" font-size="12" text-anchor="end">{escape(right)}</text>'
        f'<text x="0" y="10" font-size="12">{escape(top)}</text></svg>'
    )


def _audit_table(report: Mapping[str, Any]) -> str:
    rows = []
    for hour in sorted(report["hours"], key=lambda each: (each["hour"], each["topic"]), reverse=True)[:_HOURS]:
        problems = "; ".join(hour["problems"])
        sent = "-" if hour["sent"] is None else hour["sent"]
        numbers = [sent, hour["records"], hour["events"], hour["rows"], hour["quarantined"]]
        end = f'<td class="bad">{escape(problems)}</td>' if problems else '<td class="good">complete</td>'
        rows.append([hour["topic"], hour["hour"], *numbers, end])
    names = ["topic", "hour", "sent", "records in the log", "events", "rows", "quarantined", ""]
    return f"<p>Audit of {_time(report['at_ms'])}</p>" + _table(names, rows)


def _tables(state: State) -> str:
    rows = []
    for table in sorted(state.tables):
        current = state.current_rows(table)
        hours = {hour for name, hour in state.generations if name == table} | current.keys()
        for hour in sorted(hours, reverse=True)[:24]:
            generation = state.generations.get((table, hour))
            found = [generation.rows, generation.dropped] if generation else ["-", "-"]
            rows.append([table, hour, *found, current.get(hour, 0)])
    return _table(["table", "hour", "rolled up", "came twice", "in current"], rows)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = ("".join(_cell(each) for each in row) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{each}</tr>' for each in cells)}</table>"


def _cell(value: Any) -> str:
    text = str(value)
    return text if text.startswith("<td") else f"<td>{escape(text)}</td>"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
