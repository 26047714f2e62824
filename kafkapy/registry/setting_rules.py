"""The rules for changes of configs, modes and contexts, with the records to be written."""

from __future__ import annotations

from typing import Any

from kafkapy.registry.records import (
    RegistryRecord,
    clear_subject_record,
    config_record,
    context_record,
    mode_record,
    schema_record,
)
from kafkapy.registry.refusals import (
    config_not_set,
    context_not_empty,
    invalid_mode,
    mode_not_set,
    not_permitted,
    reference_exists,
    subject_not_found,
)
from kafkapy.registry.requests import config_request, mode_request
from kafkapy.registry.schema_rules import RegistryChange
from kafkapy.registry.state import RegistryState
from kafkapy.registry.subjects import GLOBAL_CONTEXT, QualifiedSubject, as_setting


class SettingRules:
    def __init__(self, state: RegistryState, default_config: dict[str, Any], mode_mutability: bool = True) -> None:
        self._state = state
        self._default_config = default_config
        self._mode_mutability = mode_mutability

    # -- config

    def get_config(self, subject: str | None, default_to_global: bool) -> dict[str, Any]:
        scope = None if subject is None else as_setting(subject)
        if scope is None or default_to_global:
            return self._state.config_in_scope(scope, self._default_config)
        if scope not in self._state.configs:
            raise config_not_set(scope)
        return dict(self._state.configs[scope])

    def put_config(self, subject: str | None, body: Any) -> RegistryChange:
        """Change the given settings; the others remain."""
        scope = None if subject is None else as_setting(subject)
        changed = config_request(body)
        record = config_record(scope, {**self._state.configs.get(scope, {}), **changed})
        return RegistryChange([record], body)

    def delete_config(self, subject: str | None) -> RegistryChange:
        scope = None if subject is None else as_setting(subject)
        if scope is None:
            known = self._state.config_in_scope(None, self._default_config)
        elif scope in self._state.configs:
            known = dict(self._state.configs[scope])
        else:
            raise subject_not_found(scope)
        return RegistryChange([config_record(scope, None)], known)

    # -- modes

    def get_mode(self, subject: str | None, default_to_global: bool) -> dict[str, Any]:
        scope = None if subject is None else as_setting(subject)
        if scope is None or default_to_global:
            return {"mode": self._state.mode_in_scope(scope)}
        if scope not in self._state.modes:
            raise mode_not_set(scope)
        return {"mode": self._state.modes[scope]}

    def put_mode(self, subject: str | None, body: Any, force: bool) -> RegistryChange:
        scope = None if subject is None else as_setting(subject)
        mode = mode_request(body)
        if mode == "FORWARD" and scope not in (None, GLOBAL_CONTEXT):
            raise invalid_mode("Forward mode only supported on global level")
        self._check_mutable()
        records = []
        if mode == "IMPORT" and self._state.mode_in_scope(scope) != "IMPORT" and not force:
            records += self._cleared(scope)
        return RegistryChange([*records, mode_record(scope, mode)], {"mode": mode})

    def _cleared(self, scope: str | None) -> list[RegistryRecord]:
        """Return records that remove soft-deleted schemas, because mode IMPORT must begin without schemas."""
        records = []
        for subject in self._state.subjects_in_scope(scope):
            for version in self._state.versions(subject, deleted=True):
                if not version.deleted:
                    raise not_permitted("Cannot import since found existing subjects")
                if self._state.referrers(*version.place, deleted=True):
                    raise reference_exists(*version.place)
                records.append(schema_record(subject, version.version, None))
        return [*records, clear_subject_record(scope)]

    def delete_mode(self, subject: str | None, recursive: bool) -> RegistryChange:
        scope = None if subject is None else as_setting(subject)
        self._check_mutable()
        if scope is not None and scope not in self._state.modes:
            raise subject_not_found(scope)
        records = [mode_record(scope, None)]
        where = QualifiedSubject.parse(scope or "")
        if recursive and not where.name:
            others = [each for each in self._state.modes if each is not None and each != scope]
            records += [
                mode_record(each, None) for each in others if QualifiedSubject.parse(each).prefix == where.prefix
            ]
        return RegistryChange(records, {"mode": self._state.modes.get(scope, "READWRITE")})

    def _check_mutable(self) -> None:
        if not self._mode_mutability:
            raise not_permitted("Mode changes are not allowed")

    # -- contexts

    def delete_context(self, context: str) -> RegistryChange:
        name = QualifiedSubject.parse(context if context.startswith(":") else f":{context}:")
        if any(True for _ in self._state.subjects_in_scope(name.prefix)):
            raise context_not_empty(name.context)
        return RegistryChange([context_record(name.context, exists=False)], None)
