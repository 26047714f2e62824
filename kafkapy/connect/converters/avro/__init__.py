"""The Avro converter: schemas and values of Connect as Avro, by the rules of Confluent's AvroData."""
