"""Fixtures for all tests."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.guardian import watch_over_run
from tests.logging_state import LoggingState
from tests.zookeeper_server import server_for_tests

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A job that a shell put into the background ignores Ctrl-C, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("kafkapy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kafkapy")


def pytest_configure(config: pytest.Config) -> None:
    watch_over_run(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Servers and clients of other processes have deadlines that a busy machine misses: such a test has a second attempt."""
    for item in items:
        if item.get_closest_marker("integration"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def _levels_left_alone() -> Iterator[None]:
    """A test that leaves another level lets others fail that look for what is logged, or assert that nothing is."""
    before = LoggingState()
    yield
    if changed := before.changed_levels():
        before.restore()
        pytest.fail(
            f"The test leaves loggers with other levels ({changed}): the fixture `logging_restored` prevents that"
        )


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """For tests that run what sets up logging for its process."""
    before = LoggingState()
    yield
    before.restore()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ZooKeeper for all tests of the run, "127.0.0.1:port"; each test takes a chroot of its own. See `server_for_tests`."""
    server = server_for_tests(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server.address
    server.stop()


@pytest.fixture
def zk_connect(zookeeper: str) -> str:
    """A `zookeeper.connect` with a chroot that no other test has (not created yet)."""
    return f"{zookeeper}/{uuid.uuid4().hex[:12]}"
