"""Local files before their upload."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.errors import ConnectException


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of this process have so many bytes at most, as if the disk was full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_bytes_that_only_fit_in_part_are_an_error(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    with room_for(100_000), pytest.raises(ConnectException, match="A temporary file cannot be written"):
        spool.write(b"a" * 150_000)
    spool.discard()
    assert not list(tmp_path.iterdir())
