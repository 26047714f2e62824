"""What the kernel alone takes to serve consumers: CPU seconds a GB of a loop that does nothing but `sendfile`.

    python -m benchmarks.kernel [--rounds 5] [--gb 4]

From the page cache to a socket with the buffers that Kafka's defaults give broker and Java consumer: what is left of a broker
that sends records without copying them when its own code costs nothing. It varies with where the scheduler puts the two.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import socket
import statistics
import sys
import tempfile

from benchmarks.table import number

MB = 1 << 20
SEND_BUFFER = 102_400
"""`socket.send.buffer.bytes` of a broker"""
RECEIVE_BUFFER = 65_536
"""`receive.buffer.bytes` of a consumer"""
PIECE = MB
"""`max.partition.fetch.bytes`"""
FILE_SIZE = 256 * MB


def sendfile_seconds_per_gb(gb: float = 2.0) -> float:
    """CPU seconds that this process spends for each 10^9 bytes it sends to another one, which reads all."""
    with tempfile.TemporaryFile() as file, socket.socket() as listener, socket.socket() as reader:
        for _ in range(FILE_SIZE // MB):
            file.write(os.urandom(MB))
        file.flush()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        reader.connect(listener.getsockname())
        connection, _ = listener.accept()
        child = os.fork()
        if not child:
            connection.close()
            _read_all(reader)
        reader.close()
        try:
            with connection:
                before = _cpu_seconds()
                sent = _send(connection, file.fileno(), int(gb * 1e9))
                spent = _cpu_seconds() - before
        finally:
            os.waitpid(child, 0)
    return spent / sent * 1e9


def _read_all(connection: socket.socket) -> None:
    """The other process: it never returns."""
    try:
        buffer = bytearray(MB)
        while connection.recv_into(buffer):
            pass
    finally:
        os._exit(0)


def _send(connection: socket.socket, file: int, size: int) -> int:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setblocking(False)
    sent = 0
    with select.epoll() as poll:
        poll.register(connection, select.EPOLLOUT)
        while sent < size:
            position = sent % FILE_SIZE
            try:
                sent += os.sendfile(connection.fileno(), file, position, min(PIECE, FILE_SIZE - position))
            except BlockingIOError:
                poll.poll()
    return sent


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gb", type=float, default=4.0)
    args = parser.parse_args()
    samples = [sendfile_seconds_per_gb(args.gb) for _ in range(args.rounds)]
    print(f"sendfile: {number(statistics.median(samples))} s/GB ({number(min(samples))} to {number(max(samples))})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
