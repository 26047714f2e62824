"""With faust-streaming; its interpreter has faust and its RocksDB store installed."""

import sys

import faust  # type: ignore[import-not-found]

bootstrap, group, job, guarantee, state_dir = sys.argv[1:6]
app = faust.App(
    group,
    broker=f"kafka://{bootstrap}",
    store="rocksdb://",
    datadir=state_dir,
    processing_guarantee="exactly_once" if guarantee == "exactly_once_v2" else "at_least_once",
    broker_commit_interval=0.1 if guarantee == "exactly_once_v2" else 1.0,
    consumer_auto_offset_reset="earliest",
    topic_partitions=1,
    web_enabled=False,
)
lines = app.topic("in", key_type=str, value_type=str, key_serializer="raw", value_serializer="raw")
out = app.topic("out", key_type=str, key_serializer="raw", value_serializer="raw")
counts = app.Table("counts", default=int)
windowed = app.Table("windowed", default=int).tumbling(10.0) if job == "windowed" else None


@app.agent(lines)
async def run(stream):  # type: ignore[no-untyped-def]
    async for key, value in stream.items():
        if job == "map":
            await out.send(key=key, value=value.upper())
        elif job == "count":
            counts[key] += 1
            await out.send(key=key, value=str(counts[key]))
        elif windowed is not None:
            windowed[key] += 1
        else:
            raise SystemExit(f"faust: no {job}")


sys.argv = [sys.argv[0], "worker", "-l", "warn", "--without-web"]
app.main()
