import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** BOOTSTRAP TOPIC PRODUCERS RECORDS SIZE ACKS: so many producers (connections) share the records; prints records a second. */
public class ManyProducers {
    public static void main(String[] a) throws Exception {
        int producers = Integer.parseInt(a[2]), records = Integer.parseInt(a[3]), size = Integer.parseInt(a[4]);
        List<KafkaProducer<byte[], byte[]>> all = new ArrayList<>();
        for (int i = 0; i < producers; i++) {
            Properties p = new Properties();
            p.put("bootstrap.servers", a[0]);
            p.put("acks", a[5]);
            p.put("buffer.memory", "1048576");
            p.put("key.serializer", ByteArraySerializer.class.getName());
            p.put("value.serializer", ByteArraySerializer.class.getName());
            all.add(new KafkaProducer<>(p));
        }
        for (KafkaProducer<byte[], byte[]> p : all) p.send(new ProducerRecord<>(a[1], new byte[size])).get();
        long begin = System.nanoTime();
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<?>> done = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            int first = t;
            done.add(pool.submit(() -> {
                byte[] value = new byte[size];
                for (int i = first; i < records; i += 4) all.get(i % producers).send(new ProducerRecord<>(a[1], value));
            }));
        }
        for (Future<?> f : done) f.get();
        for (KafkaProducer<byte[], byte[]> p : all) p.flush();
        System.out.printf("%.1f%n", records / ((System.nanoTime() - begin) / 1e9));
        Runtime.getRuntime().halt(0);
    }
}
