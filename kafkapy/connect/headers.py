"""Headers of Connect's records (`org.apache.kafka.connect.header`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple, Self

from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, fits_type, own_type
from kafkapy.connect.errors import DataException


class Header(NamedTuple):
    """A header: a key, and a value with its schema.

    Attributes:
        key: Need not be unique.
        schema: None: the value has no schema.
        value: Fits the schema.

    Example:
        >>> str(Header("a", None, 5))
        'ConnectHeader(key=a, value=5, schema=null)'
    """

    key: str
    schema: Schema | None
    value: Any

    def __str__(self) -> str:
        return f"ConnectHeader(key={self.key}, value={java_str(self.value)}, schema={java_str(self.schema)})"


class Headers:
    """The headers of a record, in order; a key may occur more than once.

    Invariant: each value that `add` took fits its schema.

    Args:
        headers: First ones; copied, not checked. Default: none.

    Example:
        >>> headers = Headers().add("a", 1).add("b", 2).add("a", 3)
        >>> headers.last_with_name("a").value, [header.key for header in headers.remove("a")]
        (3, ['b'])
    """

    __slots__ = ("_headers",)

    def __init__(self, headers: Iterable[Header] = ()) -> None:
        self._headers = list(headers)

    def add(self, key: str, value: Any, schema: Schema | None = None) -> Self:
        """Append a header; returns this object.

        Args:
            key: The header's.
            value: The value.
            schema: Default: the value has none.

        Raises:
            DataException: The value does not fit the schema.
        """
        if schema is not None:
            value = own_type(schema, value)
            _check(schema, value)
        self._headers.append(Header(key, schema, value))
        return self

    def add_header(self, header: Header) -> Self:
        """Append a header as it is; returns this object."""
        self._headers.append(header)
        return self

    def last_with_name(self, key: str) -> Header | None:
        """Return the last header of a key, None without one."""
        return next((header for header in reversed(self._headers) if header.key == key), None)

    def all_with_name(self, key: str) -> Iterator[Header]:
        """Return the headers of a key, in order."""
        return (header for header in self._headers if header.key == key)

    def remove(self, key: str) -> Self:
        """Remove the headers of a key; returns this object."""
        self._headers = [header for header in self._headers if header.key != key]
        return self

    def retain_latest(self, key: str | None = None) -> Self:
        """Remove all but the last header of a key; returns this object.

        Args:
            key: Default: each key.
        """
        seen: set[str] = set()
        kept = []
        for header in reversed(self._headers):
            if (key is None or header.key == key) and header.key in seen:
                continue
            seen.add(header.key)
            kept.append(header)
        self._headers = kept[::-1]
        return self

    def apply(self, transform: Callable[[Header], Header | None], key: str | None = None) -> Self:
        """Replace headers by what a function returns for them; returns this object.

        Args:
            transform: None removes the header.
            key: Only headers of this key. Default: all.
        """
        changed = (transform(header) if key is None or header.key == key else header for header in self._headers)
        self._headers = [header for header in changed if header is not None]
        return self

    def clear(self) -> Self:
        """Remove all headers; returns this object."""
        self._headers = []
        return self

    def duplicate(self) -> Headers:
        """Return a copy."""
        made = Headers.__new__(Headers)
        made._headers = self._headers.copy()
        return made

    def __iter__(self) -> Iterator[Header]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __eq__(self, other: object) -> bool:
        return self._headers == other._headers if isinstance(other, Headers) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = f"[{', '.join(map(str, self._headers))}]" if self._headers else ""
        return f"ConnectHeaders(headers={shown})"


_LOGICAL: dict[tuple[Type, str | None], type] = {
    (Type.BYTES, DECIMAL): Decimal,
    (Type.INT32, DATE): Instant,
    (Type.INT32, TIME): Instant,
    (Type.INT64, TIMESTAMP): Instant,
}


def _check(schema: Schema, value: Any) -> None:
    if value is None:
        if not schema.optional:
            raise DataException(f"A null value requires an optional schema but was {schema}")
        return
    logical = _LOGICAL.get((schema.type, schema.name))
    if not fits_type(schema.type, value) and not (logical is not None and isinstance(value, logical)):
        raise DataException(f"The value {java_str(value)} is not compatible with the schema {schema}")
