"""From real files to a Spark table with one command.

A broker starts on a free port with a data directory of its own, and the ZooKeeper that it needs in its process. Every line of
the input files goes into a topic;
a consumer group of two reads it back and commits; one member is killed and the other takes over; an application of Streams
counts lines while they come; Spark counts the topic through the connector. Everything is compared with a direct count of the
files.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from examples.quickstart.counting import COUNTS, LINES, Counting
from examples.quickstart.picture import draw, table
from examples.quickstart.servers import Servers, step
from examples.quickstart.sharing import Group, send
from examples.quickstart.source import (
    Digests,
    QuickstartError,
    SourceFile,
    combined,
    count_directly,
    given,
    standard_library,
)
from examples.quickstart.spark_job import IDENTIFIERS, PACKAGES, count_with_spark
from kafkapy.protocol.errors import KafkaError

TOPIC = LINES
GROUP = "quickstart-readers"
PARTITIONS = 4
PICTURE = "quickstart.png"
_SPACE_BESIDE_THE_INPUT = 256 << 20
_NO_SPACE = 1 << 20
_MAKE_ROOM = "Free some space, or set TMPDIR to a directory that has it."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    _take_signals(_interrupt)
    try:
        return _run(given(arguments.files) or standard_library(), arguments)
    except (QuickstartError, KafkaError) as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # nobody reads on; Python flushes stdout at exit once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"quickstart: {error}. {_MAKE_ROOM if error.errno in _FULL else ''}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quickstart: interrupted", file=sys.stderr)
        return 130


def _take_signals(action: Callable[..., None] | signal.Handlers) -> None:
    """Ctrl-C, `kill`, and the end of the terminal; those that whoever started this has switched off stay so."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, action)


def _interrupt(*_: object) -> None:
    _take_signals(signal.SIG_IGN)  # the way out is short, and it must be gone to its end
    raise KeyboardInterrupt


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise argparse.ArgumentTypeError(f"{text} is no port: ports are 1 to 65535")
    return port


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quickstart.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="input (default: the source of Python's standard library)"
    )
    parser.add_argument("--port", type=_port, help="the broker's port (default: a free one)")
    parser.add_argument("--keep", action="store_true", help="leave the servers running")
    parser.add_argument(
        "--zookeeper", action="store_true", help="Apache ZooKeeper beside the broker, in place of the embedded one"
    )
    return parser


def _run(files: list[SourceFile], arguments: argparse.Namespace) -> int:
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-quickstart-"))
    _check_space(files, directory)
    servers = Servers(directory, arguments.port, arguments.zookeeper)
    ok = False
    try:
        servers.start()
        ok = _main_job(files, servers)
    except (QuickstartError, KafkaError) as error:
        if shutil.disk_usage(directory).free < _NO_SPACE:
            raise QuickstartError(f"{directory} has no space left. {_MAKE_ROOM}") from error
        raise
    finally:
        if arguments.keep and ok:
            print(_how_to_go_on(servers, True))
        else:
            _take_signals(signal.SIG_IGN)  # Spark had them
            servers.stop()
            print(_how_to_go_on(servers, False))
    return 0 if ok else 1


def _check_space(files: list[SourceFile], directory: Path) -> None:
    needed = 2 * sum(file.path.stat().st_size for file in files) + _SPACE_BESIDE_THE_INPUT
    free = shutil.disk_usage(directory).free
    if free < needed:
        directory.rmdir()
        raise QuickstartError(
            f"{directory.parent} has {free >> 20} MB free, and {needed >> 20} MB are needed. " + _MAKE_ROOM
        )


