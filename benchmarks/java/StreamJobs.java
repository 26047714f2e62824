import java.time.Duration;
import java.util.*;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;

/** BOOTSTRAP GROUP JOB GUARANTEE STATE_DIR: the jobs of benchmarks.streams with Java's Kafka Streams, until it is ended. */
public class StreamJobs {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("application.id", a[1]);
        p.put("processing.guarantee", a[3]);
        p.put("state.dir", a[4]);
        p.put("auto.offset.reset", "earliest");
        p.put("commit.interval.ms", a[3].equals("exactly_once_v2") ? "100" : "1000");
        KafkaStreams streams = new KafkaStreams(topology(a[2]), p);
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { streams.close(); ended.countDown(); }));
        streams.start();
        ended.await();
    }

    static Topology topology(String job) {
        Serde<String> string = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        KStream<String, String> stream = builder.stream("in", Consumed.with(string, string));
        if (job.equals("map")) {
            stream.mapValues(value -> value.toUpperCase(Locale.ROOT)).to("out", Produced.with(string, string));
        } else if (job.equals("join")) {
            KTable<String, String> table = builder.table("table", Consumed.with(string, string));
            stream.join(table, (left, right) -> left + right).to("out", Produced.with(string, string));
        } else if (job.equals("windowed")) {
            stream.groupByKey(Grouped.with(string, string))
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(10))).count(Materialized.as("counts"));
        } else {
            stream.groupByKey(Grouped.with(string, string)).count(Materialized.as("counts"))
                .toStream().to("out", Produced.with(string, Serdes.Long()));
        }
        return builder.build();
    }
}
