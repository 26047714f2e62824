"""`zookeeper.connect=embedded`: the broker's own ZooKeeper, in its process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

EMBEDDED = "embedded"
MEMORY = "memory"


class EmbeddedConnect(NamedTuple):
    data_dir: Path | None
    """None: in memory."""

    @classmethod
    def parse(cls, connect: str, first_log_dir: str) -> EmbeddedConnect | None:
        """Parse `zookeeper.connect`; None if it names servers. `ValueError` with a message if it starts with embedded
        and is invalid.

        `embedded` keeps the data beside the first log directory, not in it, because that belongs to Kafka.
        `embedded:memory` keeps nothing, `embedded:DIR` uses DIR.
        """
        word, colon, directory = connect.partition(":")
        if word != EMBEDDED:
            if word.startswith(f"{EMBEDDED}/") or f",{EMBEDDED}" in f",{connect}":
                raise ValueError(
                    f"zookeeper.connect={connect}: the embedded ZooKeeper is one node for this broker alone, without a chroot or "
                    "other servers. Give embedded, embedded:memory or embedded:DIR."
                )
            return None
        if not colon:
            return cls(Path(f"{first_log_dir.rstrip('/')}-zookeeper"))
        if directory == MEMORY:
            return cls(None)
        if not directory or directory.isdigit():
            raise ValueError(
                f"zookeeper.connect={connect}: embedded:DIR has the directory of the embedded ZooKeeper's data after the colon, "
                f"for example embedded:/var/lib/kafka-zookeeper{f' or embedded:./{directory}' if directory else ''}."
            )
        return cls(Path(directory))
