"""Stateless operators. A call of a supplier returns a new processor; its function may be a coroutine function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.coroutines import is_coroutine_function, operator
from kafkapy.streams.records import Record


class KStreamFilter:
    """`KStream.filter` and `filter_not`."""

    def __init__(self, predicate: Callable[[Any, Any], Any], filter_not: bool) -> None:
        self._predicate = predicate
        self._filter_not = filter_not

    def __call__(self) -> Processor:
        return operator(self._predicate, lambda predicate: KStreamFilterProcessor(predicate, self._filter_not))


class KStreamFilterProcessor(Processor):
    """Forwards the records that match a predicate."""

    def __init__(self, predicate: Callable[[Any, Any], Any], filter_not: bool) -> None:
        self._predicate = predicate
        self._filter_not = filter_not

    def process(self, record: Record[Any, Any]) -> None:
        if bool(self._predicate(record.key, record.value)) != self._filter_not:
            self.context.forward(record)


class KStreamMap:
    """`KStream.map`."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def __call__(self) -> Processor:
        return operator(self._mapper, KStreamMapProcessor)


class KStreamMapProcessor(Processor):
    """Replaces key and value."""

    def __init__(self, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self._mapper = mapper

    def process(self, record: Record[Any, Any]) -> None:
        key, value = self._mapper(record.key, record.value)
        self.context.forward(Record(key, value, record.timestamp, record.headers))


class KStreamSelectKey:
    """`KStream.select_key` and `group_by`."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def __call__(self) -> Processor:
        return operator(self._mapper, KStreamSelectKeyProcessor)


class KStreamSelectKeyProcessor(Processor):
    """Replaces the key."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record[Any, Any]) -> None:
        key = self._mapper(record.key, record.value)
        self.context.forward(Record(key, record.value, record.timestamp, record.headers))


class KStreamMapValues:
    """`KStream.map_values`.

    Args:
        mapper: Of the value, or of key and value.
        with_key: Whether it takes the key, too.
    """

    def __init__(self, mapper: Callable[..., Any], with_key: bool) -> None:
        self._mapper = mapper
        self._with_key = with_key

    def __call__(self) -> Processor:
        if self._with_key:
            return operator(self._mapper, KStreamMapValuesWithKeyProcessor)
        return operator(self._mapper, KStreamMapValuesProcessor, with_key=False)


class KStreamMapValuesProcessor(Processor):
    """Replaces the value by a function's result for it."""

    def __init__(self, mapper: Callable[[Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(Record(record.key, self._mapper(record.value), record.timestamp, record.headers))


class KStreamMapValuesWithKeyProcessor(Processor):
    """Replaces the value by a function's result for key and value."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        self.context.forward(Record(key, self._mapper(key, record.value), record.timestamp, record.headers))


class KStreamFlatMap:
    """`KStream.flat_map`."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def __call__(self) -> Processor:
        return operator(self._mapper, KStreamFlatMapProcessor)


class KStreamFlatMapProcessor(Processor):
    """Replaces a record by any number of records."""

    def __init__(self, mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> None:
        self._mapper = mapper

    def process(self, record: Record[Any, Any]) -> None:
        forward = self.context.forward
        timestamp = record.timestamp
        headers = record.headers
        for key, value in self._mapper(record.key, record.value):
            forward(Record(key, value, timestamp, headers))


class KStreamFlatMapValues:
    """`KStream.flat_map_values`.

    Args:
        mapper: Of the value, or of key and value.
        with_key: Whether it takes the key, too.
    """

    def __init__(self, mapper: Callable[..., Any], with_key: bool) -> None:
        self._mapper = mapper
        self._with_key = with_key

    def __call__(self) -> Processor:
        def make(mapper: Callable[..., Any]) -> Processor:
            return KStreamFlatMapValuesProcessor(mapper, self._with_key)

        return operator(self._mapper, make, with_key=self._with_key)


class KStreamFlatMapValuesProcessor(Processor):
    """Replaces a record by any number of records with its key."""

    def __init__(self, mapper: Callable[..., Iterable[Any]], with_key: bool) -> None:
        self._mapper = mapper
        self._with_key = with_key

    def process(self, record: Record[Any, Any]) -> None:
        forward = self.context.forward
        key = record.key
        timestamp = record.timestamp
        headers = record.headers
        values = self._mapper(key, record.value) if self._with_key else self._mapper(record.value)
        for value in values:
            forward(Record(key, value, timestamp, headers))


class KStreamPeek:
    """`KStream.peek`, and `foreach`, which ends the stream.

    Args:
        action: Takes key and value; its result is ignored.
        forwards: Whether records are forwarded.
    """

    def __init__(self, action: Callable[[Any, Any], Any], forwards: bool) -> None:
        self._action = action
        self._forwards = forwards

    def __call__(self) -> Processor:
        return operator(self._action, lambda action: KStreamPeekProcessor(action, self._forwards))


class KStreamPeekProcessor(Processor):
    """Calls a function for each record."""

    def __init__(self, action: Callable[[Any, Any], Any], forwards: bool) -> None:
        self._action = action
        self._forwards = forwards

    def process(self, record: Record[Any, Any]) -> None:
        self._action(record.key, record.value)
        if self._forwards:
            self.context.forward(record)


class KStreamBranch:
    """`KStream.split`.

    Attributes:
        predicates: Predicates of the branches, in order; they are added after the supplier was created.
        children: Names of the branches' nodes; one more if there is a default branch.
    """

    def __init__(self) -> None:
        self.predicates: list[Callable[[Any, Any], Any]] = []
        self.children: list[str] = []

    def __call__(self) -> Processor:
        children = list(self.children)
        if not any(map(is_coroutine_function, self.predicates)):
            return KStreamBranchProcessor(list(self.predicates), children)
        return operator(
            partial(_first_true, list(self.predicates)),
            lambda chosen: KStreamBranchProcessor(_cases(chosen, len(self.predicates)), children),
        )


async def _first_true(predicates: Sequence[Callable[[Any, Any], Any]], key: Any, value: Any) -> int:
    """Return the index of the first predicate that is true; -1 if none is. Predicates may be coroutine functions."""
    for number, predicate in enumerate(predicates):
        holds = predicate(key, value)
        if await holds if is_coroutine_function(predicate) else holds:
            return number
    return -1


def _cases(chosen: Callable[[Any, Any], int], count: int) -> list[Callable[[Any, Any], bool]]:
    return [lambda key, value, number=number: chosen(key, value) == number for number in range(count)]  # type: ignore[misc]


class KStreamBranchProcessor(Processor):
    """Forwards a record to the first branch whose predicate is true, or to the default branch."""

    def __init__(self, predicates: list[Callable[[Any, Any], Any]], children: list[str]) -> None:
        self._cases = list(zip(predicates, children, strict=False))
        self._default = children[len(predicates)] if len(children) > len(predicates) else None

    def process(self, record: Record[Any, Any]) -> None:
        for predicate, child in self._cases:
            if predicate(record.key, record.value):
                self.context.forward(record, child)
                return
        if self._default is not None:
            self.context.forward(record, self._default)


class PassThrough:
    """The pass-through node of `KStream.merge`, branches, and the two sides of a join."""

    def __call__(self) -> Processor:
        return PassThroughProcessor()


class PassThroughProcessor(Processor):
    """Forwards all records."""

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)
