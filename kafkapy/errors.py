"""The exceptions of the clients: kafka-python's names and hierarchy over Kafka's error codes.

`KafkaError` is the base class of all; `protocol/` and the broker raise it, too. An error in a broker's response is a
`BrokerResponseError`, with one subclass for each code; `for_code` and `error_for` find it. `as_client_error` converts a
plain `KafkaError(Errors.X)` of a lower layer to its subclass: the clients do that once, in their public methods.

Example:
    >>> error = NotLeaderForPartitionError("clicks-0")
    >>> error.error.name, error.retriable, error.invalid_metadata
    ('NOT_LEADER_OR_FOLLOWER', True, True)
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors as Errors  # users import both from here
from kafkapy.protocol.errors import KafkaError as KafkaError

_BY_CODE: dict[int, type[BrokerResponseError]] = {}


class ClientError(KafkaError):
    """An error with kafka-python's interface: any arguments, `retriable` and `invalid_metadata` on the class.

    `error` is the error's code on the wire, or the equivalent one in the layers below; `message` says what went wrong,
    without the name of the class.
    """

    retriable: ClassVar[bool] = False
    invalid_metadata: ClassVar[bool] = False
    error: Errors = Errors.UNKNOWN_SERVER_ERROR

    def __init__(self, *args: Any) -> None:
        Exception.__init__(self, *args)
        self.message = Exception.__str__(self) if args else self.error.message

    def __str__(self) -> str:
        """Return the message without the class's name, which tracebacks add; without a message, the name."""
        return Exception.__str__(self) if self.args else type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == getattr(other, "args", None)

    __hash__ = Exception.__hash__


class RetriableError(ClientError):
    """The operation may be repeated; clients have done so until their time-out."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """Retriable after a metadata refresh."""

    invalid_metadata = True


# --- errors detected by clients


class WakeupException(ClientError):  # Java's name
    """A poll was ended by `wakeup()`."""


class Cancelled(RetriableError):
    """The client was closed, or the call cancelled, before it was done."""

    is_cancellation = True


class CommitFailedError(ClientError):
    """The group has rebalanced, so the commit was rejected: other members get the records again.

    Poll more often, raise max_poll_interval_ms or lower max_poll_records.
    """

    def __init__(self, *args: Any) -> None:
        sentence = "The commit is void: the group has rebalanced and other members own the partitions now."
        super().__init__(*(args or (sentence,)))


class IllegalArgumentError(ClientError):
    """An argument is invalid. Correct the program."""

    error = Errors.INVALID_REQUEST


class IllegalStateError(ClientError):
    """The call does not fit the client's state: closed, not started, or without a group. Correct the program."""


class ConsumerStoppedError(IllegalStateError):
    """The consumer was stopped while a call waited for records."""


class ProducerClosed(IllegalStateError):
    """The producer is closed. Correct the program."""


class KafkaConfigurationError(ClientError, ValueError):  # aiokafka raises a ValueError
    error = Errors.INVALID_CONFIG


class KafkaConnectionError(InvalidMetadataError):
    """A connection could not be made, or was lost. Retriable."""

    error = Errors.NETWORK_EXCEPTION


class DisconnectError(KafkaConnectionError):
    """The connection ended before the response came: the request may or may not have been executed."""


class BootstrapError(KafkaConnectionError):
    """No bootstrap server could be reached within the time limit."""

    retriable = False


class KafkaProtocolError(ClientError):
    """The received bytes are no valid response: check that the port is a Kafka broker's."""


class WrongProtocolError(KafkaProtocolError):
    """The server uses HTTP or the like, or TLS instead of plaintext, or plaintext instead of TLS."""


class CorrelationIdError(RetriableError, KafkaProtocolError):
    """A response belongs to no request; the connection is closed. Retriable."""


class InvalidReceiveError(KafkaProtocolError):
    """A response is malformed, or larger than receive_message_max_bytes."""


