"""What kafkapy-connect prints: tables, states in colours on a terminal, plans."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafkapy.tools.connect.connect_plan import PlannedConnector, PlanStep

DONE: Final = {PlanStep.CREATE: "created", PlanStep.CHANGE: "changed", PlanStep.DELETE: "deleted"}
"""The word for a step that was carried out."""
REQUESTED: Final = {"pause": "will be paused", "resume": "will be resumed", "stop": "will be stopped"}
"""The words for a request to change a state; the worker carries it out later."""
_VERBS: Final = {PlanStep.CREATE: "create", PlanStep.CHANGE: "change", PlanStep.DELETE: "delete"}
_RED, _GREEN, _YELLOW, _DIM = "31", "32", "33", "2"
_COLOURS: Final = {"RUNNING": _GREEN, "FAILED": _RED, "PAUSED": _YELLOW, "STOPPED": _YELLOW, "UNASSIGNED": _YELLOW}
_STEP_COLOURS: Final = {"+": _GREEN, "-": _RED, "~": _YELLOW}


def has_failed(status: Mapping[str, Any]) -> bool:
    """Return whether a connector or one of its tasks has failed."""
    return any(each["state"] == "FAILED" for each in (status["connector"], *status["tasks"]))


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str] | None = None) -> None:
    """Print columns as wide as their longest values.

    Args:
        head: The columns' titles.
        rows: The values.
        colours: Value -> colour. Default: none.
    """
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = [
            _coloured(value.ljust(width), (colours or {}).get(value)) for value, width in zip(line, widths, strict=True)
        ]
        print("  ".join(cells).rstrip())


def print_states(statuses: Iterable[Mapping[str, Any]], with_traces: bool) -> None:
    """Print states of connectors and their tasks, then what failures say.

    Args:
        statuses: As the worker shows them.
        with_traces: True: whole traces; False: their first lines.
    """
    rows, failures = [], []
    for status in statuses:
        name, connector = status["name"], status["connector"]
        rows.append((name, "", connector["state"], connector["worker_id"]))
        failures.append((name, connector.get("trace")))
        for task in status["tasks"]:
            rows.append(("", str(task["id"]), task["state"], task["worker_id"]))
            failures.append((f"{name}, task {task['id']}", task.get("trace")))
    print_table(("NAME", "TASK", "STATE", "WORKER"), rows, _COLOURS)
    for where, trace in failures:
        if trace:
            print(f"\n{where}: {trace.strip() if with_traces else trace.partition(chr(10))[0]}")


def print_plan(steps: Sequence[PlannedConnector]) -> None:
    """Print the steps with their differences, and how many there are."""
    for step in steps:
        if step.step is not PlanStep.KEEP:
            print(_coloured(f"{step.step.value} {step.name}", _STEP_COLOURS[step.step.value]))
            for line in step.lines():
                print("    " + _coloured(line, _STEP_COLOURS[line[0]]))
    counts = [(sum(step.step is kind for step in steps), verb) for kind, verb in _VERBS.items()]
    todo = ", ".join(f"{count} to {verb}" for count, verb in counts if count)
    kept = sum(step.step is PlanStep.KEEP for step in steps)
    print(f"{todo or 'Nothing to do'}{f', {kept} as they should be' if kept else ''}")


def print_configs(configs: Iterable[Mapping[str, Any]]) -> None:
    """Print the configs of a plugin with types, defaults and meanings."""
    for each in configs:
        default = "required" if each["required"] else f"default {each['default_value'] or 'none'}"
        print(f"{each['name']} ({each['type'].lower()}, {default})")
        if each["documentation"]:
            print(f"    {_coloured(each['documentation'], _DIM)}")


def _coloured(text: str, colour: str | None) -> str:
    shows = colour is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\x1b[{colour}m{text}\x1b[0m" if shows else text
