package kafka.server

import java.io.{DataInputStream, DataOutputStream, File, IOException}
import java.net.Socket
import java.nio.ByteBuffer
import java.util

import kafka.server.checkpoints.OffsetCheckpointFile
import kafka.server.metadata.ZkMetadataCache
import kafka.zk.{AdminZkClient, KafkaZkClient}
import org.apache.kafka.common.{TopicPartition, Uuid}
import org.apache.kafka.common.acl.{AclBinding, AclBindingFilter}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.message.{DeleteRecordsRequestData, DescribeConfigsRequestData, DescribeLogDirsRequestData, DescribeProducersRequestData, ListOffsetsRequestData, ProduceRequestData}
import org.apache.kafka.common.message.ListOffsetsRequestData.{ListOffsetsPartition, ListOffsetsTopic}
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse
import org.apache.kafka.common.message.UpdateMetadataRequestData.{UpdateMetadataBroker, UpdateMetadataEndpoint, UpdateMetadataPartitionState}
import org.apache.kafka.common.protocol.{Errors, MessageUtil}
import org.apache.kafka.common.record.{FileRecords, MemoryRecords}
import org.apache.kafka.common.requests._
import org.apache.kafka.common.security.auth.SecurityProtocol
import org.apache.kafka.common.metrics.Metrics
import org.apache.kafka.common.utils.{LogContext, Time, Utils}
import org.apache.kafka.server.common.MetadataVersion
import org.apache.kafka.storage.internals.log.{LogConfig, LogSegment, ProducerStateEntry}

import scala.jdk.CollectionConverters._

/** What a running broker says of itself: over the wire, in ZooKeeper and in its directories. */
class BrokerView(kafkaConfig: KafkaConfig, zk: KafkaZkClient, listeners: Map[String, (String, Int)]) {
  private val Consumer = -1
  private val Debugger = -2 // may ask followers, too, and hears of what is above the high watermark

  private def ownAddress: (String, Int) =
    listeners.getOrElse(kafkaConfig.interBrokerListenerName.value, listeners.getOrElse("PLAINTEXT", listeners.head._2))

  def send[T <: AbstractResponse](request: AbstractRequest): T = sendTo(ownAddress, request)

  private def sendTo[T <: AbstractResponse](address: (String, Int), request: AbstractRequest): T =
    if (kafkaConfig.interBrokerSecurityProtocol == SecurityProtocol.PLAINTEXT) sendInPlaintext(address, request) else sendAsBroker(address, request)

  private lazy val patient: KafkaConfig = {
    val configs = new util.HashMap[String, Object](kafkaConfig.originals)
    configs.put("replica.socket.timeout.ms", "15000")
    new KafkaConfig(configs, false)
  }

  /** As another broker of the cluster would ask: by TLS or SASL. */
  private def sendAsBroker[T <: AbstractResponse](address: (String, Int), request: AbstractRequest): T = {
    val (host, port) = address
    val sender = new BrokerBlockingSender(new kafka.cluster.BrokerEndPoint(kafkaConfig.brokerId, host, port), patient, new Metrics(),
      Time.SYSTEM, 0, "view", new LogContext("[view] "))
    val builder = new AbstractRequest.Builder[AbstractRequest](request.apiKey, request.version, request.version) {
      override def build(version: Short): AbstractRequest = request
    }
    try sender.sendRequest(builder).responseBody.asInstanceOf[T] finally sender.close()
  }

  private def sendInPlaintext[T <: AbstractResponse](address: (String, Int), request: AbstractRequest): T = {
    val (host, port) = address
    val socket = new Socket(host, port)
    try {
      socket.setSoTimeout(15000)
      val header = new RequestHeader(request.apiKey, request.version, "view", 0)
      val bytes = Utils.toArray(request.serializeWithHeader(header))
      val out = new DataOutputStream(socket.getOutputStream)
      out.writeInt(bytes.length)
      out.write(bytes)
      out.flush()
      val in = new DataInputStream(socket.getInputStream)
      val answer = new Array[Byte](in.readInt())
      in.readFully(answer)
      val buffer = ByteBuffer.wrap(answer)
      ResponseHeader.parse(buffer, request.apiKey.responseHeaderVersion(request.version))
      AbstractResponse.parseResponse(request.apiKey, buffer, request.version).asInstanceOf[T]
    } finally socket.close()
  }

  /** Answered as soon as the broker serves; what is about the cluster waits until the controller may tell it of that. */
  def apiVersions(): ApiVersionsResponse = send[ApiVersionsResponse](new ApiVersionsRequest.Builder().build(3.toShort))

  /** None: the broker may not be asked, or does not answer. */
  def acls(filter: AclBindingFilter): Option[util.List[AclBinding]] = try {
    val answer = send[DescribeAclsResponse](new DescribeAclsRequest.Builder(filter).build(3.toShort))
    if (answer.error.isSuccess) Some(DescribeAclsResponse.aclBindings(answer.acls)) else None
  } catch { case _: IOException => None }

