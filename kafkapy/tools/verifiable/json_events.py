"""Events as JSON lines, in the form of Kafka's verifiable tools."""

from __future__ import annotations

import json
import sys
import time
from threading import Lock
from typing import Any

_lock = Lock()


def print_event(name: str, **fields: Any) -> None:
    """Print one line on stdout, from any thread: time, name, then the fields in their order."""
    event = {"timestamp": int(time.time() * 1000), "name": name, **fields}
    line = json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"
    with _lock:
        sys.stdout.write(line)
        sys.stdout.flush()
