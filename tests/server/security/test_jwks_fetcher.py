"""Key sets are fetched when they are due, and no longer than their listener uses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.runtime.clock import MockClock
from kafkapy.security.sasl.jwks import RefreshingJwks
from kafkapy.server.security.jwks_fetcher import JwksFetcher

NO_KEYS = '{"keys": []}'


def test_a_key_set_is_fetched_again_until_its_listener_is_opened_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(NO_KEYS)
    clock = MockClock()
    keys = RefreshingJwks(clock, refresh_ms=1000)
    fetcher = JwksFetcher(file.as_uri(), keys, clock)
    fetcher.start()
    assert clock.pending == 1
    file.unlink()
    clock.advance(1000)
    assert "JWKS could not be refreshed" in caplog.text
    assert clock.pending == 1
    fetcher.stop()
    assert clock.pending == 0
