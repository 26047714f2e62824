"""Which of Apache's test classes are run, and which of their tests can't pass, and why."""

from __future__ import annotations

from typing import Final

TEST_CLASSES: Final = (
    "integration.kafka.api.PlaintextConsumerCallbackTest",
    "kafka.admin.AddPartitionsTest",
    "kafka.admin.BrokerApiVersionsCommandTest",
    "kafka.admin.ConfigCommandIntegrationTest",
    "kafka.admin.DeleteTopicTest",
    "kafka.admin.ListOffsetsIntegrationTest",
    "kafka.api.AdminClientRebootstrapTest",
    "kafka.api.AuthorizerIntegrationTest",
    "kafka.api.ConsumerBounceTest",
    "kafka.api.ConsumerRebootstrapTest",
    "kafka.api.ConsumerTopicCreationTest",
    "kafka.api.ConsumerWithLegacyMessageFormatIntegrationTest",
    "kafka.api.CustomQuotaCallbackTest",
    "kafka.api.EndToEndClusterIdTest",
    "kafka.api.GroupAuthorizerIntegrationTest",
    "kafka.api.GroupCoordinatorIntegrationTest",
    "kafka.api.LeaderAndIsrTest",
    "kafka.api.LogAppendTimeTest",
    "kafka.api.PlaintextAdminIntegrationTest",
    "kafka.api.PlaintextConsumerAssignTest",
    "kafka.api.PlaintextConsumerAssignorsTest",
    "kafka.api.PlaintextConsumerCommitTest",
    "kafka.api.PlaintextConsumerFetchTest",
    "kafka.api.PlaintextConsumerPollTest",
    "kafka.api.PlaintextConsumerSubscriptionTest",
    "kafka.api.PlaintextConsumerTest",
    "kafka.api.PlaintextProducerSendTest",
    "kafka.api.ProducerFailureHandlingTest",
    "kafka.api.ProducerIdExpirationTest",
    "kafka.api.ProducerRebootstrapTest",
    "kafka.api.ProducerSendWhileDeletionTest",
    "kafka.api.RackAwareAutoTopicCreationTest",
    "kafka.api.SaslClientsWithInvalidCredentialsTest",
    "kafka.api.SaslPlainPlaintextConsumerTest",
    "kafka.api.SslConsumerTest",
    "kafka.api.TransactionsBounceTest",
    "kafka.api.TransactionsExpirationTest",
    "kafka.api.TransactionsTest",
    "kafka.api.TransactionsWithMaxInFlightOneTest",
    "kafka.api.test.ProducerCompressionTest",
    "kafka.controller.ControllerIntegrationTest",
    "kafka.coordinator.transaction.ProducerIdsIntegrationTest",
    "kafka.integration.MinIsrConfigTest",
    "kafka.integration.UncleanLeaderElectionTest",
    "kafka.network.DynamicConnectionQuotaTest",
    "kafka.security.authorizer.AuthorizerOverTheWireTest",
    "kafka.server.AddPartitionsToTxnRequestServerTest",
    "kafka.server.AdvertiseBrokerTest",
    "kafka.server.AlterReplicaLogDirsRequestTest",
    "kafka.server.AlterUserScramCredentialsRequestTest",
    "kafka.server.ApiVersionsRequestTest",
    "kafka.server.ApiVersionsResponseIntegrationTest",
    "kafka.server.BrokerEpochIntegrationTest",
    "kafka.server.ClientQuotasRequestTest",
    "kafka.server.CreateTopicsRequestTest",
    "kafka.server.DeleteGroupsRequestTest",
    "kafka.server.DeleteRecordsRequestTest",
    "kafka.server.DeleteTopicsRequestTest",
    "kafka.server.DeleteTopicsRequestWithDeletionDisabledTest",
    "kafka.server.DescribeClusterRequestTest",
    "kafka.server.DescribeGroupsRequestTest",
    "kafka.server.DescribeLogDirsRequestTest",
    "kafka.server.DynamicBrokerReconfigurationTest",
    "kafka.server.DynamicConfigChangeTest",
    "kafka.server.DynamicConfigTest",
    "kafka.server.EdgeCaseRequestTest",
    "kafka.server.FetchFromFollowerIntegrationTest",
    "kafka.server.FetchRequestBetweenDifferentIbpTest",
    "kafka.server.FetchRequestDownConversionConfigTest",
    "kafka.server.FetchRequestMaxBytesTest",
    "kafka.server.FetchRequestTest",
    "kafka.server.FetchRequestWithLegacyMessageFormatTest",
    "kafka.server.HeartbeatRequestTest",
    "kafka.server.JoinGroupRequestTest",
    "kafka.server.KafkaServerTest",
    "kafka.server.LeaderElectionTest",
    "kafka.server.LeaveGroupRequestTest",
    "kafka.server.ListGroupsRequestTest",
    "kafka.server.ListOffsetsRequestTest",
    "kafka.server.LogDirFailureTest",
    "kafka.server.LogOffsetTest",
    "kafka.server.LogRecoveryTest",
    "kafka.server.MetadataRequestBetweenDifferentIbpTest",
    "kafka.server.MetadataRequestTest",
    "kafka.server.OffsetCommitRequestTest",
    "kafka.server.OffsetDeleteRequestTest",
    "kafka.server.OffsetFetchRequestTest",
    "kafka.server.OffsetsForLeaderEpochRequestTest",
    "kafka.server.ProduceRequestTest",
    "kafka.server.ReplicaFetchTest",
    "kafka.server.ReplicationQuotasTest",
    "kafka.server.ServerGenerateBrokerIdTest",
    "kafka.server.ServerGenerateClusterIdTest",
    "kafka.server.ServerShutdownTest",
    "kafka.server.ServerStartupTest",
    "kafka.server.StopReplicaRequestTest",
    "kafka.server.SyncGroupRequestTest",
    "kafka.server.TopicIdWithOldInterBrokerProtocolTest",
    "kafka.server.epoch.EpochDrivenReplicationProtocolAcceptanceTest",
    "kafka.server.epoch.EpochDrivenReplicationProtocolAcceptanceWithIbp26Test",
    "kafka.server.epoch.LeaderEpochIntegrationTest",
    "org.apache.kafka.connect.integration.ExactlyOnceSourceIntegrationTest",
    "org.apache.kafka.streams.integration.EOSUncleanShutdownIntegrationTest",
    "org.apache.kafka.streams.integration.EosIntegrationTest",
    "org.apache.kafka.streams.integration.EosV2UpgradeIntegrationTest",
    "org.apache.kafka.streams.integration.GlobalKTableEOSIntegrationTest",
    "org.apache.kafka.streams.integration.StandbyTaskEOSIntegrationTest",
    "org.apache.kafka.streams.integration.StandbyTaskEOSMultiRebalanceIntegrationTest",
    "org.apache.kafka.tools.ClusterToolTest",
    "org.apache.kafka.tools.DeleteRecordsCommandTest",
    "org.apache.kafka.tools.GetOffsetShellTest",
    "org.apache.kafka.tools.LeaderElectionCommandTest",
    "org.apache.kafka.tools.ReplicaVerificationToolTest",
    "org.apache.kafka.tools.TopicCommandIntegrationTest",
    "org.apache.kafka.tools.TopicCommandTest",
    "org.apache.kafka.tools.consumer.group.DeleteConsumerGroupsTest",
    "org.apache.kafka.tools.consumer.group.DeleteOffsetsConsumerGroupCommandIntegrationTest",
    "org.apache.kafka.tools.consumer.group.DescribeConsumerGroupTest",
    "org.apache.kafka.tools.consumer.group.ListConsumerGroupTest",
    "org.apache.kafka.tools.consumer.group.ResetConsumerGroupOffsetTest",
    "org.apache.kafka.tools.reassign.ReassignPartitionsCommandTest",
)

