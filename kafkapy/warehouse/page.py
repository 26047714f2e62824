"""HTTP server of `run`: `/metrics` for Prometheus, and a self-contained page with charts of completeness and
freshness."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kafkapy.common.bind_errors import cause_and_remedy
from kafkapy.common.prometheus_text import CONTENT_TYPE
from kafkapy.warehouse.audit import kept_report
from kafkapy.warehouse.config import ConfigError
from kafkapy.warehouse.metrics import RunProgress, prometheus
from kafkapy.warehouse.snapshot import State
from kafkapy.warehouse.warehouse import Warehouse

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1b2733; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .2rem .6rem; text-align: right; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2), .good, .bad, .poor { text-align: left; }
tr:nth-child(even) { background: #f3f6f9; } .bad { color: #b3261e; font-weight: 600; } .poor { color: #8a5200; }
svg { width: 100%; height: auto; }
"""
_WIDTH, _HEIGHT = 900, 180
_HOURS = 72
"""How many of the latest hours are shown."""


@contextmanager
def serve(warehouse: Warehouse, progress: RunProgress) -> Iterator[str | None]:
    """Start the server and return the page's URL; None if the configuration has no port. Raises ConfigError if it
    can't bind."""
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

    try:
        server = ThreadingHTTPServer((config.http_host, config.http_port), Handler)
    except OSError as problem:
        address = f"{config.http_host}:{config.http_port}"
        raise ConfigError(f"No page at {address}: {cause_and_remedy(problem, 'http_port')}") from None
    thread = threading.Thread(target=server.serve_forever, name="warehouse-page", daemon=True)
    thread.start()
    try:
        yield f"http://{config.http_host}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def page(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> str:
    """Render the page as HTML."""
    samples = progress.samples()
    parts = [
        _now(progress),
        "<h2>Completeness</h2>",
        _completeness(report) if report else "<p>No audit has been run yet.</p>",
        "<h2>Freshness</h2>",
        freshness_picture([(each.at_ms, each.freshness_seconds) for each in samples])
        if samples
        else "<p>This process has not looked at the topics yet.</p>",
        "<h2>Tables</h2>",
        _tables(state),
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Warehouse</title>'
        f'<meta http-equiv="refresh" content="30"><style>{_STYLE}</style></head><body><h1>Warehouse</h1>'
        f"{''.join(parts)}</body></html>"
    )


def _now(progress: RunProgress) -> str:
    """Render current errors and lags."""
    found = []
    for what, failure in sorted(progress.failures().items()):
        text = f"{what} has failed {failure.attempts} times in a row, at last at {_time(failure.at_ms)}: {failure.text}"
        found.append(f'<p class="bad">{escape(text)}</p>')
    lag = progress.lag
    if lag is not None:
        now = progress.time.milliseconds()
        absent = [[topic, '<td class="bad">there is no such topic</td>', ""] for topic in lag.absent]
        rows = [[topic, records, f"{age:.1f} s"] for topic, (records, age) in lag.by_topic(now).items()]
        found.append("<h2>Lag</h2>" + _table(["topic", "records that wait", "since"], [*rows, *absent]))
    return "".join(found)


def _completeness(report: Mapping[str, Any]) -> str:
    topics = sorted({hour["topic"] for hour in report["hours"]})
    pictures = [
        completeness_picture(topic, [each for each in report["hours"] if each["topic"] == topic]) for topic in topics
    ]
    lost = [f'<li class="bad">{escape(loss)}</li>' for loss in [*report.get("losses", ()), *report.get("gaps", ())]]
    losses = f"<h3>Never read</h3><ul>{''.join(lost)}</ul>" if lost else ""
    return (
        f"<p>Audit of {_time(report['at_ms'])}. Green are rows, amber is in the quarantine, red has a problem; what is missing "
        f"is blank.</p>{losses}{''.join(pictures) or '<p>It found no hour.</p>'}{_audit_table(report)}"
    )


