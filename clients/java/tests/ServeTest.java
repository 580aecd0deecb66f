package tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import playhead.client.Json;

/** Real processes over real pipes. The conversations of the protocol are played by `playhead conformance`. */
@Timeout(60)
class ServeTest {
    private static Map<?, ?> params(Map<?, ?> frame) {
        return (Map<?, ?>) frame.get("params");
    }

    private static String output(Map<?, ?> frame) {
        return Json.text(frame.get("result"));
    }

    @Test
    void whatIsTakenFromAWindowIsReportedByteForByte() throws Exception {
        try (Daemon daemon = Daemon.with(Class.forName("conformance.Conformance"))) {
            daemon.handle(2, "order", "{\"sku\":\"A1\"}",
                    "{\"now\":[5],\"random\":[0.25],\"respond\":{\"quote\":[{\"value\":{\"price\":990}}]}}");
            assertEquals("{\"jsonrpc\":\"2.0\",\"method\":\"asked\",\"params\":{\"call\":2,\"asks\":[{\"m\":\"now\"},{\"m\":\"random\"},"
                    + "{\"m\":\"respond\",\"p\":{\"key\":\"quote\",\"args\":[\"A1\"]}}]}}", daemon.line());
            assertEquals("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":[5,0.25,990]}}", daemon.line());
            assertEquals(0, daemon.end());
        }
    }

    @Test
    void asksOfSeveralThreadsAreNumberedAndSentAsOneStep() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "several_threads", "null", null);
            Set<Object> open = new HashSet<>();
            for (long ask = 0; ask < 40; ask++) {
                Map<?, ?> frame = daemon.frame();
                assertEquals(ask, params(frame).get("ask"));
                open.add(frame.get("id"));
                // Two are answered at a time, the later one first.
                if (open.size() == 2) {
                    for (Object id : open.stream().sorted((a, b) -> Long.compare((Long) b, (Long) a)).toList()) {
                        daemon.answer(id, "1");
                    }
                    open.clear();
                }
            }
            assertEquals("{\"output\":40}", output(daemon.frame()));
        }
    }

    @Test
    void producersThatWereStartedRunSideBySide() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "both_at_once", "null", null);
            for (int i = 0; i < 2; i++) daemon.answer(daemon.frame().get("id"), "{\"produce\":true}");
            assertEquals("a", params(daemon.frame()).get("value"));
            assertEquals("b", params(daemon.frame()).get("value"));
            assertEquals("{\"output\":[\"a\",\"b\"]}", output(daemon.frame()));
        }
    }

    @Test
    void aChildThatInheritsStdoutDoesNotReachTheProtocol() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "child", "null", null);
            assertEquals("{\"output\":0}", output(daemon.frame()));
        }
    }

    @Test
    void whatIsPrintedGoesToStderr() throws Exception {
        try (Daemon daemon = Daemon.with(Class.forName("conformance.Conformance"))) {
            daemon.handle(2, "prints", "null", "{\"now\":[5]}");
            assertEquals("asked", daemon.frame().get("method"));
            assertEquals("{\"output\":5}", output(daemon.frame()));
            assertEquals(0, daemon.end());
            assertTrue(daemon.printed().startsWith("one\n"), daemon.printed());
            assertFalse(daemon.printed().contains("Exception"), daemon.printed());
        }
    }

    @Test
    void aCheckedExceptionIsRevivedAsItself() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "timeout", "null", null);
            daemon.answer(daemon.frame().get("id"), "{\"produce\":true}");
            assertEquals("{\"type\":\"TimeoutException\",\"message\":\"too late\"}",
                    Json.text(params(daemon.frame()).get("error")));
            assertEquals("{\"output\":\"caught too late\"}", output(daemon.frame()));
            daemon.handle(3, "timeout", "null", null);
            Object id = daemon.frame().get("id");
            daemon.answer(id, "{\"error\":{\"type\":\"TimeoutException\",\"message\":\"then\"}}");
            assertEquals("{\"output\":\"caught then\"}", output(daemon.frame()));
        }
    }

    @Test
    void onRecordTheOriginalIsTheCause() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "cause", "null", "{\"produce\":true}");
            assertEquals("asked", daemon.frame().get("method"));
            assertEquals("asked", daemon.frame().get("method"));
            assertEquals("{\"output\":true}", output(daemon.frame()));
        }
    }

    @Test
    void anErrorThatAnswersASettlementFailsTheNextQuestion() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "ask_then_now", "null", null);
            daemon.answer(daemon.frame().get("id"), "{\"produce\":true}");
            Object settle = daemon.frame().get("id");
            Map<?, ?> now = daemon.frame();
            daemon.say("{\"jsonrpc\":\"2.0\",\"id\":" + settle + ",\"error\":{\"code\":-32012,\"message\":\"no\"}}");
            daemon.answer(now.get("id"), "1");
            assertEquals("{\"raised\":{\"type\":\"Forbidden\",\"message\":\"no\"}}", output(daemon.frame()));
        }
    }

    @Test
    void anOutputThatIsLargerThanAFrameIsRaised() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class, 1 << 15)) {
            daemon.handle(2, "too_large", "null", null);
            assertEquals("LimitExceeded", ((Map<?, ?>) ((Map<?, ?>) daemon.frame().get("result")).get("raised"))
                    .get("type"));
        }
    }

    @Test
    void anArgumentThatJsonCannotCarryIsRefusedBeforeItIsAsked() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "argument", "null", null);
            String answer = output(daemon.frame());
            assertTrue(answer.contains("\"NotJSON\"") && answer.contains("/1/a"), answer);
        }
    }

    @Test
    void anAnswerThatDoesNotFitItsTypeIsRefused() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "fraction", "null", "{\"respond\":{\"k\":[{\"value\":1.5}]}}");
            assertEquals("asked", daemon.frame().get("method"));
            assertTrue(output(daemon.frame()).contains("a Long was expected, and there is 1.5"));
        }
    }

    @Test
    void aReadingWithAFractionIsRefusedAndNotRounded() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "now_twice", "null", "{\"now\":[1783036800000.5]}");
            assertEquals("asked", daemon.frame().get("method"));
            String answer = output(daemon.frame());
            assertTrue(answer.contains("\"ProtocolError\"") && answer.contains("there is 1783036800000.5\""), answer);
        }
    }

    @Test
    void cancelInterruptsTheProducer() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "busy", "null", null);
            daemon.answer(daemon.frame().get("id"), "{\"produce\":true}");
            daemon.say("{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"call\":2}}");
            assertTrue(output(daemon.frame()).contains("\"Cancelled\""));
            daemon.handle(3, "now_twice", "null", "{\"now\":[1,2]}");
            assertEquals("asked", daemon.frame().get("method"));
            assertEquals("{\"output\":[1,2]}", output(daemon.frame()));
        }
    }

    @Test
    void whileAReadingIsWaitedForNothingIsTakenFromItsLane() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.handle(2, "now_twice", "null", "{\"now\":[1]}");
            assertEquals("asked", daemon.frame().get("method"));
            Map<?, ?> second = daemon.frame();
            assertEquals(1L, params(second).get("ask"));
            // It waits with a reading that is withdrawn before its turn comes.
            daemon.handle(3, "now_twice", "null", "{\"now\":[8,9]}");
            daemon.say("{\"jsonrpc\":\"2.0\",\"method\":\"withdraw\",\"params\":{}}");
            daemon.answer(second.get("id"), "2");
            assertEquals("{\"output\":[1,2]}", output(daemon.frame()));
            assertEquals("now", daemon.frame().get("method"));
        }
    }

    @Test
    void aFrameThatCannotBeReadIsToldOnBothSidesAndEndsTheProcess() throws Exception {
        Map<String, Long> frames = Map.of("{\"jsonrpc\":\"2.0\",", -32700L, "[1]", -32600L,
                "{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"shutdown\",\"params\":{}}", -32600L);
        for (Map.Entry<String, Long> wanted : frames.entrySet()) {
            try (Daemon daemon = Daemon.with(Program.class)) {
                daemon.handle(2, "now_twice", "null", null);
                daemon.frame();
                daemon.say(wanted.getKey());
                Map<?, ?> frame = daemon.frame();
                assertTrue(frame.containsKey("id") && frame.get("id") == null);
                assertEquals(wanted.getValue(), ((Map<?, ?>) frame.get("error")).get("code"));
                assertNull(daemon.line());
                assertTrue(daemon.printed().contains("a frame cannot be read"));
                assertEquals(1, daemon.end());
            }
        }
    }

    @Test
    void answersThatNobodyWaitsForAreDropped() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            for (String id : List.of("77", "\"1\"", "null", "-1", "1000000000000000000000000000000")) {
                daemon.say("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":1}");
            }
            daemon.handle(2, "now_twice", "null", "{\"now\":[1,2]}");
            daemon.frame();
            assertEquals("{\"output\":[1,2]}", output(daemon.frame()));
            assertEquals(0, daemon.end());
        }
    }

    @Test
    void whyAResetFailedIsToldOnStderrAlone() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"reset\",\"params\":{\"constants\":{}}}");
            Map<?, ?> error = (Map<?, ?>) daemon.frame().get("error");
            assertEquals(-32603L, error.get("code"));
            assertEquals("the handlers could not be made new", error.get("message"));
            assertTrue(daemon.printed().contains("IllegalStateException: still busy"));
            assertEquals(0, daemon.end());
        }
    }

    @Test
    void aCarriageReturnBeforeTheLineEndIsIgnored() throws Exception {
        try (Daemon daemon = Daemon.with(Program.class)) {
            daemon.say("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"shutdown\",\"params\":{}}\r");
            assertEquals("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}", daemon.line());
            assertEquals(0, daemon.end());
        }
    }
}
