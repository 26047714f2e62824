"""The Protobuf converter: schemas and values of Connect as messages, by the rules of Confluent's ProtobufData."""
