"""The counters of a dispatcher."""

from __future__ import annotations

from dataclasses import dataclass, fields

from kafkapy.common.prometheus_text import head, label, sample

_HELP = {
    "received": "records that came",
    "handled": "events whose handler has ended well",
    "ignored": "records of types that no handler wants",
    "failed_attempts": "attempts that have failed",
    "retried": "events that were tried more than once",
    "dead_lettered": "records that went to a dead-letter topic",
    "outputs": "events that handlers gave and that were sent",
    "commits": "commits of offsets",
    "failed_commits": "commits that have failed, to be repeated",
    "transactions": "transactions that were committed",
    "aborted_transactions": "transactions that were aborted, to be repeated",
    "handler_seconds": "time that handlers took",
}


@dataclass
class DispatcherMetrics:
    """Counters since the start; `running` and `queued` are current values."""

    received: int = 0
    handled: int = 0
    ignored: int = 0
    failed_attempts: int = 0
    retried: int = 0
    dead_lettered: int = 0
    outputs: int = 0
    commits: int = 0
    failed_commits: int = 0
    transactions: int = 0
    aborted_transactions: int = 0
    handler_seconds: float = 0.0
    running: int = 0
    queued: int = 0

    def prometheus(self, group: str) -> str:
        """The counters in Prometheus' text format."""
        labels = [label("group", group)]
        page = ""
        for each in fields(self):
            is_counter = each.name in _HELP
            name = f"kafkapy_dispatcher_{each.name}{'_total' if is_counter else ''}"
            doc = _HELP.get(each.name, f"records that are {each.name} now")
            page += head(name, "counter" if is_counter else "gauge", doc)
            page += sample(name, labels, getattr(self, each.name))
        return page
