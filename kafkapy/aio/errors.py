"""The clients' exceptions under aiokafka's names too: `from kafkapy.aio.errors import ProducerFenced`."""

from __future__ import annotations

from kafkapy import errors as _ours
from kafkapy.errors import *  # noqa: F403  # every name is handed on

AuthenticationMethodNotSupported = _ours.UnsupportedSaslMechanismError
ConcurrentTransactions = _ours.ConcurrentTransactionsError
DelegationTokenAuthDisabled = _ours.DelegationTokenAuthDisabledError
DelegationTokenAuthorizationFailed = _ours.DelegationTokenAuthorizationFailedError
DelegationTokenExpired = _ours.DelegationTokenExpiredError
DelegationTokenNotFound = _ours.DelegationTokenNotFoundError
DelegationTokenOwnerMismatch = _ours.DelegationTokenOwnerMismatchError
DelegationTokenRequestNotAllowed = _ours.DelegationTokenRequestNotAllowedError
DuplicateSequenceNumber = _ours.DuplicateSequenceNumberError
FetchSessionIdNotFound = _ours.FetchSessionIdNotFoundError
GroupIdNotFound = _ours.GroupIdNotFoundError
IllegalOperation = _ours.IllegalStateError
InvalidFetchSessionEpoch = _ours.InvalidFetchSessionEpochError
InvalidPrincipalType = _ours.InvalidPrincipalTypeError
InvalidProducerEpoch = _ours.InvalidProducerEpochError
InvalidProducerIdMapping = _ours.InvalidProducerIdMappingError
InvalidTransactionTimeout = _ours.InvalidTransactionTimeoutError
InvalidTxnState = _ours.InvalidTxnStateError
ListenerNotFound = _ours.ListenerNotFoundError
LogDirNotFound = _ours.LogDirNotFoundError
MemberIdRequired = _ours.MemberIdRequiredError
NonEmptyGroup = _ours.NonEmptyGroupError
OperationNotAttempted = _ours.OperationNotAttemptedError
OutOfOrderSequenceNumber = _ours.OutOfOrderSequenceNumberError
ProducerFenced = _ours.ProducerFencedError
ReassignmentInProgress = _ours.ReassignmentInProgressError
RecordTooLargeError = _ours.MessageSizeTooLargeError
SaslAuthenticationFailed = _ours.SaslAuthenticationFailedError
SecurityDisabled = _ours.SecurityDisabledError
StaleLeaderEpochCodeError = _ours.NetworkExceptionError
TransactionCoordinatorFenced = _ours.TransactionCoordinatorFencedError
TransactionalIdAuthorizationFailed = _ours.TransactionalIdAuthorizationFailedError
UnknownProducerId = _ours.UnknownProducerIdError
