"""The open .log file of a segment."""

from __future__ import annotations

import io


class LogFile(io.FileIO):
    """Closes itself when the last slice of it is gone, without the warning that other files give then."""

    def __del__(self) -> None:
        self.close()
