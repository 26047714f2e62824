"""Names of Java's classes for values, as messages of errors have them."""

from __future__ import annotations

from decimal import Decimal

from kafkapy.connect.data.scalars import BigInt, Float32, Instant, Int8, Int16, Int32, Int64

_NAMES: dict[type, str] = {
    bool: "java.lang.Boolean",
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    Int64: "java.lang.Long",
    int: "java.lang.Long",
    BigInt: "java.math.BigInteger",
    Float32: "java.lang.Float",
    float: "java.lang.Double",
    str: "java.lang.String",
    bytes: "[B",
    Decimal: "java.math.BigDecimal",
    Instant: "java.util.Date",
    list: "java.util.ArrayList",
    dict: "java.util.LinkedHashMap",
}


def java_class_name(value: object) -> str:
    """Return the full name of the Java class that a value stands for.

    Args:
        value: One without an equivalent in Java gives its Python name.

    Example:
        >>> java_class_name(5), java_class_name(b""), java_class_name(None)
        ('java.lang.Long', '[B', 'null')
    """
    if value is None:
        return "null"
    kind = type(value)
    known = _NAMES.get(kind) or getattr(kind, "java_class", None)
    return known if isinstance(known, str) else f"{kind.__module__}.{kind.__qualname__}"
