# consumer.py BROKERS TOPIC [REGISTRY] prints the counts of a deployment (pip install fastavro kafka-python).
import io, json, struct, sys, urllib.request
from fastavro import parse_schema, schemaless_reader
from kafka import KafkaConsumer
brokers, topic, registry = (sys.argv[1:] + [""])[:3]
schemas = {}
def decode(value):
    if value[:1] == b"{":  # counts_format: json
        return json.loads(value)
    magic, schema = struct.unpack(">bI", value[:5])  # counts_format: avro
    if schema not in schemas:
        with urllib.request.urlopen(f"{registry}/schemas/ids/{schema}") as answer:
            schemas[schema] = parse_schema(json.loads(json.load(answer)["schema"]))
    return schemaless_reader(io.BytesIO(value[5:]), schemas[schema])
consumer = KafkaConsumer(topic, bootstrap_servers=brokers, auto_offset_reset="earliest", isolation_level="read_committed", consumer_timeout_ms=5000)
for record in consumer:  # a key has one value for ever: store it with an upsert by the key
    print(record.key.decode(), json.dumps(decode(record.value), default=str, ensure_ascii=False), sep="\t", flush=True)
