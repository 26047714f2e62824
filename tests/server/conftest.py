"""Fixtures of the server's tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.broker_core import BrokerCore, Client, MakeCore


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here survives the machine anyway."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.fixture
def make_core(tmp_path: Path) -> Iterator[MakeCore]:
    """Makes broker cores with other live brokers or configs: `make_core(others=[1], min_insync_replicas="2")`."""
    cores: list[BrokerCore] = []

    def make(others: tuple[int, ...] = (), **config: str) -> BrokerCore:
        cores.append(BrokerCore(tmp_path, others, **config))
        return cores[-1]

    yield make
    for core in cores:
        core.close()


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    """A broker that leads topic "t" with one partition alone."""
    core = make_core()
    core.create_topic()
    return core


@pytest.fixture
def client(core: BrokerCore) -> Client:
    return core.connect()
