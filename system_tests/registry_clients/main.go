// franz-go's client of schema registries, as it is: it registers, looks up, writes and reads. Argument: the registry's URL.
// The last line of output has what it wrote, in base64.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/sr"
)

type Sold struct {
	ID   int64  `avro:"id" json:"id"`
	City string `avro:"city" json:"city"`
}

const avroText = `{"type": "record", "name": "Sold", "namespace": "shop", "fields": [{"name": "id", "type": "long"}, {"name": "city", "type": "string", "default": "-"}]}`
const jsonText = `{"title": "Sold", "type": "object", "properties": {"id": {"type": "integer"}, "city": {"type": "string"}}, "additionalProperties": false}`
const protoText = `syntax = "proto3"; package shop; message Sold { int64 id = 1; string city = 2; }`

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(fine bool, what string) {
	if !fine {
		log.Fatal(what)
	}
}

func main() {
	ctx := context.Background()
	client, err := sr.NewClient(sr.URLs(os.Args[1]))
	check(err)
	types, err := client.SupportedTypes(ctx)
	check(err)
	expect(len(types) >= 3, "supported types")

	written := map[string]string{}
	parsed := avro.MustParse(avroText)
	for subject, schema := range map[string]sr.Schema{
		"go-avro":     {Schema: avroText, Type: sr.TypeAvro},
		"go-json":     {Schema: jsonText, Type: sr.TypeJSON},
		"go-protobuf": {Schema: protoText, Type: sr.TypeProtobuf},
	} {
		made, err := client.CreateSchema(ctx, subject, schema)
		check(err)
		found, err := client.LookupSchema(ctx, subject, schema)
		check(err)
		expect(found.ID == made.ID && found.Version == 1, "look-up of "+subject)
		byID, err := client.SchemaByID(ctx, made.ID)
		check(err)
		expect(byID.Type == schema.Type, "type of "+subject)

		var serde sr.Serde
		if schema.Type == sr.TypeAvro {
			serde.Register(made.ID, Sold{}, sr.EncodeFn(func(v any) ([]byte, error) { return avro.Marshal(parsed, v) }),
				sr.DecodeFn(func(b []byte, v any) error { return avro.Unmarshal(parsed, b, v) }))
		} else if schema.Type == sr.TypeJSON {
			serde.Register(made.ID, Sold{}, sr.EncodeFn(json.Marshal), sr.DecodeFn(json.Unmarshal))
		} else {
			continue
		}
		bytes, err := serde.Encode(Sold{7, "Ulm"})
		check(err)
		var read Sold
		check(serde.Decode(bytes, &read))
		expect(read == Sold{7, "Ulm"}, "what was read of "+subject)
		written[subject] = base64.StdEncoding.EncodeToString(bytes)
	}

	fits, err := client.CheckCompatibility(ctx, "go-avro", -1, sr.Schema{Schema: `"int"`})
	check(err)
	expect(!fits.Is, "compatibility")
	_, err = client.CreateSchema(ctx, "go-avro", sr.Schema{Schema: `"int"`})
	var refused *sr.ResponseError
	expect(errors.As(err, &refused) && refused.ErrorCode == 409, "an incompatible schema is refused with 409")
	for _, set := range client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFull}, "go-json") {
		check(set.Err)
	}
	expect(client.Compatibility(ctx, "go-json")[0].Level == sr.CompatFull, "level")
	expect(client.Mode(ctx)[0].Mode == sr.ModeReadWrite, "mode")

	_, err = client.CreateSchema(ctx, "go-user", sr.Schema{
		Schema:     `{"type": "record", "name": "Bill", "namespace": "shop", "fields": [{"name": "sold", "type": "Sold"}]}`,
		References: []sr.SchemaReference{{Name: "shop.Sold", Subject: "go-avro", Version: 1}},
	})
	check(err)
	users, err := client.SchemaReferences(ctx, "go-avro", 1)
	check(err)
	expect(len(users) == 1 && users[0].Subject == "go-user", "references")
	_, err = client.DeleteSubject(ctx, "go-user", sr.SoftDelete)
	check(err)
	_, err = client.DeleteSubject(ctx, "go-user", sr.HardDelete)
	check(err)
	subjects, err := client.Subjects(ctx)
	check(err)
	expect(len(subjects) >= 3, "subjects")
	text, _ := json.Marshal(written)
	fmt.Println(string(text))
}
