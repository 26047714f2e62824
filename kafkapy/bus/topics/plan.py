"""Plans the changes that make the cluster as declared. Pure, so that the plan shown is the plan carried out."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from kafkapy.bus.topics.declaration import TopicDeclaration
from kafkapy.common.topic_names import INTERNAL_TOPICS

AUDIT_TOPIC = "_bus_audit"


class Danger(Enum):
    """Changes that need the permission of a flag."""

    NONE = ""
    LOSES_DATA = "--allow-data-loss"
    MOVES_KEYS = "--allow-moved-keys"


class ActionKind(Enum):
    CREATE = "create"
    DELETE = "delete"
    ADD_PARTITIONS = "add partitions"
    SET_CONFIG = "set"


class Action(NamedTuple):
    """A change. `before` and `after`: numbers of partitions, or values of a config (None: not set on the topic)."""

    topic: str
    kind: ActionKind
    config: str = ""
    before: str | None = None
    after: str | None = None
    danger: Danger = Danger.NONE
    why: str = ""

    def __str__(self) -> str:
        sign = {ActionKind.CREATE: "+", ActionKind.DELETE: "-"}.get(self.kind, "~")
        told = f"{sign} {self.topic}"
        if self.kind is ActionKind.CREATE:
            told += f": {self.after}"
        elif self.kind is ActionKind.ADD_PARTITIONS:
            told += f": partitions {self.before} -> {self.after}"
        elif self.kind is ActionKind.SET_CONFIG:
            told += f": {self.config} {'(not set)' if self.before is None else self.before} -> {self.after}"
        return told + (f"   [{self.why}: needs {self.danger.value}]" if self.danger is not Danger.NONE else "")


class ActualTopic(NamedTuple):
    """A topic of the cluster. `configs`: those set on the topic; `effective`: the values in effect."""

    partitions: int
    replicas: int
    configs: Mapping[str, str]
    effective: Mapping[str, str]


class Plan(NamedTuple):
    """A plan. `problems`: what cannot be done; if there are any, nothing is done. `notes`: differences that are left
    as they are."""

    actions: list[Action]
    problems: list[str]
    notes: list[str]

    def refused(self, allowed: frozenset[Danger]) -> list[Action]:
        return [each for each in self.actions if each.danger is not Danger.NONE and each.danger not in allowed]


def make_plan(declared: Mapping[str, TopicDeclaration], actual: Mapping[str, ActualTopic]) -> Plan:
    plan = Plan([], [], [])
    for name, topic in sorted(declared.items()):
        found = actual.get(name)
        if topic.absent:
            if found is not None:
                plan.actions.append(
                    Action(name, ActionKind.DELETE, danger=Danger.LOSES_DATA, why="its events are gone then")
                )
        elif found is None:
            plan.actions.append(Action(name, ActionKind.CREATE, after=_described(topic)))
        else:
            _change(plan, topic, found)
    for name in sorted(actual.keys() - declared.keys() - INTERNAL_TOPICS - {AUDIT_TOPIC}):
        plan.notes.append(f"{name} is not declared, and is left as it is")
    return plan


def _change(plan: Plan, topic: TopicDeclaration, found: ActualTopic) -> None:
    name = topic.name
    if topic.partitions > found.partitions:
        spread = topic.router in (None, "", "none")
        danger, why = (Danger.NONE, "") if spread else (Danger.MOVES_KEYS, "keys go to other partitions from then on")
        counts = str(found.partitions), str(topic.partitions)
        plan.actions.append(Action(name, ActionKind.ADD_PARTITIONS, "", *counts, danger, why))
    elif 0 < topic.partitions < found.partitions:
        plan.problems.append(
            f"{name} has {found.partitions} partitions, and {topic.partitions} are declared: partitions cannot be taken away; "
            "make a new topic, and copy what is needed"
        )
    if 0 < topic.replicas != found.replicas:
        plan.problems.append(
            f"{name} has {found.replicas} replicas, and {topic.replicas} are declared: kafka-reassign-partitions.sh changes that"
        )
    for key, value in sorted(topic.configs.items()):
        before = found.configs.get(key)
        if before == value or (before is None and found.effective.get(key) == value):
            continue
        danger, why = config_danger(key, found.effective.get(key), value)
        plan.actions.append(Action(name, ActionKind.SET_CONFIG, key, before, value, danger, why))
    for key in sorted(found.configs.keys() - topic.configs.keys()):
        plan.notes.append(f"{name} has {key}={found.configs[key]}, which is not declared, and is left as it is")


def config_danger(key: str, before: str | None, after: str) -> tuple[Danger, str]:
    """Would the change delete events that are kept today?"""
    if key in ("retention.ms", "retention.bytes", "delete.retention.ms"):
        was, now = _limit(before), _limit(after)
        return (Danger.LOSES_DATA, "older events are deleted") if now < was else (Danger.NONE, "")
    if key == "cleanup.policy":
        was_policies, now_policies = (set((each or "").replace(" ", "").split(",")) for each in (before, after))
        added = now_policies - was_policies
        if added:
            return Danger.LOSES_DATA, f"the policy {', '.join(sorted(added))} takes events away"
    return Danger.NONE, ""


def _limit(text: str | None) -> float:
    try:
        number = int(text or "-1")
    except ValueError:
        return float("inf")
    return float("inf") if number < 0 else number


def _described(topic: TopicDeclaration) -> str:
    counts = [
        f"{topic.partitions} partitions" if topic.partitions > 0 else "partitions as the brokers have it",
        f"{topic.replicas} replicas" if topic.replicas > 0 else "replicas as the brokers have it",
    ]
    return ", ".join([*counts, *(f"{key}={value}" for key, value in sorted(topic.configs.items()))])
