"""Small file systems, which can be full."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path


class SmallDisk:
    """A file system of its own in a folder, where root can mount one; else it is a plain folder, which `fill` does not fill.

    Args:
        path: The folder; it is made.
        megabytes: The size.
    """

    def __init__(self, path: Path, megabytes: int) -> None:
        path.mkdir(parents=True)
        self.path = path
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "kafkapy-test", str(path)]
        self.is_mounted = os.geteuid() == 0 and not subprocess.run(mount, capture_output=True).returncode

    def fill(self) -> None:
        """Leave no room; `empty` gives it back."""
        if not self.is_mounted:
            return
        with open(self.path / "ballast", "wb", buffering=0) as ballast:
            try:
                while ballast.write(bytes(1 << 20)):
                    pass
            except OSError:
                return

    def empty(self) -> None:
        """Give back what `fill` has taken."""
        (self.path / "ballast").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the file system, as soon as no process uses it."""
        for _ in range(20 if self.is_mounted else 0):
            if not subprocess.run(["umount", str(self.path)], capture_output=True).returncode:
                return
            time.sleep(0.1)
