"""Connections of the network, as the reactor's tests use them."""

from __future__ import annotations

from tests.network.loopback import make_loopback

__all__ = ["make_loopback"]
