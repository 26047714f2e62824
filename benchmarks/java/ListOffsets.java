import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** BOOTSTRAP TOPIC CALLS: asks for the end offset of partition 0 so often, as Spark's connector does; prints calls a second. */
public class ListOffsets {
    public static void main(String[] a) {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> one = List.of(new TopicPartition(a[1], 0));
            for (int i = 0; i < 2000; i++) consumer.endOffsets(one);
            int calls = Integer.parseInt(a[2]);
            long begin = System.nanoTime();
            for (int i = 0; i < calls; i++) consumer.endOffsets(one);
            System.out.printf("%.1f%n", calls / ((System.nanoTime() - begin) / 1e9));
        }
    }
}
