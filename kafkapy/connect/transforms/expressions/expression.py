"""Expressions in Python's syntax that can only read a record: neither imports nor attributes of objects, at bounded cost."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.transforms.expressions.expression_functions import FUNCTIONS, bounded, compiled_pattern

Scope = Mapping[str, Any]
"""Values of the names."""
Evaluate = Callable[[Scope], Any]
_MOST_CHARACTERS: Final = 10_000
_MOST_NODES: Final = 1_000
_DEEPEST: Final = 100
_MOST_BITS: Final = 4_096

_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
_UNARY: Final[dict[type, Callable[[Any], Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_COMPARED: Final[dict[type, Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class Expression:
    """An expression over named values.

    `value.city` and `value["city"]` are fields of a struct or entries of a map; a field of None is None. There are
    literals, arithmetic, comparisons, `and`, `or`, `not`, `in`, `a if b else c`, and the functions of
    `expression_functions`.

    Args:
        text: The expression.
        names: Names that it may use.

    Raises:
        ConfigException: The expression has a wrong syntax, or uses what is not allowed.

    Example:
        >>> Expression("value.price * 2 if value.open else 0", ["value"]).evaluate({"value": {"price": 5, "open": True}})
        10
    """

    def __init__(self, text: str, names: list[str]) -> None:
        self.text = text
        if len(text) > _MOST_CHARACTERS:
            raise ConfigException(f"An expression has at most {_MOST_CHARACTERS} characters; this has {len(text)}")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ConfigException(f"The expression {text!r} cannot be read: {error}") from error
        if sum(1 for _ in ast.walk(tree)) > _MOST_NODES:
            raise ConfigException(f"An expression has at most {_MOST_NODES} parts; {text[:100]!r}… has more")
        self._evaluate = _Compiler(text, frozenset(names)).compile(tree, 0)

    def evaluate(self, scope: Scope) -> Any:
        """Return the value.

        Args:
            scope: Values of the names.

        Raises:
            DataException: It cannot be computed.
        """
        try:
            return self._evaluate(scope)
        except ConnectException as error:
            raise DataException(f"The expression {self.text!r} has failed: {error}") from error
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise DataException(f"The expression {self.text!r} has failed: {type(error).__name__}: {error}") from error


class _Compiler:
    def __init__(self, text: str, names: frozenset[str]) -> None:
        self._text = text
        self._names = names

    def compile(self, node: ast.expr, depth: int) -> Evaluate:
        if depth > _DEEPEST:
            raise ConfigException(f"The expression {self._text[:100]!r} is nested deeper than {_DEEPEST} levels")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refused(type(node).__name__)
        found: Evaluate = method(node, depth + 1)
        return found

    def _refused(self, what: str) -> ConfigException:
        return ConfigException(
            f"The expression {self._text!r} uses {what}, which is not allowed; use the names {sorted(self._names)}, "
            f"literals, operators and the functions {sorted(FUNCTIONS)}, or the transform "
            "kafkapy.connect.transforms.Function"
        )

    def _constant(self, node: ast.Constant, depth: int) -> Evaluate:
        value = node.value
        if value is Ellipsis or isinstance(value, complex):
            raise self._refused(repr(value))
        return lambda scope: value

    def _name(self, node: ast.Name, depth: int) -> Evaluate:
        name = node.id
        if name not in self._names:
            raise self._refused(f"the name {name}")
        return lambda scope: scope[name]

    def _attribute(self, node: ast.Attribute, depth: int) -> Evaluate:
        name = node.attr
        if name.startswith("__"):
            raise self._refused(f"the attribute {name}")
        of = self.compile(node.value, depth)
        return lambda scope: _field(of(scope), name)

    def _subscript(self, node: ast.Subscript, depth: int) -> Evaluate:
        of = self.compile(node.value, depth)
        if isinstance(node.slice, ast.Slice):
            ends = [
                (lambda scope: None) if each is None else self.compile(each, depth)
                for each in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return lambda scope: _sliced(of(scope), *(end(scope) for end in ends))
        key = self.compile(node.slice, depth)
        return lambda scope: _item(of(scope), key(scope))

    def _boolop(self, node: ast.BoolOp, depth: int) -> Evaluate:
        parts = [self.compile(each, depth) for each in node.values]
        stops_at = isinstance(node.op, ast.Or)

        def evaluate(scope: Scope) -> Any:
            found: Any = None
            for part in parts:
                found = part(scope)
                if bool(found) is stops_at:
                    break
            return found

        return evaluate

    def _binop(self, node: ast.BinOp, depth: int) -> Evaluate:
        left, right = self.compile(node.left, depth), self.compile(node.right, depth)
        if isinstance(node.op, ast.Mult):
            return lambda scope: _product(left(scope), right(scope))
        if isinstance(node.op, ast.Mod):
            return lambda scope: _remainder(left(scope), right(scope))
        operation = _BINARY.get(type(node.op))
        if operation is None:
            raise self._refused(f"the operator {type(node.op).__name__}")
        return lambda scope: bounded(operation(left(scope), right(scope)))

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Evaluate:
        operation, of = _UNARY.get(type(node.op)), self.compile(node.operand, depth)
        if operation is None:
            raise self._refused(f"the operator {type(node.op).__name__}")
        return lambda scope: operation(of(scope))

    def _compare(self, node: ast.Compare, depth: int) -> Evaluate:
        first = self.compile(node.left, depth)
        rest = [
            (_COMPARED[type(each)], self.compile(other, depth))
            for each, other in zip(node.ops, node.comparators, strict=True)
        ]

        def evaluate(scope: Scope) -> bool:
            one = first(scope)
            for compares, other in rest:
                another = other(scope)
                if not compares(one, another):
                    return False
                one = another
            return True

        return evaluate

    def _ifexp(self, node: ast.IfExp, depth: int) -> Evaluate:
        test, then, other = (self.compile(each, depth) for each in (node.test, node.body, node.orelse))
        return lambda scope: then(scope) if test(scope) else other(scope)

    def _list(self, node: ast.List | ast.Tuple, depth: int) -> Evaluate:
        parts = [self.compile(each, depth) for each in node.elts]
        return lambda scope: [part(scope) for part in parts]

    _tuple = _list

    def _call(self, node: ast.Call, depth: int) -> Evaluate:
        name = node.func.id if isinstance(node.func, ast.Name) else "a call of a method"
        if name not in FUNCTIONS or node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise self._refused(f"the function {name}" if isinstance(node.func, ast.Name) else name)
        arguments = [self.compile(each, depth) for each in node.args]
        if name == "matches":
            return self._matches(node, arguments)
        function = FUNCTIONS[name]
        return lambda scope: bounded(function(*(each(scope) for each in arguments)))

    def _matches(self, node: ast.Call, arguments: list[Evaluate]) -> Evaluate:
        pattern = node.args[1] if len(node.args) == 2 else None
        if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
            raise self._refused("matches without a literal as its second argument")
        matches, text = compiled_pattern(pattern.value), arguments[0]

        def evaluate(scope: Scope) -> bool:
            found = text(scope)
            return found is not None and matches(str(found))

        return evaluate


def _field(of: Any, name: str) -> Any:
    if of is None:
        return None
    if isinstance(of, Struct):
        return of.get(name)
    if isinstance(of, dict):
        return of.get(name)
    raise DataException(f"{type(of).__name__} has no field {name}")


def _item(of: Any, key: Any) -> Any:
    if of is None:
        return None
    if isinstance(of, list | str | bytes):
        return of[key]
    if isinstance(of, Mapping):
        return of.get(key)
    return _field(of, key)


def _sliced(of: Any, lower: Any, upper: Any, step: Any) -> Any:
    return None if of is None else of[lower:upper:step]


def _product(one: Any, other: Any) -> Any:
    if not all(isinstance(each, int | float) or hasattr(each, "as_tuple") for each in (one, other)):
        raise DataException(f"{type(one).__name__} and {type(other).__name__} cannot be multiplied")
    if isinstance(one, int) and isinstance(other, int) and one.bit_length() + other.bit_length() > _MOST_BITS:
        raise DataException(f"The product has more than {_MOST_BITS} bits")
    return one * other


def _remainder(one: Any, other: Any) -> Any:
    if isinstance(one, str | bytes):
        raise DataException("% formats no text here")
    return one % other
