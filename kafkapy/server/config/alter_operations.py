"""Operations on single configs: set, delete, append to a list, subtract from it (KIP-339)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkapy.common.config_def import ConfigKey, to_text
from kafkapy.common.wire_enums import ConfigType
from kafkapy.protocol.errors import Errors, KafkaError


class OpType(IntEnum):
    """The number is the code in IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigOp(NamedTuple):
    name: str
    operation: int
    """A code of `OpType`, or an unknown one."""
    value: str | None


def require_well_formed(ops: Iterable[ConfigOp]) -> None:
    """Raise `KafkaError(INVALID_REQUEST)` for duplicate names or missing values."""
    ops = list(ops)
    if len({op.name for op in ops}) != len(ops):
        raise KafkaError(Errors.INVALID_REQUEST, "Error due to duplicate config keys")
    missing = [op.name for op in ops if op.value is None and op.operation != OpType.DELETE]
    if missing:
        raise KafkaError(Errors.INVALID_REQUEST, f"Null value not supported for : {', '.join(missing)}")


def apply_ops(ops: Iterable[ConfigOp], configs: Mapping[str, str], keys: Mapping[str, ConfigKey]) -> dict[str, str]:
    """Return the resulting configs. `KafkaError` if the operation appends to a config that is not a list. An unknown
    operation, or a list operation on a name that is not in `keys`, is UNKNOWN_SERVER_ERROR, as in Kafka.
    """
    changed = dict(configs)
    for op in ops:
        if op.operation == OpType.DELETE:
            changed.pop(op.name, None)
        elif op.operation == OpType.SET:
            changed[op.name] = op.value or ""
        elif op.operation in (OpType.APPEND, OpType.SUBTRACT) and op.name in keys:
            changed[op.name] = _changed_list(op, keys[op.name], changed)
        else:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    return changed


def _changed_list(op: ConfigOp, key: ConfigKey, configs: Mapping[str, str]) -> str:
    appends = op.operation == OpType.APPEND
    if key.type is not ConfigType.LIST:
        verb = "append" if appends else "subtract"
        raise KafkaError(Errors.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {op.name}")
    text = configs.get(op.name, to_text(key.default or []))
    items, operands = _items(text), _items(op.value or "")
    if appends:
        return ",".join(items + [item for item in operands if item not in items])
    for operand in operands:
        if operand in items:
            items.remove(operand)
    return ",".join(items)


def _items(text: str) -> list[str]:
    return text.split(",") if text else []