  def metadata(): MetadataResponse =
    send[MetadataResponse](new MetadataRequest.Builder(null: util.List[String], false, 12.toShort, 12.toShort).build(12.toShort))

  /** The cache that an Apache broker would have, had it heard what this one answers. */
  def metadataCache(brokerId: Int): ZkMetadataCache = {
    val answer = metadata().data
    val brokers = answer.brokers.asScala.map { broker =>
      val endPoints = if (broker.nodeId == brokerId) listeners else Map(kafkaConfig.interBrokerListenerName.value -> (broker.host -> broker.port))
      new UpdateMetadataBroker().setId(broker.nodeId).setRack(broker.rack).setEndpoints(endPoints.map { case (name, (host, port)) =>
        new UpdateMetadataEndpoint().setHost(host).setPort(port).setListener(name).setSecurityProtocol(kafkaConfig.interBrokerSecurityProtocol.id)
      }.toList.asJava)
    }.toList.asJava
    val states = for (topic <- answer.topics.asScala; p <- topic.partitions.asScala) yield
      new UpdateMetadataPartitionState().setTopicName(topic.name).setPartitionIndex(p.partitionIndex).setLeader(p.leaderId)
        .setLeaderEpoch(p.leaderEpoch).setIsr(p.isrNodes).setReplicas(p.replicaNodes).setOfflineReplicas(p.offlineReplicas)
        .setZkVersion(0).setControllerEpoch(1)
    val ids = answer.topics.asScala.map(topic => topic.name -> topic.topicId).toMap.asJava
    val cache = new ZkMetadataCache(brokerId, MetadataVersion.latestTesting, BrokerFeatures.createEmpty())
    val update = new UpdateMetadataRequest.Builder(8, answer.controllerId, 1, 0L, states.toList.asJava, brokers, ids).build()
    cache.updateMetadata(0, update)
    cache
  }

  private def listOffsets(tp: TopicPartition, time: Long, replica: Int, version: Short, max: Int = 1): ListOffsetsPartitionResponse = {
    val partition = new ListOffsetsPartition().setPartitionIndex(tp.partition).setTimestamp(time).setMaxNumOffsets(max)
    val data = new ListOffsetsRequestData().setReplicaId(replica)
      .setTopics(util.List.of(new ListOffsetsTopic().setName(tp.topic).setPartitions(util.List.of(partition))))
    val request = ListOffsetsRequest.parse(MessageUtil.toByteBuffer(data, version), version)
    send[ListOffsetsResponse](request).data.topics.get(0).partitions.get(0)
  }

  private def offset(tp: TopicPartition, time: Long, replica: Int): Option[Long] = {
    val answer = listOffsets(tp, time, replica, 7)
    if (answer.errorCode == Errors.NONE.code) Some(answer.offset) else None
  }

  def isLeader(tp: TopicPartition): Boolean = offset(tp, ListOffsetsRequest.LATEST_TIMESTAMP, Consumer).isDefined

  def logEndOffset(tp: TopicPartition): Long =
    offset(tp, ListOffsetsRequest.LATEST_TIMESTAMP, Debugger).getOrElse(endOfFiles(tp))

  def logStartOffset(tp: TopicPartition): Long =
    offset(tp, ListOffsetsRequest.EARLIEST_TIMESTAMP, Debugger).getOrElse(baseOffset(logFiles(tp).head))

  def highWatermark(tp: TopicPartition): Long = offset(tp, ListOffsetsRequest.LATEST_TIMESTAMP, Consumer).getOrElse(
    new OffsetCheckpointFile(new File(directory(tp).get.getParentFile, "replication-offset-checkpoint"), null).read().getOrElse(tp, 0L))

  def offsetsBefore(tp: TopicPartition, time: Long, max: Int): Seq[Long] =
    listOffsets(tp, time, Debugger, 0, max).oldStyleOffsets.asScala.map(_.longValue).toList

  def offsetByTimestamp(tp: TopicPartition, time: Long): Option[FileRecords.TimestampAndOffset] = {
    val answer = listOffsets(tp, time, Debugger, 7)
    if (answer.offset < 0) None else Some(new FileRecords.TimestampAndOffset(answer.timestamp, answer.offset, util.Optional.empty()))
  }

  def append(tp: TopicPartition, records: MemoryRecords): Unit = {
    val partition = new ProduceRequestData.PartitionProduceData().setIndex(tp.partition).setRecords(records)
    val topic = new ProduceRequestData.TopicProduceData().setName(tp.topic).setPartitionData(util.List.of(partition))
    val data = new ProduceRequestData().setAcks(1).setTimeoutMs(5000)
      .setTopicData(new ProduceRequestData.TopicProduceDataCollection(util.List.of(topic).iterator))
    val answer = send[ProduceResponse](new ProduceRequest.Builder(9, 9, data).build(9.toShort)).data
    Errors.forCode(answer.responses.iterator.next.partitionResponses.get(0).errorCode).maybeThrow()
  }

