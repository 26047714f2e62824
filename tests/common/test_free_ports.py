"""Ports for servers that are about to start."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest

from kafkapy.common import free_ports as module
from kafkapy.common.free_ports import free_ports


def test_all_can_be_bound_and_none_is_ephemeral() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        assert 10_000 <= port < 61_000
        socket.create_server(("127.0.0.1", port)).close()


def test_what_is_taken_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    (taken,) = free_ports(1)
    with socket.create_server(("127.0.0.1", taken)):
        monkeypatch.setattr(random, "sample", lambda ports, k: [taken, taken - 1, taken + 1, taken + 2, taken + 3])
        assert taken not in free_ports(2)
        monkeypatch.setattr(random, "sample", lambda ports, k: [taken])
        with pytest.raises(OSError, match="no 1 free ports found"):
            free_ports(1)


@pytest.mark.parametrize("text", ["1024 65535", "10010 65535"])
def test_where_all_ports_are_ephemeral(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As busy servers are often set up."""
    (tmp_path / "range").write_text(text)
    monkeypatch.setattr(module, "_EPHEMERAL_PORTS", tmp_path / "range")
    assert len(set(free_ports(20))) == 20


@pytest.mark.parametrize("text", [None, "", "many"])
def test_where_the_system_does_not_say_which_are_ephemeral(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "range"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(module, "_EPHEMERAL_PORTS", file)
    assert all(10_000 <= port < 32_768 for port in free_ports(5))
