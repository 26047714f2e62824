package kafka.server

import java.util
import java.util.concurrent.CompletionStage

import kafka.security.authorizer.AclAuthorizer
import org.apache.kafka.common.Endpoint
import org.apache.kafka.common.acl.{AclBinding, AclBindingFilter}
import org.apache.kafka.server.authorizer._

/**
 * The authorizer that tests look for in a broker: Apache's own on the same ZooKeeper, from which the broker hears of each
 * change by a notification. A change is taken for done a moment after it is there. Which ACLs there are the broker itself
 * says, where the test's brokers may ask for that.
 */
class SharedAclAuthorizer(config: KafkaConfig, view: BrokerView) extends Authorizer {
  private val NotificationMs = 300
  private val shared = new AclAuthorizer
  shared.configure(config.originals)

  private def noticed[T](result: T): T = {
    Thread.sleep(NotificationMs)
    result
  }

  override def start(serverInfo: AuthorizerServerInfo): util.Map[Endpoint, _ <: CompletionStage[Void]] = shared.start(serverInfo)
  override def authorize(context: AuthorizableRequestContext, actions: util.List[Action]): util.List[AuthorizationResult] = shared.authorize(context, actions)
  override def createAcls(context: AuthorizableRequestContext, bindings: util.List[AclBinding]): util.List[_ <: CompletionStage[AclCreateResult]] =
    noticed(shared.createAcls(context, bindings))
  override def deleteAcls(context: AuthorizableRequestContext, filters: util.List[AclBindingFilter]): util.List[_ <: CompletionStage[AclDeleteResult]] =
    noticed(shared.deleteAcls(context, filters))
  override def acls(filter: AclBindingFilter): java.lang.Iterable[AclBinding] = view.acls(filter).getOrElse(shared.acls(filter))
  override def configure(configs: util.Map[String, _]): Unit = ()
  override def close(): Unit = shared.close()
}
