"""What a dispatcher counts."""

from __future__ import annotations

from dataclasses import dataclass, fields

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
    """Counters from the start on; `running` and `queued` are of now."""

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
        """As a page for Prometheus."""
        lines = []
        label = group.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for each in fields(self):
            counter = each.name in _HELP
            name = f"kafkapy_dispatcher_{each.name}{'_total' if counter else ''}"
            about = _HELP.get(each.name, f"records that are {each.name} now")
            lines.append(f"# HELP {name} {about}")
            lines.append(f"# TYPE {name} {'counter' if counter else 'gauge'}")
            lines.append(f'{name}{{group="{label}"}} {getattr(self, each.name)}')
        return "\n".join(lines) + "\n"
