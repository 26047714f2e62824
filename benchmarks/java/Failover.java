import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * BOOTSTRAP TOPIC PARTITION: sends a record every 5 ms with acks=all, whatever becomes of those before; prints for each
 * acknowledged record when it was sent and when it was acknowledged, in ms since the epoch. Ends when its input does.
 */
public class Failover {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("acks", "all");
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        int partition = Integer.parseInt(a[2]);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p);
        while (System.in.available() == 0) {
            long sent = System.currentTimeMillis();
            producer.send(new ProducerRecord<>(a[1], partition, null, new byte[100]), (metadata, error) -> {
                if (error == null) System.out.println(sent + " " + System.currentTimeMillis());
            });
            Thread.sleep(5);
        }
        Runtime.getRuntime().halt(0);
    }
}