  def deleteRecords(tp: TopicPartition, offset: Long): Unit = {
    val partition = new DeleteRecordsRequestData.DeleteRecordsPartition().setPartitionIndex(tp.partition).setOffset(offset)
    val topic = new DeleteRecordsRequestData.DeleteRecordsTopic().setName(tp.topic).setPartitions(util.List.of(partition))
    val data = new DeleteRecordsRequestData().setTimeoutMs(5000).setTopics(util.List.of(topic))
    val answer = send[DeleteRecordsResponse](new DeleteRecordsRequest.Builder(data).build(2.toShort)).data
    Errors.forCode(answer.topics.iterator.next.partitions.iterator.next.errorCode).maybeThrow()
  }

  private def leader(tp: TopicPartition): (String, Int) = {
    val answer = metadata().data
    val id = answer.topics.asScala.find(_.name == tp.topic).get.partitions.asScala.find(_.partitionIndex == tp.partition).get.leaderId
    answer.brokers.asScala.find(_.nodeId == id).map(broker => (broker.host, broker.port)).get
  }

  /** What the leader knows of the producers that have written there: no follower tells. */
  def activeProducers(tp: TopicPartition): util.Map[java.lang.Long, ProducerStateEntry] = {
    val topic = new DescribeProducersRequestData.TopicRequest().setName(tp.topic).setPartitionIndexes(util.List.of(tp.partition))
    val data = new DescribeProducersRequestData().setTopics(util.List.of(topic))
    val request = new DescribeProducersRequest.Builder(data).build(0.toShort)
    val answer = sendTo[DescribeProducersResponse](leader(tp), request).data.topics.get(0).partitions.get(0)
    Errors.forCode(answer.errorCode).maybeThrow()
    answer.activeProducers.asScala.map { producer =>
      val start = if (producer.currentTxnStartOffset < 0) util.OptionalLong.empty else util.OptionalLong.of(producer.currentTxnStartOffset)
      Long.box(producer.producerId) -> new ProducerStateEntry(producer.producerId, producer.producerEpoch.toShort,
        producer.coordinatorEpoch, producer.lastTimestamp, start, util.Optional.empty())
    }.toMap.asJava
  }

  /** The value that is in effect, dynamic ones included. */
  def config(brokerId: Int, name: String): String = {
    val resource = new DescribeConfigsRequestData.DescribeConfigsResource().setResourceType(ConfigResource.Type.BROKER.id)
      .setResourceName(brokerId.toString).setConfigurationKeys(util.List.of(name))
    val request = new DescribeConfigsRequest.Builder(new DescribeConfigsRequestData().setResources(util.List.of(resource))).build(4.toShort)
    send[DescribeConfigsResponse](request).data.results.get(0).configs.get(0).value
  }

  def isOnline(dir: String): Boolean = {
    val request = new DescribeLogDirsRequest.Builder(new DescribeLogDirsRequestData().setTopics(null)).build(4.toShort)
    val wanted = new File(dir).getAbsolutePath
    send[DescribeLogDirsResponse](request).data.results.asScala.exists(d => d.logDir == wanted && d.errorCode == Errors.NONE.code)
  }

  def directory(tp: TopicPartition): Option[File] =
    kafkaConfig.logDirs.map(dir => new File(new File(dir).getAbsoluteFile, tp.toString)).find(_.isDirectory)

  def logConfig(tp: TopicPartition): LogConfig =
    LogConfig.fromProps(kafkaConfig.extractLogConfigMap, new AdminZkClient(zk).fetchEntityConfig("topics", tp.topic))

  def topicId(tp: TopicPartition): Option[Uuid] = zk.getTopicIdsForTopics(Set(tp.topic)).get(tp.topic)

  private def logFiles(tp: TopicPartition): List[File] =
    directory(tp).get.listFiles().filter(_.getName.endsWith(".log")).sortBy(_.getName).toList

  private def baseOffset(logFile: File): Long = logFile.getName.stripSuffix(".log").toLong

  def size(tp: TopicPartition): Long = logFiles(tp).map(_.length).sum

  def segments(tp: TopicPartition): List[LogSegment] =
    logFiles(tp).map(file => LogSegment.open(file.getParentFile, baseOffset(file), logConfig(tp), Time.SYSTEM, true, 0, false, ""))

  private def endOfFiles(tp: TopicPartition): Long = {
    val last = logFiles(tp).last
    val records = FileRecords.open(last, false)
    try records.batches.asScala.lastOption.map(_.nextOffset).getOrElse(baseOffset(last)) finally records.close()
  }
}