class KafkaTimeoutError(RetriableError):
    """The call exceeded its time limit; the message has what it waited for. It may be repeated."""

    error = Errors.REQUEST_TIMED_OUT


class NoBrokersAvailable(KafkaConnectionError, KafkaTimeoutError):
    """No bootstrap server answered in time: kafka-python 2's name, aiokafka's KafkaConnectionError, and a
    KafkaTimeoutError.
    """

    error = Errors.REQUEST_TIMED_OUT


class LookUpFailedError(RetriableError):
    """A deserializer could not look up data for the next record, such as a schema; the record is returned again."""


class RecordDeserializationError(ClientError):
    """A deserializer raised `__cause__` for the next record's key or value (`origin`); names are Java's (KIP-1036).

    `key_buffer`, `value_buffer` and `headers` are the raw record. The position stays at the record; seek to `offset +
    1` to skip it.
    """

    def __init__(
        self,
        origin: Literal["key", "value"],
        topic_partition: TopicPartition,
        offset: int,
        timestamp_type: int,
        timestamp: int,
        key_buffer: bytes | None,
        value_buffer: bytes | None,
        headers: list[tuple[str, bytes | None]],
        reason: str,
    ) -> None:
        fields = (origin, topic_partition, offset, timestamp_type, timestamp, key_buffer, value_buffer, headers, reason)
        super().__init__(*fields)
        self.origin = origin
        self.topic_partition = topic_partition
        self.offset = offset
        self.timestamp_type = timestamp_type
        self.timestamp = timestamp
        self.key_buffer = key_buffer
        self.value_buffer = value_buffer
        self.headers = headers
        self.reason = reason
        topic, partition = topic_partition
        self.message = (
            f"The {origin} of the record at topic {topic}, partition {partition}, offset {offset} cannot be deserialized: "
            f"{reason}"
        )

    def __str__(self) -> str:
        return self.message


class MetadataEmptyBrokerList(RetriableError):
    """A broker returned metadata without brokers, because it is starting. Retriable."""


class NoOffsetForPartitionError(ClientError):
    """There is no committed offset, and auto_offset_reset is none. Seek, or set auto_offset_reset."""


class LogTruncationError(ClientError):
    """The log ends below the consumer's position, because a leader with fewer records has taken over (KIP-320).

    `divergent_offsets`: partition -> `OffsetAndMetadata` to seek back to, or None if the broker does not know it.
    """

    def __init__(self, divergent_offsets: dict[Any, Any], *args: Any) -> None:
        self.divergent_offsets = divergent_offsets
        super().__init__(*(args or (f"Truncated partitions: {divergent_offsets}",)))


class NodeNotReadyError(RetriableError):
    """No live broker has this id at present. Retriable."""

    error = Errors.BROKER_NOT_AVAILABLE


class UnknownBrokerIdError(ClientError):
    """No broker has this id."""

    error = Errors.BROKER_NOT_AVAILABLE


class QuotaViolationError(ClientError):
    """A quota of the client is exceeded: kafka-python's name, never raised here."""


class StaleMetadata(InvalidMetadataError):
    """The cluster has changed; the client updates its metadata. Retriable."""


class TooManyInFlightRequests(RetriableError):
    """Too many requests to this broker are in flight. Retriable."""


class UnrecognizedBrokerVersion(ClientError):
    """api_version is no known release of Kafka."""


class UnsupportedCodecError(ClientError):
    """Records have a compression codec that this client does not support."""

    error = Errors.UNSUPPORTED_COMPRESSION_TYPE


class TransactionAbortedError(ClientError):
    """The result of a batch whose transaction is aborted without a cause (KIP-654)."""


# --- errors in brokers' responses


