"""Wrap the prose of pages: `python -m tests.pages.wrap docs/security.md`.

Only paragraphs and items of lists with a line that is too long are wrapped; tables, programs and headings stay as they are.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tests.words import LONGEST_LINE

ITEM = re.compile(r"(\s*)(\d+\. |[-*] )?")
KEPT = ("|", "#", "    ", ">")


def wrapped(text: str) -> str:
    """The page with all its lines short enough."""
    lines: list[str] = []
    for block in blocks(text.split("\n")):
        is_prose = block[0].strip() and not block[0].lstrip().startswith("```") and not block[0].startswith(KEPT)
        lines += wrapped_block(block) if is_prose and any(len(line) > LONGEST_LINE for line in block) else block
    return "\n".join(lines)


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Programs, paragraphs, items of lists; every other line is alone."""
    block: list[str] = []
    is_code = False
    for line in lines:
        is_fence = line.lstrip().startswith("```")
        begins = is_fence or not line.strip() or line.startswith(KEPT) or re.match(r"\s*(\d+\. |[-*] )", line)
        alone = block and (not block[0].strip() or block[0].startswith(KEPT))
        if not is_code and block and (begins or alone or block[-1].lstrip().startswith("```")):
            yield block
            block = []
        block.append(line)
        is_code ^= is_fence
    yield block


def wrapped_block(block: list[str]) -> list[str]:
    """A paragraph, or an item of a list, whose later lines are indented like its text."""
    found = ITEM.match(block[0])
    assert found is not None
    return textwrap.wrap(
        " ".join(line.strip() for line in block),
        LONGEST_LINE - 2,
        initial_indent=found[1],
        subsequent_indent=" " * len(found[0]),
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(wrapped(page.read_text()))
