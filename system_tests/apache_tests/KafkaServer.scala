package kafka.server

import java.io.{File, FileOutputStream, IOException}
import java.net.ServerSocket
import java.nio.file.{Files, StandardCopyOption}
import java.time.Duration
import java.util.Properties
import java.util.concurrent.TimeUnit

import kafka.cluster.{EndPoint, Partition}
import kafka.controller.{ControllerContext, KafkaController}
import kafka.log.{LogManager, UnifiedLog}
import kafka.log.remote.RemoteLogManager
import kafka.network.{ConnectionQuotas, SocketServer}
import kafka.server.metadata.ZkMetadataCache
import kafka.zk.{AdminZkClient, DelegationTokensZNode, KafkaZkClient}
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.kafka.common.config.types.Password
import org.apache.kafka.common.network.ListenerName
import org.apache.kafka.common.record.MemoryRecords
import org.apache.kafka.common.security.JaasUtils
import org.apache.kafka.common.security.scram.internals.ScramMechanism
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache
import org.apache.kafka.common.utils.{Time, Utils}
import org.apache.kafka.coordinator.group.GroupCoordinator
import org.apache.kafka.metadata.BrokerState
import org.apache.kafka.security.CredentialProvider
import org.apache.kafka.server.NodeToControllerChannelManager
import org.apache.kafka.server.authorizer.Authorizer
import org.apache.kafka.server.metrics.KafkaYammerMetrics
import org.apache.kafka.server.util.{KafkaScheduler, MockTime}
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache
import org.apache.kafka.storage.internals.log.{LogConfig, LogDirFailureChannel, ProducerStateManager, ProducerStateManagerConfig}
import org.apache.zookeeper.client.ZKClientConfig
import org.mockito.Mockito
import org.mockito.invocation.InvocationOnMock
import org.mockito.stubbing.Answer

import scala.collection.{Map, Seq}
import scala.jdk.CollectionConverters._
import scala.runtime.BoxedUnit

object KafkaServer {
  val MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS: Long = 120000
  private val StartMs = 60000
  private val NotificationMs = 300 // until the broker has heard from ZooKeeper of new configs and applied them
  private val Api = "kafka.api"
  private val PlugIns = Predef.Map(
    s"$Api.AbstractAuthorizerIntegrationTest$$PrincipalBuilder" -> "UserByListener",
    s"$Api.GroupAuthorizerIntegrationTest$$GroupPrincipalBuilder" -> "GroupByListener",
    s"$Api.GroupEndToEndAuthorizationTest$$GroupPrincipalBuilder" -> "GroupByScramUser",
    s"$Api.SslEndToEndAuthorizationTest$$TestPrincipalBuilder" -> "ByCertificate",
    s"$Api.SaslPlainSslEndToEndAuthorizationTest$$TestPrincipalBuilder" -> "ByPlainUser",
    s"$Api.SaslPlainSslEndToEndAuthorizationTest$$TestServerCallbackHandler" -> "PlainUsersOfTest",
    s"$Api.SaslPlainSslEndToEndAuthorizationTest$$TestClientCallbackHandler" -> "PlainLoginOfBroker",
    "kafka.server.RequestQuotaTest$TestPrincipalBuilder" -> "OfRequestQuotaTest",
    "kafka.server.RequestQuotaTest$ZkTestAuthorizer" -> "RefusesUnauthorized",
    "kafka.server.ControllerMutationQuotaTest$TestPrincipalBuilder" -> "OfControllerMutationQuotaTest",
    s"$Api.SslAdminIntegrationTest$$TestPrincipalBuilder" -> "ServerOrClientByCertificate",
    s"$Api.PlaintextEndToEndAuthorizationTest$$TestClientPrincipalBuilder" -> "PlaintextClient",
    s"$Api.PlaintextEndToEndAuthorizationTest$$TestServerPrincipalBuilder" -> "PlaintextServer",
    "kafka.server.AlterCredentialsTest$TestAuthorizer" -> "RefusesUnauthorizedScram",
    "kafka.server.AlterCredentialsTest$TestPrincipalBuilderReturningAuthorized" -> "Anonymous",
    "kafka.server.AlterCredentialsTest$TestPrincipalBuilderReturningUnauthorized" -> "Unauthorized",
    "kafka.server.DescribeCredentialsTest$TestAuthorizer" -> "RefusesUnauthorizedScram",
    "kafka.server.DescribeCredentialsTest$TestPrincipalBuilderReturningAuthorized" -> "Anonymous",
    "kafka.server.DescribeCredentialsTest$TestPrincipalBuilderReturningUnauthorized" -> "Unauthorized",
  ).map { case (java, python) => java -> s"system_tests.apache_tests.plug_ins:$python" } +
    (s"$Api.SslAdminIntegrationTest$$TestableAclAuthorizer" -> "kafka.security.authorizer.AclAuthorizer") // but for what it waits for
  /** Of tests that name none: what is asked over the wire instead of the broker's objects must be allowed, as in KRaft mode. */
  private val SuperUsers = Predef.Map("UserByListener" -> "User:broker", "GroupByListener" -> "Group:broker")

