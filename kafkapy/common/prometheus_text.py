"""Lines of Prometheus's text format, version 0.0.4: every page of metrics is made of these."""

from __future__ import annotations

from collections.abc import Iterable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_NUMBERS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf", "True": "1", "False": "0"}


def head(name: str, kind: str, doc: str) -> str:
    r"""The HELP and the TYPE line of a metric, which come before its samples.

    A quote is not escaped in a HELP line, other than in a label: Prometheus refuses a page whose HELP has another escape than
    `\\` and `\n`.
    """
    return f"# HELP {name} {doc.translate(_HELP_ESCAPES)}\n# TYPE {name} {kind}\n"


def label(name: str, value: str) -> str:
    """One label of a sample: `topic="events"`."""
    return f'{name}="{value.translate(_LABEL_ESCAPES)}"'


def sample(name: str, labels: Iterable[str], value: float) -> str:
    """The line of a sample; `labels` come from `label`."""
    text = f"{value}"
    number = _NUMBERS.get(text, text)
    joined = ",".join(labels)
    return f"{name}{{{joined}}} {number}\n" if joined else f"{name} {number}\n"
