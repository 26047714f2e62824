import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** One node of OpenSearch. Arguments: the port of its HTTP interface, the folder of its data. */
class OpenSearchNode extends Node {
    OpenSearchNode(Environment environment) {
        super(environment, List.of(Netty4Plugin.class), false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", arguments[1])
            .put("network.host", "127.0.0.1")
            .put("http.port", arguments[0])
            .put("transport.port", "0")
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("discovery.type", "single-node")
            .put("node.name", "node")
            .put("cluster.routing.allocation.disk.threshold_enabled", "false")
            .build();
        Path config = Path.of(arguments[1], "config");
        new OpenSearchNode(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "node")).start();
        Thread.currentThread().join();
    }
}