class BrokerResponseError(ClientError):
    """`errno`: the code. `description`: Kafka's message. On the class, `message` is kafka-python's name of the code."""

    errno: ClassVar[int | None] = None
    message: str
    description: ClassVar[str] = ""

    def __init_subclass__(cls, error: Errors | None = None, name: str = "") -> None:
        if error is not None:
            cls.error = error
            cls.errno = error.code
            cls.message = name or error.name
            cls.description = error.message
            cls.retriable = error.retriable
            cls.invalid_metadata = error.refresh_metadata
            _BY_CODE.setdefault(error.code, cls)

    def __str__(self) -> str:
        """Format as kafka-python does."""
        name = type(self).__name__
        return f"[Error {self.errno}] {name}: {super().__str__()}" if self.args else f"[Error {self.errno}] {name}"


# A table, one class per line.
# fmt: off
class AuthorizationError(BrokerResponseError): ...
class UnknownError(BrokerResponseError, error=Errors.UNKNOWN_SERVER_ERROR, name="UNKNOWN"): ...
class NoError(BrokerResponseError, error=Errors.NONE, name="NO_ERROR"): ...
class OffsetOutOfRangeError(BrokerResponseError, error=Errors.OFFSET_OUT_OF_RANGE): ...
class CorruptRecordError(RetriableError, BrokerResponseError, error=Errors.CORRUPT_MESSAGE): ...
class UnknownTopicOrPartitionError(InvalidMetadataError, BrokerResponseError, error=Errors.UNKNOWN_TOPIC_OR_PARTITION): ...
class InvalidFetchRequestError(BrokerResponseError, error=Errors.INVALID_FETCH_SIZE): ...
class LeaderNotAvailableError(InvalidMetadataError, BrokerResponseError, error=Errors.LEADER_NOT_AVAILABLE): ...
class NotLeaderForPartitionError(InvalidMetadataError, BrokerResponseError,
    error=Errors.NOT_LEADER_OR_FOLLOWER, name="NOT_LEADER_FOR_PARTITION"): ...
