"""The registry's error responses, with Confluent's codes and messages."""

from __future__ import annotations

INVALID_SCHEMA = 42201


class RegistryRefusal(Exception):
    """An error response: HTTP status, Confluent's code, a message."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def subject_not_found(subject: str) -> RegistryRefusal:
    return RegistryRefusal(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: object) -> RegistryRefusal:
    return RegistryRefusal(404, 40402, f"Version {version} not found.")


def schema_not_found(what: object = None) -> RegistryRefusal:
    return RegistryRefusal(404, 40403, "Schema not found" if what is None else f"Schema {what} not found")


def subject_soft_deleted(subject: str) -> RegistryRefusal:
    return RegistryRefusal(404, 40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> RegistryRefusal:
    return RegistryRefusal(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryRefusal:
    sentence = f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    return RegistryRefusal(404, 40406, sentence)


def version_not_soft_deleted(subject: str, version: int) -> RegistryRefusal:
    sentence = f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    return RegistryRefusal(404, 40407, sentence)


def config_not_set(subject: str) -> RegistryRefusal:
    return RegistryRefusal(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_set(subject: str) -> RegistryRefusal:
    return RegistryRefusal(404, 40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, reasons: list[str]) -> RegistryRefusal:
    details = f"[{', '.join(reasons)}]"
    sentence = (
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {details}'
    )
    return RegistryRefusal(409, 409, sentence)


def invalid_schema(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(422, INVALID_SCHEMA, sentence)


def invalid_version(version: object) -> RegistryRefusal:
    sentence = (
        f"The specified version '{version}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"'
    )
    return RegistryRefusal(422, 42202, sentence)


def invalid_compatibility() -> RegistryRefusal:
    sentence = (
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive"
    )
    return RegistryRefusal(422, 42203, sentence)


def invalid_mode(
    sentence: str = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.",
) -> RegistryRefusal:
    return RegistryRefusal(422, 42204, sentence)


def not_permitted(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(422, 42205, sentence)


def reference_exists(subject: str, version: int) -> RegistryRefusal:
    sentence = (
        f"One or more references exist to the schema {{magic=1,keytype=SCHEMA,subject={subject},version={version}}}."
    )
    return RegistryRefusal(422, 42206, sentence)


def invalid_subject(subject: str) -> RegistryRefusal:
    return RegistryRefusal(422, 42208, f"The specified subject '{subject}' is not a valid.")


def context_not_empty(context: str) -> RegistryRefusal:
    return RegistryRefusal(422, 42211, f"The specified context '{context}' is not empty.")


def store_failed(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(500, 50001, sentence)


def timed_out(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(500, 50002, sentence)


def forwarding_failed(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(500, 50003, sentence)


def unknown_leader() -> RegistryRefusal:
    return RegistryRefusal(500, 50004, "Leader not known.")


def unprocessable(sentence: str) -> RegistryRefusal:
    return RegistryRefusal(422, 422, sentence)
