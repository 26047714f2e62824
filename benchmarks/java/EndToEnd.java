import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/** BOOTSTRAP TOPIC RECORDS ACKS: from send to poll, one record at a time, as Kafka's EndToEndLatency; prints p50 and p99 in ms. */
public class EndToEnd {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("acks", a[3]);
        p.put("linger.ms", "0");
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("fetch.max.wait.ms", "500");
        int records = Integer.parseInt(a[2]), warm = records / 5;
        long[] took = new long[records];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p); KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            TopicPartition partition = new TopicPartition(a[1], 0);
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            consumer.position(partition);
            for (int i = -warm; i < records; i++) {
                long begin = System.nanoTime();
                producer.send(new ProducerRecord<>(a[1], 0, null, new byte[100])).get();
                while (consumer.poll(Duration.ofMillis(1000)).isEmpty()) { }
                if (i >= 0) took[i] = System.nanoTime() - begin;
            }
        }
        Arrays.sort(took);
        System.out.printf("%.3f %.3f%n", took[records / 2] / 1e6, took[(int) (records * 0.99)] / 1e6);
    }
}
