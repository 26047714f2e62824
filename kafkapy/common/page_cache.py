"""Finds out what parts of a file are in the page cache, and loads others, because the reactor must not wait for a disk.

`preadv2(RWF_NOWAIT)` reads only what is in the page cache. Some file systems (tmpfs, overlayfs, NFS, FUSE) and other
systems than Linux don't have it. There the end of a file counts as cached, because it was written last, and the rest as
not cached.
"""

from __future__ import annotations

import errno
import os
import resource
import threading
from resource import getrusage
from time import monotonic
from typing import Final

from kafkapy.common.capabilities import FADVISE, NOWAIT

READ_AHEAD: Final = 1 << 20
"""Bytes after a loaded piece that the disk should read, too: the next piece of `SendQueue` (`LOADED_CHUNK`)."""

PROBE_STRIDE: Final = 1 << 19
"""Distance of probed bytes. Between them may be a hole in the page cache, so a thread may have to wait for this much.
"""

SLOW_SEND_SECONDS: Final = 0.002
"""A `sendfile` of half a megabyte that takes longer has waited; normally it takes 0.15 ms (docs/benchmarks.md)."""

FULL_SCAN_SECONDS: Final = 1.0
"""How long every byte is checked after a miss, and how long loaded data counts as cached.

Samples alone can miss holes after random reads, which block the reactor (docs/benchmarks.md, the footnote on cold
reads).
"""

_END: Final = 1 << 24
"""Bytes at the end of a file that count as cached if the file system does not tell: they were written last, and
consumers without lag read them.
"""

_USAGE_OF: Final[int] = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
"""Only Linux counts per thread. Elsewhere the value is not used, because nothing is probed (`NOWAIT`)."""
_probe: Final = [bytearray(1)]
_discarded: Final = [bytearray(1 << 18)]
"""Threads read into it concurrently; the content is never used."""


class _FullScanWindow:
    """While samples may have missed holes, every byte is checked."""

    until = 0.0
    """In seconds of the monotonic clock."""


_full_scans: Final = _FullScanWindow()


class _BlockingReads(threading.local):
    """Whether this thread may wait for a disk."""

    allowed = True


blocking_reads: Final = _BlockingReads()


def is_cached(fd: int, position: int, size: int) -> bool:
    """Return whether the bytes `[position, position + size)` are cached, judging by samples.

    Bytes after the end of the file are.

    It probes the first byte, and the last byte of each stride: both read-ahead and reclaim proceed from the start of a
    range. That is not enough after random reads. So for `FULL_SCAN_SECONDS` after a miss, or after a send that waited
    (`report_slow_send`), it checks all bytes.
    """
    if not NOWAIT:
        return _is_at_the_end(fd, position)
    try:
        if monotonic() < _full_scans.until:
            _check_all(fd, position, size)
            return True
        os.preadv(fd, _probe, position, NOWAIT)
        probed, end = position, position + size
        while probed < end:
            probed = min(probed + PROBE_STRIDE, end)
            os.preadv(fd, _probe, probed - 1, NOWAIT)
    except BlockingIOError:
        _start_full_scans()
        return False
    except OSError as error:
        return _counts_as_cached(fd, position, error)
    return True


def _check_all(fd: int, position: int, size: int) -> None:
    """Raise `BlockingIOError` unless all bytes are cached."""
    end = position + size
    while position < end:
        count = os.preadv(fd, (memoryview(_discarded[0])[: end - position],), position, NOWAIT)
        if not count:
            return
        position += count


def blocks_read() -> int:
    """Return the number of blocks that this thread has read from disks."""
    return getrusage(_USAGE_OF).ru_inblock


def report_slow_send(blocks_read_before: int) -> None:
    """Report that sending cached bytes took longer than `SLOW_SEND_SECONDS`.

    It is a miss if the thread has read blocks meanwhile.
    """
    if blocks_read() != blocks_read_before:
        _start_full_scans()


def _start_full_scans() -> None:
    _full_scans.until = monotonic() + FULL_SCAN_SECONDS


def read_cached(fd: int, size: int, position: int) -> bytes | bytearray:
    """Read as `os.pread`; raise `BlockingIOError` unless all bytes are cached."""
    if not NOWAIT:
        if not _is_at_the_end(fd, position):
            raise BlockingIOError(errno.EAGAIN, "The system does not report which pages are cached")
        return os.pread(fd, size, position)
    buffer = bytearray(size)
    try:
        count = os.preadv(fd, (buffer,), position, NOWAIT)
        while count < size:
            more = os.preadv(fd, (memoryview(buffer)[count:],), position + count, NOWAIT)
            if not more:  # the file ends here
                return bytes(memoryview(buffer)[:count])
            count += more
    except BlockingIOError:
        _start_full_scans()
        raise
    except OSError as error:
        if not _counts_as_cached(fd, position, error):
            raise BlockingIOError(errno.EAGAIN, "The file system does not report which pages are cached") from error
        return os.pread(fd, size, position)
    return buffer


def read(fd: int, size: int, position: int) -> bytes | bytearray:
    """Read as `os.pread`, or as `read_cached` if this thread may not wait for disks."""
    return os.pread(fd, size, position) if blocking_reads.allowed else read_cached(fd, size, position)


def load(fd: int, position: int, size: int) -> None:
    """Wait until the bytes are read from the disk. Other threads run meanwhile."""
    if FADVISE:
        os.posix_fadvise(fd, position, size + READ_AHEAD, os.POSIX_FADV_WILLNEED)
    end = position + size
    while position < end:
        count = os.preadv(fd, _discarded, position)
        if not count:
            return
        position += count


def _counts_as_cached(fd: int, position: int, error: OSError) -> bool:
    if error.errno != errno.EOPNOTSUPP:
        raise error
    return _is_at_the_end(fd, position)


def _is_at_the_end(fd: int, position: int) -> bool:
    return os.fstat(fd).st_size - position <= _END