  def zkClientConfigFromKafkaConfig(config: KafkaConfig, forceZkSslClientEnable: Boolean = false): ZKClientConfig = {
    val clientConfig = new ZKClientConfig
    if (!JaasUtils.isZkSaslEnabled) clientConfig.setProperty(JaasUtils.ZK_SASL_CLIENT, "false")
    clientConfig
  }
}

/**
 * A kafkapy broker in the place of Apache's class of this name, for Apache's own integration tests: it comes first on the
 * classpath. `broker.home` is where kafkapy is, `broker.logs` where its brokers' output goes.
 *
 * Tests talk to it over the wire. Where they look into the broker's objects instead, they get stand-ins that ask the running
 * broker (`BrokerView`); what no broker tells from outside throws `UnsupportedOperationException`.
 */
class KafkaServer(
  startConfig: KafkaConfig,
  time: Time = Time.SYSTEM,
  threadNamePrefix: Option[String] = None,
  enableForwarding: Boolean = false
) extends KafkaBroker with Server {
  private val output = File.createTempFile(s"broker-${startConfig.brokerId}-", ".log", new File(System.getProperty("broker.logs")))
  private var id = startConfig.brokerId
  @volatile private var process: Process = _
  @volatile private var view: BrokerView = _
  @volatile private var listeners: Predef.Map[String, (String, Int)] = Predef.Map.empty
  @volatile private var lastMetadataCache: ZkMetadataCache = _
  private var lastTokens = Predef.Set.empty[String]
  private var lastDynamicConfigs = (new Properties, new Properties)
  private var _zkClient: KafkaZkClient = _
  startConfig.dynamicConfig.initialize(None, None)

  // ---- its life

  private def alive: Boolean = process != null && process.isAlive

  override def startup(): Unit = if (!alive) synchronized {
    if (_zkClient == null) _zkClient = KafkaZkClient.createZkClient("kafkapy", Time.SYSTEM, startConfig, zkClientConfig)
    val before = registrations
    val command = new ProcessBuilder(System.getProperty("broker.home") + "/bin/kafka-server-start.sh", propertiesFile.getPath)
    command.environment.put("LOG_DIR", output.getPath + ".d")
    command.environment.put("PYTHONPATH", System.getProperty("broker.home"))
    command.environment.put("TEST_PRINCIPALS", TestPrincipals.address)
    command.environment.put("KRB5_CONFIG", kerberosFile.getPath)
    shareKerberos()
    Option(System.getProperty("java.security.auth.login.config")).foreach { file =>
      command.environment.put("KAFKA_OPTS", s"-Djava.security.auth.login.config=$file")
    }
    process = command.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(output)).start()
    Runtime.getRuntime.addShutdownHook(new Thread(() => process.destroyForcibly()))
    val deadline = System.currentTimeMillis + KafkaServer.StartMs
    while (!isServing(before)) {
      if (!process.isAlive)
        failed(s"The broker ended with ${process.exitValue}: ${Files.readString(output.toPath).takeRight(1500)}")
      if (System.currentTimeMillis > deadline)
        failed(s"The broker does not serve after ${KafkaServer.StartMs} ms: $output")
      Thread.sleep(20)
    }
  }

  /** Tests start their KDC whenever they need it; a broker in the same JVM hears of that by a system property. */
  private def kerberosFile: File = new File(output.getPath + ".krb5")

  private def shareKerberos(): Unit = Option(System.getProperty("java.security.krb5.conf")).map(new File(_)).filter(_.exists).foreach { file =>
    if (!kerberosFile.exists || kerberosFile.lastModified < file.lastModified)
      Files.copy(file.toPath, kerberosFile.toPath, StandardCopyOption.REPLACE_EXISTING)
  }

  private def failed(reason: String): Unit = {
    process.destroyForcibly()
    shutdown(Duration.ZERO)
    throw new KafkaException(reason)
  }

  private def propertiesFile: File = {
    val properties = new Properties
    startConfig.originals.asScala.foreach { case (name, value) =>
      properties.put(name, value match {
        case list: java.util.List[_] => list.asScala.mkString(",")
        case password: Password => password.value
        case cls: Class[_] => KafkaServer.PlugIns.getOrElse(cls.getName, cls.getName)
        case null => ""
        case other => KafkaServer.PlugIns.getOrElse(other.toString, other.toString)
      })
    }
    properties.put("kafkapy.metrics.listener", s"localhost:${metrics.port}")
    KafkaServer.SuperUsers.get(properties.getProperty("principal.builder.class", "").split(':').last)
      .foreach(properties.putIfAbsent("super.users", _))
    val file = File.createTempFile("broker", ".properties")
    file.deleteOnExit()
    val out = new FileOutputStream(file)
    try properties.store(out, null) finally out.close()
    file
  }

  private def registrations: Set[(Int, Long)] = _zkClient.getAllBrokerAndEpochsInCluster.map { case (broker, epoch) => (broker.id, epoch) }.toSet

  private def isServing(before: Set[(Int, Long)]): Boolean =
    _zkClient.getAllBrokerAndEpochsInCluster.find { case (b, epoch) => !before((b.id, epoch)) && (id < 0 || b.id == id) }.exists { case (b, _) =>
      try {
        id = b.id
        startConfig._brokerId = id
        startConfig._nodeId = id
        listeners = advertisedListenersOf(b)
        view = new BrokerView(startConfig, _zkClient, listeners)
        view.apiVersions()
        metrics.begin()
        authorizer = Option(startConfig.get("authorizer.class.name")).map(_.toString).filter(_.nonEmpty).map(_ => new SharedAclAuthorizer(startConfig, view))
        true
      } catch {
        case _: IOException | _: org.apache.kafka.common.errors.RetriableException => false
      }
    }

  /** With the ports that it is bound to, which may not be those that it advertises. */
  private def advertisedListenersOf(broker: kafka.cluster.Broker): Predef.Map[String, (String, Int)] = {
    val advertised = broker.endPoints.map(e => e.listenerName.value -> (e.host -> e.port)).toMap
    ports("0A") match {
      case Seq() => throw new IOException("It does not listen yet")
      case Seq(port) => Predef.Map(advertised.head._1 -> ("localhost" -> port))
      case _ => advertised
    }
  }

  /** Local ports of the broker's TCP sockets in a state of /proc/net/tcp, one for each socket. */
  private def ports(state: String): Seq[Int] = {
    val sockets = new File(s"/proc/${process.pid}/fd").listFiles.flatMap { fd =>
      try Some(Files.readSymbolicLink(fd.toPath).toString) catch { case _: IOException => None }
    }.toSet
    Seq("/proc/net/tcp", "/proc/net/tcp6").flatMap(table => Files.readAllLines(new File(table).toPath).asScala.drop(1))
      .map(_.trim.split("\\s+")).filter(row => row(3) == state && sockets(s"socket:[${row(9)}]"))
      .map(row => Integer.parseInt(row(1).split(':')(1), 16)).filter(_ != metrics.port)
  }

  override def shutdown(timeout: Duration): Unit = synchronized {
    if (alive) {
      process.destroy()
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor()
        throw new KafkaException("The broker did not stop")
      }
    }
    authorizer.foreach(_.close())
    authorizer = None
    metrics.end()
    runningQuotas.foreach(_.close())
    runningQuotas = None
    if (_zkClient != null) _zkClient.close()
    _zkClient = null
  }

  override def isShutdown(): Boolean = !alive

  override def awaitShutdown(): Unit = if (process != null) process.waitFor()

  override def boundPort(listenerName: ListenerName): Int = {
    if (alive) _zkClient.getBroker(id).foreach(broker => listeners = advertisedListenersOf(broker))
    listeners.get(listenerName.value).map(_._2).orElse(addedListeners.get(listenerName.value))
      .getOrElse(throw new KafkaException(s"There is no listener $listenerName"))
  }

  /** Those that came with dynamic configs and are not advertised: only the broker's log tells their ports. */
  private def addedListeners: Predef.Map[String, Int] =
    "Listener (\\S+) is open on port (\\d+)".r.findAllMatchIn(Files.readString(output.toPath)).map(m => m.group(1) -> m.group(2).toInt).toMap

  // ---- what it says of itself

  /** With the dynamic configs that ZooKeeper has. */
  def config: KafkaConfig = {
    shareKerberos()
    if (alive) synchronized {
      val configs = new AdminZkClient(_zkClient)
      val now = (configs.fetchEntityConfig("brokers", "<default>"), configs.fetchEntityConfig("brokers", id.toString))
      if (now != lastDynamicConfigs) {
        Thread.sleep(KafkaServer.NotificationMs)
        startConfig.dynamicConfig.updateDefaultConfig(now._1, doLog = false)
        startConfig.dynamicConfig.updateBrokerConfig(id, now._2, doLog = false)
        lastDynamicConfigs = now
      }
    }
    startConfig
  }

  val zkClientConfig: ZKClientConfig = KafkaServer.zkClientConfigFromKafkaConfig(startConfig)
  private[kafka] def zkClient: KafkaZkClient = _zkClient
  def clusterId: String = _zkClient.getClusterId.get
  def brokerState: BrokerState = if (alive) BrokerState.RUNNING else BrokerState.NOT_RUNNING
  def advertisedListeners: Seq[EndPoint] =
    config.effectiveAdvertisedBrokerListeners.map(endPoint => endPoint.copy(port = boundPort(endPoint.listenerName)))

  def metadataCache: ZkMetadataCache = {
    if (alive) lastMetadataCache = view.metadataCache(id)
    lastMetadataCache
  }

  def replicaManager: ReplicaManager = standIn(classOf[ReplicaManager]) {
    case ("onlinePartition" | "getPartitionOrError", call) => partition(call.getArgument(0))
    case ("getPartition", call) =>
      val tp = call.getArgument[TopicPartition](0)
      if (view.directory(tp).isEmpty) HostedPartition.None else HostedPartition.Online(partition(tp).get)
    case ("localLog" | "getLog", call) => log(call.getArgument(0))
    case ("localLogOrException", call) => log(call.getArgument(0)).get
    case ("metadataCache", _) => metadataCache
    case ("logManager", _) => logManager
    case ("checkpointHighWatermarks", _) => () // the broker does, every five seconds
  }

  def logManager: LogManager = standIn(classOf[LogManager]) {
    case ("getLog", call) => log(call.getArgument(0))
    case ("getOrCreateLog", call) => log(call.getArgument(0)).get
    case ("logsByTopic", call) => logManager.allLogs.filter(_.topicPartition.topic == call.getArgument[String](0)).toSeq
    case ("initialDefaultConfig" | "currentDefaultConfig", _) => new LogConfig(config.extractLogConfigMap)
    case ("liveLogDirs", _) => config.logDirs.map(new File(_).getAbsoluteFile)
    case ("isLogDirOnline", call) => view.isOnline(call.getArgument(0))
    case ("allLogs", _) =>
      config.logDirs.flatMap(dir => Option(new File(dir).listFiles()).toSeq.flatten)
        .filter(dir => dir.isDirectory && !dir.getName.endsWith("-delete")).flatMap(dir => log(UnifiedLog.parseTopicPartitionName(dir)))
    case ("producerStateManagerConfig", _) =>
      new ProducerStateManagerConfig(view.config(id, "producer.id.expiration.ms").toInt, true)
    case ("shutdown", _) => ()
  }

  private def partition(tp: TopicPartition): Option[Partition] =
    if (!alive) None else metadataCache.getPartitionInfo(tp.topic, tp.partition).filter(_.replicas.contains(Integer.valueOf(id))).map { state =>
      standIn(classOf[Partition]) {
        case ("leaderLogIfLocal", _) => if (view.isLeader(tp)) log(tp) else None
        case ("isLeader", _) => state.leader == id
        case ("getLeaderEpoch", _) => state.leaderEpoch
        case ("leaderReplicaIdOpt", _) => Some(state.leader).filter(_ >= 0)
        case ("localLogOrException", _) => log(tp).get
        case ("log", _) => log(tp)
        case ("topicPartition", _) => tp
        case ("inSyncReplicaIds", _) => state.isr.asScala.map(_.intValue).toSet
      }
    }

  private def log(tp: TopicPartition): Option[UnifiedLog] = view.directory(tp).map { _ =>
    standIn(classOf[UnifiedLog]) {
      case ("logEndOffset", _) => view.logEndOffset(tp)
      case ("logStartOffset" | "localLogStartOffset", _) => view.logStartOffset(tp)
      case ("highWatermark", _) => view.highWatermark(tp)
      case ("legacyFetchOffsetsBefore", call) => view.offsetsBefore(tp, call.getArgument(0), call.getArgument(1))
      case ("fetchOffsetByTimestamp", call) => view.offsetByTimestamp(tp, call.getArgument(0))
      case ("appendAsLeader", call) => view.append(tp, call.getArgument[MemoryRecords](0))
      case ("maybeIncrementLogStartOffset", call) => view.deleteRecords(tp, call.getArgument(0)); true
      case ("flush" | "deleteOldSegments", _) => ()
      case ("updateHighWatermark", _) => view.highWatermark(tp)
      case ("dir", _) => view.directory(tp).get
      case ("parentDir", _) => view.directory(tp).get.getParent
      case ("topicPartition", _) => tp
      case ("topicId", _) => view.topicId(tp)
      case ("config", _) => view.logConfig(tp)
      case ("size", _) => view.size(tp)
      case ("logSegments", _) => view.segments(tp).asJava
      case ("activeSegment", _) => view.segments(tp).last
      case ("numberOfSegments", _) => view.segments(tp).size
      case ("producerStateManager", _) => standIn(classOf[ProducerStateManager]) {
        case ("activeProducers", _) => view.activeProducers(tp)
      }
      case ("leaderEpochCache", _) =>
        val file = new LeaderEpochCheckpointFile(new File(view.directory(tp).get, "leader-epoch-checkpoint"), null)
        Some(new LeaderEpochFileCache(tp, file, new MockTime().scheduler))
    }
  }

  def kafkaController: KafkaController = standIn(classOf[KafkaController]) {
    case ("isActive", _) => _zkClient.getControllerId.contains(id)
    case ("epoch", _) => _zkClient.getControllerEpoch.map(_._1).getOrElse(0)
    case ("brokerEpoch", _) => registrations.toMap.getOrElse(id, -1L)
    case ("config", _) => config
    case ("controllerContext", _) => controllerContext
  }

  /** As a controller would read it from ZooKeeper. */
  private def controllerContext: ControllerContext = {
    val context = new ControllerContext
    _zkClient.getControllerEpoch.foreach { case (epoch, stat) =>
      context.epoch = epoch
      context.epochZkVersion = stat.getVersion
    }
    context.setLiveBrokers(_zkClient.getAllBrokerAndEpochsInCluster)
    context.setAllTopics(_zkClient.getAllTopicsInCluster())
    val topics = context.allTopics.toSet
    _zkClient.getTopicIdsForTopics(topics).foreach { case (topic, topicId) => context.addTopicId(topic, topicId) }
    _zkClient.getFullReplicaAssignmentForTopics(topics).foreach { case (tp, replicas) => context.updatePartitionFullReplicaAssignment(tp, replicas) }
    _zkClient.getTopicPartitionStates(context.allPartitions.toSeq).foreach { case (tp, state) => context.putPartitionLeadershipInfo(tp, state) }
    context
  }

  @volatile var groupCoordinator: GroupCoordinator = standIn(classOf[GroupCoordinator]) {
    case ("groupMetadataTopicConfigs", _) =>
      val configs = new Properties
      configs.put("cleanup.policy", "compact")
      configs.put("compression.type", "producer")
      configs.put("segment.bytes", config.groupCoordinatorConfig.offsetsTopicSegmentBytes.toString)
      configs
    case ("partitionFor", call) =>
      Utils.abs(call.getArgument[String](0).hashCode) % config.groupCoordinatorConfig.offsetsTopicPartitions
  }

  def socketServer: SocketServer = standIn(classOf[SocketServer]) {
    case ("boundPort", call) => boundPort(call.getArgument(0))
    case ("connectionCount", _) => // of all clients: in these tests all are local
      val own = ports("0A").toSet
      ports("01").count(own)
    case ("connectionQuotas", _) => standIn(classOf[ConnectionQuotas]) {
      case ("connectionRateForIp", call) => sharedQuotas.connectionRate(call.getArgument(0))
    }
    case ("config", _) => config
    case ("metrics", _) => metrics
  }

  def dataPlaneRequestProcessor: KafkaApis = standIn(classOf[KafkaApis]) {
    case ("metadataCache", _) => metadataCache
    case ("replicaManager", _) => replicaManager
    case ("brokerId", _) => id
    case ("clusterId", _) => clusterId
    case ("config", _) => config
    case ("quotas", _) => quotaManagers
    case ("authorizer", _) => authorizer
  }

  private var runningQuotas: Option[SharedQuotas] = None
  private def sharedQuotas: SharedQuotas = synchronized {
    if (runningQuotas.isEmpty) runningQuotas = Some(new SharedQuotas(startConfig, () => _zkClient))
    runningQuotas.get
  }
  def quotaManagers: QuotaFactory.QuotaManagers = sharedQuotas.managers
  def credentialProvider: CredentialProvider = sharedQuotas.credentials

  /** With the tokens that ZooKeeper has; a change is taken for done a moment after it is there. */
  def tokenCache: DelegationTokenCache = synchronized {
    val cache = new DelegationTokenCache(ScramMechanism.mechanismNames)
    for (id <- _zkClient.getChildren(DelegationTokensZNode.path); token <- _zkClient.getDelegationTokenInfo(id)) cache.addToken(id, token)
    val ids = cache.tokens.asScala.map(_.tokenId).toSet
    if (ids != lastTokens) Thread.sleep(KafkaServer.NotificationMs)
    lastTokens = ids
    cache
  }

  lazy val metrics: BrokerMetrics = {
    val socket = new ServerSocket(0)
    val port = try socket.getLocalPort finally socket.close()
    new BrokerMetrics(startConfig, port, () => quotaManagers, () => if (alive) config.listeners.map(_.listenerName.value) else Nil)
  }

  /** Anything that `answers` does not name throws; parameters that a caller leaves out are false, 0 or None. */
  private def standIn[T](cls: Class[T])(answers: PartialFunction[(String, InvocationOnMock), Any]): T = {
    val answer: Answer[Any] = call => {
      val name = call.getMethod.getName
      if (answers.isDefinedAt((name, call))) answers((name, call)) match {
        case _: BoxedUnit if call.getMethod.getReturnType == Integer.TYPE => 0
        case _: BoxedUnit => null
        case other => other
      } else if (name.contains("$default$")) call.getMethod.getReturnType match {
        case t if t == classOf[Option[_]] => None
        case java.lang.Boolean.TYPE => false
        case java.lang.Integer.TYPE => 0
        case java.lang.Long.TYPE => -1L
        case _ => call.callRealMethod()
      } else if (name == "toString") cls.getSimpleName
      else throw new UnsupportedOperationException(s"${cls.getSimpleName}.$name")
    }
    Mockito.mock(cls, answer)
  }

  // ---- what it has none of

  var kafkaYammerMetrics: KafkaYammerMetrics = KafkaYammerMetrics.INSTANCE
  var authorizer: Option[Authorizer] = None
  var remoteLogManagerOpt: Option[RemoteLogManager] = None
  var clientToControllerChannelManager: NodeToControllerChannelManager = _
  var dataPlaneRequestHandlerPool: KafkaRequestHandlerPool = _
  var kafkaScheduler: KafkaScheduler = _
  var dynamicConfigHandlers: Map[String, ConfigHandler] = _
  var adminManager: ZkAdminManager = _
  var logDirFailureChannel: LogDirFailureChannel = _
  val brokerFeatures: BrokerFeatures = BrokerFeatures.createEmpty()
  def brokerTopicStats: BrokerTopicStats = throw new UnsupportedOperationException("KafkaServer.brokerTopicStats")
  def createBrokerInfo: kafka.zk.BrokerInfo = throw new UnsupportedOperationException("KafkaServer.createBrokerInfo")
}
