import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.BsonTimestamp;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.oplog.OplogPosition;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import java.time.Instant;
import java.util.List;

/** mongo-java-server with change streams. Arguments: its port, and a folder that it does not use: its data are in memory. */
class MongoNode {
    /** Adds what drivers since MongoDB 4.4 expect. */
    static class Backend extends MemoryBackend {
        @Override
        public Document handleMessage(MongoMessage message) {
            Document answer = super.handleMessage(message);
            BsonTimestamp now = new BsonTimestamp(Instant.now(), 0);
            answer.put("operationTime", now);
            addNamespaces((Document) answer.get("cursor"));
            boolean opensStream = message.getDocument().get("pipeline") instanceof List<?> stages
                && !stages.isEmpty()
                && ((Document) stages.get(0)).containsKey("$changeStream");
            if (opensStream && ((Document) answer.get("cursor")).get("firstBatch") instanceof List<?> batch && batch.isEmpty()) {
                Document token = new Document("_data", new OplogPosition(last(message, now)).toHexString());
                ((Document) answer.get("cursor")).put("postBatchResumeToken", token);
            }
            return answer;
        }

        /** The time of the last event. */
        private BsonTimestamp last(MongoMessage message, BsonTimestamp now) {
            Document find = new Document("find", OPLOG_COLLECTION_NAME).append("$db", "local")
                .append("sort", new Document("ts", -1)).append("limit", 1);
            Document found = super.handleMessage(new MongoMessage(message.getChannel(), message.getHeader(), find));
            List<?> batch = (List<?>) ((Document) found.get("cursor")).get("firstBatch");
            return batch.isEmpty() ? now : (BsonTimestamp) ((Document) batch.get(0)).get("ts");
        }

        /** The server's events lack the namespace, which is that of their stream. */
        private static void addNamespaces(Document cursor) {
            if (cursor == null) {
                return;
            }
            String[] parts = ((String) cursor.get("ns")).split("\\.", 2);
            for (String name : List.of("firstBatch", "nextBatch")) {
                if (cursor.get(name) instanceof List<?> batch) {
                    for (Object each : batch) {
                        if (each instanceof Document event && event.containsKey("clusterTime")) {
                            event.put("ns", new Document("db", parts[0]).append("coll", parts[1]));
                        }
                    }
                }
            }
        }
    }

    static class Version implements MongoVersion {
        @Override
        public List<Integer> getVersionArray() {
            return List.of(5, 0, 0, 0);
        }

        @Override
        public int getWireVersion() {
            return 9;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Backend backend = new Backend();
        backend.version(new Version());
        MongoServer server = new MongoServer(backend);
        server.enableOplog();
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        Thread.currentThread().join();
    }
}
