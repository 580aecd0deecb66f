package tests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import playhead.client.Json;

/** The daemon's side of a conversation with a program of its own process, line by line. */
final class Daemon implements AutoCloseable {
    private final Path errors;
    private final Process process;
    private final OutputStream out;
    private final BufferedReader in;

    Daemon(Class<?> program) throws IOException {
        errors = Files.createTempFile("daemon", ".stderr");
        process = new ProcessBuilder(command(program)).redirectError(errors.toFile()).start();
        out = process.getOutputStream();
        in = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    static String[] command(Class<?> program) {
        String path = Path.of("target/classes").toAbsolutePath() + ":" + Path.of("target/test-classes")
                .toAbsolutePath();
        return new String[] {
            System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path,
                    program.getName()
        };
    }

    /** Initialized, with all capabilities offered and frames of this size. */
    static Daemon with(Class<?> program, int frameBytes) throws IOException {
        Daemon daemon = new Daemon(program);
        daemon.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1,\"daemon\":"
                + "{\"name\":\"t\",\"version\":\"0\"},\"capabilities\":{\"window\":true,\"reset\":true},"
                + "\"limits\":{\"frameBytes\":" + frameBytes + ",\"depth\":1000},\"constants\":{}}}");
        daemon.frame();
        return daemon;
    }

    static Daemon with(Class<?> program) throws IOException {
        return with(program, 64 << 20);
    }

    void say(String frame) throws IOException {
        out.write((frame + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    void handle(int id, String fn, String event, String window) throws IOException {
        say("{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"method\":\"handle\",\"params\":{\"call\":" + id + ",\"fn\":\""
                + fn
                + "\",\"event\":" + event + ",\"seq\":0" + (window == null ? "" : ",\"window\":" + window) + "}}");
    }

    void answer(Object id, String result) throws IOException {
        say("{\"jsonrpc\":\"2.0\",\"id\":" + Json.text(id) + ",\"result\":" + result + "}");
    }

    String line() throws IOException {
        return in.readLine();
    }

    Map<?, ?> frame() throws IOException {
        return (Map<?, ?>) Json.read(line());
    }

    String printed() throws IOException {
        return Files.readString(errors);
    }

    /** Ends the input; the exit status. */
    int end() throws IOException, InterruptedException {
        out.close();
        return process.waitFor(20, TimeUnit.SECONDS) ? process.exitValue() : -1;
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        Files.deleteIfExists(errors);
    }
}
