"""Fixtures of the network's tests."""

from __future__ import annotations

from tests.network.loopback import make_loopback

__all__ = ["make_loopback"]
