package tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import playhead.client.Recordings;
import playhead.client.Recordings.Recording;

/** Needs `playhead`: by the variable PLAYHEAD, or on the PATH. */
class RecordingsTest {
    private static final Path GOLDEN = Path.of("../../protocol/vectors/tape/recordings/incident-4211.golden.json");

    @TempDir
    static Path folder;

    @BeforeAll
    static void recordingsAreThere() throws IOException {
        String path = System.getenv().getOrDefault("PLAYHEAD", "playhead");
        boolean isFound = Files.isExecutable(Path.of(path))
                || Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(each -> Files.isExecutable(Path.of(each, path)));
        assumeTrue(isFound && Files.exists(GOLDEN), "neither playhead nor the project's recordings are here");
        Files.copy(GOLDEN, folder.resolve("incident-4211.json"));
    }

    @TestFactory
    Stream<DynamicTest> recordings() throws Exception {
        return Recordings.verify(folder, Daemon.command(Class.forName("examples.Charge")))
                .map(each -> dynamicTest(each.name(), each::check));
    }

    @Test
    void aChangedHandlerFailsWithTheDivergence() throws Exception {
        List<Recording> results = Recordings.verify(folder, Daemon.command(Class.forName("examples.ChargeDrifted")))
                .toList();
        assertEquals(1, results.size());
        String text = assertThrows(AssertionError.class, results.get(0)::check).getMessage();
        assertTrue(text.contains("incident-4211.json") && text.contains("event 1") && text.contains("/approved"), text);
        assertTrue(text.contains("expected: true") && text.contains("actual: false"), text);
    }

    @Test
    void aHandlerThatCannotBeStartedFailsAndSaysSo() {
        String text = assertThrows(AssertionError.class, () -> Recordings.verify(folder, "/no/such/handler"))
                .getMessage();
        assertTrue(text.contains("cannot be started"), text);
    }

    @Test
    void anEmptyFolderFails(@TempDir Path empty) {
        assertThrows(AssertionError.class, () -> Recordings.verify(empty, "true"));
    }
}