INSIDE: Final = "It looks at, or changes, what is inside of a JVM broker."
METRICS: Final = "It reads metrics of the JVM."
ACLS: Final = "It needs ACLs."
QUOTAS: Final = "It looks at client quotas."
TIERED: Final = "It needs tiered storage."
KRAFT: Final = "It needs the migration to KRaft, or looks inside."
PLUGIN: Final = "A plug-in of the broker is a Java class."
ADVERTISED: Final = "The broker advertises addresses where this class can't reach it."
EXCEPTION: Final = "The broker ends with an error, as it should; the JVM's exception can't be had."
THREADS: Final = "It counts the threads of the JVM."
SESSION: Final = "It ends the broker's session of ZooKeeper, which it takes from inside of the JVM."
LOGGERS: Final = "kafkapy's loggers have other names."
ORDER: Final = (
    "It counts the epochs of one election. kafkapy elects leaders before it takes lost replicas out of the ISR."
)
EPOCH_FILE: Final = (
    "It may look for a new leader's epoch in the file, where kafkapy writes it with the first batch of it."
)
CAUSE: Final = "The wire has an error's code and message; an exception of the JVM has a cause, too."
RACE: Final = "It changes a topic while it is deleted; kafkapy's deletion is mostly over by then."

KNOWN_FAILURES: Final[dict[str, dict[str, str]]] = {
    "AdvertiseBrokerTest": {
        "testBrokerAdvertiseListenersWithCustomNamesToZK": ADVERTISED,
    },
    "AlterReplicaLogDirsRequestTest": {
        "testAlterReplicaLogDirsRequestErrorCode": INSIDE,
    },
    "AuthorizerOverTheWireTest": {
        "testAuthorizeThrowsOnNonLiteralResource": INSIDE,
        "testAuthorizerZkConfigFromKafkaConfig": INSIDE,
        "testAuthorizerZkConfigFromKafkaConfigWithDefaults": INSIDE,
        "testEmptyAclThrowsException": CAUSE,
        "testThrowsOnAddPrefixedAclIfInterBrokerProtocolVersionTooLow": CAUSE,
    },
    "ClientQuotasRequestTest": {
        "testAlterIpQuotasRequest": INSIDE,
    },
    "ControllerIntegrationTest": {
        "testAlterPartition": INSIDE,
        "testAlterPartitionErrors": INSIDE,
        "testAlterPartitionErrorsAfterUncleanElection": INSIDE,
        "testAlterPartitionVersion2KeepWorkingWhenControllerDowngradeToPre28IBP": INSIDE,
        "testControlledShutdown": INSIDE,
        "testControllerDetectsBouncedBrokers": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsDisabledWithDisabledExistingFeatureZNode": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsDisabledWithEnabledExistingFeatureZNode": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsDisabledWithNonExistingFeatureZNode": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsEnabledWithDisabledExistingFeatureZNode": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsEnabledWithEnabledExistingFeatureZNode": INSIDE,
        "testControllerFeatureZNodeSetupWhenFeatureVersioningIsEnabledWithNonExistingFeatureZNode": INSIDE,
        "testControllerMoveOnPartitionReassignment": INSIDE,
        "testControllerMoveOnPreferredReplicaElection": INSIDE,
        "testControllerMoveOnTopicCreation": INSIDE,
        "testControllerMoveOnTopicDeletion": INSIDE,
        "testControllerRejectControlledShutdownRequestWithStaleBrokerEpoch": INSIDE,
        "testIdempotentAlterPartition": INSIDE,
        "testMetadataPropagationOnControlPlane": METRICS,
        "testPartitionReassignment": METRICS,
        "testPartitionReassignmentToBrokerWithOfflineLogDir": METRICS,
        "testPreemptionOnControllerShutdown": INSIDE,
        "testPreemptionWithCallbacks": INSIDE,
        "testShutdownBrokerNotAddedToIsr": INSIDE,
        "testTopicIdUpgradeAfterReassigningPartitions": INSIDE,
    },
    "CustomQuotaCallbackTest": {
        "testCustomQuotaCallback": PLUGIN,
    },
    "DeleteTopicTest": {
        "testAddPartitionDuringDeleteTopic": RACE,
        "testDeleteTopicWithCleaner": INSIDE,
        "testIncreasePartitionCountDuringDeleteTopic": INSIDE,
    },
    "DescribeLogDirsRequestTest": {
        "testDescribeLogDirsRequest": INSIDE,
    },
    "DynamicBrokerReconfigurationTest": {
        "testAdvertisedListenerUpdate": SESSION,
        "testLogCleanerConfig": THREADS,
        "testMetricsReporterUpdate": PLUGIN,
        "testReconfigureRemovedListener": INSIDE,
        "testThreadPoolResize": THREADS,
        "testTransactionVerificationEnable": THREADS,
        "testUpdatesUsingConfigProvider": PLUGIN,
    },
    "DynamicConfigChangeTest": {
        "testBrokerIdConfigChangeAndDelete": INSIDE,
        "testClientIdQuotaConfigChange": QUOTAS,
        "testConfigChange": INSIDE,
        "testDefaultAndBrokerIdConfigChange": INSIDE,
        "testDefaultBrokerIdConfigChangeAndDelete": INSIDE,
        "testDefaultClientIdQuotaConfigChange": QUOTAS,
        "testDefaultUserClientIdQuotaConfigChange": QUOTAS,
        "testDefaultUserQuotaConfigChange": QUOTAS,
        "testIpQuotaConfigChange": QUOTAS,
        "testIpQuotaInitialization": QUOTAS,
        "testMessageFormatVersionChange": INSIDE,
        "testQuotaInitialization": QUOTAS,
        "testUserClientIdQuotaChange": QUOTAS,
        "testUserQuotaConfigChange": QUOTAS,
    },
    "DynamicConnectionQuotaTest": {
        "testDynamicIpConnectionRateQuota": QUOTAS,
    },
    "EndToEndClusterIdTest": {
        "testEndToEnd": PLUGIN,
    },
    "EpochDrivenReplicationProtocolAcceptanceTest": {
        "shouldFollowLeaderEpochBasicWorkflow": EPOCH_FILE,
    },
    "ExactlyOnceSourceIntegrationTest": {
        "testTasksFailOnInabilityToFence": ACLS,
    },
    "FetchRequestDownConversionConfigTest": {
        "testV1FetchFromConsumer": METRICS,
        "testV1FetchFromReplica": METRICS,
    },
    "GetOffsetShellTest": {
        "testGetOffsetsByEarliestLocalSpec": TIERED,
        "testGetOffsetsByLatestTieredSpec": TIERED,
    },
    "KafkaServerTest": {
        "testAlreadyRegisteredAdvertisedListeners": EXCEPTION,
        "testAlterIsrManager": INSIDE,
        "testCreatesProperZkTlsConfigWithFalseAndListValues": INSIDE,
        "testCreatesProperZkTlsConfigWithTrueValues": INSIDE,
        "testRemoteLogManagerInstantiation": TIERED,
        "testZkIsrManager": INSIDE,
    },
    "LeaderElectionTest": {
        "testLeaderElectionAndEpoch": ORDER,
    },
    "LogDirFailureTest": {
        "testIOExceptionDuringCheckpoint": INSIDE,
        "testIOExceptionDuringLogRoll": INSIDE,
        "testProduceErrorFromFailureOnLogRoll": INSIDE,
        "testReplicaFetcherThreadAfterLogDirFailureOnFollower": INSIDE,
        "testZkBrokerWithOldInterBrokerProtocolShouldHaltOnLogDirFailure": INSIDE,
    },
    "LogOffsetTest": {
        "testFetchOffsetByTimestampForMaxTimestampAfterTruncate": INSIDE,
        "testGetOffsetsAfterDeleteRecords": INSIDE,
    },
    "PlaintextAdminIntegrationTest": {
        "testDescribeConfigsForLog4jLogLevels": LOGGERS,
    },
    "PlaintextEndToEndAuthorizationTest": {
        "testListenerName": PLUGIN,
    },
    "ProduceRequestTest": {
        "testCorruptLz4ProduceRequest": METRICS,
    },
    "ReplicationQuotasTest": {
        "shouldBootstrapTwoBrokersWithFollowerThrottle": INSIDE,
        "shouldBootstrapTwoBrokersWithLeaderThrottle": INSIDE,
    },
    "ServerGenerateBrokerIdTest": {
        "testBrokerMetadataOnIdCollision": EXCEPTION,
    },
    "ServerShutdownTest": {
        "testNoCleanShutdownAfterFailedStartupDueToCorruptLogs": INSIDE,
    },
    "ServerStartupTest": {
        "testConflictBrokerRegistration": EXCEPTION,
        "testConflictBrokerStartupWithSamePort": EXCEPTION,
        "testDirectoryIdsCreatedOnlyForMigration": KRAFT,
        "testRemoteStorageEnabled": TIERED,
    },
    "SslAdminIntegrationTest": {
        "testAclUpdatesUsingAsynchronousAuthorizer": PLUGIN,
        "testAclUpdatesUsingSynchronousAuthorizer": PLUGIN,
        "testAsynchronousAuthorizerAclUpdatesDontBlockRequestThreads": PLUGIN,
        "testSynchronousAuthorizerAclUpdatesBlockRequestThreads": PLUGIN,
    },
    "StopReplicaRequestTest": {
        "testStopReplicaRequest": INSIDE,
    },
    "UncleanLeaderElectionTest": {
        "testTopicUncleanLeaderElectionEnableWithAlterTopicConfigs": METRICS,
        "testUncleanLeaderElectionDisabled": METRICS,
        "testUncleanLeaderElectionDisabledByTopicOverride": METRICS,
        "testUncleanLeaderElectionEnabled": METRICS,
        "testUncleanLeaderElectionEnabledByTopicOverride": METRICS,
    },
}
"""By class and method; all runs of a method with several parameters."""
