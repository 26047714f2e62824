"""Runs deeply recursive functions on a thread with a large stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_STACK_BYTES = 256 << 20
"""5 KB for each call that the limit below allows. Only used pages take memory."""
_RECURSION_LIMIT = 50_000
"""Python's recursion limit meanwhile. It applies to the whole process.

Other threads have stacks of 8 MB, on which Python's JSON scanner, the function with the largest frames, crashes at
80,000 levels.
"""
_one_at_a_time = threading.Lock()


def run_deep(function: Callable[[], T]) -> T:
    """Call a function, and again on a thread with room for 50,000 nested calls if it raises a RecursionError.

    The second call starts from the beginning, so the function must not change anything before it fails. The function
    itself must limit the nesting of its input: the stack has room for some thousand levels of any parser here.

    Raises:
        RecursionError: The large stack was too small, too.

    Example:
        >>> def depth(levels: int) -> int:
        ...     return 0 if levels == 0 else 1 + depth(levels - 1)
        >>> run_deep(lambda: depth(5_000))
        5000
    """
    try:
        return function()
    except RecursionError:
        pass
    with _one_at_a_time:  # the limit and the stack size apply to the whole process
        return _on_large_stack(function)


def _on_large_stack(function: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    limit, stack_bytes = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        threading.stack_size(_STACK_BYTES)
        try:
            thread = threading.Thread(target=call, name="deep-call", daemon=True)
            thread.start()
        finally:
            threading.stack_size(stack_bytes)
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
