"""Asks two brokers the same and collects where their answers differ."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.headers import ResponseHeader
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.end_txn import EndTxnRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsResponse
from kafkapy.protocol.messages.metadata import MetadataRequest
from system_tests.beside_apache.connection import Silence
from system_tests.beside_apache.draw import TOPICS, Draw, Member, Phase
from system_tests.beside_apache.operations import OPERATIONS, Operation
from system_tests.beside_apache.operations_transactions import GROUPS_OF_TRANSACTIONS, TRANSACTIONAL_IDS
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.side import Answer, Side, errors_in
from system_tests.services import wait_until

_ANSWER_SECONDS = 20
_TRIES = 8
_TRY_AGAIN_SECONDS = 0.25
_HANG_UP_SECONDS = 0.15
_REBALANCE_SECONDS = 3
"""How long one side may take to answer a waiting request that the other has answered."""
_QUIET_SECONDS = 0.1
"""How long it is watched that neither answers."""
_PATIENCE_STEPS = 100
"""How long a request may wait."""
_REBALANCING = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP, ApiKey.HEARTBEAT, ApiKey.DELETE_GROUPS)
_COMES_BACK = frozenset(
    error.code
    for error in (Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_LOAD_IN_PROGRESS)
)
_TRIES_OF_A_CLIENT = 40
_CLIENT_BACKOFF_SECONDS = 0.05


class _Waiting(NamedTuple):
    question: Question
    step: int


class Duel:
    """Invariant: `_waiting` are the requests that neither side has answered, by who has sent them."""

    def __init__(self, theirs: Side, ours: Side, seed: int, operations: Mapping[Operation, int] = OPERATIONS) -> None:
        self.differences: list[str] = []
        self.compared = 0
        self._sides = (theirs, ours)
        self._seed = seed
        self._operations = operations
        self._step = -1
        self._draw = Draw()
        self._waiting: dict[Member, _Waiting] = {}

    def close(self) -> None:
        for side in self._sides:
            side.close()

    # ------------------------------------------------------------------------------------------------ steps

    def prepare(self) -> None:
        """Wait until both brokers have loaded what they serve, create the topics, and learn what they call things."""
        find = FindCoordinatorRequest(key="g0", key_type=0)
        self._ask_until(Question(ApiKey.FIND_COORDINATOR, 2, find), Errors.NONE)
        for number in range(10):  # of all partitions of __consumer_offsets
            heartbeat = HeartbeatRequest(group_id=f"warm{number}", generation_id=1, member_id="nobody")
            self._ask_until(Question(ApiKey.HEARTBEAT, 0, heartbeat), Errors.UNKNOWN_MEMBER_ID)
        producer = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        self._ask_until(Question(ApiKey.INIT_PRODUCER_ID, 0, producer), Errors.NONE)
        for side in self._sides:
            side.producer_ids.clear()  # Apache refuses the first with COORDINATOR_LOAD_IN_PROGRESS, kafkapy does not
        self._ask_until(Question(ApiKey.FIND_COORDINATOR, 2, FindCoordinatorRequest(key="x0", key_type=1)), Errors.NONE)
        for transactional_id in TRANSACTIONAL_IDS:
            end = EndTxnRequest(transactional_id=transactional_id, producer_id=1)
            self._ask_until(Question(ApiKey.END_TXN, 0, end), Errors.INVALID_PRODUCER_ID_MAPPING)
        topics = [CreateTopicsRequest.CreatableTopic(name, 3, 1) for name in TOPICS]
        self._ask(Question(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=topics, timeout_ms=10000)))
        self._exchange(Question(ApiKey.DESCRIBE_LOG_DIRS, 4, DescribeLogDirsRequest(topics=None)))
        self._ask(Question(ApiKey.METADATA, 12, MetadataRequest(topics=None), repeats=True))

    def step(self, number: int) -> None:
        """One random question and what it sets going."""
        self._step = number
        self._draw.seed(f"{self._seed}-{number}")
        self._give_up()
        (operation,) = self._draw.choices(list(self._operations), list(self._operations.values()))
        question = operation(self._draw)
        if question.member not in self._waiting:
            self._ask(question)
            if question.api in _REBALANCING:
                self._settle()

    def _ask_until(self, question: Question, error: Errors) -> None:
        def answered() -> bool:
            return all(getattr(answer, "error_code", None) == error.code for answer in self._exchange(question))

        wait_until(answered, 60, f"both brokers answer {question.api.name} with {error.name}")

    # ------------------------------------------------------------------------------------------------ answers

    def _ask(self, question: Question) -> None:
        if question.may_wait and question.member:
            self._send(question)
            self._waiting[question.member] = _Waiting(question, self._step)
            return
        for attempt in range(_TRIES if question.repeats else 1):
            if attempt:
                time.sleep(_TRY_AGAIN_SECONDS)
            answers = self._exchange(question)
            if question.transactional_id:
                self._wait_for_end(question.transactional_id)
            if not any(differences(*self._neutral_pair(question, *answers))):
                break
        self._compare(question, *answers)
        time.sleep(question.pause)

    def _send(self, question: Question) -> None:
        for side in self._sides:
            side.connection(question.connection_name).send(question.api, question.version, question.request(side))

    def _exchange(self, question: Question) -> tuple[Answer, Answer]:
        self._send(question)
        seconds = _HANG_UP_SECONDS if question.one_way else _ANSWER_SECONDS
        theirs, ours = (self._receive_settled(side, question, seconds) for side in self._sides)
        self._learn(question, theirs, ours)
        return theirs, ours

    def _receive_settled(self, side: Side, question: Question, seconds: float) -> Answer:
        """The answer; while that is to come back later, as a client does when a transaction is about to end, it does."""
        answer = self._receive(side, question, seconds)
        for _ in range(_TRIES_OF_A_CLIENT):
            if not _COMES_BACK.intersection(errors_in(answer)):
                break
            time.sleep(_CLIENT_BACKOFF_SECONDS)
            side.connection(question.connection_name).send(question.api, question.version, question.request(side))
            answer = self._receive(side, question, seconds)
        return answer

    def _wait_for_end(self, transactional_id: str) -> None:
        """Until the markers of the transaction are written everywhere, on both sides."""
        request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        question = Question(ApiKey.DESCRIBE_TRANSACTIONS, 0, request)

        def has_ended() -> bool:
            answers = self._exchange(question)
            return not any("transaction_state='Prepare" in repr(answer) for answer in answers)

        wait_until(has_ended, 20, f"the transaction of {transactional_id} ends on both sides")

    def _receive(self, side: Side, question: Question, seconds: float) -> Answer:
        frame = side.connection(question.connection_name).receive(seconds)
        if isinstance(frame, Silence):
            return frame
        _, position = ResponseHeader.decode(frame, question.api, question.version)
        answer: Message
        answer, end = question.api.response.decode_from(frame, question.version, position)
        assert end == len(frame), f"{side.name}: {len(frame) - end} bytes after the answer to {question}"
        return answer

    def _settle(self) -> None:
        """Receive what is answered of the waiting requests, from both sides or none."""
        begin = time.monotonic()
        arrived: dict[Member, dict[Side, Answer]] = {member: {} for member in self._waiting}
        while arrived and (elapsed := time.monotonic() - begin) < _REBALANCE_SECONDS:
            for member, answers in arrived.items():
                for side in self._sides:
                    if side not in answers:
                        answer = self._receive(side, self._waiting[member].question, 0)
                        if answer is not Silence.NOTHING_YET:
                            answers[side] = answer
            if elapsed > _QUIET_SECONDS and all(len(answers) in (0, 2) for answers in arrived.values()):
                break
            time.sleep(0.005)
        settled = [(self._waiting.pop(member).question, answers) for member, answers in arrived.items() if answers]
        for question, answers in settled:
            theirs, ours = (answers.get(side, Silence.NOTHING_YET) for side in self._sides)
            # if somebody asks with the same member id, Apache forgets the first request, which kafkapy answers; and the
            # SyncGroup of a member that leaves meanwhile
            is_forgotten = theirs is Silence.NOTHING_YET and (
                _error(ours) is Errors.REBALANCE_IN_PROGRESS
                or (_error(ours) is Errors.UNKNOWN_MEMBER_ID and question.api is ApiKey.SYNC_GROUP)
            )
            if not is_forgotten and question.group not in self._draw.retired:
                self._learn(question, theirs, ours)
                self._compare(question, theirs, ours)
            if len(answers) < 2:
                self._hang_up(question)

    def _learn(self, question: Question, *answers: Answer) -> None:
        for side, answer in zip(self._sides, answers, strict=True):
            side.learn(answer, question.member)
            if question.transactional_id:
                side.learn_producer(question.transactional_id, answer)
            if question.appends is not None:
                side.learn_appended(question.appends, answer)
            if isinstance(answer, JoinGroupResponse) and answer.member_id and question.member:
                self._draw.add_member(question.member)
        self._note_phase(question, answers[0])

    def _note_phase(self, question: Question, answer: Answer) -> None:
        member = question.member or question.about
        if member is None or isinstance(answer, Silence) or member.group in self._draw.retired:
            return
        error = _error(answer)
        if question.api is ApiKey.JOIN_GROUP and error is Errors.NONE:
            self._draw.phases[member] = Phase.JOINED
        elif question.api is ApiKey.SYNC_GROUP and error is Errors.NONE:
            self._draw.phases[member] = Phase.SYNCED
        elif error is not Errors.NONE or question.api is ApiKey.LEAVE_GROUP:
            self._draw.phases[member] = Phase.OUTSIDE

    def _hang_up(self, question: Question) -> None:
        for side in self._sides:
            side.connection(question.connection_name).close()

    def _give_up(self) -> None:
        """Leave groups alone in which somebody has waited for long: for members who never come again, most likely."""
        for member, (question, step) in list(self._waiting.items()):
            if step < self._step - _PATIENCE_STEPS:
                self._draw.retire(member.group)
            if member.group in self._draw.retired:
                del self._waiting[member]
                self._hang_up(question)

    # ------------------------------------------------------------------------------------------------ comparison

    def _compare(self, question: Question, theirs: Answer, ours: Answer) -> None:
        self.compared += 1
        if question.may_wait and _error(theirs) is Errors.UNKNOWN_SERVER_ERROR:
            # static members in conflict: Apache trips over itself, and from then on the group is another
            self._draw.retire(question.group)
            return
        neutral = self._neutral_pair(question, theirs, ours)
        if _chose_leaders(theirs, ours) and neutral[0]["leader"] != neutral[1]["leader"]:
            # after a leader has left the next one is any member, the first in Apache's hash map
            self._draw.retire(question.group)
            neutral = [{**each, "leader": "", "members": []} for each in neutral]
        found = [f"    {path}\n      {a}\n      {b}" for path, a, b in differences(*neutral)]
        if found:
            request = repr(question.request(self._sides[1]))[:2000]
            title = f"step {self._step}: {question.api.title} v{question.version} {request}"
            self.differences.append("\n".join([title, *found[:6]]))

    def _neutral_pair(self, question: Question, theirs: Answer, ours: Answer) -> list[Any]:
        pair = [self._neutral(side, answer) for side, answer in zip(self._sides, (theirs, ours), strict=True)]
        if question.api is ApiKey.FETCH and question.version < 4 and all(isinstance(each, dict) for each in pair):
            _cut_alike(*pair)
        return pair

    def _neutral(self, side: Side, answer: Answer) -> Any:
        neutral = side.neutral(answer)
        if isinstance(answer, ListGroupsResponse):
            left_out = {*self._draw.retired, *GROUPS_OF_TRANSACTIONS}
            groups = [each for each in neutral["groups"] if each["group_id"] not in left_out]
            return {**neutral, "groups": groups}
        return neutral


def _error(answer: Answer) -> Errors:
    return Errors.for_code(getattr(answer, "error_code", 0))


def _chose_leaders(*answers: Answer) -> bool:
    return all(isinstance(answer, JoinGroupResponse) and answer.leader for answer in answers)


def _cut_alike(theirs: Any, ours: Any) -> None:
    """Leave only the records that both Fetch responses have, for versions in which they are down-converted: Apache ends
    them where they exceed the size that they had before, kafkapy does not. And where markers of transactions come before the
    first records, Apache gives these twice."""
    for topic in theirs["responses"].keys() & ours["responses"].keys():
        for a, b in zip(theirs["responses"][topic], ours["responses"][topic], strict=False):
            if a["records"] and b["records"]:
                once = [batch for number, batch in enumerate(a["records"]) if batch not in a["records"][:number]]
                fewer = min(len(once), len(b["records"]))
                a["records"], b["records"] = once[:fewer], b["records"][:fewer]


def differences(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Where two neutral answers differ, as a path, and what the two have there."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from differences(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif a != b:
        yield path, repr(a)[:500], repr(b)[:500]
