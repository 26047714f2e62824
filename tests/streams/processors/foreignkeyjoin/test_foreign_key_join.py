"""The processors of a foreign-key join, each alone and all together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKey, CombinedKeySchema
from kafkapy.streams.processors.foreignkeyjoin.foreign_table_join import ForeignTableJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.murmur3 import hash128
from kafkapy.streams.processors.foreignkeyjoin.response_join import ResponseJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_join import SubscriptionJoinProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_receive import SubscriptionReceiveProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import SubscriptionResponseWrapper
from kafkapy.streams.processors.foreignkeyjoin.subscription_send import SubscriptionSendProcessorSupplier
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import Instruction, SubscriptionWrapper
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.records import Change, ValueAndTimestamp
from kafkapy.streams.serdes import Serdes
from tests.streams.processors.fakes import Driven, FakeContext, TimestampedKeyValueStore

FORGET = Instruction.DELETE_KEY_NO_PROPAGATE
DELETE = Instruction.DELETE_KEY_AND_PROPAGATE
ANSWER = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
ANSWER_VALUE = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


def topic() -> str:
    return "pseudo"


def foreign_key(value: str) -> str | None:
    """Values are a foreign key and a number, as "x1"; "-1" has none."""
    return None if value[0] == "-" else value[0]


def send(left_join: bool, *, versioned: bool = False) -> Driven:
    supplier = SubscriptionSendProcessorSupplier(foreign_key, topic, topic, None, None, left_join)
    supplier.use_versioned_semantics = versioned
    return Driven(supplier, FakeContext())


def instructions(driven: Driven, new: str | None, old: str | None) -> list[tuple[Any, Instruction]]:
    found = []
    for key, wrapper, timestamp in driven.pipe_update("k", new, old, 5):
        assert timestamp == 5
        assert wrapper.hash == (None if new is None else hash128(new.encode()))
        assert (wrapper.primary_key, wrapper.primary_partition, wrapper.version) == ("k", 3, 1)
        found.append((key, wrapper.instruction))
    return found


def test_instructions_of_an_inner_join() -> None:
    driven = send(False)
    assert instructions(driven, "x1", None) == [("x", ANSWER_VALUE)]
    assert instructions(driven, "x2", "x1") == [("x", ANSWER_VALUE)]
    assert instructions(driven, "y2", "x2") == [("x", FORGET), ("y", ANSWER)]
    assert instructions(driven, None, "y2") == [("y", DELETE)]
    assert instructions(driven, "-1", "x1") == [("x", DELETE)]
    assert instructions(driven, "x1", "-1") == [("x", ANSWER_VALUE)]
    assert instructions(driven, None, None) == []
    assert driven.context.dropped == 0
    assert instructions(driven, "-1", None) == instructions(driven, "-1", "-2") == []
    assert instructions(driven, None, "-1") == []
    assert driven.context.dropped == 3


def test_instructions_of_a_left_join() -> None:
    driven = send(True)
    assert instructions(driven, "x1", None) == [("x", ANSWER)]
    assert instructions(driven, "x2", "x1") == [("x", ANSWER)]
    assert instructions(driven, "y2", "x2") == [("x", FORGET), ("y", ANSWER)]
    assert instructions(driven, "-2", "x2") == [("x", FORGET), (None, ANSWER)]
    assert instructions(driven, "x1", "-2") == [("x", ANSWER)]
    assert instructions(driven, None, "y2") == [("y", FORGET), (None, ANSWER)]
    assert instructions(driven, "-1", None) == [(None, ANSWER)]
    assert instructions(driven, None, None) == []
    assert driven.context.dropped == 0


def test_updates_of_a_versioned_table_that_are_out_of_order_are_dropped() -> None:
    driven = send(True, versioned=True)
    assert driven.update("k", "x1", None, 5, is_latest=False) == []
    assert driven.context.dropped == 1


def test_a_left_record_without_a_key_fails() -> None:
    with pytest.raises(TypeError, match="primaryKey cannot be null"):
        send(True).pipe_update(None, "x1", None, 5)


def key_schema() -> CombinedKeySchema:
    return CombinedKeySchema(topic, Serdes.string(), topic, Serdes.string())


def subscription(instruction: Instruction, value_hash: bytes | None = b"h" * 16) -> SubscriptionWrapper:
    return SubscriptionWrapper(value_hash, instruction, "k", 3)


def test_subscriptions_are_stored() -> None:
    store = TimestampedKeyValueStore()
    driven = Driven(SubscriptionReceiveProcessorSupplier("s", key_schema()), FakeContext(s=store))
    first, second = subscription(ANSWER), subscription(DELETE)
    new = ValueAndTimestamp(first, 5)
    assert driven.pipe("x", first, 5) == [(CombinedKey("x", "k"), Change(new, None), 5)]
    assert store.entries == {b"\0\0\0\1xk": new}
    assert driven.pipe("x", second, 6) == [(CombinedKey("x", "k"), Change(ValueAndTimestamp(second, 6), new), 6)]
    assert store.entries == {}


def test_a_subscription_to_nothing_is_not_stored() -> None:
    store = TimestampedKeyValueStore()
    driven = Driven(SubscriptionReceiveProcessorSupplier("s", key_schema()), FakeContext(s=store))
    assert [key for key, *_ in driven.pipe(None, subscription(ANSWER), 5)] == [CombinedKey(None, "k")]
    assert driven.pipe(None, subscription(DELETE), 5) == []
    assert driven.context.dropped == 1
    assert store.entries == {}


@pytest.mark.parametrize(
    "instruction, key, expected",
    [
        (ANSWER, "x", [("X", 9)]),
        (ANSWER, "y", [(None, 5)]),
        (ANSWER, None, [(None, 5)]),
        (ANSWER_VALUE, "x", [("X", 9)]),
        (ANSWER_VALUE, "y", []),
        (DELETE, "x", [(None, 9)]),
        (FORGET, "x", []),
    ],
)
def test_answers(instruction: Instruction, key: str | None, expected: list[Any]) -> None:
    store = TimestampedKeyValueStore()
    store.put("x", ValueAndTimestamp("X", 9))
    supplier = SubscriptionJoinProcessorSupplier(KTableMaterializedValueGetterSupplier("right"))
    driven = Driven(supplier, FakeContext(right=store))
    new = ValueAndTimestamp(subscription(instruction), 5)
    assert driven.pipe(CombinedKey(key, "k"), Change(new, None), 5) == [
        ("k", SubscriptionResponseWrapper(b"h" * 16, value, 3), timestamp) for value, timestamp in expected
    ]


def test_an_update_goes_to_all_subscribers() -> None:
    schema = key_schema()
    store = TimestampedKeyValueStore()
    context = FakeContext(s=store)
    schema.init(context)
    for key, primary in ("x", "k"), ("x", "l"), ("xx", "k"), ("y", "k"):
        store.put(schema.to_bytes(key, primary), ValueAndTimestamp(subscription(ANSWER), 1))
    supplier = ForeignTableJoinProcessorSupplier("s", schema)
    supplier.use_versioned_semantics = True
    driven = Driven(supplier, context)
    answer = SubscriptionResponseWrapper(b"h" * 16, "X", 3)
    assert driven.pipe_update("x", "X", None, 5) == [("k", answer, 5), ("l", answer, 5)]
    assert driven.pipe_update("x", None, "X", 5) == [(key, answer._replace(foreign_value=None), 5) for key in "kl"]
    assert driven.pipe_update(None, "X", None, 5) == driven.update("x", "X", None, 5, is_latest=False) == []
    assert context.dropped == 2


def response(left_join: bool) -> Driven:
    store = TimestampedKeyValueStore()
    store.put("k", ValueAndTimestamp("x1", 9))
    getter = KTableMaterializedValueGetterSupplier("left")
    supplier = ResponseJoinProcessorSupplier(getter, None, topic, lambda one, two: f"{one}+{two}", left_join)
    return Driven(supplier, FakeContext(left=store))


def test_an_answer_to_another_value_is_dropped() -> None:
    driven = response(False)
    assert driven.pipe("k", SubscriptionResponseWrapper(hash128(b"x2"), "X", 3), 5) == []
    assert driven.pipe("k", SubscriptionResponseWrapper(None, "X", 3), 5) == []
    assert driven.pipe("l", SubscriptionResponseWrapper(hash128(b"x1"), "X", 3), 5) == []
    assert driven.context.dropped == 3
    driven.processor.close()


@pytest.mark.parametrize("left_join", [False, True])
def test_answers_become_results(left_join: bool) -> None:
    driven = response(left_join)
    current = hash128(b"x1")
    assert driven.pipe("k", SubscriptionResponseWrapper(current, "X", 3), 5) == [("k", "x1+X", 5)]
    without = "x1+None" if left_join else None
    assert driven.pipe("k", SubscriptionResponseWrapper(current, None, 3), 5) == [("k", without, 5)]
    assert driven.pipe("l", SubscriptionResponseWrapper(None, None, 3), 5) == [("l", None, 5)]


class ForeignKeyJoin:
    """All processors, with topics that are read at once."""

    def __init__(self, left_join: bool) -> None:
        self.left, self.right = TimestampedKeyValueStore(), TimestampedKeyValueStore()
        self.context = FakeContext(left=self.left, right=self.right, s=TimestampedKeyValueStore())
        schema = key_schema()
        self._send = Driven(
            SubscriptionSendProcessorSupplier(foreign_key, topic, topic, None, None, left_join), self.context
        )
        self._receive = Driven(SubscriptionReceiveProcessorSupplier("s", schema), self.context)
        right = KTableMaterializedValueGetterSupplier("right")
        self._join = Driven(SubscriptionJoinProcessorSupplier(right), self.context)
        self._foreign = Driven(ForeignTableJoinProcessorSupplier("s", schema), self.context)
        self._response = Driven(
            ResponseJoinProcessorSupplier(
                KTableMaterializedValueGetterSupplier("left"), None, topic, lambda one, two: f"{one}+{two}", left_join
            ),
            self.context,
        )
        self.result: dict[str, str] = {}

    def put_left(self, key: str, value: str | None, time: int) -> None:
        old = self.left.get(key)
        self.left.put(key, None if value is None else ValueAndTimestamp(value, time))
        for subscribed in self._send.pipe_update(key, value, old and old.value, time):
            for received in self._receive.pipe(*subscribed):
                self._answer(self._join.pipe(*received))

    def put_right(self, key: str, value: str | None, time: int) -> None:
        old = self.right.get(key)
        self.right.put(key, None if value is None else ValueAndTimestamp(value, time))
        self._answer(self._foreign.pipe_update(key, value, old and old.value, time))

    def _answer(self, answers: list[Any]) -> None:
        for answer in answers:
            for key, value, _ in self._response.pipe(*answer):
                if value is None:
                    self.result.pop(key, None)
                else:
                    self.result[key] = value


LEFT = st.tuples(st.just("left"), st.sampled_from("kl"), st.none() | st.sampled_from(["x1", "x2", "y1", "-1"]))
RIGHT = st.tuples(st.just("right"), st.sampled_from("xy"), st.none() | st.sampled_from("AB"))


@given(st.booleans(), st.lists(LEFT | RIGHT, max_size=20))
def test_the_result_is_the_join_of_the_tables(left_join: bool, updates: list[tuple[str, str, str | None]]) -> None:
    join = ForeignKeyJoin(left_join)
    for time, (side, key, value) in enumerate(updates):
        if side == "right":
            join.put_right(key, value, time)
        else:
            join.put_left(key, value, time)
    expected = {}
    for key, (value, _) in join.left.entries.items():
        right = join.right.get(foreign_key(value))
        if right is not None:
            expected[key] = f"{value}+{right.value}"
        elif left_join:
            expected[key] = f"{value}+None"
    assert join.result == expected
