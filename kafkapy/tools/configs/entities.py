"""The entity types of kafka-configs."""

from __future__ import annotations

TOPICS, BROKERS, BROKER_LOGGERS = "topics", "brokers", "broker-loggers"
USERS, CLIENTS, IPS, CLIENT_METRICS = "users", "clients", "ips", "client-metrics"
ENTITY_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, BROKER_LOGGERS, CLIENT_METRICS)
