"""Options, fixtures and the summary of the system tests."""

from __future__ import annotations

import logging
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from system_tests.cluster import Cluster
from system_tests.services import TIME_LIMIT_FACTOR, ApacheKafkaService, KafkaService, Service, ZooKeeperService
from system_tests.stalls import Stalls
from tests.guardian import watch_over_run

Note = Callable[[str, object], None]
Progress = Callable[[str], None]
NewBroker = Callable[..., KafkaService]
NewCluster = Callable[..., Cluster]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("system tests")
    group.addoption("--kills", type=int, help="how often the broker is killed under load (default: 20; short: 3)")
    group.addoption("--outage", type=float, help="seconds that ZooKeeper is away (default: 30; short: 5)")
    group.addoption("--seed", type=int, default=1, help="of the random faults (default: 1)")
    group.addoption("--faults", type=int, default=20, help="how many random faults there are (default: 20)")
    group.addoption("--brokers", type=int, default=1, help="of how many brokers the harmed cluster is (default: 1)")
    group.addoption("--clients", type=int, default=4, help="how many producers, and consumers, it has (default: 4)")
    group.addoption("--soak-minutes", type=float, default=10, help="how long members heartbeat (default: 10)")
    group.addoption("--soak-operations", type=int, default=500, help="of each kind, three times (default: 500)")
    group.addoption("--fuzz-inputs", type=int, help="connections before authentication (default: 10000; short: 1000)")
    group.addoption("--transactions", type=int, default=1000, help="of a captured database (default: 1000)")
    group.addoption("--report", type=Path, metavar="FILE", help="write the summary to this file as well")


def pytest_configure(config: pytest.Config) -> None:
    watch_over_run(config)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the services end with a run that is terminated
    logging.getLogger("kafkapy.consumer").setLevel(logging.INFO)  # shown of tests that fail
    config.addinivalue_line("filterwarnings", "ignore:(read|open)_text is deprecated:DeprecationWarning")
    config.addinivalue_line("filterwarnings", "ignore:No chroot path exists")
    config.addinivalue_line("markers", "system: starts real ZooKeepers and brokers, and harms them")
    config.addinivalue_line("markers", "long: takes long, or needs what not every machine has")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.system)
            item.add_marker(pytest.mark.flaky(reruns=1))  # real clocks: its second attempt is named in the summary
        if limit := item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIME_LIMIT_FACTOR * limit.args[0]), append=False)


@pytest.fixture(scope="session")
def short(pytestconfig: pytest.Config) -> bool:
    """Is this the short selection?"""
    return "not long" in pytestconfig.getoption("markexpr")


@pytest.fixture(scope="session")
def kills(pytestconfig: pytest.Config, short: bool) -> int:
    given: int | None = pytestconfig.getoption("--kills")
    return (3 if short else 20) if given is None else given


@pytest.fixture(scope="session")
def outage(pytestconfig: pytest.Config, short: bool) -> float:
    given: float | None = pytestconfig.getoption("--outage")
    return (5 if short else 30) if given is None else given


@pytest.fixture(scope="session")
def soak_minutes(pytestconfig: pytest.Config) -> float:
    minutes: float = pytestconfig.getoption("--soak-minutes")
    return minutes


@pytest.fixture(scope="session")
def soak_operations(pytestconfig: pytest.Config) -> int:
    operations: int = pytestconfig.getoption("--soak-operations")
    return operations


@pytest.fixture(scope="session")
def fuzz_inputs(pytestconfig: pytest.Config, short: bool) -> int:
    given: int | None = pytestconfig.getoption("--fuzz-inputs")
    return (1000 if short else 10_000) if given is None else given


@pytest.fixture(scope="session")
def _zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperService]:
    service = ZooKeeperService(tmp_path_factory.mktemp("zookeeper"))
    service.start()
    yield service
    service.close()


@pytest.fixture
def zookeeper(_zookeeper: ZooKeeperService) -> ZooKeeperService:
    """One ZooKeeper for all tests; runs at the beginning of each, whatever the test before has done to it."""
    if not _zookeeper.is_running:
        _zookeeper.close()
        _zookeeper.start()
    return _zookeeper


@pytest.fixture(scope="session")
def _stalls() -> Stalls:
    return Stalls()


@pytest.fixture(autouse=True)
def no_stalls(_stalls: Stalls) -> Iterator[None]:
    """No broker keeps everybody waiting, whatever a test does to it."""
    yield
    stalls = _stalls.new([broker for broker in KafkaService.started if broker.output.exists()])
    assert not stalls, "\n".join(["brokers have stalled:", *stalls])