class RequestTimedOutError(KafkaTimeoutError, BrokerResponseError, error=Errors.REQUEST_TIMED_OUT): ...
class BrokerNotAvailableError(BrokerResponseError, error=Errors.BROKER_NOT_AVAILABLE): ...
class ReplicaNotAvailableError(InvalidMetadataError, BrokerResponseError, error=Errors.REPLICA_NOT_AVAILABLE): ...
class MessageSizeTooLargeError(BrokerResponseError, error=Errors.MESSAGE_TOO_LARGE, name="MESSAGE_SIZE_TOO_LARGE"): ...
class StaleControllerEpochError(BrokerResponseError, error=Errors.STALE_CONTROLLER_EPOCH): ...
class OffsetMetadataTooLargeError(BrokerResponseError, error=Errors.OFFSET_METADATA_TOO_LARGE): ...
class NetworkExceptionError(InvalidMetadataError, BrokerResponseError, error=Errors.NETWORK_EXCEPTION): ...
class CoordinatorLoadInProgressError(RetriableError, BrokerResponseError, error=Errors.COORDINATOR_LOAD_IN_PROGRESS): ...
class CoordinatorNotAvailableError(RetriableError, BrokerResponseError, error=Errors.COORDINATOR_NOT_AVAILABLE): ...
class NotCoordinatorError(RetriableError, BrokerResponseError, error=Errors.NOT_COORDINATOR): ...
class InvalidTopicError(BrokerResponseError, error=Errors.INVALID_TOPIC_EXCEPTION, name="INVALID_TOPIC"): ...
class RecordListTooLargeError(BrokerResponseError, error=Errors.RECORD_LIST_TOO_LARGE): ...
class NotEnoughReplicasError(RetriableError, BrokerResponseError, error=Errors.NOT_ENOUGH_REPLICAS): ...
class NotEnoughReplicasAfterAppendError(RetriableError, BrokerResponseError, error=Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND): ...
class InvalidRequiredAcksError(BrokerResponseError, error=Errors.INVALID_REQUIRED_ACKS): ...
class IllegalGenerationError(BrokerResponseError, error=Errors.ILLEGAL_GENERATION): ...
class InconsistentGroupProtocolError(BrokerResponseError, error=Errors.INCONSISTENT_GROUP_PROTOCOL): ...
class InvalidGroupIdError(BrokerResponseError, error=Errors.INVALID_GROUP_ID): ...
class UnknownMemberIdError(BrokerResponseError, error=Errors.UNKNOWN_MEMBER_ID): ...
class InvalidSessionTimeoutError(BrokerResponseError, error=Errors.INVALID_SESSION_TIMEOUT): ...
class RebalanceInProgressError(BrokerResponseError, error=Errors.REBALANCE_IN_PROGRESS): ...
class InvalidCommitOffsetSizeError(BrokerResponseError, error=Errors.INVALID_COMMIT_OFFSET_SIZE): ...
class TopicAuthorizationFailedError(AuthorizationError, error=Errors.TOPIC_AUTHORIZATION_FAILED): ...
class GroupAuthorizationFailedError(AuthorizationError, error=Errors.GROUP_AUTHORIZATION_FAILED): ...
class ClusterAuthorizationFailedError(AuthorizationError, error=Errors.CLUSTER_AUTHORIZATION_FAILED): ...
class InvalidTimestampError(BrokerResponseError, error=Errors.INVALID_TIMESTAMP): ...
class UnsupportedSaslMechanismError(BrokerResponseError, error=Errors.UNSUPPORTED_SASL_MECHANISM): ...
class IllegalSaslStateError(BrokerResponseError, error=Errors.ILLEGAL_SASL_STATE): ...
class UnsupportedVersionError(BrokerResponseError, error=Errors.UNSUPPORTED_VERSION): ...
class IncompatibleBrokerVersion(UnsupportedVersionError, error=Errors.UNSUPPORTED_VERSION): ...
class TopicAlreadyExistsError(BrokerResponseError, error=Errors.TOPIC_ALREADY_EXISTS): ...
class InvalidPartitionsError(BrokerResponseError, error=Errors.INVALID_PARTITIONS): ...
class InvalidReplicationFactorError(BrokerResponseError, error=Errors.INVALID_REPLICATION_FACTOR): ...
class InvalidReplicationAssignmentError(BrokerResponseError,
    error=Errors.INVALID_REPLICA_ASSIGNMENT, name="INVALID_REPLICATION_ASSIGNMENT"): ...
