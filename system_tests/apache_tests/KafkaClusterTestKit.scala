package kafka.testkit

import java.net.ServerSocket
import java.nio.file.Files
import java.util
import java.util.Properties

import kafka.server.{BrokerServer, KafkaConfig, KafkaServer}
import kafka.zk.EmbeddedZookeeper
import org.apache.kafka.server.fault.MockFaultHandler
import org.mockito.Mockito
import org.mockito.invocation.InvocationOnMock
import org.mockito.stubbing.Answer

import scala.collection.mutable
import scala.jdk.CollectionConverters._

object KafkaClusterTestKit {
  class Builder(nodes: TestKitNodes) {
    private val properties = new util.HashMap[String, Object]

    def setConfigProp(key: String, value: Object): Builder = {
      properties.put(key, value)
      this
    }

    def build(): KafkaClusterTestKit = new KafkaClusterTestKit(nodes.brokerNodes.keySet.asScala.map(_.intValue).toList.sorted, properties)
  }
}

/**
 * kafkapy's brokers and a ZooKeeper in the place of Apache's cluster in KRaft mode, for the tests of Connect, which start no other and
 * look at brokers only to stop and restart them.
 */
class KafkaClusterTestKit(ids: List[Int], given: util.Map[String, Object]) extends AutoCloseable {
  private val zooKeeper = new EmbeddedZookeeper
  private val ports = ids.map { id =>
    val socket = new ServerSocket(0)
    try id -> socket.getLocalPort finally socket.close()
  }.toMap
  private val views: mutable.Map[Integer, BrokerServer] = mutable.Map.empty

  private def server(id: Int): KafkaServer = {
    val properties = new Properties
    properties.putAll(given)
    properties.keySet.removeIf(name => name.toString.startsWith("controller.") || name == "process.roles")
    properties.put("broker.id", id.toString)
    properties.put("listeners", s"PLAINTEXT://localhost:${ports(id)}")
    properties.put("log.dirs", Files.createTempDirectory("broker").toString)
    properties.put("zookeeper.connect", s"127.0.0.1:${zooKeeper.port}")
    new KafkaServer(KafkaConfig.fromProps(properties))
  }

  private def view(server: KafkaServer): BrokerServer = {
    val answer: Answer[Any] = (call: InvocationOnMock) => call.getMethod.getName match {
      case "brokerState" => server.brokerState
      case "config" => server.config
      case "startup" => server.startup(); null
      case "shutdown" => server.shutdown(java.time.Duration.ofMinutes(1)); null
      case "awaitShutdown" => server.awaitShutdown(); null
      case "isShutdown" => server.isShutdown()
      case "toString" => "kafkapy's broker"
      case "hashCode" => System.identityHashCode(server)
      case other => throw new UnsupportedOperationException(s"BrokerServer.$other")
    }
    Mockito.mock(classOf[BrokerServer], answer)
  }

  def format(): Unit = ()

  def startup(): Unit = ids.foreach { id =>
    val started = server(id)
    started.startup()
    views(id) = view(started)
  }

  def waitForReadyBrokers(): Unit = ()
  def brokers(): util.Map[Integer, BrokerServer] = views.asJava
  def bootstrapServers(): String = ids.map(id => s"localhost:${ports(id)}").mkString(",")
  val nonFatalFaultHandler = new MockFaultHandler("nonFatalFaultHandler")

  override def close(): Unit = {
    views.values.foreach(broker => if (!broker.isShutdown()) broker.shutdown())
    zooKeeper.shutdown()
  }
}
