"""Under which subject a record's schema is registered (Confluent's subject name strategies)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.schemas.errors import SchemaSerializationError

SubjectNameStrategy = Callable[[str, bool, str | None], str]
"""Topic, is it the key, full name of the record's type -> the subject."""


def topic_subject_name_strategy(topic: str, is_key: bool, record_name: str | None) -> str:
    """`topic-key` or `topic-value`: all records of the topic have one schema that evolves.

    Args:
        topic: Name of the topic.
        is_key: Whether keys are converted.
        record_name: Full name of the type; None if it has none.
    """
    return f"{topic}-{'key' if is_key else 'value'}"


def record_subject_name_strategy(topic: str, is_key: bool, record_name: str | None) -> str:
    """The type's full name: the same type in all topics.

    Args:
        topic: Name of the topic.
        is_key: Whether keys are converted.
        record_name: Full name of the type; None if it has none.
    """
    return _named(record_name, "record_subject_name_strategy")


def topic_record_subject_name_strategy(topic: str, is_key: bool, record_name: str | None) -> str:
    """`topic-` and the type's full name: several types in the topic.

    Args:
        topic: Name of the topic.
        is_key: Whether keys are converted.
        record_name: Full name of the type; None if it has none.
    """
    return f"{topic}-{_named(record_name, 'topic_record_subject_name_strategy')}"


def _named(record_name: str | None, strategy: str) -> str:
    if record_name is None:
        raise SchemaSerializationError(
            f"{strategy} needs a schema with a name (in JSON Schema: a title); this one has none"
        )
    return record_name
