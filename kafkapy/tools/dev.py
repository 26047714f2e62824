"""kafka-dev: a broker for development, with one command, until Ctrl-C."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kafkapy.common.capabilities import UnsupportedSystem, require_server_support
from kafkapy.common.extras import MissingExtra, need
from kafkapy.testing.cluster import KafkaCluster
from kafkapy.testing.server_process import ClusterError
from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    fail,
    guard,
    has_printed_information,
    integer,
)

PARSER = OptionParser(
    "USAGE: kafka-dev.sh [options]\n"
    "A Kafka to develop against: one broker or three, with the coordination that they need, on this machine, until Ctrl-C.\n"
    "It is what production has, but for its settings: one machine, and one ZooKeeper.",
    ToolOption("brokers", "How many brokers.", "1|3", integer, 1),
    ToolOption("port", "The port of the first broker, the next ones follow. Free ones if left out.", "port", integer),
    ToolOption(
        "topics", "Topics that are to be there: name:partitions:compact.", "clicks:6,users:3:compact", default=""
    ),
    ToolOption("config", "A config of all brokers; may be given again.", "key=value"),
    ToolOption("data", "Where data stays; left out, it goes at the end.", "directory"),
    ToolOption("json", "A file that says where everything is, for programs; it is there while brokers serve.", "file"),
    ToolOption("host", "The address to listen at.", "address", default="127.0.0.1"),
    ToolOption("advertised-host", "Where clients find it, if that is not the address it listens at.", "host"),
    ToolOption(
        "zookeeper",
        "Apache ZooKeeper in place of the embedded one: that at the address, or one that is started (which takes Java).",
        "host:port",
        optional_argument=True,
    ),
)

CHECK_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guard(partial(execute, arguments))


def execute(arguments: list[str]) -> int:
    options = PARSER.parse(arguments)
    if has_printed_information(PARSER, options):
        return 0
    try:
        require_server_support("kafkapy-dev")
        need("broker", "twisted", "kazoo", by="The broker")
        with _stop_signals() as stopped:
            return serve(cluster_of(options), options.value("json"), stopped)
    except (MissingExtra, UnsupportedSystem, ValueError) as error:
        return fail(str(error))
    except ClusterError as error:
        print(error, file=sys.stderr)
        return 1


def cluster_of(options: Options) -> KafkaCluster:
    """The cluster that the command line describes. Raises CommandLineError."""
    brokers, port = options.value("brokers"), options.value("port")
    if brokers not in (1, 3):
        raise CommandLineError(f"--brokers is 1 or 3, not {brokers}")
    if port is not None and not 1 <= port <= 65536 - brokers:
        raise CommandLineError(f"--port {port} is no port")
    config = {}
    for text in options.values("config"):
        key, equals, value = text.partition("=")
        if not equals:
            raise CommandLineError(f"--config takes key=value, not {text!r}")
        config[key] = value
    return KafkaCluster(
        brokers,
        options.value("topics"),
        config,
        options.value("data"),
        ports=() if port is None else range(port, port + brokers),
        host=options.value("host"),
        advertised_host=options.value("advertised-host"),
        zookeeper=_zookeeper(options),
    )


def _zookeeper(options: Options) -> Any:
    """An address of a ZooKeeper, a factory of one, or None for the embedded one."""
    if not options.has("zookeeper"):
        return None
    if address := options.value("zookeeper"):
        return address
    from kafkapy.tools.zookeeper.real_zookeeper import RealZooKeeper

    return RealZooKeeper


def serve(cluster: KafkaCluster, json_file: str | None, stopped: int) -> int:
    """Wait for a signal, which makes the descriptor `stopped` readable, or until no broker runs."""
    with cluster, _description_file(json_file, cluster):
        print(introduction(cluster), flush=True)
        ended: set[int] = set()
        while not select.select([stopped], [], [], CHECK_SECONDS)[0]:
            for broker in cluster.brokers:
                if broker.number not in ended and not broker.is_running:
                    ended.add(broker.number)
                    print(f"{broker.name} has ended; {broker.output} says why", file=sys.stderr)
            if len(ended) == len(cluster.brokers):
                print(f"The end of its log:\n{cluster.brokers[-1].last_lines()}", file=sys.stderr)
                return 1
        print("\nstopping", flush=True)
    return 0


def introduction(cluster: KafkaCluster) -> str:
    servers = cluster.bootstrap_servers
    return f"""\
{f"{len(cluster.brokers)} brokers serve" if len(cluster.brokers) > 1 else "A broker serves"} at {servers}

  bootstrap.servers={servers}
  export KAFKA_BOOTSTRAP_SERVERS={servers}
  KafkaProducer(bootstrap_servers="{servers}")
  kafka-console-consumer --bootstrap-server {servers} --from-beginning --topic ...

zookeeper.connect={cluster.zookeeper_connect}
data and logs: {cluster.directory}
Ctrl-C stops it."""


def description(cluster: KafkaCluster) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers": [
            {
                "id": broker.number,
                "address": broker.address,
                "pid": broker.process.pid if broker.process is not None else None,
                "log": str(broker.output),
            }
            for broker in cluster.brokers
        ],
        "zookeeper_connect": cluster.zookeeper_connect,
        "directory": str(cluster.directory),
        "pid": os.getpid(),
    }


@contextmanager
def _description_file(file: str | None, cluster: KafkaCluster) -> Iterator[None]:
    """Write the file atomically: it exists only with its whole content."""
    if file is None:
        yield
        return
    path = Path(file).absolute()
    unfinished = path.with_name(path.name + ".tmp")
    try:
        unfinished.write_text(json.dumps(description(cluster), indent=2) + "\n")
        unfinished.replace(path)
    except OSError as error:
        raise ToolError(f"--json {file}: {error.strerror}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _stop_signals() -> Iterator[int]:
    """A descriptor that is readable once one of the signals has arrived; further signals have no effect."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN or number is signal.SIGINT
    ]
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    wakeup = signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    try:
        yield readable
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(readable)
        os.close(writable)


if __name__ == "__main__":
    sys.exit(main())
