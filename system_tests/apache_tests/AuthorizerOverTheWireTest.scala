package kafka.security.authorizer

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.util
import java.util.concurrent.{CompletableFuture, CompletionStage}
import java.util.concurrent.atomic.AtomicInteger

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import kafka.utils.TestInfoUtils
import org.apache.kafka.common.acl._
import org.apache.kafka.common.protocol.Errors
import org.apache.kafka.common.resource.{PatternType, ResourcePattern, ResourceType}
import org.apache.kafka.metadata.authorizer.StandardAuthorizer
import org.apache.kafka.server.authorizer._

import scala.jdk.CollectionConverters._

/** Apache's tests of `AclAuthorizer` with the one of kafkapy's brokers, in a process of its own. */
class AuthorizerOverTheWireTest extends AuthorizerTest {
  override def createAuthorizer(): Authorizer =
    if (TestInfoUtils.isKRaft(testInfo)) new StandardAuthorizer else new AuthorizerOverTheWire
}

object AuthorizerOverTheWire {
  private val made = new AtomicInteger
  private val json = new ObjectMapper
  private val client = HttpClient.newBuilder.version(HttpClient.Version.HTTP_1_1).build
  private lazy val address: URI = {
    val home = System.getProperty("broker.home")
    val command = new ProcessBuilder(home + "/.venv/bin/python", "-m", "system_tests.apache_tests.authorizer_process")
    command.environment.put("PYTHONPATH", home)
    val log = new java.io.File(System.getProperty("broker.logs"), "authorizers.log")
    val process = command.redirectError(log).start()
    Runtime.getRuntime.addShutdownHook(new Thread(() => process.destroyForcibly()))
    URI.create(s"http://127.0.0.1:${process.inputReader.readLine()}/")
  }

  private def ask(authorizer: Int, what: String, about: (String, Any)*): JsonNode = {
    val body = json.writeValueAsBytes((about :+ "do" -> what :+ "authorizer" -> authorizer).toMap.asJava)
    val request = HttpRequest.newBuilder(address).POST(HttpRequest.BodyPublishers.ofByteArray(body)).build
    json.readTree(client.send(request, HttpResponse.BodyHandlers.ofString).body)
  }

  private def pattern(resourceType: ResourceType, name: String, patternType: PatternType) =
    util.Arrays.asList(resourceType.name, name, patternType.name)

  private def written(binding: AclBinding): util.Map[String, _] = Map(
    "pattern" -> pattern(binding.pattern.resourceType, binding.pattern.name, binding.pattern.patternType),
    "entry" -> util.Arrays.asList(binding.entry.principal, binding.entry.host, binding.entry.operation.name, binding.entry.permissionType.name)).asJava

  private def written(filter: AclBindingFilter): util.Map[String, _] = {
    val (wanted, entry) = (filter.patternFilter, filter.entryFilter)
    Map("pattern" -> pattern(wanted.resourceType, wanted.name, wanted.patternType),
      "entry" -> util.Arrays.asList(entry.principal, entry.host, entry.operation.name, entry.permissionType.name)).asJava
  }

  private def read(binding: JsonNode): AclBinding = {
    val (pattern, entry) = (binding.get("pattern"), binding.get("entry"))
    new AclBinding(
      new ResourcePattern(ResourceType.valueOf(pattern.get(0).asText), pattern.get(1).asText, PatternType.valueOf(pattern.get(2).asText)),
      new AccessControlEntry(entry.get(0).asText, entry.get(1).asText, AclOperation.valueOf(entry.get(2).asText),
        AclPermissionType.valueOf(entry.get(3).asText)))
  }

  private def failure(code: Int, message: String) = Errors.forCode(code.toShort).exception(message)
}

/** Forwards what is asked to the other process. */
class AuthorizerOverTheWire extends AclAuthorizer {
  import AuthorizerOverTheWire._
  private val number = made.incrementAndGet()

  override def configure(configs: util.Map[String, _]): Unit =
    ask(number, "configure", "configs" -> configs.asScala.map { case (name, value) => name -> value.toString }.asJava)

  override def close(): Unit = ask(number, "close")

  private def sender(context: AuthorizableRequestContext) = Seq(
    "principal" -> util.Arrays.asList(context.principal.getPrincipalType, context.principal.getName), "host" -> context.clientAddress.getHostAddress)

  override def authorize(context: AuthorizableRequestContext, actions: util.List[Action]): util.List[AuthorizationResult] = {
    val asked = actions.asScala.map { action =>
      if (action.resourcePattern.patternType != PatternType.LITERAL) throw new UnsupportedOperationException("Requests name resources, not patterns")
      util.Arrays.asList(action.operation.name, action.resourcePattern.resourceType.name, action.resourcePattern.name)
    }.asJava
    ask(number, "authorize", sender(context) :+ "actions" -> asked: _*).asScala.map(result).toList.asJava
  }

  override def authorizeByResourceType(context: AuthorizableRequestContext, operation: AclOperation, resourceType: ResourceType): AuthorizationResult =
    result(ask(number, "authorize_by_resource_type", sender(context) ++ Seq("operation" -> operation.name, "type" -> resourceType.name): _*))

  private def result(allowed: JsonNode) = if (allowed.asBoolean) AuthorizationResult.ALLOWED else AuthorizationResult.DENIED

  override def createAcls(context: AuthorizableRequestContext, bindings: util.List[AclBinding]): util.List[_ <: CompletionStage[AclCreateResult]] =
    ask(number, "create", sender(context) :+ "bindings" -> bindings.asScala.map(written).asJava: _*).asScala.map { created =>
      val code = created.get("code").asInt
      CompletableFuture.completedFuture(
        if (code == 0) AclCreateResult.SUCCESS else new AclCreateResult(failure(code, created.get("message").asText)))
    }.toList.asJava

  override def deleteAcls(context: AuthorizableRequestContext, filters: util.List[AclBindingFilter]): util.List[_ <: CompletionStage[AclDeleteResult]] =
    ask(number, "delete", sender(context) :+ "filters" -> filters.asScala.map(written).asJava: _*).asScala.map { deletions =>
      CompletableFuture.completedFuture(new AclDeleteResult(deletions.asScala.map { deleted =>
        val code = deleted.get("code").asInt
        val binding = read(deleted.get("binding"))
        if (code == 0) new AclDeleteResult.AclBindingDeleteResult(binding)
        else new AclDeleteResult.AclBindingDeleteResult(binding, failure(code, ""))
      }.toList.asJava))
    }.toList.asJava

  override def acls(filter: AclBindingFilter): java.lang.Iterable[AclBinding] =
    ask(number, "acls", "filter" -> written(filter)).asScala.map(read).toList.asJava
}