class InvalidConfigurationError(BrokerResponseError, error=Errors.INVALID_CONFIG): ...
class NotControllerError(RetriableError, BrokerResponseError, error=Errors.NOT_CONTROLLER): ...
class InvalidRequestError(BrokerResponseError, error=Errors.INVALID_REQUEST): ...
class UnsupportedForMessageFormatError(BrokerResponseError, error=Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT): ...
class PolicyViolationError(BrokerResponseError, error=Errors.POLICY_VIOLATION): ...
class OutOfOrderSequenceNumberError(BrokerResponseError, error=Errors.OUT_OF_ORDER_SEQUENCE_NUMBER): ...
class DuplicateSequenceNumberError(BrokerResponseError, error=Errors.DUPLICATE_SEQUENCE_NUMBER): ...
class InvalidProducerEpochError(BrokerResponseError, error=Errors.INVALID_PRODUCER_EPOCH): ...
class InvalidTxnStateError(BrokerResponseError, error=Errors.INVALID_TXN_STATE): ...
class InvalidProducerIdMappingError(BrokerResponseError, error=Errors.INVALID_PRODUCER_ID_MAPPING): ...
class InvalidTransactionTimeoutError(BrokerResponseError, error=Errors.INVALID_TRANSACTION_TIMEOUT): ...
class ConcurrentTransactionsError(RetriableError, BrokerResponseError, error=Errors.CONCURRENT_TRANSACTIONS): ...
class TransactionCoordinatorFencedError(BrokerResponseError, error=Errors.TRANSACTION_COORDINATOR_FENCED): ...
class TransactionalIdAuthorizationFailedError(AuthorizationError, error=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED): ...
class SecurityDisabledError(BrokerResponseError, error=Errors.SECURITY_DISABLED): ...
class OperationNotAttemptedError(BrokerResponseError, error=Errors.OPERATION_NOT_ATTEMPTED): ...
class KafkaStorageError(InvalidMetadataError, BrokerResponseError, error=Errors.KAFKA_STORAGE_ERROR): ...
class LogDirNotFoundError(BrokerResponseError, error=Errors.LOG_DIR_NOT_FOUND): ...
class SaslAuthenticationFailedError(BrokerResponseError, error=Errors.SASL_AUTHENTICATION_FAILED): ...
class UnknownProducerIdError(BrokerResponseError, error=Errors.UNKNOWN_PRODUCER_ID): ...
class ReassignmentInProgressError(BrokerResponseError, error=Errors.REASSIGNMENT_IN_PROGRESS): ...
class DelegationTokenAuthDisabledError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_AUTH_DISABLED): ...
class DelegationTokenNotFoundError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_NOT_FOUND): ...
class DelegationTokenOwnerMismatchError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_OWNER_MISMATCH): ...
class DelegationTokenRequestNotAllowedError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED): ...
class DelegationTokenAuthorizationFailedError(AuthorizationError, error=Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED): ...
class DelegationTokenExpiredError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_EXPIRED): ...
class InvalidPrincipalTypeError(BrokerResponseError, error=Errors.INVALID_PRINCIPAL_TYPE): ...
class NonEmptyGroupError(BrokerResponseError, error=Errors.NON_EMPTY_GROUP): ...
class GroupIdNotFoundError(BrokerResponseError, error=Errors.GROUP_ID_NOT_FOUND): ...
class FetchSessionIdNotFoundError(RetriableError, BrokerResponseError, error=Errors.FETCH_SESSION_ID_NOT_FOUND): ...
class InvalidFetchSessionEpochError(RetriableError, BrokerResponseError, error=Errors.INVALID_FETCH_SESSION_EPOCH): ...
class ListenerNotFoundError(InvalidMetadataError, BrokerResponseError, error=Errors.LISTENER_NOT_FOUND): ...
class TopicDeletionDisabledError(BrokerResponseError, error=Errors.TOPIC_DELETION_DISABLED): ...
class FencedLeaderEpochError(InvalidMetadataError, BrokerResponseError, error=Errors.FENCED_LEADER_EPOCH): ...
class UnknownLeaderEpochError(InvalidMetadataError, BrokerResponseError, error=Errors.UNKNOWN_LEADER_EPOCH): ...
class UnsupportedCompressionTypeError(BrokerResponseError, error=Errors.UNSUPPORTED_COMPRESSION_TYPE): ...
class StaleBrokerEpochError(BrokerResponseError, error=Errors.STALE_BROKER_EPOCH): ...
class OffsetNotAvailableError(RetriableError, BrokerResponseError, error=Errors.OFFSET_NOT_AVAILABLE): ...
class MemberIdRequiredError(BrokerResponseError, error=Errors.MEMBER_ID_REQUIRED): ...
class PreferredLeaderNotAvailableError(InvalidMetadataError, BrokerResponseError,
    error=Errors.PREFERRED_LEADER_NOT_AVAILABLE): ...
class GroupMaxSizeReachedError(BrokerResponseError, error=Errors.GROUP_MAX_SIZE_REACHED): ...
class FencedInstanceIdError(BrokerResponseError, error=Errors.FENCED_INSTANCE_ID): ...
class EligibleLeadersNotAvailableError(InvalidMetadataError, BrokerResponseError,
    error=Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE): ...
