"""What of a file lies in memory, and how it gets there: the thread that serves everybody must not wait for a disk.

`preadv2(RWF_NOWAIT)` reads what is in the page cache and nothing else. File systems without it (tmpfs, overlayfs, NFS, FUSE), and
other systems than Linux, are asked for nothing: there the end of a file counts as being in memory, where it was written last, and
all before it as being not.
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
"""Bytes behind a piece that is loaded which the disk is asked for, too: the piece that `SendQueue` asks for next
(`LOADED_CHUNK`)."""

PROBE_STRIDE: Final = 1 << 19
"""Between bytes that are probed there may be a hole in the page cache: so much is the most that a thread has to wait for."""

LONG_SECONDS: Final = 0.002
"""A `sendfile` of a chunk that takes longer has waited: at 0.29 s/GB half a megabyte takes 0.15 ms (docs/benchmarks.md)."""

DOUBT_SECONDS: Final = 1.0
"""How long every byte is looked at after a miss, and how long what a thread has loaded counts as loaded. Samples alone let a
load of cold reads hold others up for 194 ms; with this it was 1.6 ms (docs/benchmarks.md, the footnote on cold reads)."""

_END: Final = 1 << 24
"""Bytes at the end of a file that count as cached where the file system does not tell: they were written last, and consumers
that keep up read them."""

_USAGE_OF: Final[int] = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
"""Only Linux counts for each thread. Elsewhere it does not matter: nothing is looked at (`NOWAIT`)."""
_probe: Final = [bytearray(1)]
_discarded: Final = [bytearray(1 << 18)]
"""Threads read into it side by side: nobody looks at what is there."""


class _Doubt:
    """There may be holes between samples: every byte is looked at for a while."""

    until = 0.0
    """Of the monotonic clock."""


_doubt: Final = _Doubt()


class _Patience(threading.local):
    """May this thread wait for a disk?"""

    waits = True


patience: Final = _Patience()


def is_cached(fd: int, position: int, size: int) -> bool:
    """Are the bytes `[position, position + size)` in memory, as far as samples tell? What is behind the end of the file is.

    The first byte and the last one of each stride are looked at: what is read ahead is there from its beginning on, and what the
    kernel drops goes from its beginning on. That is too little where others have read here and there. So for a second after
    anything was not there, or was waited for nevertheless (`took_long`), all bytes are looked at.
    """
    if not NOWAIT:
        return _is_at_the_end(fd, position)
    try:
        if monotonic() < _doubt.until:
            _look_at_all(fd, position, size)
            return True
        os.preadv(fd, _probe, position, NOWAIT)
        probed, end = position, position + size
        while probed < end:
            probed = min(probed + PROBE_STRIDE, end)
            os.preadv(fd, _probe, probed - 1, NOWAIT)
    except BlockingIOError:
        _begin_to_doubt()
        return False
    except OSError as error:
        return _counts_as_cached(fd, position, error)
    return True


def _look_at_all(fd: int, position: int, size: int) -> None:
    """`BlockingIOError` if it is not in memory."""
    end = position + size
    while position < end:
        count = os.preadv(fd, (memoryview(_discarded[0])[: end - position],), position, NOWAIT)
        if not count:
            return
        position += count


def blocks_read() -> int:
    """By this thread, from disks, so far."""
    return getrusage(_USAGE_OF).ru_inblock


def took_long(blocks_read_before: int) -> None:
    """Sending what counted as cached took this thread longer than `LONG_SECONDS`: did it wait for the disk or a core?"""
    if blocks_read() != blocks_read_before:
        _begin_to_doubt()


def _begin_to_doubt() -> None:
    _doubt.until = monotonic() + DOUBT_SECONDS


def read_cached(fd: int, size: int, position: int) -> bytes | bytearray:
    """As `os.pread`; `BlockingIOError` unless all of it is in memory."""
    if not NOWAIT:
        if not _is_at_the_end(fd, position):
            raise BlockingIOError(errno.EAGAIN, "The system does not tell what is cached")
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
        _begin_to_doubt()
        raise
    except OSError as error:
        if not _counts_as_cached(fd, position, error):
            raise BlockingIOError(errno.EAGAIN, "The file system does not tell what is cached") from error
        return os.pread(fd, size, position)
    return buffer


def read(fd: int, size: int, position: int) -> bytes | bytearray:
    """As `os.pread`, or as `read_cached` if this thread may not wait."""
    return os.pread(fd, size, position) if patience.waits else read_cached(fd, size, position)


def load(fd: int, position: int, size: int) -> None:
    """Wait until these bytes were read from the disk. Whoever waits lets other threads work."""
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
