"""The open .log file of a segment."""

from __future__ import annotations

import io
import os

from kafkapy.common.capabilities import FADVISE


class LogFile(io.FileIO):
    """A file without kernel read-ahead, because probing for cached pages would trigger reads of megabytes from the
    disk. Sequential readers read large chunks, or announce the next range (`page_cache.load`).

    It is closed when the last slice of it is released, without the warning of other files.
    """

    def __init__(self, path: str, mode: str) -> None:
        super().__init__(path, mode)
        if FADVISE:
            os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_RANDOM)

    def __del__(self) -> None:
        self.close()
