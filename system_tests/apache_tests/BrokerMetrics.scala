package kafka.server

import java.net.URI
import java.util
import java.util.concurrent.ConcurrentHashMap

import com.yammer.metrics.core.{Gauge => YammerGauge, Histogram, Metric => YammerMetric, MetricName => YammerName, MetricsRegistry}
import kafka.server.QuotaFactory.QuotaManagers
import org.apache.kafka.common.MetricName
import org.apache.kafka.common.metrics.{Gauge, KafkaMetric, MetricConfig, Metrics}
import org.apache.kafka.common.security.auth.KafkaPrincipal
import org.apache.kafka.common.utils.{Sanitizer, Time}
import org.apache.kafka.server.metrics.KafkaYammerMetrics
import org.mockito.Mockito
import org.mockito.invocation.InvocationOnMock
import org.mockito.stubbing.Answer

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

object BrokerMetrics {
  private val running = ConcurrentHashMap.newKeySet[BrokerMetrics]
  private val Groups = List("Produce", "Fetch", "Request", "ControllerMutation")
  private val Sockets = "kafka_server_socket_server_metrics_"
  private val Expired = Sockets + "expired_connections_killed_count_total"
  private val Row = """([a-z_]+?)(?:\{(.*)\})? (\S+)""".r
  private val Label = """([a-z_]+)="((?:[^"\\]|\\.)*)"""".r

  /** One line of the page: a metric's name, its labels, its value. */
  private case class Sample(name: String, labels: Map[String, String], value: Double)

  private def parse(page: String): List[Sample] = page.linesIterator.flatMap {
    case Row(name, labels, value) =>
      val pairs = Label.findAllMatchIn(Option(labels).getOrElse("")).map(m => m.group(1) -> m.group(2)).toMap
      Some(Sample(name, pairs, if (value == "NaN") Double.NaN else value.toDouble))
    case _ => None
  }.toList

  /** All brokers of a JVM share one registry. */
  private def register(name: YammerName, metric: YammerMetric): Unit = {
    val registry = KafkaYammerMetrics.defaultRegistry
    val add = classOf[MetricsRegistry].getDeclaredMethod("getOrAdd", classOf[YammerName], classOf[YammerMetric])
    add.setAccessible(true)
    registry.removeMetric(name)
    add.invoke(registry, name, metric)
  }

  private def registerExpired(): Unit = register(
    new YammerName("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount"),
    new YammerGauge[Double] {
      override def value: Double = running.asScala.toSeq.map(_.total(Expired)).sum
    })

  /** The largest of what the running brokers say. */
  private def registerThrottleTimes(): Unit =
    List("Produce", "FetchConsumer").foreach { request =>
      val mBean = s"kafka.network:type=RequestMetrics,name=ThrottleTimeMs,request=$request"
      val name = new YammerName("kafka.network", "RequestMetrics", "ThrottleTimeMs", s"request.$request", mBean)
      val answer: Answer[Any] = (call: InvocationOnMock) => call.getMethod.getName match {
        case "max" => running.asScala.map(_.throttledMs(request)).maxOption.getOrElse(0.0)
        case other => throw new UnsupportedOperationException(s"Histogram.$other")
      }
      register(name, Mockito.mock(classOf[Histogram], answer))
    }
}

/**
 * What a running broker's page of metrics says, under the names that a JVM broker has them by: those of client quotas and
 * authentications, and of the listeners that are open.
 */
class BrokerMetrics(kafkaConfig: KafkaConfig, val port: Int, quotas: () => QuotaManagers, listeners: () => Iterable[String])
  extends Metrics(Time.SYSTEM) {
  import BrokerMetrics._

  private val FreshNanos = 100 * 1000 * 1000L // tests ask in loops, and making the page keeps the broker busy
  @volatile private var last: (Long, List[Sample]) = (System.nanoTime - FreshNanos, Nil)

  def begin(): Unit = {
    running.add(this)
    registerThrottleTimes()
    registerExpired()
  }

  def end(): Unit = running.remove(this)

  private def samples: List[Sample] = synchronized {
    if (running.contains(this) && System.nanoTime - last._1 >= FreshNanos) {
      val page = Using.resource(Source.fromURL(URI.create(s"http://localhost:$port/metrics").toURL, "UTF-8"))(_.mkString)
      last = (System.nanoTime, parse(page))
    }
    last._2
  }

  private def total(name: String): Double = samples.filter(_.name == name).map(_.value).sum

  private def throttledMs(request: String): Double =
    samples.filter(s => s.name == "kafka_network_requestmetrics_throttletimems_sum" && s.labels("request") == request).map(_.value).sum

  override def metrics: util.Map[MetricName, KafkaMetric] = {
    val found = new util.HashMap[MetricName, KafkaMetric] {
      override def get(key: Object): KafkaMetric = Option(super.get(key)).getOrElse(ofUnthrottled(key.asInstanceOf[MetricName]))
    }
    def add(name: String, group: String, tags: Map[String, String], value: Double, config: MetricConfig = new MetricConfig): Unit = {
      val gauge: Gauge[java.lang.Double] = (_, _) => value
      val key = metricName(name, group, "", tags.asJava)
      found.put(key, new KafkaMetric(new Object, key, gauge, config, Time.SYSTEM))
    }
    for (group <- Groups; prefix = s"kafka_server_${group.toLowerCase}_"; s <- samples; if s.name.startsWith(prefix)) {
      val name = s.name.stripPrefix(prefix).replace('_', '-')
      if (s.labels.isEmpty) add(name, group, Map.empty, s.value)
      else {
        val tags = Map("user" -> s.labels("user"), "client-id" -> s.labels("client_id"))
        add(name, group, tags, s.value, if (group == "ControllerMutation") mutations(s.labels("user")) else new MetricConfig)
        val throttle = metricName("throttle-time", group, "", tags.asJava)
        if (!found.containsKey(throttle)) add("throttle-time", group, tags, Double.NaN) // of a client that was not throttled
      }
    }
    val open = listeners().toSet
    for (s <- samples; if s.name.startsWith(Sockets) && s.labels.get("listener").exists(open))
      add(s.name.stripPrefix(Sockets).replace('_', '-').replace("-count-total", "-count"), "socket-server-metrics", s.labels, s.value)
    open.foreach(name => add("connection-count", "socket-server-metrics", Map("listener" -> name), 0))
    found
  }

  /** A JVM broker has it of each client as soon as there is any quota. */
  private def ofUnthrottled(name: MetricName): KafkaMetric = if (name.name == "throttle-time" && Groups.contains(name.group)) {
    val gauge: Gauge[java.lang.Double] = (_, _) => Double.NaN
    new KafkaMetric(new Object, name, gauge, new MetricConfig, Time.SYSTEM)
  } else null

  private def mutations(user: String): MetricConfig = {
    val principal = new KafkaPrincipal(KafkaPrincipal.USER_TYPE, Sanitizer.desanitize(user))
    new MetricConfig().quota(quotas().controllerMutation.quota(principal, ""))
      .samples(kafkaConfig.numControllerQuotaSamples).timeWindow(kafkaConfig.controllerQuotaWindowSizeSeconds.toLong, util.concurrent.TimeUnit.SECONDS)
  }

  override def metric(name: MetricName): KafkaMetric = metrics.get(name)
}
