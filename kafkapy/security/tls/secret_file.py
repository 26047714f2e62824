"""A temporary file for OpenSSL, because Python loads private keys from files only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file with this content, which only this process's user can read and which exists only in the
    block.

    On Linux the file is in memory (`memfd_create`), has no name and never reaches a disk. Elsewhere, or without /proc,
    it is a temporary file of mode 0600.

    Raises:
        OSError: It cannot be created.
    """
    path = None
    descriptor = _in_memory()
    if descriptor is None:
        import tempfile  # its dependencies are large, and a broker on Linux never needs it

        descriptor, path = tempfile.mkstemp(prefix="kafkapy-")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield path or f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
        if path is not None:
            os.unlink(path)


def _in_memory() -> int | None:
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("kafkapy-tls", os.MFD_CLOEXEC)
    except OSError:
        return None
    if os.access(f"/proc/self/fd/{descriptor}", os.R_OK):
        return descriptor
    os.close(descriptor)
    return None
