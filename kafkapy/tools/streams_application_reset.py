"""kafka-streams-application-reset: let an application process its input anew (after Kafka's `StreamsResetter`)."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkapy.tools.common.command_line import (
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.common.topic_partition import TopicPartition

    Offsets = dict[TopicPartition, int]

_SCENARIOS: Final = ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "from-file", "shift-by")
_INTERNAL_SUFFIXES: Final = (
    "-changelog",
    "-repartition",
    "-subscription-registration-topic",
    "-subscription-response-topic",
)
_FOREIGN_KEY_JOIN: Final = re.compile(r".+-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic")


def _topics(name: str, help: str) -> ToolOption:
    return ToolOption(name, help, "list", separator=",")


PARSER = OptionParser(
    "This tool resets an application, so that it processes its input anew. It sets the offsets of input topics to the "
    "earliest ones or to where the options say, and deletes the application's internal topics. It deletes no output topics, "
    "and no local state: call KafkaStreams.clean_up() in each instance, or remove the directory of state.dir, or the results "
    "will be wrong. Stop all instances first. What it does cannot be undone: look at it with --dry-run before.",
    ToolOption("application-id", "REQUIRED: The application's id (application.id).", "id"),
    ToolOption("bootstrap-server", "The server(s) to connect to.", "host:port,host:port", default="localhost:9092"),
    ToolOption("bootstrap-servers", "Deprecated name of --bootstrap-server.", "urls"),
    _topics("input-topics", "Topics that the application reads, with commas between: their offsets are reset."),
    _topics("intermediate-topics", "Deprecated: topics that it writes and reads. It skips what they have now."),
    _topics("internal-topics", "Internal topics to delete; all of them if this is not given (see --dry-run)."),
    ToolOption("to-offset", "Reset offsets to this one.", "Long", integer),
    ToolOption("to-datetime", "Reset offsets to those of a time: YYYY-MM-DDThh:mm:ss.sss.", "String"),
    ToolOption("by-duration", "Reset offsets to those of a time before now: PnDTnHnMnS.", "String"),
    ToolOption("to-earliest", "Reset offsets to the earliest ones (the default)."),
    ToolOption("to-latest", "Reset offsets to the latest ones."),
    ToolOption("from-file", "Reset offsets to those of a CSV file: topic,partition,offset.", "String"),
    ToolOption("shift-by", "Move the committed offsets by this number, which may be negative.", "Long", integer),
    ToolOption("config-file", "A property file with configs for the admin client.", "file name"),
    ToolOption("force", "Remove the members of the group, which remain for the session timeout after a crash."),
    ToolOption("dry-run", "Show what would be done, and do nothing."),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy.admin.client import AdminClient
    from kafkapy.tools.common.admin_access import admin_properties

    check_options(options)
    servers = options.value("bootstrap-servers") or options.value("bootstrap-server")
    properties = admin_properties(options.value("config-file"), servers)
    with AdminClient.from_properties(properties) as admin:
        return ApplicationReset(admin, options).run()


def check_options(options: Options) -> None:
    """Check that options go together.

    Raises:
        CommandLineError: They do not.
    """
    options.require("application-id")
    for scenario in _SCENARIOS:
        options.exclude(scenario, [other for other in _SCENARIOS if other != scenario])


def is_internal_topic(topic: str, application_id: str) -> bool:
    """Whether the name is that of an internal topic of an application: a changelog, a repartition topic, or one of a join by
    foreign key.

    Args:
        topic: The name.
        application_id: The application's id.

    Example:
        >>> is_internal_topic("counts-app-counts-changelog", "counts-app"), is_internal_topic("counts", "counts-app")
        (True, False)
    """
    return topic.startswith(f"{application_id}-") and (
        topic.endswith(_INTERNAL_SUFFIXES) or _FOREIGN_KEY_JOIN.fullmatch(topic) is not None
    )


class ApplicationReset:
    """One run of the tool. Nothing is changed before the group is known to have no members.

    Args:
        admin: Of the cluster.
        options: Of the command line.
    """

    def __init__(self, admin: AdminClient, options: Options) -> None:
        self._admin = admin
        self._options = options
        self._application_id: str = options.value("application-id")
        self._input: list[str] = options.values("input-topics")
        self._intermediate: list[str] = options.values("intermediate-topics")
        self._dry_run = options.has("dry-run")

    def run(self) -> int:
        """Do it.

        Returns:
            The exit status: 1 if a topic was not found.

        Raises:
            ToolError: The application runs, an option names what is not there, or a topic cannot be deleted.
            KafkaError: The cluster refuses it.
        """
        self._remove_members()
        topics = set(self._admin.list_topics())
        if self._dry_run:
            print("----Dry run displays the actions which will be performed when running Streams Reset Tool----")
        status = self._reset_offsets(topics)
        self._delete_internal_topics(topics)
        return status

    # --- members ----------------------------------------------------------------------------------------------------------

    def _remove_members(self) -> None:
        from kafkapy.admin.results import value_of
        from kafkapy.protocol.errors import Errors, KafkaError

        try:
            group = value_of(self._admin.describe_groups([self._application_id])[self._application_id])
        except KafkaError as error:
            if error.error is Errors.GROUP_ID_NOT_FOUND:
                return
            raise
        if not group.members:
            return
        if not self._options.has("force"):
            members = ", ".join(member.member_id for member in group.members)
            raise ToolError(
                f"Consumer group '{self._application_id}' is still active and has following members: [{members}]. Make sure "
                "to stop all running application instances before running the reset tool. You can use option '--force' to "
                "remove active members from the group."
            )
        print(f"Force deleting all active members in the group: {self._application_id}")
        for result in self._admin.remove_group_members(self._application_id).values():
            if isinstance(result, KafkaError) and result.error is not Errors.UNKNOWN_MEMBER_ID:
                raise result

    # --- offsets ----------------------------------------------------------------------------------------------------------

    def _reset_offsets(self, topics: set[str]) -> int:
        if self._options.has("intermediate-topics"):
            print("WARN: `--intermediate-topics` is deprecated and will be removed in a future release")
        if not self._input and not self._intermediate:
            print("No input or intermediate topics specified. Skipping seek.")
            return 0
        status = 0
        for kind, named, action in (
            ("input", self._input, "Reset-offsets for"),
            ("intermediate", self._intermediate, "Seek-to-end for"),
        ):
            if named:
                print(f"{action} {kind} topics [{', '.join(named)}]")
        for kind, named in ("input", self._input), ("intermediate", self._intermediate):
            if missing := [topic for topic in named if topic not in topics]:
                print(f"Following {kind} topics are not found, skipping them")
                for topic in missing:
                    print(f"Topic: {topic}")
                status = 1
        offsets = self._input_offsets(self._partitions(self._input, topics))
        offsets |= self._ends_of_intermediate_topics(self._partitions(self._intermediate, topics))
        if offsets and not self._dry_run:
            self._commit(offsets)
        if offsets:
            print("Done.")
        return status

    def _partitions(self, named: list[str], topics: set[str]) -> list[TopicPartition]:
        from kafkapy.admin.results import values_of
        from kafkapy.common.topic_partition import TopicPartition

        found = self._admin.describe_topics([topic for topic in named if topic in topics])
        return sorted(
            TopicPartition(topic.name, one.partition) for topic in values_of(found).values() for one in topic.partitions
        )

    def _input_offsets(self, partitions: list[TopicPartition]) -> Offsets:
        if not partitions:
            return {}
        print(f"Following input topics offsets will be reset to (for consumer group {self._application_id})")
        offsets = self._offsets(partitions)
        for partition, offset in sorted(offsets.items()):
            print(f"Topic: {partition.topic} Partition: {partition.partition} Offset: {offset}")
        return offsets

    def _ends_of_intermediate_topics(self, partitions: list[TopicPartition]) -> Offsets:
        if not partitions:
            return {}
        print(f"Following intermediate topics offsets will be reset to end (for consumer group {self._application_id})")
        for topic in sorted({partition.topic for partition in partitions}):
            print(f"Topic: {topic}")
        return self._latest(partitions)

    def _offsets(self, partitions: list[TopicPartition]) -> Offsets:
        from kafkapy.tools.consumer_groups.reset import parse_datetime, parse_duration

        options = self._options
        if options.has("to-offset"):
            return self._within_log(dict.fromkeys(partitions, options.value("to-offset")))
        if options.has("to-latest"):
            return self._latest(partitions)
        if options.has("shift-by"):
            return self._within_log(
                {one: at + options.value("shift-by") for one, at in self._current(partitions).items()}
            )
        if options.has("to-datetime"):
            return self._at(partitions, parse_datetime(options.value("to-datetime")))
        if options.has("by-duration"):
            return self._at(partitions, int(time.time() * 1000) - parse_duration(options.value("by-duration")))
        if options.has("from-file"):
            return self._from_file(partitions, options.value("from-file"))
        return self._earliest(partitions)

    def _from_file(self, partitions: list[TopicPartition], path: str) -> Offsets:
        plan = parse_plan(Path(path).read_text(encoding="utf-8"))
        if missing := [one for one in partitions if one not in plan]:
            names = ", ".join(f"{one.topic}-{one.partition}" for one in missing)
            raise ToolError(f"The file {path} has no offset of {names}: add a line topic,partition,offset for each.")
        return self._within_log({one: plan[one] for one in partitions})

    def _current(self, partitions: list[TopicPartition]) -> Offsets:
        """The committed offsets; where there is none, the latest one, as a consumer by default."""
        committed = self._admin.list_group_offsets(self._application_id)
        known = {one: at.offset for one in partitions if (at := committed.get(one)) is not None}
        return known | self._latest([one for one in partitions if one not in known])

    def _at(self, partitions: list[TopicPartition], timestamp_ms: int) -> Offsets:
        found = self._list(partitions, max(0, timestamp_ms))
        after = [one for one, offset in found.items() if offset < 0]
        for one in after:
            print(
                f"Partition {one.partition} from topic {one.topic} is empty, without a committed record. Falling back to "
                "latest known offset."
            )
        return found | self._latest(after)

    def _within_log(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        starts, ends = self._earliest(list(wanted)), self._latest(list(wanted))
        offsets = {}
        for one, offset in wanted.items():
            bounded = offsets[one] = min(max(offset, starts[one]), ends[one])
            if offset > ends[one]:
                print(f"New offset ({offset}) is higher than latest offset. Value will be set to {bounded}")
            elif offset < starts[one]:
                print(f"New offset ({offset}) is lower than earliest offset. Value will be set to {bounded}")
        return offsets

    def _earliest(self, partitions: list[TopicPartition]) -> Offsets:
        from kafkapy.common.timestamps import EARLIEST_TIMESTAMP

        return self._list(partitions, EARLIEST_TIMESTAMP)

    def _latest(self, partitions: list[TopicPartition]) -> Offsets:
        from kafkapy.common.timestamps import LATEST_TIMESTAMP

        return self._list(partitions, LATEST_TIMESTAMP)

    def _list(self, partitions: list[TopicPartition], timestamp: int) -> Offsets:
        from kafkapy.admin.results import values_of

        found = values_of(self._admin.list_offsets(dict.fromkeys(partitions, timestamp))) if partitions else {}
        return {one: entry.offset for one, entry in found.items()}

    def _commit(self, offsets: Offsets) -> None:
        from kafkapy.admin.results import values_of
        from kafkapy.structs import OffsetAndMetadata

        wanted = {one: OffsetAndMetadata(offset) for one, offset in offsets.items()}
        values_of(self._admin.alter_group_offsets(self._application_id, wanted))

    # --- topics -----------------------------------------------------------------------------------------------------------

    def _delete_internal_topics(self, topics: set[str]) -> None:
        from kafkapy.protocol.errors import KafkaError

        user_topics = {*self._input, *self._intermediate}  # these may have such a name by chance
        inferred = sorted(one for one in topics - user_topics if is_internal_topic(one, self._application_id))
        specified: list[str] = self._options.values("internal-topics")
        if not set(specified) <= set(inferred):
            raise ToolError(
                "Invalid topic specified in the --internal-topics option. Ensure that the topics specified are all internal "
                "topics. Do a dry run without the --internal-topics option to see the list of all internal topics that can be "
                "deleted."
            )
        chosen = specified or inferred
        print(f"Deleting {'specified' if specified else 'inferred'} internal topics [{', '.join(chosen)}]")
        if chosen and not self._dry_run:
            failed = {
                topic: result
                for topic, result in self._admin.delete_topics(chosen).items()
                if isinstance(result, KafkaError)
            }
            if failed:
                told = "; ".join(f"{topic}: {error}" for topic, error in failed.items())
                raise ToolError(f"Encountered an error deleting one or more topics: {told}")
        print("Done.")


def parse_plan(text: str) -> Offsets:
    """The offsets of a CSV file.

    Args:
        text: Lines of `topic,partition,offset`.

    Raises:
        ToolError: It is empty, or a line has another form.
    """
    from kafkapy.common.topic_partition import TopicPartition

    if not text.strip():
        raise ToolError("Error parsing reset plan CSV file. It is empty.")
    offsets = {}
    for line in text.splitlines():
        parts = line.split(",")
        try:
            topic, partition, offset = parts[0], integer(parts[1].strip()), integer(parts[2].strip())
            if len(parts) != 3:
                raise ValueError(line)
        except (ValueError, IndexError):
            raise ToolError("Reset plan CSV file is not following the format `TOPIC,PARTITION,OFFSET`.") from None
        offsets[TopicPartition(topic, partition)] = offset
    return offsets


if __name__ == "__main__":
    raise SystemExit(main())
