"""Event classes for the tests, one for each kind of schema."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar

from kafkapy.bus import event
from kafkapy.schemas.types import Schema


def avro(name: str, *fields: Any) -> str:
    namespace, _, last = name.rpartition(".")
    return json.dumps({"type": "record", "name": last, "namespace": namespace, "fields": list(fields)})


BOOKING = avro(
    "shop.BookingCreated",
    {"name": "booking_id", "type": "string"},
    {"name": "user_id", "type": "long"},
    {"name": "note", "type": ["null", "string"], "default": None},
)


@event(name="shop.BookingCreated", version="1.0.0", topic="bookings", schema=BOOKING, router="user_id")
@dataclass(frozen=True, kw_only=True)
class BookingCreated:
    booking_id: str
    user_id: int
    note: str | None = None


BOOKING_NEWER = avro(
    "shop.BookingCreated",
    {"name": "booking_id", "type": "string"},
    {"name": "user_id", "type": "long"},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "city", "type": "string", "default": "-"},
)


@event(name="shop.BookingCreated", version="1.0.1", topic="bookings", schema=BOOKING_NEWER, router="user_id")
@dataclass(frozen=True, kw_only=True)
class BookingCreatedNewer:
    booking_id: str
    user_id: int
    note: str | None = None
    city: str = "-"


PAID = json.dumps(
    {
        "title": "shop.Paid",
        "type": "object",
        "properties": {"order": {"type": "string"}, "cents": {"type": "integer"}, "by": {"type": "string"}},
        "required": ["order", "cents"],
    }
)


@event(name="shop.Paid", version="1.0.0", topic="payments", schema=Schema(PAID, "JSON"), router="order")
@dataclass(frozen=True, kw_only=True)
class Paid:
    order: str
    cents: int
    by: str | None = None


class Colour(Enum):
    RED = "RED"
    BLUE = "BLUE"


@dataclass(frozen=True, kw_only=True)
class Circle:
    schema_name: ClassVar[str] = "shapes.Circle"
    radius: float


@dataclass(frozen=True, kw_only=True)
class Square:
    schema_name: ClassVar[str] = "shapes.Square"
    side: float
    inner: Square | None = None


DRAWN = avro(
    "shapes.Drawn",
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}},
    {
        "name": "shapes",
        "type": {
            "type": "array",
            "items": [
                {"type": "record", "name": "Circle", "fields": [{"name": "radius", "type": "double"}]},
                {
                    "type": "record",
                    "name": "Square",
                    "fields": [
                        {"name": "side", "type": "double"},
                        {"name": "inner", "type": ["null", "Square"], "default": None},
                    ],
                },
            ],
        },
    },
    {"name": "counts", "type": {"type": "map", "values": "long"}, "default": {}},
    {"name": "only", "type": ["null", "Circle"], "default": None},
)


@event(name="shapes.Drawn", version="1.0.0", topic="drawn", schema=DRAWN, router="colour", time_field="at")
@dataclass(frozen=True, kw_only=True)
class Drawn:
    at: datetime
    colour: Colour
    shapes: list[Circle | Square]
    counts: dict[str, int] = field(default_factory=dict)
    only: Circle | None = None


MOVED = """
namespace py shop
enum Means { FOOT = 1, CAR = 2 }
struct Place { 1: required double lat, 2: required double lon }
struct Moved {
  1: required string user,
  2: optional Place place,
  3: optional list<Place> path,
  4: optional map<string, i64> counts,
  5: optional Means means,
  6: optional binary raw
}
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    lat: float
    lon: float


class Means(Enum):
    FOOT = "FOOT"
    CAR = "CAR"


@event(name="shop.Moved", version="1.0.0", topic="moved", schema=Schema(MOVED, "THRIFT"), router="user")
@dataclass(frozen=True, kw_only=True)
class Moved:
    user: str
    place: Place | None = None
    path: list[Place] | None = None
    counts: dict[str, int] | None = None
    means: Means | None = None
    raw: bytes | None = None