class ElectionNotNeededError(InvalidMetadataError, BrokerResponseError, error=Errors.ELECTION_NOT_NEEDED): ...
class NoReassignmentInProgressError(BrokerResponseError, error=Errors.NO_REASSIGNMENT_IN_PROGRESS): ...
class GroupSubscribedToTopicError(BrokerResponseError, error=Errors.GROUP_SUBSCRIBED_TO_TOPIC): ...
class InvalidRecordError(BrokerResponseError, error=Errors.INVALID_RECORD): ...
class UnstableOffsetCommitError(RetriableError, BrokerResponseError, error=Errors.UNSTABLE_OFFSET_COMMIT): ...
class ThrottlingQuotaExceededError(RetriableError, BrokerResponseError, error=Errors.THROTTLING_QUOTA_EXCEEDED): ...
class ProducerFencedError(BrokerResponseError, error=Errors.PRODUCER_FENCED): ...
class ResourceNotFoundError(BrokerResponseError, error=Errors.RESOURCE_NOT_FOUND): ...
class DuplicateResourceError(BrokerResponseError, error=Errors.DUPLICATE_RESOURCE): ...
class UnacceptableCredentialError(BrokerResponseError, error=Errors.UNACCEPTABLE_CREDENTIAL): ...
class InconsistentVoterSetError(BrokerResponseError, error=Errors.INCONSISTENT_VOTER_SET): ...
class InvalidUpdateVersionError(BrokerResponseError, error=Errors.INVALID_UPDATE_VERSION): ...
class FeatureUpdateFailedError(BrokerResponseError, error=Errors.FEATURE_UPDATE_FAILED): ...
class PrincipalDeserializationFailureError(BrokerResponseError, error=Errors.PRINCIPAL_DESERIALIZATION_FAILURE): ...
class SnapshotNotFoundError(BrokerResponseError, error=Errors.SNAPSHOT_NOT_FOUND): ...
class PositionOutOfRangeError(BrokerResponseError, error=Errors.POSITION_OUT_OF_RANGE): ...
class UnknownTopicIdError(InvalidMetadataError, BrokerResponseError, error=Errors.UNKNOWN_TOPIC_ID): ...
class DuplicateBrokerRegistrationError(BrokerResponseError, error=Errors.DUPLICATE_BROKER_REGISTRATION): ...
class BrokerIdNotRegisteredError(BrokerResponseError, error=Errors.BROKER_ID_NOT_REGISTERED): ...
class InconsistentTopicIdError(InvalidMetadataError, BrokerResponseError, error=Errors.INCONSISTENT_TOPIC_ID): ...
class InconsistentClusterIdError(BrokerResponseError, error=Errors.INCONSISTENT_CLUSTER_ID): ...
class TransactionalIdNotFoundError(BrokerResponseError, error=Errors.TRANSACTIONAL_ID_NOT_FOUND): ...
class FetchSessionTopicIdError(RetriableError, BrokerResponseError, error=Errors.FETCH_SESSION_TOPIC_ID_ERROR): ...
class IneligibleReplicaError(BrokerResponseError, error=Errors.INELIGIBLE_REPLICA): ...
class NewLeaderElectedError(BrokerResponseError, error=Errors.NEW_LEADER_ELECTED): ...
class OffsetMovedToTieredStorageError(BrokerResponseError, error=Errors.OFFSET_MOVED_TO_TIERED_STORAGE): ...
class FencedMemberEpochError(BrokerResponseError, error=Errors.FENCED_MEMBER_EPOCH): ...
class UnreleasedInstanceIdError(BrokerResponseError, error=Errors.UNRELEASED_INSTANCE_ID): ...
class UnsupportedAssignorError(BrokerResponseError, error=Errors.UNSUPPORTED_ASSIGNOR): ...
class StaleMemberEpochError(BrokerResponseError, error=Errors.STALE_MEMBER_EPOCH): ...
class MismatchedEndpointTypeError(BrokerResponseError, error=Errors.MISMATCHED_ENDPOINT_TYPE): ...
class UnsupportedEndpointTypeError(BrokerResponseError, error=Errors.UNSUPPORTED_ENDPOINT_TYPE): ...
class UnknownControllerIdError(BrokerResponseError, error=Errors.UNKNOWN_CONTROLLER_ID): ...
class UnknownSubscriptionIdError(BrokerResponseError, error=Errors.UNKNOWN_SUBSCRIPTION_ID): ...
class TelemetryTooLargeError(BrokerResponseError, error=Errors.TELEMETRY_TOO_LARGE): ...
class InvalidRegistrationError(BrokerResponseError, error=Errors.INVALID_REGISTRATION): ...
class TransactionAbortableError(BrokerResponseError, error=Errors.TRANSACTION_ABORTABLE): ...
class InvalidRecordStateError(BrokerResponseError, error=Errors.INVALID_RECORD_STATE): ...
class ShareSessionNotFoundError(RetriableError, BrokerResponseError, error=Errors.SHARE_SESSION_NOT_FOUND): ...
class InvalidShareSessionEpochError(RetriableError, BrokerResponseError, error=Errors.INVALID_SHARE_SESSION_EPOCH): ...
class FencedStateEpochError(BrokerResponseError, error=Errors.FENCED_STATE_EPOCH): ...
class InvalidVoterKeyError(BrokerResponseError, error=Errors.INVALID_VOTER_KEY): ...
class DuplicateVoterError(BrokerResponseError, error=Errors.DUPLICATE_VOTER): ...
class VoterNotFoundError(BrokerResponseError, error=Errors.VOTER_NOT_FOUND): ...
# --- tables


