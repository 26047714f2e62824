"""The open .log file of a segment."""

from __future__ import annotations

import io
import os

from kafkapy.common.capabilities import FADVISE


class LogFile(io.FileIO):
    """The kernel reads nothing ahead by itself: looking whether a page is in memory would make it ask the disk for megabytes.
    Whoever reads on reads large pieces, or says what is next (`page_cache.load`).

    Closes itself when the last slice of it is gone, without the warning that other files give then.
    """

    def __init__(self, path: str, mode: str) -> None:
        super().__init__(path, mode)
        if FADVISE:
            os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_RANDOM)

    def __del__(self) -> None:
        self.close()
