"""The ACLs of one principal for one type of resource, indexed for look-ups."""

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
"""An ALLOW of the operations of a value implies an ALLOW of the key. A DENY implies no other."""

_DENIED_WITH: Final = {ALL_BIT: EVERY_OPERATION}
_ALLOWED_WITH: Final = _DENIED_WITH | {
    1 << other: 1 << other | 1 << operation for operation, others in IMPLYING.items() for other in others
}
"""The operations that an ALLOW includes, if there are more than the named one."""


class Rule(NamedTuple):
    """An ACL, in a form for checks. Operations are bits, so that one comparison includes implied ones."""

    operation_bit: int
    denies: bool
    host: str
    decision: AclDecision
    """The result if this rule decides."""

    @classmethod
    def of(cls, binding: AclBinding) -> Rule | None:
        """Return None for a rule that never matches: its permission type is unknown."""
        permission_type = binding.entry.permission_type
        if permission_type not in (ACLPermissionType.ALLOW, ACLPermissionType.DENY):
            return None
        denies = permission_type is ACLPermissionType.DENY
        bit = 0 if binding.entry.operation <= ACLOperation.ANY else 1 << binding.entry.operation
        return cls(bit, denies, binding.entry.host, AclDecision(not denies, MATCHING_ACL, binding))


Rules = tuple[Rule, ...]
NamesByPattern = tuple[Mapping[str, Rule], Mapping[str, Rule]]
"""Names of literal patterns, and prefixes, each with one of its rules."""

_NO_NAMES: Final[NamesByPattern] = ({}, {})


class PrincipalAcls:
    """Immutable: a change creates another instance.

    Invariant: `lengths` are those of the prefixes, longest first. Either every pattern has rules, or, in an object that
    only lists patterns, none has.
    """

    __slots__ = ("_names", "lengths", "literals", "prefixes")

    def __init__(self, literals: dict[str, Rules], prefixes: dict[str, Rules]) -> None:
        """Takes ownership of both dicts."""
        self.literals = literals
        self.prefixes = prefixes
        self.lengths = tuple(sorted({len(prefix) for prefix in prefixes}, reverse=True))
        self._names: dict[tuple[bool, int, str], tuple[dict[str, Rule], dict[str, Rule]]] | None = None

    def has_rules_for(self, name: str) -> bool:
        """Return whether any pattern matches the name."""
        if name in self.literals or WILDCARD_RESOURCE in self.literals:
            return True
        longest = len(name)
        return any(length <= longest and name[:length] in self.prefixes for length in self.lengths)

    def find(self, name: str, host: str, deny_bits: int, allow_bits: int) -> AclDecision | None:
        """Return the first matching DENY; if there is none, an ALLOW; None if no rule matches.

        As in Kafka, it checks prefixes, longest first, then the wildcard, then the name itself.
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
        """Return the bits of allowed operations, including implied ones, and of denied operations."""
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
        """Yield the rules of each pattern that matches the name: longer prefixes first, then the wildcard, then the
        name itself.
        """
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
        """Yield the patterns with a rule for the operation, or for ALL, from this host or from any.

        Without implied operations, as in Kafka's check by resource type.
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
