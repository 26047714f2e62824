package kafkapy;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Leaves out the runs of a test that have Apache's brokers in KRaft mode. */
public class OnlyZooKeeper implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        String run = context.getDisplayName().toLowerCase();
        boolean isRun = context.getTestMethod().isPresent() && context.getUniqueId().contains("invocation");
        boolean kraft = run.contains("kraft") || run.contains("raft-") || run.contains("zkmigration");
        return isRun && kraft ? ConditionEvaluationResult.disabled("KRaft") : ConditionEvaluationResult.enabled("");
    }
}
