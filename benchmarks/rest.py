"""Events a second through the HTTP proxy: `POST /events/{topic}`, acks=all.

    python -m benchmarks.rest --url http://localhost:8082 --pid PID_OF_THE_PROXY [--batch N] [--connections N] [--seconds S]

Each connection sends the next request when the last is answered. With --pid it also says how many events the proxy took for each
second of its CPU: what one core of it can do, whatever else runs on the machine.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

_TICKS = os.sysconf("SC_CLK_TCK")
EVENT = b'{"id": "0123456789abcdef", "type": "click", "page": "/shop/42", "user": {"id": "u-17"}, "at": 1700000000}'


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def send(url: str, topic: str, batch: int, end: float, sent: list[int]) -> None:
    """A plain socket: Python's HTTP client takes more CPU for a request than the proxy does."""
    where = urlsplit(url)
    kind = "application/json" if batch == 1 else "application/x-ndjson"
    body = b"\n".join([EVENT] * batch)
    head = f"POST /events/{topic} HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    request = head.encode() + body
    count = 0
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        while time.monotonic() < end:
            connection.sendall(request)
            answer = connection.recv(65_536)  # an answer is smaller than a segment
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise SystemExit(answer.decode())
            count += batch
    sent.append(count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://localhost:8082")
    parser.add_argument("--topic", default="benchmark-events")
    parser.add_argument("--batch", type=int, default=100, help="events in a request (NDJSON); 1: one each")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pid", type=int, help="the proxy's process")
    given = parser.parse_args()
    send(given.url, given.topic, given.batch, time.monotonic() + 1, [])
    sent: list[int] = []
    before = cpu_seconds(given.pid) if given.pid else 0.0
    begin = time.monotonic()
    arguments = (given.url, given.topic, given.batch, begin + given.seconds, sent)
    threads = [threading.Thread(target=send, args=arguments) for _ in range(given.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    if len(sent) < given.connections:
        return 1
    print(f"{sum(sent) / seconds:,.0f} events/s, {given.batch} in a request, {given.connections} connections")
    if given.pid:
        used = cpu_seconds(given.pid) - before
        print(f"{sum(sent) / used:,.0f} events for a second of the proxy's CPU ({used / seconds:.0%} of a core)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
