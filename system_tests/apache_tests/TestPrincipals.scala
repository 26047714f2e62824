package kafka.server

import java.net.InetSocketAddress

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/** Some tests change who their clients are by a variable of the JVM: the principal builders of brokers ask for it here. */
object TestPrincipals {
  private lazy val server = {
    val made = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 50)
    made.createContext("/", (exchange: HttpExchange) => {
      val companion = Class.forName(exchange.getRequestURI.getPath.stripPrefix("/") + "$")
      val principal = companion.getMethod("principal").invoke(companion.getField("MODULE$").get(null)).toString.getBytes("UTF-8")
      exchange.sendResponseHeaders(200, principal.length)
      exchange.getResponseBody.write(principal)
      exchange.close()
    })
    made.start()
    made
  }

  def address: String = s"127.0.0.1:${server.getAddress.getPort}"
}
