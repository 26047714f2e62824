"""Lines of Prometheus's text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_NUMBERS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf", "True": "1", "False": "0"}


def head(name: str, kind: str, doc: str) -> str:
    r"""Return the HELP and TYPE lines of a metric, which precede its samples.

    Unlike in labels, quotes are not escaped in HELP lines: Prometheus refuses HELP lines with escapes other than `\\`
    and `\n`.
    """
    return f"# HELP {name} {doc.translate(_HELP_ESCAPES)}\n# TYPE {name} {kind}\n"


def label(name: str, value: str) -> str:
    """Return one label of a sample: `topic="events"`."""
    return f'{name}="{value.translate(_LABEL_ESCAPES)}"'


def sample(name: str, labels: Iterable[str], value: float) -> str:
    """Return the line of a sample; `labels` are results of `label`."""
    text = f"{value}"
    number = _NUMBERS.get(text, text)
    joined = ",".join(labels)
    return f"{name}{{{joined}}} {number}\n" if joined else f"{name} {number}\n"
