"""Messages between the supervisor and its processes: a JSON object in each line."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any


class JsonLines:
    """One end of a socket pair. Any thread may send; one thread reads.

    Args:
        connection: Connected, blocking.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, **message: Any) -> bool:
        """Send a message; return False if the connection is closed."""
        line = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                self._connection.sendall(line)
        except OSError:
            return False
        return True

    def messages(self) -> Iterator[dict[str, Any]]:
        """Iterate over received messages until the connection is closed."""
        with self._connection.makefile("rb") as lines:
            try:
                for line in lines:
                    yield json.loads(line)
            except (OSError, ValueError):
                return  # reset, or ended within a line

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
