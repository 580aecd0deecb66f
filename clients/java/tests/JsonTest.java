package tests;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import playhead.client.Json;
import playhead.client.NotJSON;

class JsonTest {
    private static final Path VECTORS = Path.of("../../protocol/vectors");

    @Test
    void integersStayIntegersAtAnySize() {
        assertEquals(9007199254740993L, Json.read("9007199254740993"));
        assertEquals(Long.MIN_VALUE, Json.read("-9223372036854775808"));
        assertEquals(new BigInteger("9223372036854775808"), Json.read("9223372036854775808"));
        assertEquals(100.0, Json.read("1e2"));
        assertEquals(4.0, Json.read("4.0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"a\":[1,2.5,true,null,\"\"],\"b\":{}}", "[]", "\"\\ud800\"", "{\"\\udfff\":1}", "\"\\u0000\\u001f\\n\"",
        "\"\u00e9\u2028\ud83d\ude00<>&\"", "1234567890123456789012345678901", "4.9E-324", "-0.0"
    })
    void aTextComesBackAsItWas(String text) {
        assertEquals(text, Json.text(Json.read(text)));
    }

    @Test
    void anEscapedPairIsOneCharacter() {
        assertEquals("\ud83d\ude00", Json.read("\"\\ud83d\\ude00\""));
        assertArrayEquals("\"\ud83d\ude00\"".getBytes(StandardCharsets.UTF_8), Json.write("\ud83d\ude00"));
    }

    record Line(String sku, int count, List<Double> prices) {}

    enum Colour {
        RED
    }

    @Test
    void recordsArraysAndEnumsAreValues() {
        assertEquals("{\"sku\":\"A\",\"count\":2,\"prices\":[0.1]}", Json.text(new Line("A", 2, List.of(0.1))));
        assertEquals("[1,2]", Json.text(new int[] {1, 2}));
        assertEquals("\"RED\"", Json.text(Colour.RED));
        assertEquals("1.50", Json.text(new BigDecimal("1.50")));
    }

    private static void refused(Object value, String pointer) {
        NotJSON error = assertThrows(NotJSON.class, () -> Json.write(value));
        assertEquals(pointer, error.pointer(), error.getMessage());
    }

    @Test
    void whatJsonCannotCarryIsRefusedWithItsPlace() {
        refused(Double.NaN, "");
        refused(Json.object("items", Json.array(1, Double.POSITIVE_INFINITY)), "/items/1");
        refused(Json.object("a/b~", new Object()), "/a~1b~0");
        refused(Map.of(1, 2), "");
        refused(new byte[] {1}, "");
        refused((Runnable) () -> {}, "");
        refused(new BigInteger("9".repeat(400)), "");
        refused(new Line("A", 1, List.of(Double.NaN)), "/prices/0");
        List<Object> cycle = new ArrayList<>();
        cycle.add(cycle);
        assertTrue(assertThrows(NotJSON.class, () -> Json.write(cycle)).getMessage().contains("cycle"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", " ", "{", "[1,]", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "01", "1.", ".5", "+1", "NaN", "1e999",
                "-", "tru",
        "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "[1] 2", "\ufeff1", "1e", "'a'"
    })
    void whatIsNotExactIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.read(text));
    }

    private static Map<?, ?> vectors(String path) throws IOException {
        assumeTrue(Files.exists(VECTORS.resolve(path)), "the project's vectors are not beside this folder");
        return (Map<?, ?>) Json.read(Files.readAllBytes(VECTORS.resolve(path)));
    }

    @Test
    void textsOfTheVectorsAreTakenOrRefused() throws IOException {
        int seen = 0;
        for (Object each : (List<?>) vectors("canonical/reject.json").get("cases")) {
            Map<?, ?> one = (Map<?, ?>) each;
            String name = (String) one.get("name");
            if (!(one.get("hex") instanceof String hex)) continue;
            byte[] text = HexFormat.of().parseHex(hex);
            seen++;
            if (name.startsWith("n_")) assertThrows(IllegalArgumentException.class, () -> Json.read(text), name);
            // A key that comes twice is refused: rule X3 of the protocol.
            if (name.startsWith("y_") && !name.contains("duplicate")) Json.write(Json.read(text));
        }
        assertTrue(seen > 100, "cases: " + seen);
    }

    @Test
    void everyFloatOfTheVectorsSurvives() throws IOException {
        int seen = 0;
        for (Object each : (List<?>) vectors("numbers/numbers.json").get("numbers")) {
            Map<?, ?> one = (Map<?, ?>) each;
            double value = Double.longBitsToDouble(Long.parseUnsignedLong((String) one.get("bits"), 16));
            assertEquals(value, Double.parseDouble(Json.text(value)));
            // The shortest text of -0 is that of 0.
            if (value != 0) assertEquals(value, ((Number) Json.read((String) one.get("es6"))).doubleValue());
            seen++;
        }
        assertTrue(seen > 8000, "numbers: " + seen);
    }
}
