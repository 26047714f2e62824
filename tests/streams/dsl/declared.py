"""Topologies of the steps in `java_topologies.json`; names follow from the operators, so one function stands for all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kafkapy.streams import (
    Branched,
    BufferConfig,
    Consumed,
    EmitStrategy,
    Grouped,
    Joined,
    JoinWindows,
    KGroupedTable,
    KTable,
    Materialized,
    Named,
    Processor,
    Produced,
    Repartitioned,
    SessionWindowedCogroupedKStream,
    SessionWindowedKStream,
    SessionWindows,
    SlidingWindows,
    Stores,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TableJoined,
    TimeWindows,
    Topology,
    UnlimitedWindows,
)

Step = dict[str, Any]


def nothing(*_: Any) -> Any:
    """Stands for all functions."""


class Declared:
    """Calls the method of each step's operator on what the steps before have made."""

    def __init__(self, case: Step) -> None:
        self.case = case
        config = {"application.id": "app", "bootstrap.servers": "none:0", **case["config"]}
        self.config: dict[str, Any] = config
        self.made: dict[str, Any] = {}
        self.builder = StreamsBuilder(config)

    def topology(self) -> Topology:
        for store in self.case.get("stores", []):
            supplier = Stores.persistent_key_value_store(store["store"])
            self.builder.add_state_store(Stores.key_value_store_builder(supplier, None, None))
        for step in self.case["steps"]:
            made = getattr(self, step["op"])(step)
            if made is not None:
                self.made[step["id"]] = made
        return self.builder.build(self.config)

    def of(self, step: Step, number: int = 0) -> Any:
        ids = step["in"] if isinstance(step["in"], list) else [step["in"]]
        return self.made[ids[number]]

    # --- sources and sinks ------------------------------------------------------------------------------------------------

    def stream(self, step: Step) -> Any:
        topics = re.compile(step["pattern"]) if "pattern" in step else step.get("topics") or step["topic"]
        return self.builder.stream(topics, Consumed(name=step.get("name")))

    def table(self, step: Step) -> Any:
        return self.builder.table(step["topic"], Consumed(name=step.get("name")), materialized(step))

    def global_table(self, step: Step) -> Any:
        return self.builder.global_table(step["topic"], Consumed(name=step.get("name")), materialized(step))

    def to(self, step: Step) -> None:
        self.of(step).to(step.get("topic", nothing), Produced(name=step.get("name")))

    # --- stateless --------------------------------------------------------------------------------------------------------

    def plain(self, step: Step) -> Any:
        method = getattr(self.of(step), step["op"])
        if isinstance(self.of(step), KTable):
            return method(nothing, named(step), materialized(step))
        return method(nothing, named(step))

    map = map_values = filter = filter_not = flat_map = flat_map_values = select_key = peek = foreach = plain

    def merge(self, step: Step) -> Any:
        return self.of(step).merge(self.of(step, 1), named(step))

    def split(self, step: Step) -> None:
        split = self.of(step).split(named(step))
        for branch in step["branches"]:
            split = split.branch(nothing, self.caught(branch))
        if step.get("default"):
            split.default_branch(self.caught(step["default"]))

    def caught(self, branch: Step) -> Branched[Any, Any]:
        return Branched.with_consumer(lambda stream: self.made.update({branch["id"]: stream}), branch.get("name"))

    def repartition(self, step: Step) -> Any:
        return self.of(step).repartition(Repartitioned(step.get("name"), number_of_partitions=step.get("partitions")))

    def to_table(self, step: Step) -> Any:
        return self.of(step).to_table(named(step), materialized(step))

    def to_stream(self, step: Step) -> Any:
        return self.of(step).to_stream(nothing if "fn" in step else None, named(step))

    def process(self, step: Step) -> Any:
        return getattr(self.of(step), step["op"])(Processor, *step.get("stores", []), named=named(step))

    process_values = process

    def transform_values(self, step: Step) -> Any:
        return self.of(step).transform_values(nothing, named=named(step), materialized=materialized(step))

    # --- grouping and aggregating -----------------------------------------------------------------------------------------

    def group_by_key(self, step: Step) -> Any:
        return self.of(step).group_by_key(Grouped(step.get("name")))

    def group_by(self, step: Step) -> Any:
        return self.of(step).group_by(nothing, Grouped(step.get("name")))

    group_by_table = group_by

    def windowed_by(self, step: Step) -> Any:
        made = self.of(step).windowed_by(windows(step["windows"]))
        if step.get("emit"):
            made = made.emit_strategy(EmitStrategy(step["emit"] == "on_window_close"))
        return made

    def count(self, step: Step) -> Any:
        return self.of(step).count(named(step), materialized(step))

    def reduce(self, step: Step) -> Any:
        functions = [nothing] * (2 if isinstance(self.of(step), KGroupedTable) else 1)
        return self.of(step).reduce(*functions, named=named(step), materialized=materialized(step))

    def aggregate(self, step: Step) -> Any:
        grouped = self.of(step)
        functions: list[Callable[..., Any]] = [nothing]
        if "fn" in step:
            functions.append(nothing)
        if isinstance(grouped, (KGroupedTable, SessionWindowedKStream, SessionWindowedCogroupedKStream)):
            functions.append(nothing)
        return grouped.aggregate(*functions, named=named(step), materialized=materialized(step))

    def cogroup(self, step: Step) -> Any:
        made = self.of(step).cogroup(nothing)
        for number in range(1, len(step["in"])):
            made = made.cogroup(self.of(step, number), nothing)
        return made

    def suppress(self, step: Step) -> Any:
        buffer = BufferConfig.unbounded()
        if step.get("logging") is False:
            buffer = buffer.with_logging_disabled()
        wait_ms = None if step["until"] == "window_close" else step["until"]
        return self.of(step).suppress(Suppressed(buffer, wait_ms, step.get("name")))

    # --- joins ------------------------------------------------------------------------------------------------------------

    def stream_stream_join(self, step: Step) -> Any:
        joined: StreamJoined[Any, Any, Any] = StreamJoined(name=step.get("name"), store_name=step.get("store_name"))
        if step.get("logging") is False:
            joined = joined.with_logging_disabled()
        given = step["windows"]
        window = JoinWindows(
            given.get("before", given["diff"]), given.get("after", given["diff"]), given.get("grace", 0)
        )
        return self.joined(step)(self.of(step, 1), nothing, window, joined)

    def stream_table_join(self, step: Step) -> Any:
        options: Joined[Any, Any, Any] = Joined(name=step.get("name"), grace_ms=step.get("grace"))
        return self.joined(step)(self.of(step, 1), nothing, options)

    def stream_global_join(self, step: Step) -> Any:
        return self.joined(step)(self.of(step, 1), nothing, nothing, named(step))

    def table_table_join(self, step: Step) -> Any:
        return self.joined(step)(self.of(step, 1), nothing, named(step), materialized(step))

    def foreign_key_join(self, step: Step) -> Any:
        options: TableJoined[Any, Any] = TableJoined(name=step.get("name"))
        return self.joined(step)(self.of(step, 1), nothing, nothing, options, materialized(step))

    def joined(self, step: Step) -> Any:
        return getattr(self.of(step), {"inner": "join", "left": "left_join", "outer": "outer_join"}[step["kind"]])


