import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * BOOTSTRAP TOPIC PRODUCERS TRANSACTIONS RECORDS SIZE WARM: each producer, on a thread of its own, commits so many transactions of so many
 * records, after WARM of them that don't count. Prints commits a second of all, then p50 and p99 of commitTransaction() in ms, then p50
 * of a whole transaction.
 */
public class Transactions {
    public static void main(String[] a) throws Exception {
        int producers = Integer.parseInt(a[2]), count = Integer.parseInt(a[3]), records = Integer.parseInt(a[4]);
        int size = Integer.parseInt(a[5]), warm = Integer.parseInt(a[6]);
        String run = UUID.randomUUID().toString();
        CyclicBarrier ready = new CyclicBarrier(producers + 1);
        ExecutorService pool = Executors.newFixedThreadPool(producers);
        List<Future<long[][]>> results = new ArrayList<>();
        for (int i = 0; i < producers; i++) {
            String id = run + "-" + i;
            results.add(pool.submit(() -> one(a[0], a[1], id, count, records, size, warm, ready)));
        }
        ready.await();
        long begin = System.nanoTime();
        long[][] took = new long[2][producers * count];
        for (int i = 0; i < producers; i++) {
            long[][] result = results.get(i).get();
            for (int kind = 0; kind < 2; kind++) System.arraycopy(result[kind], 0, took[kind], i * count, count);
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        for (long[] of : took) Arrays.sort(of);
        int all = producers * count;
        System.out.printf("%.1f %.3f %.3f %.3f%n", all / seconds, took[0][all / 2] / 1e6, took[0][(int) (all * 0.99)] / 1e6, took[1][all / 2] / 1e6);
        Runtime.getRuntime().halt(0);
    }

    static long[][] one(String bootstrap, String topic, String id, int count, int records, int size, int warm, CyclicBarrier ready) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("transactional.id", id);
        p.put("buffer.memory", "4194304");
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        byte[] value = new byte[size];
        long[][] took = new long[2][count];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            producer.initTransactions();
            for (int i = -warm; i < count; i++) {
                if (i == 0) ready.await();
                long begin = System.nanoTime();
                producer.beginTransaction();
                for (int n = 0; n < records; n++) producer.send(new ProducerRecord<>(topic, value));
                producer.flush();
                long committing = System.nanoTime();
                producer.commitTransaction();
                if (i >= 0) {
                    long now = System.nanoTime();
                    took[0][i] = now - committing;
                    took[1][i] = now - begin;
                }
            }
        }
        return took;
    }
}
