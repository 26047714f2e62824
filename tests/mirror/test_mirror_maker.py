"""The dedicated mode without clusters."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.mirror import MirrorMaker, SourceAndTarget
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.tools.connect import connect_mirror_maker
from kafkapy.tools.connect.connect_mirror_maker import run

PROPERTIES = {"clusters": "A, B", "A->B.enabled": "true"}


class NotedFlow:
    def __init__(self, pair: SourceAndTarget, on_failure: Callable[[], None]) -> None:
        self.pair, self.on_failure = pair, on_failure
        self.failure: BaseException | None = None
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def request_stop(self) -> None:
        self.calls.append("request_stop")

    def join(self) -> None:
        self.calls.append("join")


class Flows:
    def __init__(self) -> None:
        self.made: list[NotedFlow] = []

    def make(self, pair: SourceAndTarget, on_failure: Callable[[], None]) -> NotedFlow:
        self.made.append(NotedFlow(pair, on_failure))
        return self.made[-1]


def test_a_worker_for_each_flow() -> None:
    flows = Flows()
    maker = MirrorMaker(MirrorMakerConfig(PROPERTIES), flows.make)
    maker.request_stop()
    assert run(maker) == 0
    assert [str(flow.pair) for flow in flows.made] == ["A->B", "B->A"]
    assert all(flow.calls == ["start", "request_stop", "join"] for flow in flows.made)


def test_servers_of_the_process() -> None:
    calls: list[str] = []

    class Servers:
        def start(self, pairs: list[SourceAndTarget]) -> None:
            calls.append(f"start {', '.join(map(str, pairs))}")

        def stop(self) -> None:
            calls.append("stop")

    maker = MirrorMaker(MirrorMakerConfig(PROPERTIES), Flows().make, servers=Servers())
    maker.request_stop()
    assert run(maker) == 0 and calls == ["start A->B, B->A", "stop"]


def test_flows_to_some_clusters() -> None:
    config = MirrorMakerConfig(PROPERTIES)
    assert MirrorMaker(config, Flows().make, ["B"]).pairs == [SourceAndTarget("A", "B")]
    with pytest.raises(ConfigException, match="Unknown clusters: C"):
        MirrorMaker(config, Flows().make, ["C"])
    with pytest.raises(ConfigException, match="No source->target replication flows"):
        MirrorMaker(MirrorMakerConfig({"clusters": "A,B", "emit.heartbeats.enabled": "false"}), Flows().make)


def test_a_worker_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    flows = Flows()

    def make(pair: SourceAndTarget, on_failure: Callable[[], None]) -> NotedFlow:
        flow = flows.make(pair, on_failure)
        flow.failure = KafkaError(Errors.GROUP_AUTHORIZATION_FAILED, "not allowed")
        on_failure()
        return flow

    assert run(MirrorMaker(MirrorMakerConfig(PROPERTIES), make)) == 3
    assert "MirrorMaker has failed: " in capsys.readouterr().err
    assert all(flow.calls[-1] == "join" for flow in flows.made)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_a_signal_ends_the_wait_whenever_it_comes() -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        for number in range(20):
            maker = MirrorMaker(MirrorMakerConfig(PROPERTIES), Flows().make)
            signal.signal(signal.SIGALRM, lambda *_, maker=maker: maker.request_stop())
            signal.setitimer(signal.ITIMER_REAL, (number + 1) * 2e-6)
            assert maker.wait() is None
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_cluster_that_cannot_be_reached(capsys: pytest.CaptureFixture[str]) -> None:
    def make(pair: SourceAndTarget, on_failure: Callable[[], None]) -> NotedFlow:
        raise KafkaError(Errors.REQUEST_TIMED_OUT)

    assert run(MirrorMaker(MirrorMakerConfig(PROPERTIES), make)) == 3
    assert "MirrorMaker has failed" in capsys.readouterr().err


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert connect_mirror_maker.main([str(tmp_path / "none.properties")]) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "empty.properties").write_text("A->B.enabled = true\n")
    assert connect_mirror_maker.main([str(tmp_path / "empty.properties")]) == 1
    assert "clusters" in capsys.readouterr().err
