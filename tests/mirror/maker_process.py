"""MirrorMaker's dedicated mode as a process between two clusters, with short intervals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafkapy.testing import KafkaCluster
from kafkapy.testing.cluster_security import JAVA

_OWN_TOPICS = (
    *("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic"),
    *("offset.storage", "status.storage", "config.storage"),
)
_PERIODIC = ("sync.topic.acls", "sync.group.offsets", "emit.checkpoints", "refresh.groups", "refresh.topics")


@contextmanager
def mirror_maker(
    directory: Path, clusters: Mapping[str, KafkaCluster], user: str, **configs: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run the process; return it with the file of its output.

    Args:
        directory: For its files.
        clusters: By alias.
        user: Logs in at both, if they are secured.
        configs: More configs, with underscores in the place of dots, and `_to_` in that of `->`.
    """
    lines: dict[str, Any] = {
        "clusters": ", ".join(clusters),
        **{
            f"{alias}.{name}": value
            for alias, each in clusters.items()
            for name, value in each.client_options(user, JAVA).items()
        },
        "replication.factor": "1",
        "offset.lag.max": "0",
        "sync.group.offsets.enabled": "true",
        **{f"{name}.replication.factor": "1" for name in _OWN_TOPICS},
        **{f"{name}.interval.seconds": "1" for name in _PERIODIC},
        **{name.replace("_to_", "->").replace("_", "."): value for name, value in configs.items()},
    }
    properties, output = directory / "mirror.properties", directory / "mirror.out"
    properties.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    with open(output, "wb") as out:
        command = [sys.executable, "-m", "kafkapy.tools.connect_mirror_maker", str(properties)]
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield process, output
    finally:
        process.kill()
        process.wait()
