"""What a broker does with its logs besides appending: fsync, rolling, compaction, deletion."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.brokers import Server
from benchmarks.stalls.client import MB, FrameClient, batch, check, delete_topics, make_topic, produce_request, values
from benchmarks.stalls.fetch import fill
from benchmarks.stalls.measure import Scenario
from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.types import ConfigResource
from kafkapy.common.wire_enums import ConfigResourceType

_PATIENCE_SECONDS = 40.0


class Flushing(Scenario):
    """Each append waits for the disk."""

    name = "flush.messages=1"
    topic = "stalls-flush"

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic, configs={"flush.messages": "1"})

    def load(self, server: Server) -> None:
        fill(server, self.topic, 200)

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


class Rolling(Scenario):
    """Each append begins a segment."""

    topic = "stalls-roll"
    partitions = 20

    def __init__(self, name: str, rounds: int, preallocate: bool = False) -> None:
        self.name = name
        self._rounds = rounds
        self._preallocate = preallocate

    def prepare(self, server: Server) -> None:
        configs = {"segment.bytes": "100000", "preallocate": str(self._preallocate).lower()}
        make_topic(server, self.topic, self.partitions, configs)

    def load(self, server: Server) -> None:
        records = batch(values(90, 1000))
        with FrameClient(server.port) as client:
            frames = [client.frame(produce_request(self.topic, records, p), 9) for p in range(self.partitions)]
            for _ in range(self._rounds):
                client.socket.sendall(b"".join(frames))
                for _ in frames:
                    client.receive()

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


class Deleting(Scenario):
    """A topic of some GB goes, with all its segments."""

    name = "deletion of 2 GB in 200 segments"
    topic = "stalls-delete"

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic, configs={"segment.bytes": str(10 * MB)})
        fill(server, self.topic, 2000)

    def load(self, server: Server) -> None:
        delete_topics(server, self.topic)
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end and any(Path(server.directory / "data").glob(f"{self.topic}*")):
            time.sleep(0.05)


class Compacting(Scenario):
    name = "compaction of 1.5 GB"
    broker = "compaction"
    properties = {"log.cleaner.backoff.ms": 500, "log.cleaner.dedupe.buffer.size": 134217728}
    topic = "stalls-compact"
    batches = 100
    keys = 90_000
    times = 17

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic, configs={"segment.bytes": str(100 * MB)})
        per_batch = self.keys // self.batches
        contents = values(per_batch, 970)
        with FrameClient(server.port) as client:
            for n in range(self.batches * self.times):
                first = n % self.batches * per_batch
                keys = [b"%012d" % key for key in range(first, first + per_batch)]
                request = produce_request(self.topic, batch(contents, keys=keys))
                check(client.call(request, 9).responses[0].partition_responses[0].error_code)

    def load(self, server: Server) -> None:
        directory = Path(server.directory / "data" / f"{self.topic}-0")
        before = _size(directory)
        with AdminClient(server.bootstrap) as admin:
            compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
            topic = ConfigResource(ConfigResourceType.TOPIC, self.topic)
            values_of(
                admin.incremental_alter_configs({topic: [ConfigChange(name, to) for name, to in compact.items()]})
            )
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end and _size(directory) > before / 5:
            time.sleep(0.05)


def _size(directory: Path) -> int:
    """Bytes of the segments that are the log's."""
    return sum(path.stat().st_size for path in directory.glob("*.log"))


def scenarios() -> list[Scenario]:
    return [
        Flushing(),
        Rolling("2,000 segments of 20 partitions", 100),
        Rolling("1,000 preallocated segments of 20 partitions", 50, preallocate=True),
        Deleting(),
        Compacting(),
    ]
