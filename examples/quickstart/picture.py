"""The counts as a table and as a picture."""

from __future__ import annotations

from pathlib import Path

from examples.quickstart.source import Counts

_ROWS = 12


def table(counts: Counts) -> str:
    """The largest packages and the most frequent identifiers, side by side."""
    packages = sorted(counts.packages.items(), key=lambda item: (-item[1][1], item[0]))
    identifiers = sorted(counts.identifiers.items(), key=lambda item: (-item[1], item[0]))
    rows = [f"  {'package':<24}{'files':>6}{'lines':>10}{'words':>11}      {'identifier':<20}{'count':>9}"]
    for index in range(min(_ROWS, max(len(packages), len(identifiers)))):
        left = right = ""
        if index < len(packages):
            name, (files, lines, words) = packages[index]
            left = f"{_short(name):<24}{files:>6,}{lines:>10,}{words:>11,}"
        if index < len(identifiers):
            right = f"{identifiers[index][0][:19]:<20}{identifiers[index][1]:>9,}"
        rows.append(f"  {left:<51}      {right}".rstrip())
    if len(packages) > _ROWS:
        rows.append(f"  ... and {len(packages) - _ROWS:,} packages more")
    return "\n".join(rows)


def draw(counts: Counts, path: Path) -> None:
    """Lines of the largest packages and the most frequent identifiers, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    packages = sorted(counts.packages.items(), key=lambda item: item[1][1])[-_ROWS:]
    left.barh([_short(name) for name, _ in packages], [lines for _, (_, lines, _) in packages], color="#4c72b0")
    left.set_title("lines per package")
    identifiers = sorted(counts.identifiers.items(), key=lambda item: item[1])[-_ROWS:]
    right.barh([name for name, _ in identifiers], [number for _, number in identifiers], color="#dd8452")
    right.set_title("most frequent identifiers")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def _short(name: str) -> str:
    return name if len(name) < 24 else f"...{name[-20:]}"
