"""Shared by admin tools: the admin client of their options, topic filters, names of Java exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkapy.common.patterns import PatternError, java
from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.tools.common.command_line import Options, ToolError

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient


def admin_client(options: Options, bootstrap_servers: str, client_id: str | None = None) -> AdminClient:
    """The admin client of `--bootstrap-server` and the properties of `--command-config`."""
    from kafkapy.admin.client import AdminClient

    return AdminClient.from_properties(admin_properties(options.value("command-config"), bootstrap_servers, client_id))


def admin_properties(config_file: str | None, bootstrap_servers: str, client_id: str | None = None) -> dict[str, str]:
    properties: dict[str, str] = {}
    if config_file is not None:
        from kafkapy.common.properties import load_file

        try:
            properties = load_file(config_file)
        except ValueError as error:
            raise ToolError(str(error)) from error
    properties["bootstrap.servers"] = bootstrap_servers
    if client_id is not None:
        properties.setdefault("client.id", client_id)
    return properties


class IncludeList:
    """Topics that match a regular expression of Java, in which a comma means "or" (Kafka's
    `TopicFilter.IncludeList`)."""

    def __init__(self, pattern: str) -> None:
        self.regex = pattern.strip().replace(",", "|").replace(" ", "").strip("\"'")
        try:
            self._compiled = java(self.regex)
        except PatternError as error:
            raise ToolError(f"{self.regex} is an invalid regex.") from error

    def allows(self, topic: str, exclude_internal: bool = False) -> bool:
        return self._compiled.fullmatch(topic) and not (exclude_internal and topic in INTERNAL_TOPICS)


def exception_class(error: Errors) -> str:
    """The Java exception class that Kafka's tools print for an error."""
    return f"org.apache.kafka.common.errors.{error.exception}"


def exception_text(error: KafkaError) -> str:
    """An error as Java prints an exception: `org.apache.kafka.common.errors.GroupIdNotFoundException: The group id
    ...`."""
    return f"{exception_class(error.error)}: {error.message}"


@contextmanager
def failure_is(sentence: str) -> Iterator[None]:
    """A broker's error becomes a ToolError: `sentence` and the reason."""
    try:
        yield
    except KafkaError as error:
        raise ToolError(f"{sentence}: {error.message}") from error
