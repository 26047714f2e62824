"""kafka-cluster-local: a cluster of kafkapy brokers and its ZooKeeper on this machine, for experiments."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from kafkapy.common.capabilities import require_server_support
from kafkapy.tools.cluster_local import access as local_access
from kafkapy.tools.cluster_local.layout import HOST, LocalCluster, create, load
from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    guard,
    has_printed_information,
    integer,
)
from kafkapy.tools.servers.local_processes import ProcessIdentity, spawn, wait_until_ended
from kafkapy.tools.zookeeper.java import zookeeper_command
from kafkapy.tools.zookeeper.server_start import MODULE as ZOOKEEPER

DEFAULT_DIRECTORY = "/tmp/kafkapy-cluster"
START_SECONDS = 180
STOP_SECONDS = 60

PARSER = OptionParser(
    "USAGE: kafka-cluster-local.sh start|stop|status [options]\n"
    "A cluster of kafkapy brokers and its ZooKeeper on this machine, for trying things out. What was stopped starts\n"
    "again as it was, ports and data too; change DIR/broker-*/server.properties in between as you like. `start` while\n"
    "the cluster runs starts only what has died.",
    ToolOption("n", "How many brokers.", "brokers", integer, 3),
    ToolOption("zookeepers", "How many ZooKeepers: 1, or an ensemble of 3, which is Apache's.", "1|3", integer, 1),
    ToolOption("apache", "Apache's ZooKeeper in place of the embedded one; it needs Java."),
    ToolOption(
        "secure",
        "TLS, SASL and ACLs: makes certificates, the users admin, alice and bob, sample ACLs, and files for their clients.",
    ),
    ToolOption(
        "dir", "Where everything is kept; one directory for each cluster.", "directory", default=DEFAULT_DIRECTORY
    ),
    ToolOption(
        "base-port", "The first of the ports: brokers, ZooKeepers, metrics. Free ones if left out.", "port", integer
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(PARSER.usage(), file=sys.stderr)
        return 1
    return guard(lambda: execute(arguments))


def execute(arguments: list[str]) -> int:
    options = PARSER.parse(arguments)
    if has_printed_information(PARSER, options):
        return 0
    if arguments[0] not in ACTIONS:
        raise CommandLineError(f"The first word must be one of {', '.join(ACTIONS)}")
    require_server_support("A cluster of kafkapy's brokers")
    directory = Path(options.value("dir")).absolute()
    return ACTIONS[arguments[0]](directory, options)


def start(directory: Path, options: Options) -> int:
    if options.value("n") < 1 or options.value("zookeepers") not in (1, 3):
        raise CommandLineError("There must be at least 1 broker, and 1 ZooKeeper or 3")
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory):
        cluster = load(directory)
        if cluster is None:
            cluster = create(
                directory,
                options.value("n"),
                options.value("zookeepers"),
                options.value("base-port"),
                options.has("apache"),
                options.has("secure"),
            )
        else:
            _check_same(cluster, options)
        missing = [name for name in (*cluster.zookeepers, *cluster.brokers) if not cluster.is_running(name)]
        if not missing:
            raise ToolError(f"The cluster in {directory} runs already: {cluster.bootstrap_servers}. Stop it first.")
        if len(missing) < len(cluster.zookeepers) + len(cluster.brokers):
            print(f"The cluster in {directory} runs already, but for {', '.join(missing)}, which is started again.")
        try:
            _start(cluster, missing)
        except BaseException:
            _stop(cluster, missing)
            raise
    print(_introduction(cluster))
    return 0


def _check_same(cluster: LocalCluster, options: Options) -> None:
    for name, ports in (("n", cluster.broker_ports), ("zookeepers", cluster.zookeeper_ports)):
        if options.has(name) and options.value(name) != len(ports):
            raise ToolError(
                f"The cluster in {cluster.directory} was made with {_option(name)} {len(ports)}. "
                "Stop it and delete that directory, or give another --dir."
            )
    if options.has("apache") and not cluster.is_apache:
        raise ToolError(f"The cluster in {cluster.directory} was made with the embedded ZooKeeper. Give another --dir.")
    if options.has("secure") and not cluster.is_secured:
        raise ToolError(f"The cluster in {cluster.directory} was made without --secure. Give another --dir.")
    if options.has("base-port") and options.value("base-port") != cluster.broker_ports[0]:
        raise ToolError(
            f"The cluster in {cluster.directory} was made with port {cluster.broker_ports[0]}. Give another --dir."
        )


def _option(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _start(cluster: LocalCluster, names: list[str]) -> None:
    """Start ZooKeepers, then brokers; those of one kind start in parallel. Raises ToolError if one does not come up."""
    zookeepers = [name for name in names if name in cluster.zookeepers]
    brokers = [name for name in names if name in cluster.brokers]
    for name in zookeepers:
        _launch(cluster, name, _zookeeper_command(cluster, name), "zookeeper.out")
    for name in zookeepers:
        _await(cluster, name, partial(_zookeeper_serves, cluster.zookeepers[name]), "zookeeper.out")
    for name in brokers:
        config = cluster.directory / name / "server.properties"
        _launch(cluster, name, [sys.executable, "-m", "kafkapy.tools.kafka_server_start", str(config)], "broker.out")
    for name in brokers:
        _await(cluster, name, partial(_answers, cluster, name), "broker.out")
    _await_controller(cluster)
    if cluster.is_secured:
        local_access.grant(cluster)


def _zookeeper_command(cluster: LocalCluster, name: str) -> list[str]:
    config = str(cluster.directory / name / "zookeeper.properties")
    return zookeeper_command(config) if cluster.is_apache else [sys.executable, "-m", ZOOKEEPER, config]


def _launch(cluster: LocalCluster, name: str, command: list[str], output: str) -> None:
    directory = cluster.directory / name
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "LOG_DIR": str(directory / "logs"), "KAFKAPY_DAEMON": "1", "PYTHONPATH": root}
    cluster.processes.pop(name, None)
    cluster.processes[name] = spawn(command, directory / output, environment)
    cluster.save()


def _await(cluster: LocalCluster, name: str, ready: Callable[[], bool], output: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if not cluster.is_running(name):
            raise ToolError(f"{name} has ended; {cluster.directory / name / output} says why")
        if time.monotonic() > deadline:
            raise ToolError(f"{name} is not ready after {START_SECONDS} s; see {cluster.directory / name / output}")
        time.sleep(0.05)


def _await_controller(cluster: LocalCluster) -> None:
    """Wait until the controller knows all running brokers."""
    running = sum(cluster.is_running(name) for name in cluster.brokers)
    deadline = time.monotonic() + START_SECONDS
    with local_access.admin_client(cluster) as admin:
        while True:
            described = admin.describe_cluster()
            if described.controller is not None and len(described.nodes) >= running:
                return
            if time.monotonic() > deadline:
                raise ToolError(f"After {START_SECONDS} s only {len(described.nodes)} brokers have registered")
            time.sleep(0.05)


def _zookeeper_serves(port: int) -> bool:
    """Does the ZooKeeper serve, alone or in a quorum? The four-letter word `srvr` shows a mode then."""
    try:
        with socket.create_connection((HOST, port), 1) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
            return b"Mode:" in answer
    except OSError:
        return False


def _answers(cluster: LocalCluster, name: str) -> bool:
    """Does the broker serve? It listens earlier; by now all its parts have started, metrics included."""
    from kafkapy.clients.blocking_client import BlockingClient
    from kafkapy.clients.config import ClientConfig
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.protocol.messages.metadata import MetadataRequest

    try:
        port, options = local_access.inner_listener(cluster, name)
        config = ClientConfig(socket_connection_setup_timeout_ms=1000, request_timeout_ms=1000, **options)
        with BlockingClient(HOST, port, config) as client:
            client.call(MetadataRequest(topics=[]))
        return True
    except KafkaError:
        return False


def stop(directory: Path, options: Options) -> int:
    cluster = load(directory)
    if cluster is None:
        raise ToolError(f"There is no local cluster in {directory}")
    with _locked(directory):
        running = [name for name in cluster.processes if cluster.is_running(name)]
        if not running:
            raise ToolError(f"The cluster in {directory} is not running")
        _stop(cluster, running)
    print(f"Stopped {', '.join(running)}. The data stays in {directory}; `start` goes on with it.")
    return 0


def _stop(cluster: LocalCluster, names: list[str]) -> None:
    """Stop the brokers, then ZooKeeper; a process that does not end in time is killed."""
    for kind in (cluster.brokers, cluster.zookeepers):
        processes = {name: cluster.processes[name] for name in names if name in kind and name in cluster.processes}
        for process in processes.values():
            process.stop()
        remaining = wait_until_ended(list(processes.values()), STOP_SECONDS)
        for name, process in processes.items():
            if process in remaining:
                print(f"{name} (process {process.pid}) did not stop in {STOP_SECONDS} s and is killed", file=sys.stderr)
                process.stop(signal.SIGKILL)


def status(directory: Path, options: Options) -> int:
    """Print the state; exit status 0 if all processes run."""
    cluster = load(directory)
    if cluster is None:
        raise ToolError(f"There is no local cluster in {directory}")
    ports = cluster.zookeepers | cluster.brokers
    for name, port in ports.items():
        state = f"running, process {_process(cluster, name).pid}" if cluster.is_running(name) else "not running"
        print(f"{name:<12} {HOST}:{port:<6} {state}")
    print(f"bootstrap servers: {cluster.bootstrap_servers}")
    print(_metrics(cluster, "metrics: "), end="")
    return 0 if all(map(cluster.is_running, ports)) else 1


def _process(cluster: LocalCluster, name: str) -> ProcessIdentity:
    return cluster.processes[name]


def _introduction(cluster: LocalCluster) -> str:
    where = "" if str(cluster.directory) == DEFAULT_DIRECTORY else f" --dir {cluster.directory}"
    servers = local_access.tool_options(cluster)
    some = next(iter(cluster.brokers))
    brokers, zookeepers = _count(cluster.brokers, "broker"), _count(cluster.zookeepers, "ZooKeeper")
    return f"""\
{brokers} and {zookeepers} are running; data and logs are in {cluster.directory}
  bootstrap servers: {cluster.bootstrap_servers}
  ZooKeeper:         {cluster.zookeeper_connect}
{_metrics(cluster, "  metrics:           ")}
Look around:
  {_command("kafka-topics")} {servers} --create --topic test --partitions 6
  {_command("kafka-topics")} {servers} --describe
  {_command("zookeeper-shell")} {cluster.zookeeper_connect} ls /brokers/ids
{local_access.introduction(cluster, _command) if cluster.is_secured else ""}\
See a broker die and come back:
  kill -9 {_process(cluster, some).pid}    # {some}
  {_command("kafka-topics")} {servers} --describe --under-replicated-partitions
  {_command("kafka-cluster-local")} start{where}
Stop:
  {_command("kafka-cluster-local")} stop{where}"""


def _command(name: str) -> str:
    """How a command is called: as a script in a clone, by its name after an installation by pip."""
    script = Path("bin", f"{name}.sh")
    return str(script) if (Path(__file__).resolve().parents[3] / script).is_file() else name


def _metrics(cluster: LocalCluster, title: str) -> str:
    """A line with the addresses of the metrics; empty for a cluster without metrics."""
    return f"{title}{' '.join(cluster.metrics_urls)}\n" if cluster.metrics_urls else ""


def _count(things: dict[str, int], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Lock the directory, so that one command runs at a time."""
    import fcntl

    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ToolError(f"Another command is working on the cluster in {directory}") from error
    else:
        yield
    finally:
        os.close(descriptor)


ACTIONS = {"start": start, "stop": stop, "status": status}


if __name__ == "__main__":
    sys.exit(main())
