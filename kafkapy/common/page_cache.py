"""What of a file lies in memory, and how it gets there: the thread that serves everybody must not wait for a disk.

`preadv2(RWF_NOWAIT)` reads what is in the page cache and nothing else. File systems without it (tmpfs, overlayfs, NFS, FUSE) are
asked for nothing: there the end of a file counts as being in memory, where it was written last, and all before it as being not.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import Final

READ_AHEAD: Final = 1 << 20
"""Bytes behind a piece that is loaded which the disk is asked for, too: they are there when their turn comes."""

_PROBE_STRIDE: Final = 1 << 19
"""Before each byte that is probed there may be a hole in the page cache: so much is the most that a thread has to wait for."""

_END: Final = 1 << 24
"""Bytes at the end of a file that count as cached where the file system does not tell."""

_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
_probe: Final = [bytearray(1)]
_discarded: Final = [bytearray(1 << 18)]
"""Threads read into it side by side: nobody looks at what is there."""


class _Patience(threading.local):
    """May this thread wait for a disk?"""

    waits = True


patience: Final = _Patience()


def is_cached(fd: int, position: int, size: int) -> bool:
    """Are the bytes `[position, position + size)` in memory, as far as samples tell? What is behind the end of the file is.

    The last byte of each stride is looked at: what is read ahead is there from its beginning on.
    """
    probed, end = position, position + size
    try:
        while probed < end:
            probed = min(probed + _PROBE_STRIDE, end)
            os.preadv(fd, _probe, probed - 1, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        return _counts_as_cached(fd, position, error)
    return True


def read_cached(fd: int, size: int, position: int) -> bytes | bytearray:
    """As `os.pread`; `BlockingIOError` unless all of it is in memory."""
    buffer = bytearray(size)
    try:
        count = os.preadv(fd, (buffer,), position, _NOWAIT)
        while count < size:
            more = os.preadv(fd, (memoryview(buffer)[count:],), position + count, _NOWAIT)
            if not more:  # the file ends here
                return bytes(memoryview(buffer)[:count])
            count += more
    except BlockingIOError:
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
    return os.fstat(fd).st_size - position <= _END