def _main_job(files: list[SourceFile], servers: Servers) -> bool:
    step(f"Creating topic {TOPIC} with {PARTITIONS} partitions")
    servers.tool("topics", "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
    servers.tool("topics", "--create", "--topic", COUNTS, "--partitions", "1", "--replication-factor", "1")
    step("Starting an application of Streams, which counts the lines of each file while they come")
    counting = Counting(servers)
    try:
        sent, received = _share(files, servers)
        counting.wait_for(_lines_of(sent))
    finally:
        counting.close()
    counted = counting.counts == {name: lines for name, (lines, _) in sent.items()}
    print(f"  sent      {_lines_of(sent):>10,} lines  sha256 {combined(sent)}")
    print(f"  received  {_lines_of(received):>10,} lines  sha256 {combined(received)}")
    print("  identical" if sent == received else "  THEY DIFFER")
    print(
        f"  Streams   {sum(counting.counts.values()):>10,} lines  {'the same in each file' if counted else 'NOT THE SAME'}"
    )
    return _count(files, servers) and sent == received and counted


def _share(files: list[SourceFile], servers: Servers) -> tuple[Digests, Digests]:
    """Producer and consumer group: return what was sent, and what the group read."""
    step(f"Starting a consumer group of two ({GROUP})")
    group = Group(servers.bootstrap, TOPIC, GROUP, 2)
    try:
        group.wait_for_shares(PARTITIONS, (1, 2))
        for number in (1, 2):
            print(f"  member {number} has partitions {group.assigned[number]}")
        few = min(max(1, len(files) // 10), len(files) - 1)
        most, rest = files[: len(files) - few], files[len(files) - few :]
        step(f"Producing the lines of {_files(most)}, which the group reads")
        sent = _send(most, servers)
        group.wait_for(_lines_of(sent))
        received = group.report(1)
        print(f"  member 1 has read {_lines_of(received):,} lines of {_files(received)}")
        servers.tool("consumer_groups", "--describe", "--group", GROUP)

        step("Killing member 1")
        begin = time.monotonic()
        pid = group.kill(1)
        print(f"  process {pid} is gone (kill -9); its session ends, the group rebalances")
        group.wait_for_shares(PARTITIONS, (2,))
        print(f"  after {time.monotonic() - begin:.1f} s member 2 has partitions {group.assigned[2]}")
        if rest:
            step(f"Producing the lines of {_files(rest)} more, for member 2 alone")
            sent.update(_send(rest, servers))
            group.wait_for(_lines_of(sent))
        received.update(group.report(2))
        servers.tool("consumer_groups", "--describe", "--group", GROUP)
    finally:
        group.close()
    return sent, received


def _send(files: list[SourceFile], servers: Servers) -> Digests:
    begin = time.monotonic()
    sent = send(files, servers.bootstrap, TOPIC)
    seconds = time.monotonic() - begin
    count = _lines_of(sent)
    print(f"  {count:,} lines sent and acknowledged in {seconds:.1f} s ({count / seconds:,.0f} a second)")
    return sent


def _count(files: list[SourceFile], servers: Servers) -> bool:
    """The Spark job; does it count what a direct count finds?"""
    directory = servers.directory
    step('Counting with Spark: spark.read.format("kafkapy")')
    begin = time.monotonic()
    counts = count_with_spark(servers.bootstrap, TOPIC, directory)
    print(f"  {time.monotonic() - begin:.1f} s, Spark's start included\n")
    print(table(counts))
    draw(counts, directory / PICTURE)
    expected = count_directly(files)
    same = counts == expected
    lines = sum(lines for _, lines, _ in counts.packages.values())
    words = sum(words for _, _, words in counts.packages.values())
    print(f"\n  Spark: {lines:,} lines, {words:,} words, {counts.identifiers.total():,} identifiers")
    print("  the same as a direct count of the files" if same else "  A DIRECT COUNT OF THE FILES SAYS OTHERWISE")
    print(
        f"\n  tables   {directory / PACKAGES}\n           {directory / IDENTIFIERS}\n  picture  {directory / PICTURE}"
    )
    return same


def _files(files: Collection[object]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files):,} files"


def _lines_of(digests: Digests) -> int:
    return sum(count for count, _ in digests.values())


def _how_to_go_on(servers: Servers, running: bool) -> str:
    text = f"\nData, configuration, results and logs are in {servers.directory}\n"
    if not running:
        return (
            text
            + "The servers are stopped; --keep leaves them running. Delete the directory when you are done with it."
        )
    stop = " ".join(str(process.pid) for _, process in reversed(servers.processes))
    return text + (
        f"The servers are running. Look around:\n"
        f"  bin/kafka-topics.sh --bootstrap-server {servers.bootstrap} --describe\n"
        f"  bin/kafka-console-consumer.sh --bootstrap-server {servers.bootstrap} --topic {TOPIC} --from-beginning "
        f"--max-messages 10\n"
        f"  bin/kafka-consumer-groups.sh --bootstrap-server {servers.bootstrap} --describe --group {GROUP}\n"
        f"  bin/kafka-get-offsets.sh --bootstrap-server {servers.bootstrap} --topic {TOPIC}\n"
        f"Stop them:\n  kill {stop}"
    )


if __name__ == "__main__":
    sys.exit(main())
