"""Which request is next, and which records of an answer are new: `http.offset.mode`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkapy.connect.connectors.http.json_pointers import value_at
from kafkapy.connect.errors import ConnectException

SIMPLE, CHAINING, CURSOR, LINK, SNAPSHOT = (
    "SIMPLE_INCREMENTING",
    "CHAINING",
    "CURSOR_PAGINATION",
    "LINK_HEADER",
    "SNAPSHOT",
)
MODES: Final = (SIMPLE, CHAINING, CURSOR, LINK, SNAPSHOT)


class PageAnswer(NamedTuple):
    """What a request was answered with.

    Attributes:
        document: Parsed JSON.
        next_url: Of the header `Link` with `rel="next"`; None: there is none.
        tag: For the next request of the same page: the header `ETag`, None without one.
    """

    document: Any
    next_url: str | None = None
    tag: str | None = None


class PagePosition(NamedTuple):
    """Where a source is.

    Attributes:
        offset: For `${offset}`, or the URL of the page.
        read: How many records of the page were read.
        tag: Of the answer, if all of it was read.
    """

    offset: str
    read: int = 0
    tag: str | None = None

    def stored(self) -> dict[str, Any]:
        """Return the source offset."""
        return {"offset": self.offset, "index": self.read, "etag": self.tag}

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None, initial: str) -> PagePosition:
        """Return the position of a source offset; None: the first one. Raises ConnectException."""
        if stored is None:
            return cls(initial)
        offset, index, tag = stored.get("offset"), stored.get("index", 0), stored.get("etag")
        if not isinstance(offset, str) or not isinstance(index, int) or not isinstance(tag, str | None):
            raise ConnectException(f"The stored offset {dict(stored)} is none of this connector.")
        return cls(offset, index, tag)


class Paging:
    """Follows the pages of a source.

    Args:
        mode: SIMPLE_INCREMENTING: the offset is a number, and each record adds 1. CHAINING: the offset is in each record.
            CURSOR_PAGINATION: the next offset is in the answer. LINK_HEADER: the next URL is in a header. SNAPSHOT: each
            request has all records.
        data_pointer: To the records in an answer: an array, or one record.
        offset_pointer: To the offset in a record (CHAINING).
        next_pointer: To the next offset in an answer (CURSOR_PAGINATION).

    Example:
        >>> paging = Paging("CHAINING", "/items", "/id", "")
        >>> paging.records(PagePosition("0"), PageAnswer({"items": [{"id": 7}]}))
        ([({'id': 7}, PagePosition(offset='7', read=0, tag=None))], PagePosition(offset='7', read=0, tag=None))
    """

    def __init__(self, mode: str, data_pointer: str, offset_pointer: str, next_pointer: str) -> None:
        self._mode = mode
        self._data, self._offset, self._next = data_pointer, offset_pointer, next_pointer

    def records(self, at: PagePosition, answer: PageAnswer) -> tuple[Sequence[tuple[Any, PagePosition]], PagePosition]:
        """Return the new records, each with the position after it, and the position after all.

        Args:
            at: The position of the request.
            answer: What it was answered with.

        Raises:
            ConnectException: A record or an answer lacks its offset.
        """
        found = value_at(answer.document, self._data)
        rows = found if isinstance(found, list) else [] if found is None else [found]
        match self._mode:
            case "SIMPLE_INCREMENTING":
                first = _number(at.offset)
                pairs = [(row, PagePosition(str(first + number))) for number, row in enumerate(rows, 1)]
            case "CHAINING":
                pairs = [(row, PagePosition(self._offset_of(row))) for row in rows]
            case _:
                return self._paged(at, answer, rows)
        return pairs, pairs[-1][1] if pairs else at

    def _paged(
        self, at: PagePosition, answer: PageAnswer, rows: Sequence[Any]
    ) -> tuple[Sequence[tuple[Any, PagePosition]], PagePosition]:
        end = PagePosition(at.offset, 0 if self._mode == SNAPSHOT else len(rows), answer.tag)
        if self._mode == CURSOR:
            following = value_at(answer.document, self._next)
            if following not in (None, "", at.offset):
                end = PagePosition(_text(following))
        elif self._mode == LINK and answer.next_url:
            end = PagePosition(answer.next_url)
        pairs = [(row, PagePosition(at.offset, index)) for index, row in enumerate(rows, 1)][at.read :]
        if pairs:
            pairs[-1] = (pairs[-1][0], end)
        return pairs, end if len(rows) >= at.read else at

    def _offset_of(self, row: Any) -> str:
        offset = value_at(row, self._offset)
        if offset is None:
            raise ConnectException(f"A record has no offset at {self._offset}: check http.offset.json.pointer.")
        return _text(offset)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConnectException(f"The offset {text!r} is no number, which SIMPLE_INCREMENTING needs.") from None


def _text(value: Any) -> str:
    if isinstance(value, bool | dict | list):
        raise ConnectException("An offset must be a text or a number.")
    return str(value)
