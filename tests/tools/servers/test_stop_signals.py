"""How a broker's process ends that is asked to."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


def ends_in_good_order(broker: BrokerProcess, *numbers: signal.Signals) -> bool:
    process = broker.process
    assert process is not None
    for number in numbers:
        process.send_signal(number)
    status = process.wait(HANG_SECONDS)
    assert "ERROR" not in broker.log()
    return status == 0 and (broker.data / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_each_signal_shuts_the_broker_down(zk_connect: str, tmp_path: Path, number: signal.Signals) -> None:
    broker = BrokerProcess(tmp_path, zk_connect)
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # of `nohup`: the broker would keep to it
    if ignored:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        broker.start()
    finally:
        if ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ends_in_good_order(broker, number)
    assert f"Terminating process due to signal {number.name} " in broker.log()


def test_impatience_does_not_harm(zk_connect: str, tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, zk_connect)
    broker.start()
    assert ends_in_good_order(broker, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTERM)


def test_nohup_holds(zk_connect: str, tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, zk_connect)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a process inherits it
    try:
        broker.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    process = broker.process
    assert process is not None
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    assert ends_in_good_order(broker, signal.SIGTERM)
    assert "SIGHUP" not in broker.log()


def catches(pid: int, wanted: signal.Signals) -> bool:
    """Has the process a handler for the signal? A broker connects to ZooKeeper while it is still imported."""
    mask = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert mask is not None
    return bool(int(mask[1], 16) >> (wanted - 1) & 1)


def test_a_broker_that_waits_for_zookeeper_does_not_hold_up_its_end(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, "127.0.0.1:1", zookeeper_connection_timeout_ms="3600000")
    process = broker.launch()
    wait_until(lambda: "Connecting to zookeeper" in broker.log() and catches(process.pid, signal.SIGTERM))
    process.terminate()
    assert process.wait(HANG_SECONDS) == 1
    assert "still starting up" in broker.log()
