"""The ACLs of one principal for one type of resource, arranged for looking up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafkapy.common.acl_types import (
    WILDCARD_HOST,
    WILDCARD_RESOURCE,
    AclBinding,
    ACLOperation,
    ACLPermissionType,
)
from kafkapy.security.acl.decision import MATCHING_ACL, AclDecision

ALL_BIT: Final = 1 << ACLOperation.ALL
EVERY_OPERATION: Final = sum(1 << operation for operation in ACLOperation if operation > ACLOperation.ANY)

IMPLYING: Final[dict[ACLOperation, tuple[ACLOperation, ...]]] = {
    ACLOperation.DESCRIBE: (ACLOperation.READ, ACLOperation.WRITE, ACLOperation.DELETE, ACLOperation.ALTER),
    ACLOperation.DESCRIBE_CONFIGS: (ACLOperation.ALTER_CONFIGS,),
}
"""The right to do these includes the right to do that. A prohibition includes no other."""

_DENIED_WITH: Final = {ALL_BIT: EVERY_OPERATION}
_ALLOWED_WITH: Final = _DENIED_WITH | {
    1 << other: 1 << other | 1 << operation for operation, others in IMPLYING.items() for other in others
}
"""What a rule allows, where that is more than the one operation that it names."""


class Rule(NamedTuple):
    """An ACL, in the form that a check compares. Operations are bits, so that one comparison tells implied ones, too."""

    operation_bit: int
    denies: bool
    host: str
    decision: AclDecision
    """What is answered if it is the one that decides."""

    @classmethod
    def of(cls, binding: AclBinding) -> Rule | None:
        """None for one that never matches: of a permission type that this release does not know."""
        permission_type = binding.entry.permission_type
        if permission_type not in (ACLPermissionType.ALLOW, ACLPermissionType.DENY):
            return None
        denies = permission_type is ACLPermissionType.DENY
        bit = 0 if binding.entry.operation <= ACLOperation.ANY else 1 << binding.entry.operation
        return cls(bit, denies, binding.entry.host, AclDecision(not denies, MATCHING_ACL, binding))


Rules = tuple[Rule, ...]
NamesByPattern = tuple[Mapping[str, Rule], Mapping[str, Rule]]
"""Names of literal patterns, and prefixes, each with a rule that it has."""

_NO_NAMES: Final[NamesByPattern] = ({}, {})


class PrincipalAcls:
    """Immutable: a change makes another one.

    Invariant: `lengths` are those of the prefixes, longest first. Where there are rules, no pattern is without one; an
    object that only tells which patterns there are has none anywhere.
    """

    __slots__ = ("_names", "lengths", "literals", "prefixes")

    def __init__(self, literals: dict[str, Rules], prefixes: dict[str, Rules]) -> None:
        """Takes over both dicts."""
        self.literals = literals
        self.prefixes = prefixes
        self.lengths = tuple(sorted({len(prefix) for prefix in prefixes}, reverse=True))
        self._names: dict[tuple[bool, int, str], tuple[dict[str, Rule], dict[str, Rule]]] | None = None

    def has_rules_for(self, name: str) -> bool:
        """Does any pattern match the name?"""
        if name in self.literals or WILDCARD_RESOURCE in self.literals:
            return True
        longest = len(name)
        return any(length <= longest and name[:length] in self.prefixes for length in self.lengths)

    def find(self, name: str, host: str, deny_bits: int, allow_bits: int) -> AclDecision | None:
        """The first denying rule that matches; if there is none, an allowing one; None if no rule matches.

        Looks at prefixes, longest first, then at the wildcard, then at the name itself, as Kafka does.
        """
        candidates = self._matching(name)
        if not candidates:
            return None
        hosts = host, WILDCARD_HOST
        allowing: AclDecision | None = None
        for rules in candidates:
            for bit, denies, rule_host, decision in rules:
                if bit & (deny_bits if denies else allow_bits) and rule_host in hosts:
                    if denies:
                        return decision
                    allowing = allowing or decision
        return allowing

    def operations(self, name: str, host: str) -> tuple[int, int]:
        """Bits of the operations that are allowed, implied ones included, and of those that are denied."""
        hosts = host, WILDCARD_HOST
        allowed = denied = 0
        for rules in self._matching(name):
            for bit, denies, rule_host, _ in rules:
                if rule_host in hosts:
                    if denies:
                        denied |= _DENIED_WITH.get(bit, bit)
                    else:
                        allowed |= _ALLOWED_WITH.get(bit, bit)
        return allowed, denied

    def _matching(self, name: str) -> list[Rules]:
        """The rules of each pattern that the name matches: longer prefixes first, then the wildcard, then the name itself."""
        longest, prefixes, literals = len(name), self.prefixes, self.literals
        candidates = []
        for length in self.lengths:
            if length <= longest and (rules := prefixes.get(name[:length])):
                candidates.append(rules)
        if literals:
            if rules := literals.get(WILDCARD_RESOURCE):
                candidates.append(rules)
            if rules := literals.get(name):
                candidates.append(rules)
        return candidates

    def names(self, denies: bool, operation_bit: int, host: str) -> Iterator[NamesByPattern]:
        """Of which patterns is there a rule for the operation, or for ALL, from this host or from any?

        Without implied operations: Kafka's check by resource type has none.
        """
        if self._names is None:
            self._names = self._grouped()
        for bit in {operation_bit, ALL_BIT}:
            for rule_host in {host, WILDCARD_HOST}:
                yield self._names.get((denies, bit, rule_host), _NO_NAMES)

    def _grouped(self) -> dict[tuple[bool, int, str], tuple[dict[str, Rule], dict[str, Rule]]]:
        groups: dict[tuple[bool, int, str], tuple[dict[str, Rule], dict[str, Rule]]] = {}
        for index, patterns in enumerate((self.literals, self.prefixes)):
            for name, rules in patterns.items():
                for rule in rules:
                    groups.setdefault((rule.denies, rule.operation_bit, rule.host), ({}, {}))[index][name] = rule
        return groups


def rules_of(bindings: Iterable[AclBinding]) -> Rules:
    return tuple(rule for rule in map(Rule.of, bindings) if rule is not None)