def completeness_picture(topic: str, hours: Sequence[Mapping[str, Any]]) -> str:
    """Draw a bar for each hour: the share of expected events that is in tables, and the share in the quarantine."""
    hours = sorted(hours, key=lambda each: each["hour"])[-_HOURS:]
    step = _WIDTH / max(len(hours), 8)
    whole = _HEIGHT - 64
    shapes = []
    for index, hour in enumerate(hours):
        place, width = index * step, max(step - 2, 1)
        rows = hour["readable"] * whole
        quarantined = (hour["completeness"] - hour["readable"]) * whole
        problems = "; ".join(hour["problems"]) or "complete"
        label = f"{topic} {hour['hour']}: {hour['rows']} rows, {hour['quarantined']} in the quarantine: {problems}"
        bottom = _HEIGHT - 44
        for height, below, colour in (
            (rows, 0.0, "#b3261e" if hour["problems"] else "#2e7d5b"),
            (quarantined, rows, "#c77700"),
        ):
            if height > 0:
                shapes.append(
                    f'<rect x="{place:.1f}" y="{bottom - below - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
                    f'fill="{colour}"><title>{escape(label)}</title></rect>'
                )
        if index % math.ceil(len(hours) / 24) == 0:
            shapes.append(_text(place, _HEIGHT - 30, hour["hour"][11:]))
        if index == 0 or hour["hour"][:10] != hours[index - 1]["hour"][:10]:
            shapes.append(_text(place, _HEIGHT - 16, hour["hour"][:10]))
    return _picture(f"Completeness of {topic} by hour", shapes, _HEIGHT - 44, f"{topic}: 100 %")


def freshness_picture(points: Sequence[tuple[int, float]]) -> str:
    """Draw the freshness curve. `points`: pairs of time (ms) and lag in seconds."""
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
    ends = [_text(0, _HEIGHT - 4, _time(first)), _text(_WIDTH, _HEIGHT - 4, _time(last), "end")]
    return _picture("Freshness in seconds", [line, *dots, *ends], _HEIGHT - 20, f"{most:.1f} s")


def _picture(title: str, shapes: Sequence[str], base: float, top: str) -> str:
    """Assemble an SVG. `base`: y coordinate of the zero line."""
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<line x1="0" y1="{base}" x2="{_WIDTH}" y2="{base}" stroke="#99a"/>{"".join(shapes)}{_text(0, 10, top)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y}" font-size="12" text-anchor="{anchor}">{escape(text)}</text>'


def _audit_table(report: Mapping[str, Any]) -> str:
    rows = []
    for hour in sorted(report["hours"], key=lambda each: (each["hour"], each["topic"]), reverse=True)[:_HOURS]:
        sent = "-" if hour["sent"] is None else hour["sent"]
        numbers = [sent, hour["records"], hour["events"], hour["rows"], hour["quarantined"]]
        rows.append([hour["topic"], hour["hour"], *numbers, _verdict(hour)])
    names = ["topic", "hour", "sent", "records in the log", "events", "rows", "quarantined", ""]
    return _table(names, rows)


def _verdict(hour: Mapping[str, Any]) -> str:
    problems = "; ".join(hour["problems"])
    reasons = "".join(f"<br>{count} in the quarantine: {escape(reason)}" for reason, count in hour["reasons"].items())
    kind = "bad" if problems else "poor" if reasons else "good"
    return f'<td class="{kind}">{escape(problems or "complete")}{reasons}</td>'


def _tables(state: State) -> str:
    rows = []
    for table in sorted(state.tables):
        current = state.current_rows(table)
        hours = {hour for name, hour in state.generations if name == table} | current.keys()
        for hour in sorted(hours, reverse=True)[:24]:
            generation = state.generations.get((table, hour))
            found = [generation.rows, generation.dropped] if generation else ["-", "-"]
            rows.append([state.tables[table].view, hour, *found, current.get(hour, 0)])
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
