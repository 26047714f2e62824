"""The exceptions of the clients: kafka-python's names and hierarchy over Kafka's error codes.

`KafkaError` is the base of all, the one that `protocol/` and the broker raise too. What a broker answers is a
`BrokerResponseError`, one subclass for each code; `for_code` and `error_for` find it. `as_client_error` turns a plain
`KafkaError(Errors.X)` from a lower layer into its subclass: the clients do that at their edge, once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kafkapy.protocol.errors import Errors
from kafkapy.protocol.errors import KafkaError as KafkaError  # users import it from here

_BY_CODE: dict[int, type[BrokerResponseError]] = {}


class ClientError(KafkaError):
    """An error with kafka-python's manners: any arguments, `retriable` and `invalid_metadata` on the class.

    `error` is the code that the error has on the wire, or that stands for it in the layers below; `message` says what
    went wrong, without the name of the class.
    """

    retriable: ClassVar[bool] = False
    invalid_metadata: ClassVar[bool] = False
    error: Errors = Errors.UNKNOWN_SERVER_ERROR

    def __init__(self, *args: Any) -> None:
        Exception.__init__(self, *args)
        self.message = Exception.__str__(self) if args else self.error.message

    def __str__(self) -> str:
        name = type(self).__name__
        return f"{name}: {Exception.__str__(self)}" if self.args else name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == getattr(other, "args", None)

    __hash__ = Exception.__hash__


class RetriableError(ClientError):
    retriable = True


class InvalidMetadataError(RetriableError):
    """Retriable, once the metadata is fresh."""

    invalid_metadata = True


# --- what a client finds out by itself


class Cancelled(RetriableError):
    pass


class CommitFailedError(ClientError):
    def __init__(self, *args: Any) -> None:
        sentence = "The commit is void: the group has rebalanced and other members own the partitions now."
        super().__init__(*(args or (sentence,)))


class IllegalArgumentError(ClientError):
    error = Errors.INVALID_REQUEST


class IllegalStateError(ClientError):
    pass


class KafkaConfigurationError(ClientError):
    error = Errors.INVALID_CONFIG


class KafkaConnectionError(InvalidMetadataError):
    error = Errors.NETWORK_EXCEPTION


class DisconnectError(KafkaConnectionError):
    """The connection ended before the response came: whether the broker did the work is not known."""


class KafkaProtocolError(ClientError):
    pass


class CorrelationIdError(RetriableError, KafkaProtocolError):
    pass


class InvalidReceiveError(KafkaProtocolError):
    pass


class KafkaTimeoutError(RetriableError):
    error = Errors.REQUEST_TIMED_OUT


class MetadataEmptyBrokerList(RetriableError):
    pass


class NoOffsetForPartitionError(ClientError):
    pass


class LogTruncationError(ClientError):
    """The log ends below the consumer's position: a leader with fewer records took over (KIP-320).

    `divergent_offsets`: partition -> `OffsetAndMetadata` to seek back to, or None where the broker knows none.
    """

    def __init__(self, divergent_offsets: dict[Any, Any], *args: Any) -> None:
        self.divergent_offsets = divergent_offsets
        super().__init__(*(args or (f"Truncated partitions: {divergent_offsets}",)))


class NodeNotReadyError(RetriableError):
    error = Errors.BROKER_NOT_AVAILABLE


class UnknownBrokerIdError(ClientError):
    error = Errors.BROKER_NOT_AVAILABLE


class QuotaViolationError(ClientError):
    pass


class StaleMetadata(InvalidMetadataError):
    pass


class TooManyInFlightRequests(RetriableError):
    pass


class UnrecognizedBrokerVersion(ClientError):
    pass


class UnsupportedCodecError(ClientError):
    error = Errors.UNSUPPORTED_COMPRESSION_TYPE


class TransactionAbortedError(ClientError):
    """What a batch ends with when its transaction is aborted without a cause (KIP-654)."""


# --- what brokers answer


class BrokerResponseError(ClientError):
    """`errno`: the code. `description`: Kafka's sentence. On the class, `message` is kafka-python's name of the code."""

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
        return f"[Error {self.errno}] {super().__str__()}"


class AuthorizationError(BrokerResponseError):
    pass


class UnknownError(BrokerResponseError, error=Errors.UNKNOWN_SERVER_ERROR, name="UNKNOWN"):
    pass


class NoError(BrokerResponseError, error=Errors.NONE, name="NO_ERROR"):
    pass


class OffsetOutOfRangeError(BrokerResponseError, error=Errors.OFFSET_OUT_OF_RANGE):
    pass


class CorruptRecordError(RetriableError, BrokerResponseError, error=Errors.CORRUPT_MESSAGE):
    pass


class UnknownTopicOrPartitionError(InvalidMetadataError, BrokerResponseError, error=Errors.UNKNOWN_TOPIC_OR_PARTITION):
    pass


class InvalidFetchRequestError(BrokerResponseError, error=Errors.INVALID_FETCH_SIZE):
    pass


class LeaderNotAvailableError(InvalidMetadataError, BrokerResponseError, error=Errors.LEADER_NOT_AVAILABLE):
    pass


class NotLeaderForPartitionError(
    InvalidMetadataError, BrokerResponseError, error=Errors.NOT_LEADER_OR_FOLLOWER, name="NOT_LEADER_FOR_PARTITION"
):
    pass


class RequestTimedOutError(RetriableError, BrokerResponseError, error=Errors.REQUEST_TIMED_OUT):
    pass


class BrokerNotAvailableError(BrokerResponseError, error=Errors.BROKER_NOT_AVAILABLE):
    pass


class ReplicaNotAvailableError(InvalidMetadataError, BrokerResponseError, error=Errors.REPLICA_NOT_AVAILABLE):
    pass


class MessageSizeTooLargeError(BrokerResponseError, error=Errors.MESSAGE_TOO_LARGE, name="MESSAGE_SIZE_TOO_LARGE"):
    pass


class StaleControllerEpochError(BrokerResponseError, error=Errors.STALE_CONTROLLER_EPOCH):
    pass


class OffsetMetadataTooLargeError(BrokerResponseError, error=Errors.OFFSET_METADATA_TOO_LARGE):
    pass


class NetworkExceptionError(InvalidMetadataError, BrokerResponseError, error=Errors.NETWORK_EXCEPTION):
    pass


class CoordinatorLoadInProgressError(RetriableError, BrokerResponseError, error=Errors.COORDINATOR_LOAD_IN_PROGRESS):
    pass


class CoordinatorNotAvailableError(RetriableError, BrokerResponseError, error=Errors.COORDINATOR_NOT_AVAILABLE):
    pass


class NotCoordinatorError(RetriableError, BrokerResponseError, error=Errors.NOT_COORDINATOR):
    pass


class InvalidTopicError(BrokerResponseError, error=Errors.INVALID_TOPIC_EXCEPTION, name="INVALID_TOPIC"):
    pass


class RecordListTooLargeError(BrokerResponseError, error=Errors.RECORD_LIST_TOO_LARGE):
    pass


class NotEnoughReplicasError(RetriableError, BrokerResponseError, error=Errors.NOT_ENOUGH_REPLICAS):
    pass


class NotEnoughReplicasAfterAppendError(
    RetriableError, BrokerResponseError, error=Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
):
    pass


class InvalidRequiredAcksError(BrokerResponseError, error=Errors.INVALID_REQUIRED_ACKS):
    pass


class IllegalGenerationError(BrokerResponseError, error=Errors.ILLEGAL_GENERATION):
    pass


class InconsistentGroupProtocolError(BrokerResponseError, error=Errors.INCONSISTENT_GROUP_PROTOCOL):
    pass


class InvalidGroupIdError(BrokerResponseError, error=Errors.INVALID_GROUP_ID):
    pass


class UnknownMemberIdError(BrokerResponseError, error=Errors.UNKNOWN_MEMBER_ID):
    pass


class InvalidSessionTimeoutError(BrokerResponseError, error=Errors.INVALID_SESSION_TIMEOUT):
    pass


class RebalanceInProgressError(BrokerResponseError, error=Errors.REBALANCE_IN_PROGRESS):
    pass


class InvalidCommitOffsetSizeError(BrokerResponseError, error=Errors.INVALID_COMMIT_OFFSET_SIZE):
    pass


class TopicAuthorizationFailedError(AuthorizationError, error=Errors.TOPIC_AUTHORIZATION_FAILED):
    pass


class GroupAuthorizationFailedError(AuthorizationError, error=Errors.GROUP_AUTHORIZATION_FAILED):
    pass


class ClusterAuthorizationFailedError(AuthorizationError, error=Errors.CLUSTER_AUTHORIZATION_FAILED):
    pass


class InvalidTimestampError(BrokerResponseError, error=Errors.INVALID_TIMESTAMP):
    pass


class UnsupportedSaslMechanismError(BrokerResponseError, error=Errors.UNSUPPORTED_SASL_MECHANISM):
    pass


class IllegalSaslStateError(BrokerResponseError, error=Errors.ILLEGAL_SASL_STATE):
    pass


class UnsupportedVersionError(BrokerResponseError, error=Errors.UNSUPPORTED_VERSION):
    pass


class IncompatibleBrokerVersion(UnsupportedVersionError, error=Errors.UNSUPPORTED_VERSION):
    pass


class TopicAlreadyExistsError(BrokerResponseError, error=Errors.TOPIC_ALREADY_EXISTS):
    pass


class InvalidPartitionsError(BrokerResponseError, error=Errors.INVALID_PARTITIONS):
    pass


class InvalidReplicationFactorError(BrokerResponseError, error=Errors.INVALID_REPLICATION_FACTOR):
    pass


class InvalidReplicationAssignmentError(
    BrokerResponseError, error=Errors.INVALID_REPLICA_ASSIGNMENT, name="INVALID_REPLICATION_ASSIGNMENT"
):
    pass


class InvalidConfigurationError(BrokerResponseError, error=Errors.INVALID_CONFIG):
    pass


class NotControllerError(RetriableError, BrokerResponseError, error=Errors.NOT_CONTROLLER):
    pass


class InvalidRequestError(BrokerResponseError, error=Errors.INVALID_REQUEST):
    pass


class UnsupportedForMessageFormatError(BrokerResponseError, error=Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT):
    pass


class PolicyViolationError(BrokerResponseError, error=Errors.POLICY_VIOLATION):
    pass


class OutOfOrderSequenceNumberError(BrokerResponseError, error=Errors.OUT_OF_ORDER_SEQUENCE_NUMBER):
    pass


class DuplicateSequenceNumberError(BrokerResponseError, error=Errors.DUPLICATE_SEQUENCE_NUMBER):
    pass


class InvalidProducerEpochError(BrokerResponseError, error=Errors.INVALID_PRODUCER_EPOCH):
    pass


class InvalidTxnStateError(BrokerResponseError, error=Errors.INVALID_TXN_STATE):
    pass


class InvalidProducerIdMappingError(BrokerResponseError, error=Errors.INVALID_PRODUCER_ID_MAPPING):
    pass


class InvalidTransactionTimeoutError(BrokerResponseError, error=Errors.INVALID_TRANSACTION_TIMEOUT):
    pass


class ConcurrentTransactionsError(RetriableError, BrokerResponseError, error=Errors.CONCURRENT_TRANSACTIONS):
    pass


class TransactionCoordinatorFencedError(BrokerResponseError, error=Errors.TRANSACTION_COORDINATOR_FENCED):
    pass


class TransactionalIdAuthorizationFailedError(AuthorizationError, error=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
    pass


class SecurityDisabledError(BrokerResponseError, error=Errors.SECURITY_DISABLED):
    pass


class OperationNotAttemptedError(BrokerResponseError, error=Errors.OPERATION_NOT_ATTEMPTED):
    pass


class KafkaStorageError(InvalidMetadataError, BrokerResponseError, error=Errors.KAFKA_STORAGE_ERROR):
    pass


class LogDirNotFoundError(BrokerResponseError, error=Errors.LOG_DIR_NOT_FOUND):
    pass


class SaslAuthenticationFailedError(BrokerResponseError, error=Errors.SASL_AUTHENTICATION_FAILED):
    pass


class UnknownProducerIdError(BrokerResponseError, error=Errors.UNKNOWN_PRODUCER_ID):
    pass


class ReassignmentInProgressError(BrokerResponseError, error=Errors.REASSIGNMENT_IN_PROGRESS):
    pass


class DelegationTokenAuthDisabledError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_AUTH_DISABLED):
    pass


class DelegationTokenNotFoundError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_NOT_FOUND):
    pass


class DelegationTokenOwnerMismatchError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_OWNER_MISMATCH):
    pass


class DelegationTokenRequestNotAllowedError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED):
    pass


class DelegationTokenAuthorizationFailedError(AuthorizationError, error=Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED):
    pass


class DelegationTokenExpiredError(BrokerResponseError, error=Errors.DELEGATION_TOKEN_EXPIRED):
    pass


class InvalidPrincipalTypeError(BrokerResponseError, error=Errors.INVALID_PRINCIPAL_TYPE):
    pass


class NonEmptyGroupError(BrokerResponseError, error=Errors.NON_EMPTY_GROUP):
    pass


class GroupIdNotFoundError(BrokerResponseError, error=Errors.GROUP_ID_NOT_FOUND):
    pass


class FetchSessionIdNotFoundError(RetriableError, BrokerResponseError, error=Errors.FETCH_SESSION_ID_NOT_FOUND):
    pass


class InvalidFetchSessionEpochError(RetriableError, BrokerResponseError, error=Errors.INVALID_FETCH_SESSION_EPOCH):
    pass


class ListenerNotFoundError(InvalidMetadataError, BrokerResponseError, error=Errors.LISTENER_NOT_FOUND):
    pass


class TopicDeletionDisabledError(BrokerResponseError, error=Errors.TOPIC_DELETION_DISABLED):
    pass


class FencedLeaderEpochError(InvalidMetadataError, BrokerResponseError, error=Errors.FENCED_LEADER_EPOCH):
    pass


class UnknownLeaderEpochError(RetriableError, BrokerResponseError, error=Errors.UNKNOWN_LEADER_EPOCH):
    pass


class UnsupportedCompressionTypeError(BrokerResponseError, error=Errors.UNSUPPORTED_COMPRESSION_TYPE):
    pass


class StaleBrokerEpochError(BrokerResponseError, error=Errors.STALE_BROKER_EPOCH):
    pass


class OffsetNotAvailableError(RetriableError, BrokerResponseError, error=Errors.OFFSET_NOT_AVAILABLE):
    pass


class MemberIdRequiredError(BrokerResponseError, error=Errors.MEMBER_ID_REQUIRED):
    pass


class PreferredLeaderNotAvailableError(
    InvalidMetadataError, BrokerResponseError, error=Errors.PREFERRED_LEADER_NOT_AVAILABLE
):
    pass


class GroupMaxSizeReachedError(BrokerResponseError, error=Errors.GROUP_MAX_SIZE_REACHED):
    pass


class FencedInstanceIdError(BrokerResponseError, error=Errors.FENCED_INSTANCE_ID):
    pass


class EligibleLeadersNotAvailableError(
    InvalidMetadataError, BrokerResponseError, error=Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
):
    pass


class ElectionNotNeededError(InvalidMetadataError, BrokerResponseError, error=Errors.ELECTION_NOT_NEEDED):
    pass


class NoReassignmentInProgressError(BrokerResponseError, error=Errors.NO_REASSIGNMENT_IN_PROGRESS):
    pass


class GroupSubscribedToTopicError(BrokerResponseError, error=Errors.GROUP_SUBSCRIBED_TO_TOPIC):
    pass


class InvalidRecordError(BrokerResponseError, error=Errors.INVALID_RECORD):
    pass


class UnstableOffsetCommitError(RetriableError, BrokerResponseError, error=Errors.UNSTABLE_OFFSET_COMMIT):
    pass


class ThrottlingQuotaExceededError(RetriableError, BrokerResponseError, error=Errors.THROTTLING_QUOTA_EXCEEDED):
    pass


class ProducerFencedError(BrokerResponseError, error=Errors.PRODUCER_FENCED):
    pass


class ResourceNotFoundError(BrokerResponseError, error=Errors.RESOURCE_NOT_FOUND):
    pass


class DuplicateResourceError(BrokerResponseError, error=Errors.DUPLICATE_RESOURCE):
    pass


class UnacceptableCredentialError(BrokerResponseError, error=Errors.UNACCEPTABLE_CREDENTIAL):
    pass


class InconsistentVoterSetError(BrokerResponseError, error=Errors.INCONSISTENT_VOTER_SET):
    pass


class InvalidUpdateVersionError(BrokerResponseError, error=Errors.INVALID_UPDATE_VERSION):
    pass


class FeatureUpdateFailedError(BrokerResponseError, error=Errors.FEATURE_UPDATE_FAILED):
    pass


class PrincipalDeserializationFailureError(BrokerResponseError, error=Errors.PRINCIPAL_DESERIALIZATION_FAILURE):
    pass


class SnapshotNotFoundError(BrokerResponseError, error=Errors.SNAPSHOT_NOT_FOUND):
    pass


class PositionOutOfRangeError(BrokerResponseError, error=Errors.POSITION_OUT_OF_RANGE):
    pass


class UnknownTopicIdError(InvalidMetadataError, BrokerResponseError, error=Errors.UNKNOWN_TOPIC_ID):
    pass


class DuplicateBrokerRegistrationError(BrokerResponseError, error=Errors.DUPLICATE_BROKER_REGISTRATION):
    pass


class BrokerIdNotRegisteredError(BrokerResponseError, error=Errors.BROKER_ID_NOT_REGISTERED):
    pass


class InconsistentTopicIdError(InvalidMetadataError, BrokerResponseError, error=Errors.INCONSISTENT_TOPIC_ID):
    pass


class InconsistentClusterIdError(BrokerResponseError, error=Errors.INCONSISTENT_CLUSTER_ID):
    pass


class TransactionalIdNotFoundError(BrokerResponseError, error=Errors.TRANSACTIONAL_ID_NOT_FOUND):
    pass


class FetchSessionTopicIdError(RetriableError, BrokerResponseError, error=Errors.FETCH_SESSION_TOPIC_ID_ERROR):
    pass


class IneligibleReplicaError(BrokerResponseError, error=Errors.INELIGIBLE_REPLICA):
    pass


class NewLeaderElectedError(BrokerResponseError, error=Errors.NEW_LEADER_ELECTED):
    pass


class OffsetMovedToTieredStorageError(BrokerResponseError, error=Errors.OFFSET_MOVED_TO_TIERED_STORAGE):
    pass


class FencedMemberEpochError(BrokerResponseError, error=Errors.FENCED_MEMBER_EPOCH):
    pass


class UnreleasedInstanceIdError(BrokerResponseError, error=Errors.UNRELEASED_INSTANCE_ID):
    pass


class UnsupportedAssignorError(BrokerResponseError, error=Errors.UNSUPPORTED_ASSIGNOR):
    pass


class StaleMemberEpochError(BrokerResponseError, error=Errors.STALE_MEMBER_EPOCH):
    pass


class MismatchedEndpointTypeError(BrokerResponseError, error=Errors.MISMATCHED_ENDPOINT_TYPE):
    pass


class UnsupportedEndpointTypeError(BrokerResponseError, error=Errors.UNSUPPORTED_ENDPOINT_TYPE):
    pass


class UnknownControllerIdError(BrokerResponseError, error=Errors.UNKNOWN_CONTROLLER_ID):
    pass


class UnknownSubscriptionIdError(BrokerResponseError, error=Errors.UNKNOWN_SUBSCRIPTION_ID):
    pass


class TelemetryTooLargeError(BrokerResponseError, error=Errors.TELEMETRY_TOO_LARGE):
    pass


class InvalidRegistrationError(BrokerResponseError, error=Errors.INVALID_REGISTRATION):
    pass


class TransactionAbortableError(BrokerResponseError, error=Errors.TRANSACTION_ABORTABLE):
    pass


class InvalidRecordStateError(BrokerResponseError, error=Errors.INVALID_RECORD_STATE):
    pass


class ShareSessionNotFoundError(RetriableError, BrokerResponseError, error=Errors.SHARE_SESSION_NOT_FOUND):
    pass


class InvalidShareSessionEpochError(RetriableError, BrokerResponseError, error=Errors.INVALID_SHARE_SESSION_EPOCH):
    pass


class FencedStateEpochError(BrokerResponseError, error=Errors.FENCED_STATE_EPOCH):
    pass


class InvalidVoterKeyError(BrokerResponseError, error=Errors.INVALID_VOTER_KEY):
    pass


class DuplicateVoterError(BrokerResponseError, error=Errors.DUPLICATE_VOTER):
    pass


class VoterNotFoundError(BrokerResponseError, error=Errors.VOTER_NOT_FOUND):
    pass


# --- tables

CorruptRecordException = CorruptRecordError
"""An older name."""

kafka_errors: dict[int, type[BrokerResponseError]] = _BY_CODE
"""Error code -> exception class."""


def for_code(error_code: int) -> type[BrokerResponseError]:
    """The exception class of an error code. A code that this version does not know gets a class with that `errno`."""
    found = _BY_CODE.get(error_code)
    if found is not None:
        return found
    return type("UnrecognizedBrokerError", (UnknownError,), {"errno": error_code})


def error_for(error: int | Errors, message: str | None = None) -> BrokerResponseError:
    """An exception for a code, with the broker's message or else Kafka's own sentence."""
    found = for_code(error if isinstance(error, int) else error.code)
    return found(message or found.description)


def as_client_error(error: KafkaError) -> KafkaError:
    """The exception that users catch for one that a lower layer raised."""
    if isinstance(error, ClientError):
        return error
    if error.error is Errors.UNSUPPORTED_VERSION:
        return IncompatibleBrokerVersion(error.message)
    if error.error is Errors.INVALID_CONFIG:
        return KafkaConfigurationError(error.message)
    return error_for(error.error, error.message)