def named(step: Step) -> Named | None:
    return Named(step["name"]) if step.get("name") else None


def windows(given: Step) -> Any:
    grace: int = given.get("grace", 0)
    kind: str = given["type"]
    if kind == "session":
        return SessionWindows(given["gap"], grace)
    if kind == "sliding":
        return SlidingWindows(given["diff"], grace)
    if kind == "unlimited":
        return UnlimitedWindows(given["start"])
    size: int = given["size"]
    advance: int = given.get("advance", size)
    return TimeWindows(size, advance, grace)


def materialized(step: Step) -> Materialized[Any, Any] | None:
    given = step.get("materialized")
    if given is None:
        return None
    options: Materialized[Any, Any] = Materialized()
    if "supplier" in given:
        options = Materialized.as_(supplier(given["store"], *given["supplier"]))
    elif "versioned" in given:
        options = Materialized.as_(Stores.persistent_versioned_key_value_store(given["store"], given["versioned"]))
    elif given.get("store"):
        options = Materialized.as_(given["store"])
    elif "store_type" in given:
        options = Materialized.as_(StoreType[given["store_type"].upper()])
    if isinstance(given.get("logging"), dict):
        options = options.with_logging_enabled({name: str(value) for name, value in given["logging"].items()})
    elif given.get("logging") is False:
        options = options.with_logging_disabled()
    return options.with_retention(given["retention"]) if "retention" in given else options


def supplier(name: str, kind: str, *args: Any) -> Any:
    if kind == "lru":
        return Stores.lru_map(name, *args)
    more = (False,) if kind.endswith("window") else ()
    return getattr(Stores, f"{kind}_store")(name, *args, *more)
