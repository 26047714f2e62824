"""Java's regular expressions, as `subscribePattern` takes them in Spark, for Python's `re`.

What only Java writes that way is translated: quotes, names of groups, the end of the input. What Python would read in
another sense, or not at all, is refused. Topics have ASCII names, so the two agree on `\\w` and its like.
"""

from __future__ import annotations

import re
import warnings

_QUOTE_OR_ESCAPE = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\z|\(\?<(?P<group>[a-zA-Z]\w*)>|\\k<(?P<back>\w+)>|\\.", re.S
)
_CLASS_OR_ESCAPE = re.compile(r"\\.|\[\^?\]?(?P<inside>(?:\\.|[^\]\\])*)\]", re.S)
_SET_OPERATION = re.compile(r"(?<!\\)(?:\\\\)*(?:\[|&&)")


def python_pattern(java: str) -> re.Pattern[str]:
    """The pattern, to be used with `search`. `ValueError` says what is wrong with it or cannot be had here."""
    translated = _QUOTE_OR_ESCAPE.sub(_in_python, java)
    for piece in _CLASS_OR_ESCAPE.finditer(translated):
        if piece["inside"] and _SET_OPERATION.search(piece["inside"]):
            # Python would take the characters for themselves.
            raise ValueError("classes of characters within classes ('[a[bc]]', '&&') are not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile(translated)
        except re.error as error:
            raise ValueError(str(error)) from None


def _in_python(match: re.Match[str]) -> str:
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["group"] is not None:
        return f"(?P<{match['group']}>"
    if match["back"] is not None:
        return f"(?P={match['back']})"
    return r"\Z" if match[0] == r"\z" else match[0]