class TopicNotFoundInTimeError(KafkaTimeoutError, UnknownTopicOrPartitionError):
    """A record's topic did not exist for as long as a producer waits: kafka-python's KafkaTimeoutError, and the
    UnknownTopicOrPartitionError that aiokafka raises in this case.
    """

    __str__ = ClientError.__str__


class NoResponseError(RequestTimedOutError):
    """A request was not answered in time, or an operation failed despite all retries: it may or may not have been
    executed.
    """

    __str__ = ClientError.__str__  # not an error of a broker


class SaslConnectionError(SaslAuthenticationFailedError, KafkaConnectionError):
    """The credentials of an asyncio client were refused at its start, where aiokafka raises KafkaConnectionError."""


CorruptRecordException = CorruptRecordError
GroupLoadInProgressError = CoordinatorLoadInProgressError
GroupCoordinatorNotAvailableError = CoordinatorNotAvailableError
NotCoordinatorForGroupError = NotCoordinatorError
InvalidMessageError = CorruptRecordError
AuthenticationFailedError = SaslAuthenticationFailedError
ProtocolError = KafkaProtocolError
KafkaUnavailableError = NoBrokersAvailable
"""Names of these errors in kafka-python 2."""

kafka_errors: dict[int, type[BrokerResponseError]] = _BY_CODE
"""Error code -> exception class."""
# fmt: on


def for_code(error_code: int) -> type[BrokerResponseError]:
    """Return the exception class of an error code. An unknown code gets a class with that `errno`."""
    found = _BY_CODE.get(error_code)
    if found is not None:
        return found
    return type("UnrecognizedBrokerError", (UnknownError,), {"errno": error_code})


def error_for(error: int | Errors, message: str | None = None) -> BrokerResponseError:
    """Return an exception for a code, with the broker's message or else Kafka's own."""
    found = for_code(error if isinstance(error, int) else error.code)
    return found(message or found.description)


def as_client_error(error: KafkaError) -> KafkaError:
    """Return the public exception for one that a lower layer raised."""
    if isinstance(error, ClientError):
        return error
    if error.error is Errors.UNSUPPORTED_VERSION:
        return IncompatibleBrokerVersion(error.message)
    if error.error is Errors.INVALID_CONFIG:
        return KafkaConfigurationError(error.message)
    return error_for(error.error, error.message)
