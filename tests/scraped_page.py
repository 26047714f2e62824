"""Reads a page of metrics as Prometheus does."""

from __future__ import annotations

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.exposition_grammar import check
from tests.waiting import HANG_SECONDS

Labels = frozenset[tuple[str, str]]


class Page:
    """Invariant: it is as the format's grammar has it, so no two samples have the same name and labels."""

    def __init__(self, text: str) -> None:
        check(text)
        self.text = text
        self.families = list(text_string_to_metric_families(text))
        self.samples: dict[tuple[str, Labels], float] = {}
        for family in self.families:
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self.samples, key
                self.samples[key] = sample.value

    def value(self, name: str, /, **labels: str) -> float:
        return self.samples[name, frozenset(labels.items())]

    def get(self, name: str, /, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))


def scrape(url: str) -> Page:
    with urllib.request.urlopen(url, timeout=HANG_SECONDS) as response:
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        return Page(response.read().decode())
