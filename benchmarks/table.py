"""How figures are written in the tables."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Four digits at most, three at least, without an exponent."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value else 0
    return f"{float(f'{value:.4g}'):,.{digits if value < 1000 else 0}f}"
