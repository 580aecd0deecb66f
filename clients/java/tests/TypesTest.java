package tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import playhead.client.Json;

/** How events become what a function takes, through the conformance program's `plus_one` and `charge`. */
class TypesTest {
    private static Map<?, ?> answer(String fn, String event) throws Exception {
        try (Daemon daemon = Daemon.with(Class.forName("conformance.Conformance"))) {
            daemon.handle(2, fn, event,
                    "{\"now\":[1],\"random\":[0.5],\"respond\":{\"account.balance\":[{\"value\":700}]}}");
            Map<?, ?> frame = daemon.frame();
            while (!(frame.get("result") instanceof Map)) frame = daemon.frame();
            return (Map<?, ?>) frame.get("result");
        }
    }

    @Test
    void integersBeyond64BitsAreExact() throws Exception {
        assertEquals("{\"output\":18446744073709551617}", Json.text(answer("plus_one", "18446744073709551616")));
    }

    @Test
    void aNumberThatIsWholeIsAnInteger() throws Exception {
        assertTrue(answer("charge", "{\"amount\":300.0}").containsKey("output"));
    }

    @Test
    void whatDoesNotFitIsRefusedAndNeverRounded() throws Exception {
        for (String event : new String[] {"{\"amount\":0.5}", "{\"amount\":9223372036854775808}",
                "{\"amount\":\"1\"}", "{}", "[]"}) {
            Map<?, ?> raised = (Map<?, ?>) answer("charge", event).get("raised");
            assertEquals("IllegalArgumentException", raised.get("type"), event);
            assertTrue(((String) raised.get("message")).contains("was expected"), event);
        }
    }
}
