"""Connections that come and go: does a broker forget them?

    python -m benchmarks.churn [--rounds 10] [--connections 1500]

Each connection asks for metadata, produces, fetches in a session of its own, and is closed while a fetch of another partition
waits. The resident memory is told after each round; it must level off.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.brokers import KafkapyServer, Server
from benchmarks.run import topic, wait_until_it_serves
from benchmarks.stalls.client import FrameClient, batch, fetch_request, metadata_request, produce_request, values

TOPIC = "churn"


def _round(server: Server, connections: int) -> None:
    produce = produce_request(TOPIC, batch(values(1, 100)))
    fetch = fetch_request(TOPIC, 0, 1000)
    fetch.session_epoch = 0
    waiting = fetch_request(TOPIC, 0, 1000, (1,))
    waiting.max_wait_ms = 30_000
    opened = [FrameClient(server.port, client_id=f"churn-{n}") for n in range(connections)]
    for client in opened:
        client.ask(metadata_request(None), 9)
        client.ask(produce, 9)
        client.ask(fetch, 12)
        client.socket.sendall(client.frame(waiting, 12))
    for client in opened:
        client.socket.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Connections that come and go.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=1500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = KafkapyServer("churn", Path(directory), properties={"log.retention.bytes": 1 << 20})
        server.start()
        try:
            wait_until_it_serves(server)
            topic(server, TOPIC, 2)
            for number in range(options.rounds):
                begin = time.monotonic()
                _round(server, options.connections)
                took = time.monotonic() - begin
                time.sleep(1)
                print(f"round {number + 1}: {took:.1f} s, {server.resident_mb():.1f} MB", flush=True)
        finally:
            server.close()


if __name__ == "__main__":
    main()
