package kafka.server

import java.net.InetAddress
import java.util.Properties

import kafka.zk.{AdminZkClient, KafkaZkClient}
import org.apache.kafka.common.metrics.Metrics
import org.apache.kafka.common.security.scram.internals.ScramMechanism
import org.apache.kafka.common.utils.Time
import org.apache.kafka.security.CredentialProvider
import org.apache.kafka.server.config.QuotaConfigs

import scala.collection.{Map, Seq}

/**
 * The quotas and SCRAM credentials that tests look for in a broker: what Apache's own managers make of the same ZooKeeper, from which
 * the broker hears of each change by a notification. A change is taken for done a moment after it is there.
 */
class SharedQuotas(kafkaConfig: KafkaConfig, zk: () => KafkaZkClient) {
  private val NotificationMs = 300
  private val quotas = QuotaFactory.instantiate(kafkaConfig, new Metrics, Time.SYSTEM, "")
  private val scram = new CredentialProvider(ScramMechanism.mechanismNames, null)
  private val FreshMs = 20
  private var looked = 0L
  private var notifications: Option[Seq[String]] = None
  private var seen: Map[String, Map[String, Properties]] = Map.empty

  def managers: QuotaFactory.QuotaManagers = {
    refresh()
    quotas
  }

  def credentials: CredentialProvider = {
    refresh()
    scram
  }

  /** New connections a second. */
  def connectionRate(ip: InetAddress): Int = {
    refresh()
    val rates = seen("ips").flatMap { case (name, configs) =>
      Option(configs.getProperty(QuotaConfigs.IP_CONNECTION_RATE_OVERRIDE_CONFIG)).map(rate => name -> rate.toInt)
    }
    rates.getOrElse(ip.getHostAddress, rates.getOrElse("<default>", QuotaConfigs.IP_CONNECTION_RATE_DEFAULT.toInt))
  }

  /** Each change has its notification; the first look is for those that have none any more. */
  private def refresh(): Unit = synchronized {
    if (System.currentTimeMillis - looked >= FreshMs) {
      look()
      looked = System.currentTimeMillis
    }
  }

  private def look(): Unit = {
    val found = Option(zk()).map(_.getChildren("/config/changes"))
    if (found.isDefined && found != notifications) {
      val admin = new AdminZkClient(zk())
      val now = Map(
        "clients" -> admin.fetchAllEntityConfigs("clients"),
        "ips" -> admin.fetchAllEntityConfigs("ips"),
        "users" -> (admin.fetchAllEntityConfigs("users") ++ admin.fetchAllChildEntityConfigs("users", "clients")))
      if (now != seen) {
        Thread.sleep(NotificationMs)
        val ofClients = new ClientIdConfigHandler(quotas)
        val ofUsers = new UserConfigHandler(quotas, scram)
        withGone("clients", now).foreach { case (name, configs) => ofClients.processConfigChanges(name, configs) }
        withGone("users", now).foreach { case (name, configs) => ofUsers.processConfigChanges(name, configs) }
        seen = now
      }
      notifications = found
    }
  }

  /** With those that had configs before and have none now. */
  private def withGone(entity: String, now: Map[String, Map[String, Properties]]): Map[String, Properties] =
    seen.getOrElse(entity, Map.empty[String, Properties]).map { case (name, _) => name -> new Properties } ++ now(entity)

  def close(): Unit = quotas.shutdown()
}
