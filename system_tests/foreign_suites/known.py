"""What is known of the tests that don't pass: which look inside of the library, and which meet what kafkapy does otherwise.

A test that fails since an object lacks a private attribute looks inside, without being named here.
"""

from __future__ import annotations

import re

PUBLIC = {
    "kafka": [
        "test/admin",
        "test/test_serializer.py",
        "test/test_package.py",
        "test/consumer/test_consumer.py",
        "test/consumer/test_assignors.py",
        "test/producer/test_partitioner.py",
        "test/producer/test_producer.py",
        "test/producer/test_kip679_config.py",
        "test/integration/test_admin_integration.py",
        "test/integration/test_consumer_integration.py",
        "test/integration/test_producer_integration.py",
    ],
    "aiokafka": [
        "tests/test_admin.py",
        "tests/test_consumer.py",
        "tests/test_helpers.py",
        "tests/test_partitioner.py",
        "tests/test_pep492.py",
        "tests/test_producer.py",
        "tests/test_transactional_consumer.py",
        "tests/test_transactional_producer.py",
        "tests/coordinator/test_assignors.py",
    ],
    "karapace": [
        "tests/integration/test_client.py",
        "tests/integration/test_dependencies_compatibility_protobuf.py",
        "tests/integration/test_jsonschema.py",
        "tests/integration/test_request_forwarding.py",
        "tests/integration/test_schema.py",
        "tests/integration/test_schema_avro_references.py",
        "tests/integration/test_schema_compatibility.py",
        "tests/integration/test_schema_protobuf.py",
        "tests/integration/test_schema_registry_mode.py",
        "tests/integration/kafka_rest_apis",
    ],
}
"""The files that test what programs see."""

_PRIVATE = re.compile(r"has no attribute '(_[a-z]\w*|client|cluster|API_KEY|codec)'|fixture '_")

KINDS: dict[str, dict[str, str]] = {
    "kafka": {
        "looks inside": """test_full_reset_sends_empty_configs test_groups_partitions_by_leader test_returns_hanging_only
            test_default_partitioner_unknown_topic TestStickyPartitioner test_kafka_consumer_unsupported_encoding
            test_top_level_namespace test_describe_cluster test_describe_configs_broker_resource
            test_describe_configs_mixed_resources""",
        "on purpose": """test_non_integer_broker_name_raises test_unsupported_value_type_raises test_empty_replica_list_rejected
            test_non_int_replica_rejected test_returns_topic_partition_details test_persistent_not_leader
            test_admin_transactions.*test_per_partition_error_raises
            test_producer.*test_default_api_timeout_smaller_than_request_timeout_raises""",
        "broker": "test_create_describe_delete_acls",
    },
    "aiokafka": {
        "looks inside": """test_producer_correct_time_returned test_producer_send_error test_producer_send_reenque_resets_waiters
            test_producer_send_timeout test_kip_345 test_consumer_seek_ test_producer_indempotence_no_duplicates
            test_kafka_consumer_offsets_errors test_consumer_compacted_topic test_producer_transactional_raise_out_of_sequence""",
        "on purpose": """TestAdmin test_create_.*_no_running_loop test_producer_notopic test_producer_send_leader_notfound
            test_producer_arguments test_consumer_arguments test_producer_transactional_send_offsets_error_checks
            test_producer_send_noack warn_unclosed test_consumer_commit_validation test_consumer_rebalance_on_new_topic
            test_consumer_with_headers test_kafka_consumer_offsets_search_many_partitions test_max_poll_interval_ms
            test_offset_reset_manual test_rebalance_listener_ test_offset_behavior__resuming_behavior""",
        "broker": "test_ssl_consume test_producer_ssl test_create_ssl_context",
    },
    # Where Karapace differs from Confluent's servers, whose behaviour ours is (docs/compatibility.md says in what).
    "karapace": {
        "on purpose": """test_subject_mode test_schema_compatibility:: test_compatibility_endpoint test_schema::test_config
            test_record_schema_subject_compatibility test_remote_client\\[ test_basic_avro_references
            test_schema_same_subject test_schema_json_subject_comparison test_malformed_kafka_message test_union_comparing
            test_get_schema_with_subjects test_schema_versions_multiple_subjects_same_schema test_avro_references_compat
            test_schema_missing_body test_schema_body_validation test_references test_schema_subject_post_invalid
            test_protobuf_schema_references test_invalid_ test_full_transitive_failure test_schema_hard_delete_
            test_schema_recreate_after_odd_hard_delete test_schema_non_compliant test_avro_incompatible_name_references
            test_schemaregistry_boolean_schemas test_schemaregistry_true_ test_schemaregistry_object_properties
            test_schemaregistry_property_names test_schemaregistry_.*extra_field test_protobuf_schema_verifier
            test_protobuf_missing_google_import test_protobuf_binary_serialized test_registering_normalized_schema
            test_normalized_schema_idempotence test_request_body_too_large test_content_types test_avro_publish\\[
            test_rest::test_topics test_publish_malformed_requests test_too_large_record test_publish_to_nonexisting_topic
            test_publish_with_incompatible_ test_publish_with_schema_id_of_another_subject test_rest::test_partitions
            test_publish_invalid_data_for_schema test_rest_consumer::test_subscription test_rest_consumer::test_consume\\[
            test_consume_complex_union test_consume_debezium_bytes key_deserialization_error test_consume_gracefcul_
            test_publish_consume_protobuf_second test_publish_protobuf_with_ test_publish_and_consume_protobuf_with_""",
        "looks inside": "test_internal test_health_endpoint test_offsets_no_payload",
        "broker": "_tls",
    },
}
"""Of each kind: regular expressions for file and name. "broker": it must have TLS, or an authorizer, or another configuration."""


def kind_of(library: str, test: str, message: str) -> str:
    """What is known of a failed test; "unexplained" if that is nothing. `message`: what it has failed with."""
    if _PRIVATE.search(message):
        return "looks inside"
    for kind, patterns in KINDS[library].items():
        if any(re.search(pattern, test) for pattern in patterns.split()):
            return kind
    return "unexplained"
