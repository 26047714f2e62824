"""From real files to a Spark table with one command.

ZooKeeper and a broker start on free ports with a data directory of their own. Every line of the input files goes into a topic;
a consumer group of two reads it back and commits; one member is killed and the other takes over; Spark counts the topic through
the connector. Everything is compared with a direct count of the files.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kafkapy.tools.quickstart.picture import draw, table
from kafkapy.tools.quickstart.servers import Servers, step
from kafkapy.tools.quickstart.sharing import Group, send
from kafkapy.tools.quickstart.source import (
    Digests,
    QuickstartError,
    SourceFile,
    combined,
    count_directly,
    given,
    standard_library,
)
from kafkapy.tools.quickstart.spark_job import IDENTIFIERS, PACKAGES, count_with_spark

TOPIC = "quickstart-lines"
GROUP = "quickstart-readers"
PARTITIONS = 4
PICTURE = "quickstart.png"
_SPACE_BESIDE_THE_INPUT = 256 << 20


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return _run(given(arguments.files) or standard_library(), arguments.port, arguments.keep)
    except QuickstartError as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"quickstart: {error}. Free some space, or set TMPDIR to a directory that has it.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quickstart: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quickstart.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="input (default: the source of Python's standard library)"
    )
    parser.add_argument("--port", type=int, help="the broker's port (default: a free one)")
    parser.add_argument("--keep", action="store_true", help="leave ZooKeeper and the broker running")
    return parser


def _run(files: list[SourceFile], port: int | None, keep: bool) -> int:
    directory = Path(tempfile.mkdtemp(prefix="kafkapy-quickstart-"))
    _check_space(files, directory)
    servers = Servers(directory, port)
    ok = False
    try:
        servers.start()
        ok = _main_job(files, servers)
    finally:
        if keep and ok:
            print(_how_to_go_on(servers, True))
        else:
            servers.stop()
            print(_how_to_go_on(servers, False))
    return 0 if ok else 1


def _check_space(files: list[SourceFile], directory: Path) -> None:
    needed = 2 * sum(file.path.stat().st_size for file in files) + _SPACE_BESIDE_THE_INPUT
    free = shutil.disk_usage(directory).free
    if free < needed:
        directory.rmdir()
        raise QuickstartError(
            f"{directory.parent} has {free >> 20} MB free, and {needed >> 20} MB are needed. "
            "Free some space, or set TMPDIR to a directory that has it."
        )


def _main_job(files: list[SourceFile], servers: Servers) -> bool:
    step(f"Creating topic {TOPIC} with {PARTITIONS} partitions")
    servers.tool("topics", "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
    same = _share(files, servers)
    return _count(files, servers) and same


def _share(files: list[SourceFile], servers: Servers) -> bool:
    """Producer and consumer group; did the group read what was sent?"""
    step(f"Starting a consumer group of two ({GROUP})")
    group = Group(servers.bootstrap, TOPIC, GROUP, 2)
    try:
        group.wait_for_shares(PARTITIONS, (1, 2))
        for number in (1, 2):
            print(f"  member {number} has partitions {group.assigned[number]}")
        few = min(max(1, len(files) // 10), len(files) - 1)
        most, rest = files[: len(files) - few], files[len(files) - few :]
        step(f"Producing the lines of {len(most)} files, which the group reads")
        sent = _send(most, servers)
        group.wait_for(_lines_of(sent))
        received = group.report(1)
        print(f"  member 1 has read {_lines_of(received):,} lines of {len(received)} files")
        servers.tool("consumer_groups", "--describe", "--group", GROUP)

        step("Killing member 1")
        begin = time.monotonic()
        pid = group.kill(1)
        print(f"  process {pid} is gone (kill -9); its session ends, the group rebalances")
        group.wait_for_shares(PARTITIONS, (2,))
        print(f"  after {time.monotonic() - begin:.1f} s member 2 has partitions {group.assigned[2]}")
        step(f"Producing the lines of {len(rest)} files more, for member 2 alone")
        sent.update(_send(rest, servers))
        group.wait_for(_lines_of(sent))
        received.update(group.report(2))
        servers.tool("consumer_groups", "--describe", "--group", GROUP)
    finally:
        group.close()
    print(f"  sent      {_lines_of(sent):>10,} lines  sha256 {combined(sent)}")
    print(f"  received  {_lines_of(received):>10,} lines  sha256 {combined(received)}")
    print("  identical" if sent == received else "  THEY DIFFER")
    return sent == received


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
