"""What to do about each error: docs/errors.md is made of it. A test says whether one is missing."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.producer.transaction_errors import ABORT, FENCED
from kafkapy.protocol.errors import Errors

BY_CLIENT: Mapping[str, str] = {
    "KafkaError": "The base of all. `except KafkaError` catches whatever a client raises on account of the cluster.",
    "ClientError": "The base of those that this library makes.",
    "RetriableError": "The base of those after which the same may be tried again.",
    "InvalidMetadataError": "The base of those that go away when the client knows the cluster's newest state; it asks by itself.",
    "BootstrapError": "None of bootstrap_servers could be reached. Check addresses, port, firewall and security_protocol.",
    "NoBrokersAvailable": "No broker answered the constructor, or `start`, in time. As BootstrapError; a KafkaConnectionError, "
    "and a KafkaTimeoutError.",
    "KafkaUnavailableError": "kafka-python's older name for a cluster that is not there. As BootstrapError.",
    "KafkaConnectionError": "A connection broke or could not be made. If it stays so: is the broker up, and do its advertised "
    "listeners have an address that this machine reaches?",
    "DisconnectError": "The connection ended before the answer came; whether the broker did the work is not known.",
    "KafkaTimeoutError": "The time for a call was over. The sentence says what was waited for, and the last failure. "
    "`flush`, `send`, `commit` and the admin's methods may be called again.",
    "NoResponseError": "A request was not answered in time, or an operation did not come off with all its retries; whether a "
    "broker did the work is not known. A RequestTimedOutError, and as KafkaTimeoutError.",
    "TopicNotFoundInTimeError": "The topic of a record did not exist within max_block_ms. Check the name, or make the topic. An "
    "UnknownTopicOrPartitionError, and a KafkaTimeoutError.",
    "SaslConnectionError": "The start of an asyncio client was refused: check user, password or token. A "
    "SaslAuthenticationFailedError, and, as with aiokafka, a KafkaConnectionError.",
    "LookUpFailedError": "A deserializer could not find out what it needs, such as a schema. Is the registry up? The record "
    "comes again.",
    "RecordDeserializationError": "A deserializer cannot read the next record; the error has the record as it was written, and "
    "what the deserializer raised as its cause. Seek to `error.offset + 1`, or choose a deserialization_policy.",
    "NodeNotReadyError": "No live broker has that id at present. Try later.",
    "UnknownBrokerIdError": "No broker has that id. Check the number.",
    "MetadataEmptyBrokerList": "A broker knew of no brokers; it is just starting. Try later.",
    "StaleMetadata": "The cluster has changed meanwhile. The client asks again by itself.",
    "TooManyInFlightRequests": "Too much is under way to that broker. Try later.",
    "KafkaConfigurationError": "An option is unknown, out of range or at odds with another. The sentence names it; "
    "client_options.md has all.",
    "IllegalArgumentError": "An argument makes no sense. Correct the program.",
    "IllegalStateError": "The call does not fit the client's state: it is closed, not started, has no group, or is waited for "
    "from its own callback. Correct the program.",
    "ConsumerStoppedError": "The consumer was stopped while a call waited for records. Expected at the end of a program.",
    "ProducerClosed": "The producer was closed already. Correct the program.",
    "WakeupException": "`wakeup()` ended the poll. Expected where a program calls it, to end or to look around.",
    "Cancelled": "The client was closed, or the call cancelled, before it was done.",
    "CommitFailedError": "The group has rebalanced and others have the partitions: what was processed comes again to them. Poll "
    "more often, or raise max_poll_interval_ms or lower max_poll_records.",
    "NoOffsetForPartitionError": "There is no committed offset and auto_offset_reset is none. Seek, or choose another.",
    "LogTruncationError": "Records that were read are gone, since a leader with fewer took over. Seek to "
    "`error.divergent_offsets`, or decide otherwise.",
    "TransactionAbortedError": "The record's transaction was aborted, by the program or after a failure. Send it in a new one.",
    "UnsupportedCodecError": "Records are compressed in a way that this client does not know.",
    "KafkaProtocolError": "Bytes came that make no sense here. Is this a Kafka broker, and its plaintext or TLS port as "
    "security_protocol says?",
    "WrongProtocolError": "What listens at the address speaks something else (HTTP, SSH), or TLS where plaintext is meant, or "
    "plaintext where TLS is. The sentence says which: check the port and security_protocol.",
    "ProtocolError": "Another name for KafkaProtocolError.",
    "CorrelationIdError": "An answer belongs to no request. The connection is given up.",
    "InvalidReceiveError": "A response cannot be read, or is larger than receive_message_max_bytes.",
    "QuotaViolationError": "A quota of the client's own is used up (kafka-python's; never raised here).",
    "UnrecognizedBrokerVersion": "api_version names no release that is known.",
}

_RETRY = (
    "Nothing: the client has asked again, and it passes when the cluster has settled. If it stays, look at the brokers."
)
_ACL = "Ask for the right (`kafka-acls` where an authorizer is used), or connect as another user."
_PROGRAM = "Correct the request; the sentence says what is wrong with it."
_BROKERS = "Between brokers, or between them and their controller; a client doesn't see it."
_KRAFT = "Only clusters without ZooKeeper (KRaft) answer so."
_SHARE = "Only share groups (Kafka 4) answer so."
_DISK = "Look at the broker's log and its disks."
_REJOIN = "Nothing: the consumer joins its group again by itself."
_TOKEN = "Make or renew the delegation token, over a connection that allows it."
_NAME = "Check the name; `list_topics`, `list_groups` and their like tell what there is."

_ADVICE: dict[str, tuple[Errors, ...]] = {
    _RETRY: (
        Errors.LEADER_NOT_AVAILABLE,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.REQUEST_TIMED_OUT,
        Errors.BROKER_NOT_AVAILABLE,
        Errors.REPLICA_NOT_AVAILABLE,
        Errors.NETWORK_EXCEPTION,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.NOT_CONTROLLER,
        Errors.CONCURRENT_TRANSACTIONS,
        Errors.FETCH_SESSION_ID_NOT_FOUND,
        Errors.INVALID_FETCH_SESSION_EPOCH,
        Errors.FETCH_SESSION_TOPIC_ID_ERROR,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.OFFSET_NOT_AVAILABLE,
        Errors.UNSTABLE_OFFSET_COMMIT,
        Errors.PREFERRED_LEADER_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.INCONSISTENT_TOPIC_ID,
        Errors.NEW_LEADER_ELECTED,
    ),
    _ACL: (
        Errors.TOPIC_AUTHORIZATION_FAILED,
        Errors.GROUP_AUTHORIZATION_FAILED,
        Errors.CLUSTER_AUTHORIZATION_FAILED,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    _PROGRAM: (
        Errors.INVALID_FETCH_SIZE,
        Errors.INVALID_REQUIRED_ACKS,
        Errors.INVALID_COMMIT_OFFSET_SIZE,
        Errors.INVALID_PARTITIONS,
        Errors.INVALID_REPLICA_ASSIGNMENT,
        Errors.INVALID_CONFIG,
        Errors.INVALID_REQUEST,
        Errors.INVALID_PRINCIPAL_TYPE,
        Errors.POLICY_VIOLATION,
        Errors.DUPLICATE_RESOURCE,
        Errors.UNACCEPTABLE_CREDENTIAL,
        Errors.INVALID_UPDATE_VERSION,
        Errors.FEATURE_UPDATE_FAILED,
        Errors.OPERATION_NOT_ATTEMPTED,
        Errors.MISMATCHED_ENDPOINT_TYPE,
        Errors.UNSUPPORTED_ENDPOINT_TYPE,
    ),
    _BROKERS: (
        Errors.STALE_CONTROLLER_EPOCH,
        Errors.STALE_BROKER_EPOCH,
        Errors.TRANSACTION_COORDINATOR_FENCED,
        Errors.INELIGIBLE_REPLICA,
        Errors.PRINCIPAL_DESERIALIZATION_FAILURE,
        Errors.INCONSISTENT_CLUSTER_ID,
    ),
    _KRAFT: (
        Errors.INCONSISTENT_VOTER_SET,
        Errors.SNAPSHOT_NOT_FOUND,
        Errors.POSITION_OUT_OF_RANGE,
        Errors.DUPLICATE_BROKER_REGISTRATION,
        Errors.BROKER_ID_NOT_REGISTERED,
        Errors.UNKNOWN_CONTROLLER_ID,
        Errors.INVALID_REGISTRATION,
        Errors.INVALID_VOTER_KEY,
        Errors.DUPLICATE_VOTER,
        Errors.VOTER_NOT_FOUND,
    ),
    _SHARE: (
        Errors.INVALID_RECORD_STATE,
        Errors.SHARE_SESSION_NOT_FOUND,
        Errors.INVALID_SHARE_SESSION_EPOCH,
        Errors.FENCED_STATE_EPOCH,
    ),
    _DISK: (Errors.UNKNOWN_SERVER_ERROR, Errors.KAFKA_STORAGE_ERROR),
    _REJOIN: (
        Errors.ILLEGAL_GENERATION,
        Errors.UNKNOWN_MEMBER_ID,
        Errors.MEMBER_ID_REQUIRED,
        Errors.FENCED_MEMBER_EPOCH,
        Errors.STALE_MEMBER_EPOCH,
    ),
    FENCED: (Errors.INVALID_PRODUCER_EPOCH, Errors.PRODUCER_FENCED),
    ABORT: (
        Errors.INVALID_TXN_STATE,
        Errors.TRANSACTION_ABORTABLE,
        Errors.INVALID_PRODUCER_ID_MAPPING,
        Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Errors.UNKNOWN_PRODUCER_ID,
    ),
    _TOKEN: (
        Errors.DELEGATION_TOKEN_AUTH_DISABLED,
        Errors.DELEGATION_TOKEN_NOT_FOUND,
        Errors.DELEGATION_TOKEN_OWNER_MISMATCH,
        Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        Errors.DELEGATION_TOKEN_EXPIRED,
    ),
    _NAME: (
        Errors.INVALID_TOPIC_EXCEPTION,
        Errors.INVALID_GROUP_ID,
        Errors.GROUP_ID_NOT_FOUND,
        Errors.RESOURCE_NOT_FOUND,
        Errors.TRANSACTIONAL_ID_NOT_FOUND,
        Errors.LOG_DIR_NOT_FOUND,
    ),
}

BY_CODE: Mapping[Errors, str] = {
    **{error: advice for advice, found in _ADVICE.items() for error in found},
    Errors.OFFSET_OUT_OF_RANGE: "The records were deleted meanwhile, or are not there yet. Seek, or set auto_offset_reset.",
    Errors.CORRUPT_MESSAGE: "A null key for a compacted topic? Else a disk or network is broken: look at the broker.",
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "Check name and number; make the topic, or wait until all brokers know of it.",
    Errors.MESSAGE_TOO_LARGE: "Raise the topic's max.message.bytes and max_request_size, send less at a time, or compress.",
    Errors.RECORD_LIST_TOO_LARGE: "A record is larger than the topic's segments: raise segment.bytes.",
    Errors.OFFSET_METADATA_TOO_LARGE: "Commit with less metadata (offset.metadata.max.bytes).",
    Errors.NOT_ENOUGH_REPLICAS: "Brokers are down: fewer replicas are in sync than min.insync.replicas. Nothing was written.",
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: "As NotEnoughReplicasError, but the records may be there.",
    Errors.INCONSISTENT_GROUP_PROTOCOL: "Give all members of the group an assignor in common (partition_assignment_strategy).",
    Errors.INVALID_SESSION_TIMEOUT: "Choose session_timeout_ms between the broker's group.min. and group.max.session.timeout.ms.",
    Errors.REBALANCE_IN_PROGRESS: "Poll, then commit again.",
    Errors.INVALID_TIMESTAMP: "The record's time is too far from the broker's clock (message.timestamp.before.max.ms).",
    Errors.UNSUPPORTED_SASL_MECHANISM: "Choose a sasl_mechanism that the listener has.",
    Errors.ILLEGAL_SASL_STATE: "The listener does not ask for SASL: check port and security_protocol.",
    Errors.UNSUPPORTED_VERSION: "The broker is too old for what was asked, or does not have it.",
    Errors.TOPIC_ALREADY_EXISTS: "Nothing, if the topic is as it should be.",
    Errors.INVALID_REPLICATION_FACTOR: "Choose a factor of at least 1, and no more than there are brokers.",
    Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT: "The topic's message format is too old for it: raise message.format.version.",
    Errors.DUPLICATE_SEQUENCE_NUMBER: "Nothing: the batch is there already, and the client takes it for written.",
    Errors.INVALID_TRANSACTION_TIMEOUT: "Choose a transaction_timeout_ms below the broker's transaction.max.timeout.ms.",
    Errors.SECURITY_DISABLED: "The broker has no authorizer (authorizer.class.name).",
    Errors.SASL_AUTHENTICATION_FAILED: "Check user, password or token.",
    Errors.REASSIGNMENT_IN_PROGRESS: "Wait for the reassignment, or cancel it.",
    Errors.NO_REASSIGNMENT_IN_PROGRESS: "Nothing: there is none to cancel.",
    Errors.NON_EMPTY_GROUP: "Stop the group's members first.",
    Errors.LISTENER_NOT_FOUND: "The partition's leader has no listener of the name that this client uses: give all brokers one.",
    Errors.TOPIC_DELETION_DISABLED: "Set delete.topic.enable on the brokers.",
    Errors.UNSUPPORTED_COMPRESSION_TYPE: "Use a codec that this topic, broker and client have; zstd needs Kafka 2.1.",
    Errors.GROUP_MAX_SIZE_REACHED: "Start fewer members, or raise the broker's group.max.size.",
    Errors.FENCED_INSTANCE_ID: "Another consumer has the same group_instance_id. Give each its own, and end this one.",
    Errors.UNRELEASED_INSTANCE_ID: "Wait until the member with this group_instance_id has left.",
    Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Bring the partition's replicas back, or elect an unclean leader.",
    Errors.ELECTION_NOT_NEEDED: "Nothing: the preferred replica leads.",
    Errors.GROUP_SUBSCRIBED_TO_TOPIC: "Stop the group's members that read the topic first.",
    Errors.INVALID_RECORD: "The broker refuses the record: a null key for a compacted topic, or a wrong timestamp.",
    Errors.THROTTLING_QUOTA_EXCEEDED: "Wait as long as the sentence says, or raise the quota.",
    Errors.OFFSET_MOVED_TO_TIERED_STORAGE: "Nothing for a consumer: brokers fetch from there.",
    Errors.UNSUPPORTED_ASSIGNOR: "Choose an assignor that the broker has.",
    Errors.UNKNOWN_SUBSCRIPTION_ID: "Nothing: these clients push no telemetry.",
    Errors.TELEMETRY_TOO_LARGE: "Nothing: these clients push no telemetry.",
}
