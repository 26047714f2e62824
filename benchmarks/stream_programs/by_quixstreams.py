"""With quixstreams; its interpreter has quixstreams alone installed."""

import sys

from quixstreams import Application  # type: ignore[import-not-found]


def main() -> None:
    bootstrap, group, job, guarantee, state_dir = sys.argv[1:6]
    application = Application(
        broker_address=bootstrap,
        consumer_group=group,
        auto_offset_reset="earliest",
        state_dir=state_dir,
        commit_interval=0.1 if guarantee == "exactly_once_v2" else 1.0,
        processing_guarantee="exactly-once" if guarantee == "exactly_once_v2" else "at-least-once",
    )
    lines = application.topic("in", key_deserializer="str", value_deserializer="str")
    frame = application.dataframe(lines)
    if job == "map":
        out = application.topic("out", key_serializer="str", value_serializer="str")
        frame.apply(str.upper).to_topic(out)
    elif job == "count":
        out = application.topic("out", key_serializer="str", value_serializer="integer")
        frame.apply(counted, stateful=True).to_topic(out)
    elif job == "windowed":
        frame.tumbling_window(duration_ms=10_000).count().current()
    else:
        raise SystemExit(f"quixstreams: no {job}")
    application.run()


def counted(value, state):  # type: ignore[no-untyped-def]
    count = state.get("count", 0) + 1
    state.set("count", count)
    return count


main()
