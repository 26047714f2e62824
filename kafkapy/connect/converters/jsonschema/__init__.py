"""The JSON Schema converter: schemas and values of Connect as JSON, by the rules of Confluent's JsonSchemaData."""
