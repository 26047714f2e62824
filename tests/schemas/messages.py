"""Protobuf messages as protoc would generate them: `shop.User`, `shop.Order` with `shop.Order.Line`, which imports the former."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto


def _field(name: str, number: int, kind: int, type_name: str = "", repeated: bool = False) -> Any:
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    return _FIELD(name=name, number=number, type=kind, type_name=type_name or None, label=label)


def _files() -> list[Any]:
    user = descriptor_pb2.FileDescriptorProto(name="shop/user.proto", package="shop", syntax="proto3")
    message = user.message_type.add(name="User")
    message.field.extend([_field("id", 1, _FIELD.TYPE_INT64), _field("name", 2, _FIELD.TYPE_STRING)])
    order = descriptor_pb2.FileDescriptorProto(
        name="shop/order.proto",
        package="shop",
        syntax="proto3",
        dependency=["shop/user.proto", "google/protobuf/timestamp.proto"],
    )
    order.message_type.add(name="Empty")
    message = order.message_type.add(name="Order")
    line = message.nested_type.add(name="Line")
    line.field.append(_field("item", 1, _FIELD.TYPE_STRING))
    message.field.extend(
        [
            _field("by", 1, _FIELD.TYPE_MESSAGE, ".shop.User"),
            _field("at", 2, _FIELD.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
            _field("lines", 3, _FIELD.TYPE_MESSAGE, ".shop.Order.Line", repeated=True),
        ]
    )
    return [user, order]


assert timestamp_pb2.DESCRIPTOR.name  # imported, so that it is in the default pool
_pool = descriptor_pool.Default()
for _file in _files():
    _pool.Add(_file)


def message_type(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(name))


User, Order, Line = message_type("shop.User"), message_type("shop.Order"), message_type("shop.Order.Line")
