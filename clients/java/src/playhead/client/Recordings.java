package playhead.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A folder of recordings as tests: {@code playhead verify FOLDER --json -- COMMAND}, whose command is that of the
 * environment's PLAYHEAD, or the one on the PATH. It needs no test framework; with JUnit 5 a {@code @TestFactory}
 * returns {@code Recordings.verify(folder, command).map(each -> dynamicTest(each.name(), each::check))}.
 */
public final class Recordings {
    private Recordings() {}

    /** What came of one recording. */
    public record Recording(String name, boolean isOk, String failure) {
        /** Fails where the handler did, with the divergence. */
        public void check() {
            if (!isOk) throw new AssertionError(failure);
        }
    }

    /** Verifies all recordings of a folder, or one; `command` starts the handler. */
    public static Stream<Recording> verify(Path folder, String... command) {
        return verify(folder, List.of(), command);
    }

    /** The same with further options of `playhead verify`. */
    public static Stream<Recording> verify(Path folder, List<String> options, String... command) {
        List<String> words = new ArrayList<>();
        words.add(System.getenv().getOrDefault("PLAYHEAD", "playhead"));
        words.addAll(List.of("verify", folder.toString(), "--json"));
        words.addAll(options);
        words.add("--");
        words.addAll(List.of(command));
        String printed = run(words);
        Map<?, ?> result = json(words, printed);
        if (!(result.get("results") instanceof List<?> results) || results.isEmpty()) {
            Map<?, ?> error = result.get("error") instanceof Map<?, ?> map ? map : Map.of();
            String why = error.isEmpty() ? printed : error.get("message") + "; " + error.get("hint");
            throw new AssertionError(String.join(" ", words) + " verified nothing: " + why);
        }
        return results.stream().map(each -> recording((Map<?, ?>) each));
    }

    private static Recording recording(Map<?, ?> result) {
        String path = String.valueOf(result.get("recording"));
        Map<?, ?> why = result.get("divergence") instanceof Map<?, ?> divergence ? divergence
                : result.get("error") instanceof Map<?, ?> error ? error : Map.of();
        StringBuilder failure = new StringBuilder(path);
        if (why.get("kind") != null) failure.append(": ").append(why.get("kind"));
        if (why.get("seq") != null) failure.append(" at event ").append(why.get("seq"));
        failure.append(": ").append(why.get("message") != null ? why.get("message") : Json.text(result));
        for (String side : List.of("expected", "actual")) {
            if (!why.containsKey(side)) continue;
            failure.append("\n  ").append(side).append(": ").append(Json.text(why.get(side)));
        }
        return new Recording(Path.of(path).getFileName().toString(), Boolean.TRUE.equals(result.get("ok")),
                failure.toString());
    }

    private static Map<?, ?> json(List<String> words, String printed) {
        try {
            if (Json.read(printed) instanceof Map<?, ?> result) return result;
        } catch (IllegalArgumentException refused) {
            // Said below.
        }
        throw new AssertionError(String.join(" ", words) + " printed no result: " + printed);
    }

    private static String run(List<String> words) {
        try {
            Path errors = Files.createTempFile("playhead", ".stderr");
            try {
                Process process = new ProcessBuilder(words).redirectError(errors.toFile()).start();
                process.getOutputStream().close();
                String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly();
                return printed.isBlank() ? new String(Files.readAllBytes(errors), StandardCharsets.UTF_8) : printed;
            } finally {
                Files.delete(errors);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(words.get(0) + " could not be started; is PLAYHEAD its path?", error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while verifying", error);
        }
    }
}
