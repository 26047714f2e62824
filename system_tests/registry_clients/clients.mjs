// Node's clients of schema registries, as they are: they register, look up, write, and read what they and others wrote.
// Argument: the registry's URL. The last line of output has what they wrote, in base64.
import assert from "node:assert";
import { createRegistry, create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import confluent from "@confluentinc/schemaregistry";
import kafkajs from "@kafkajs/confluent-schema-registry";

const url = process.argv[2];
const fields = [{ name: "id", type: "long" }, { name: "city", type: "string", default: "-" }];
const avro = JSON.stringify({ type: "record", name: "Sold", namespace: "shop", fields });
const json = JSON.stringify({
  $schema: "http://json-schema.org/draft-07/schema#", title: "Sold", type: "object",
  properties: { id: { type: "integer" }, city: { type: "string" } }, required: ["id"], additionalProperties: false,
});
const proto = 'syntax = "proto3"; package shop; message Sold { int64 id = 1; string city = 2; }';
const sold = { id: 7, city: "Ulm" };
const written = {};

// kafkajs's client: three formats.
const registry = new kafkajs.SchemaRegistry({ host: url });
for (const [type, schema] of [["AVRO", avro], ["JSON", json], ["PROTOBUF", proto]]) {
  const subject = `kafkajs-${type.toLowerCase()}`;
  const { id } = await registry.register({ type, schema }, { subject });
  assert.equal(await registry.getLatestSchemaId(subject), id);
  const bytes = await registry.encode(id, sold);
  const read = await registry.decode(bytes);
  assert.deepEqual({ id: Number(read.id), city: read.city }, sold);
  written[subject] = bytes.toString("base64");
}
const other = JSON.stringify({ type: "record", name: "Sold", namespace: "shop", fields: [{ name: "id", type: "string" }] });
await assert.rejects(registry.register({ type: "AVRO", schema: other }, { subject: "kafkajs-avro" }), /incompatible/i);

// Confluent's client.
const client = new confluent.SchemaRegistryClient({ baseURLs: [url] });
const value = confluent.SerdeType.VALUE;
for (const [type, schema, Serializer, Deserializer] of [
  ["AVRO", avro, confluent.AvroSerializer, confluent.AvroDeserializer],
  ["JSON", json, confluent.JsonSerializer, confluent.JsonDeserializer],
]) {
  const topic = `confluent-${type.toLowerCase()}`;
  const id = await client.register(`${topic}-value`, { schemaType: type, schema });
  assert.equal((await client.getLatestSchemaMetadata(`${topic}-value`)).id, id);
  assert.equal(await client.getId(`${topic}-value`, { schemaType: type, schema }), id);
  assert.equal((await client.getAllVersions(`${topic}-value`)).length, 1);
  const bytes = await new Serializer(client, value, { useLatestVersion: true }).serialize(topic, sold);
  const read = await new Deserializer(client, value, {}).deserialize(topic, bytes);
  assert.deepEqual({ id: Number(read.id), city: read.city }, sold);
  written[topic] = bytes.toString("base64");
}
assert.equal(await client.testSubjectCompatibility("confluent-avro-value", { schemaType: "AVRO", schema: '"int"' }), false);
await client.updateCompatibility("confluent-avro-value", "NONE");
assert.equal(await client.getCompatibility("confluent-avro-value"), "NONE");

const topic = "confluent-protobuf";
const moment = create(TimestampSchema, { seconds: 12n, nanos: 5 });
const serializer = new confluent.ProtobufSerializer(client, value, { autoRegisterSchemas: true });
serializer.registry.add(TimestampSchema);
const bytes = await serializer.serialize(topic, moment);
const read = await new confluent.ProtobufDeserializer(client, value, {}).deserialize(topic, bytes);
assert.deepEqual([Number(read.seconds), read.nanos], [12, 5]);
written[topic] = bytes.toString("base64");

assert.deepEqual(await client.deleteSubject("confluent-avro-value"), [1]);
assert.deepEqual(await client.deleteSubject("confluent-avro-value", true), [1]);
console.log(JSON.stringify(written));
