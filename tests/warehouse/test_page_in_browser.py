"""The page as a browser lays it out: a page around it measures its pictures, and the browser prints what was measured."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafkapy.warehouse.audit import AuditedHour, AuditReport
from kafkapy.warehouse.lag import LagReport, WaitingRecords
from kafkapy.warehouse.metrics import RunProgress
from kafkapy.warehouse.page import page
from kafkapy.warehouse.snapshot import State
from tests.waiting import HANG_SECONDS
from tests.warehouse.records import HOUR_MS

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

MEASURE = """<!DOCTYPE html><iframe src="/page" style="width: 1000px; height: 1200px" onload="
  const own = this.contentDocument, place = each => { const b = each.getBoundingClientRect();
    return {top: b.top, bottom: b.bottom, left: b.left, right: b.right, fill: getComputedStyle(each).fill}; };
  const told = [...own.querySelectorAll('svg')].map(svg => ({
    title: svg.getAttribute('aria-label'), bars: [...svg.querySelectorAll('rect')].map(place),
    dots: [...svg.querySelectorAll('circle')].map(place), texts: [...svg.querySelectorAll('text')].map(place)}));
  const found = document.createElement('pre');
  found.textContent = JSON.stringify(told);
  document.body.append(found);"></iframe>"""


@contextmanager
def serving(texts: dict[str, str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = texts.get(self.path)
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def pictures(text: str, directory: Path) -> dict[str, Any]:
    """Of a page, by their titles: where bars, dots and texts are on the screen."""
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={directory}",
        "--virtual-time-budget=5000",
    ]
    with serving({"/": MEASURE, "/page": text}) as url:
        ran = subprocess.run(
            [str(BROWSER), *options, "--dump-dom", url], capture_output=True, text=True, timeout=HANG_SECONDS
        )
    found = re.search(r"<pre>(.*)</pre>", ran.stdout, re.DOTALL)
    assert found is not None, ran.stdout + ran.stderr
    return {each["title"]: each for each in json.loads(unescape(found[1]))}


def test_pictures_show_what_the_numbers_say(tmp_path: Path) -> None:
    whole = AuditedHour("t", "2026-11-24-00", records=10, rows=10)
    half = AuditedHour("t", "2026-11-24-01", records=10, rows=5, missing=5, gaps=["partition 0"])
    broken = AuditedHour("t", "2026-11-24-02", records=10, quarantined=10, reasons={"the record has no value": 10})
    progress = RunProgress()
    for number, seconds in enumerate((5, 20)):
        at = HOUR_MS + number * 60_000
        progress.add_lag(LagReport(at, (WaitingRecords("t", 0, 1, at - seconds * 1000),)))
    report = AuditReport(HOUR_MS, [half, whole, broken]).to_json()
    found = pictures(page(State(), progress, report), tmp_path)
    bars, texts = (found["Completeness of t by hour"][name] for name in ("bars", "texts"))
    heights = [bar["bottom"] - bar["top"] for bar in bars]
    assert heights[1] / heights[0] == pytest.approx(0.5, abs=0.02), "the first hour stands first"
    assert heights[2] == pytest.approx(heights[0], abs=1)
    assert bars[0]["right"] < bars[1]["left"]
    good, bad, poor = (tuple(int(part) for part in re.findall(r"\d+", bar["fill"])[:3]) for bar in bars)
    assert good[1] > good[0] and bad[0] > 2 * bad[1], "what is not complete is red"
    assert poor != good and poor[0] > poor[1] > poor[2], "what is in the quarantine is amber"
    for bar in bars:
        assert all(text["bottom"] <= bar["top"] or text["top"] >= bar["bottom"] for text in texts), "no text on a bar"
    first, second = found["Freshness in seconds"]["dots"]
    assert first["left"] < second["left"]
    assert first["top"] > second["top"], "20 s are above 5 s"