@pytest.fixture
def services() -> Iterator[list[Service]]:
    """Whatever a test adds here is ended after it."""
    added: list[Service] = []
    yield added
    for service in reversed(added):
        service.close()


@pytest.fixture
def new_broker(tmp_path: Path, zookeeper: ZooKeeperService, services: list[Service]) -> NewBroker:
    """Makes brokers, not started, each in a chroot and a directory of its own."""

    def new(configs: Mapping[str, object] | None = None) -> KafkaService:
        name = f"kafka-{uuid.uuid4().hex[:8]}"
        service = KafkaService(tmp_path / name, zookeeper, configs, chroot=f"/{name}")
        services.append(service)
        return service

    return new


@pytest.fixture
def broker(new_broker: NewBroker) -> KafkaService:
    """A running broker with the settings of `KafkaService`."""
    service = new_broker()
    service.start()
    return service


@pytest.fixture
def new_cluster(tmp_path: Path) -> Iterator[NewCluster]:
    """Makes clusters, not started, with a ZooKeeper and a network of their own: see `Cluster`."""
    with ExitStack() as ending:

        def new(brokers: int = 3, configs: Mapping[str, object] | None = None) -> Cluster:
            return ending.enter_context(Cluster(tmp_path, brokers, configs))

        yield new


@pytest.fixture(scope="module")
def module_broker(tmp_path_factory: pytest.TempPathFactory, _zookeeper: ZooKeeperService) -> Iterator[KafkaService]:
    """A running broker for all tests of a module; none of them may touch ZooKeeper."""
    service = KafkaService(tmp_path_factory.mktemp("kafka"), _zookeeper, chroot=f"/kafka-{uuid.uuid4().hex[:8]}")
    try:
        service.start()
        yield service
    finally:
        service.close()


@pytest.fixture
def apache_jars() -> Path:
    """Where the jars of Apache Kafka 3.9.1 are: $KAFKAPY_APACHE_JARS. Skips the test if that is not set."""
    directory = Path(os.environ.get("KAFKAPY_APACHE_JARS") or "/nonexistent")
    if not list(directory.glob("kafka_2.*.jar")):
        pytest.skip("KAFKAPY_APACHE_JARS names no directory with Apache Kafka's jars")
    return directory


@pytest.fixture
def new_pair(
    tmp_path: Path, zookeeper: ZooKeeperService, services: list[Service], apache_jars: Path
) -> Callable[[Mapping[str, object]], tuple[KafkaService, ApacheKafkaService]]:
    """Makes a kafkapy broker and an Apache broker that are one and the same: id, port, chroot and data directory."""

    def new(configs: Mapping[str, object]) -> tuple[KafkaService, ApacheKafkaService]:
        chroot = f"/pair-{uuid.uuid4().hex[:8]}"
        shared = {**configs, "log.dirs": tmp_path / "shared"}
        ours = KafkaService(tmp_path / "kafkapy", zookeeper, shared, chroot=chroot)
        theirs = ApacheKafkaService(tmp_path / "apache", zookeeper, apache_jars, shared, chroot=chroot)
        theirs.port = ours.port
        ours.data = theirs.data = tmp_path / "shared"
        services.extend([ours, theirs])
        return ours, theirs

    return new


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """`note(name, value)`: what the test has measured, for the summary."""
    return record_property


@pytest.fixture
def progress(pytestconfig: pytest.Config) -> Progress:
    """`progress(text)`: a line on the terminal while a long test runs."""
    terminal = pytestconfig.pluginmanager.getplugin("terminalreporter")
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def show(text: str) -> None:
        if terminal is not None and terminal.verbosity > 0:
            with capture.global_and_fixture_disabled():
                terminal.write_line(f"    {text}")

    return show


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line a test: outcome, seconds, what it has noted."""
    lines = []
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if isinstance(report, pytest.TestReport) and "system" in report.keywords:
                lines.append(_summary_line(outcome, report))
    if not lines:
        return
    terminalreporter.section("summary of the system tests")
    for line in lines:
        terminalreporter.write_line(line)
    file: Path | None = config.getoption("--report")
    if file is not None:
        file.write_text("\n".join([*lines, ""]))


def _summary_line(outcome: str, report: pytest.TestReport) -> str:
    notes = ", ".join(f"{name}: {value}" for name, value in report.user_properties)
    if outcome == "skipped" and isinstance(report.longrepr, tuple):
        notes = report.longrepr[2].removeprefix("Skipped: ")
    test = report.nodeid.removeprefix("system_tests/")
    return f"{outcome:7} {report.duration:6.1f} s  {test}  {notes}".rstrip()
