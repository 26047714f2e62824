"""A strict reader of Prometheus's text format 0.0.4. prometheus_client's parser lets pass what Prometheus refuses."""

from __future__ import annotations

import math
import re
from collections import defaultdict

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HELP = re.compile(rf"# HELP ({_NAME}) ((?:[^\\]|\\\\|\\n)*)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\\\|\\"|\\n)*)"(,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.+)\}})? (NaN|[+-]Inf|[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)")
_SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "summary": ("", "_count", "_sum")}

Labels = tuple[tuple[str, str], ...]


class GrammarError(AssertionError):
    """The line, and what is wrong with it."""


def check(page: str) -> None:
    """`GrammarError` unless the page is as the format's grammar has it.

    Each metric has one HELP line, one TYPE line, and behind them all of its samples. No two samples have the same name and
    labels. Counts don't fall from one bucket to the next, and the last one, `+Inf`, is the histogram's count.
    """
    if page and not page.endswith("\n"):
        raise GrammarError("the last line does not end")
    reader = _Reader()
    for line in page.split("\n")[:-1]:
        try:
            reader.read(line)
        except ValueError as error:
            raise GrammarError(f"{error}: {line}") from None
    reader.end_of_family()


class _Reader:
    """Invariant: `_name` and `_kind` are of the metric whose samples come now; no kind: its TYPE line comes next."""

    def __init__(self) -> None:
        self._name = self._kind = ""
        self._families: set[str] = set()
        self._seen: set[tuple[str, Labels]] = set()
        self._buckets: dict[Labels, list[tuple[float, float]]] = defaultdict(list)
        self._counts: dict[Labels, float] = {}

    def read(self, line: str) -> None:
        if line.startswith("# HELP "):
            self._help(line)
        elif line.startswith("# TYPE "):
            self._type(line)
        else:
            self._sample(line)

    def end_of_family(self) -> None:
        for labels, buckets in self._buckets.items():
            bounds, counts = zip(*buckets, strict=True)
            if [*bounds] != sorted({*bounds}) or [*counts] != sorted(counts) or bounds[-1] != math.inf:
                raise GrammarError(f"the buckets of {self._name} {labels} do not grow up to +Inf: {buckets}")
            if self._counts.get(labels) != counts[-1]:
                raise GrammarError(f"{self._name}_count {labels} is not the count of its last bucket")
        self._buckets.clear()
        self._counts.clear()

    def _help(self, line: str) -> None:
        self.end_of_family()
        match = _HELP.fullmatch(line)
        if match is None:
            raise ValueError("no HELP line: only \\\\ and \\n are escapes")
        if match[1] in self._families:
            raise ValueError("a second HELP line of the metric")
        self._name, self._kind = match[1], ""
        self._families.add(match[1])

    def _type(self, line: str) -> None:
        match = _TYPE.fullmatch(line)
        if match is None:
            raise ValueError("no TYPE line")
        if match[1] != self._name or self._kind:
            raise ValueError("a TYPE line that does not follow the HELP line of its metric")
        self._kind = match[2]

    def _sample(self, line: str) -> None:
        match = _SAMPLE.fullmatch(line)
        if match is None:
            raise ValueError("no sample")
        labels = _labels(match[2] or "")
        suffixes = _SUFFIXES.get(self._kind, ("",))
        if not self._kind or match[1] not in [self._name + suffix for suffix in suffixes]:
            raise ValueError(f"a sample among those of {self._name or 'no metric'}")
        if (match[1], labels) in self._seen:
            raise ValueError("the second sample of this name with these labels")
        self._seen.add((match[1], labels))
        self._value(match[1].removeprefix(self._name), dict(labels), float(match[3]))

    def _value(self, suffix: str, labels: dict[str, str], value: float) -> None:
        if (self._kind == "counter" or suffix) and suffix != "_sum" and not 0 <= value < math.inf:
            raise ValueError("a count that is no number from 0 on")
        bound = labels.pop("le", None)
        if (bound is not None) != (suffix == "_bucket"):
            raise ValueError("le belongs to buckets, and to nothing else")
        if (quantile := labels.pop("quantile", None)) is not None and not 0 <= float(quantile) <= 1:
            raise ValueError("a quantile that is none")
        if (quantile is not None) != (self._kind == "summary" and not suffix):
            raise ValueError("quantile belongs to a summary's values, and to nothing else")
        key = tuple(sorted(labels.items()))
        if bound is not None:
            self._buckets[key].append((float(bound), value))
        elif self._kind == "histogram" and suffix == "_count":
            self._counts[key] = value


def _labels(text: str) -> Labels:
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _LABEL.match(text, position)
        if match is None:
            raise ValueError("no labels")
        if match[1] in found or match[1].startswith("__"):
            raise ValueError(f"the label {match[1]} twice, or of a name that is Prometheus's own")
        found[match[1]] = match[2]
        position = match.end()
    return tuple(sorted(found.items()))
