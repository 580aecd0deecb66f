package playhead.client;

import java.io.ByteArrayInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Serves functions to the daemon on stdin and stdout, which are taken when this is made: what is printed from then on
 * goes to stderr.
 */
public final class Serve {
    private static final int PROTOCOL = 1;
    private static final String VERSION = "0.1.0";
    private static final long READER_STACK = 16 << 20;

    private record Served(Class<?> event, Handler<Object> handler) {}

    private final String name;
    private final Map<String, Served> functions = new LinkedHashMap<>();
    private final Map<String, Function<ErrorData, ? extends Throwable>> revivers = new LinkedHashMap<>();
    private final InputStream in;
    private final Peer peer;
    private Runnable reset;
    private boolean isInitialized;
    private boolean hasWindows;

    public Serve(String name) {
        this.name = name;
        System.setOut(System.err);
        System.setIn(new ByteArrayInputStream(new byte[0]));
        in = takeInput();
        peer = new Peer(takeOutput(), revivers, Serve::exit);
    }

    /** A function of events of a type: a record, a List, a Map, a String, a number, ... */
    @SuppressWarnings("unchecked")
    public <E> Serve function(String name, Class<E> event, Handler<? super E> handler) {
        functions.put(name, new Served(event, (Handler<Object>) (Handler<?>) handler));
        return this;
    }

    /** A function of events as they are: null, Boolean, String, Long, BigInteger, Double, List, Map. */
    public Serve function(String name, Handler<Object> handler) {
        return function(name, Object.class, handler);
    }

    /** What an error of this type is revived as, on record and on replay. */
    public Serve reviver(String type, Function<ErrorData, ? extends Throwable> reviver) {
        revivers.put(type, reviver);
        return this;
    }

    /** Makes the process as good as new between two calls. Without one it is not offered. */
    public Serve reset(Runnable reset) {
        this.reset = reset;
        return this;
    }

    /** Serves until the end of input, which ends the process with 0. Handlers run on this thread. */
    public void run() {
        if (functions.isEmpty()) throw new IllegalStateException("there is no function to serve");
        Thread reader = new Thread(null, this::read, "playhead-reader", READER_STACK);
        reader.setDaemon(true);
        reader.start();
        while (true) {
            Peer.Work work = peer.next();
            if (work.fn == null) reset(work);
            else call(work);
            // An interrupt was meant for that call.
            Thread.interrupted();
        }
    }

    // Descriptor 1 is opened anew and then closed, which in Java points it at /dev/null: neither a raw write of a
    // library nor a child that inherits it reaches the pipe. A socket cannot be opened anew; there the descriptor
    // itself has to be used.
    private static OutputStream takeOutput() {
        FileOutputStream own = new FileOutputStream(FileDescriptor.out);
        for (String path : List.of("/dev/fd/1", "/dev/stdout")) {
            try {
                if (!Files.exists(Path.of(path))) continue;
                FileOutputStream taken = new FileOutputStream(path, true);
                own.close();
                return taken;
            } catch (IOException next) {
                // It cannot be opened.
            }
        }
        return own;
    }

    private static InputStream takeInput() {
        FileInputStream own = new FileInputStream(FileDescriptor.in);
        for (String path : List.of("/dev/fd/0", "/dev/stdin")) {
            try {
                // A file opened anew would be read from its beginning.
                if (!Files.exists(Path.of(path)) || Files.isRegularFile(Path.of(path))) continue;
                FileInputStream taken = new FileInputStream(path);
                own.close();
                return taken;
            } catch (IOException next) {
                // It cannot be opened.
            }
        }
        return own;
    }

    // At once: no shutdown hook, no thread, no producer is waited for.
    private static void exit() {
        System.err.flush();
        Runtime.getRuntime().halt(0);
    }

    private void read() {
        try {
            Framing framing = new Framing(in);
            for (byte[] frame = framing.next(); frame != null; frame = framing.next()) {
                if (frame.length > 0) accept(frame);
            }
        } catch (IOException gone) {
            // As good as the end of input.
        } catch (LimitExceeded broken) {
            giveUp(-32700, "the frame is not one JSON text", broken.getMessage());
        } catch (Throwable broken) {
            broken.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        exit();
    }

    private void accept(byte[] frame) {
        Object read;
        try {
            read = Json.read(frame);
        } catch (IllegalArgumentException refused) {
            giveUp(-32700, "the frame is not one JSON text", refused.getMessage());
            return;
        }
        if (!(read instanceof Map<?, ?> message)) {
            giveUp(-32600, "the frame is not a JSON-RPC 2.0 message", "it is no object");
            return;
        }
        Object id = message.get("id");
        if (!message.containsKey("method")) {
            peer.answered(message);
        } else if (!(message.get("method") instanceof String method)
                || message.containsKey("id") && !(id instanceof String || id instanceof Long)) {
            giveUp(-32600, "the frame is not a JSON-RPC 2.0 message",
                    "the method is a string, and an id an integer or a string");
        } else {
            Map<?, ?> params = message.get("params") instanceof Map<?, ?> map ? map : Map.of();
            if (id == null) notified(method, params);
            else requested(id, method, params);
        }
    }

    // Nothing can be said about a conversation that is no longer one.
    private void giveUp(int code, String message, String why) {
        peer.reply(Message.error(null, code, message, null));
        System.err.println("playhead: a frame cannot be read: " + why);
        System.err.flush();
        Runtime.getRuntime().halt(1);
    }

    private void notified(String method, Map<?, ?> params) {
        if (!isInitialized) return;
        if (method.equals("withdraw")) peer.withdraw();
        if (method.equals("cancel") && params.get("call") instanceof Long number) peer.cancel(number);
    }

    private void requested(Object id, String method, Map<?, ?> params) {
        if (method.equals("initialize")) {
            initialize(id, params);
        } else if (!isInitialized) {
            refuse(id, -32002, "initialize has not been answered");
        } else if (method.equals("handle")) {
            handle(id, params);
        } else if (method.equals("shutdown")) {
            peer.reply(Message.result(id, Json.write(Map.of())));
        } else if (method.equals("reset") && reset != null) {
            if (!peer.queueReset(id)) refuse(id, -32600, "a call is open");
        } else {
            refuse(id, -32601, "no such method");
        }
    }

    private void refuse(Object id, int code, String message) {
        peer.reply(Message.error(id, code, message, null));
    }

    private void initialize(Object id, Map<?, ?> params) {
        if (isInitialized) {
            refuse(id, -32600, "initialize has been answered already");
        } else if (!(params.get("protocol") instanceof Long protocol)) {
            refuse(id, -32602, "protocol is not an integer");
        } else if (protocol < PROTOCOL) {
            peer.reply(Message.error(id, -32001, "no common protocol version",
                    Json.object("supported", List.of(PROTOCOL))));
        } else {
            Map<?, ?> offered = params.get("capabilities") instanceof Map<?, ?> map ? map : Map.of();
            Map<?, ?> limits = params.get("limits") instanceof Map<?, ?> map ? map : Map.of();
            if (limits.get("frameBytes") instanceof Long bytes && bytes > 0 && bytes < Integer.MAX_VALUE) {
                peer.limit(bytes.intValue());
            }
            isInitialized = true;
            Map<String, Object> capabilities = Json.object();
            hasWindows = Boolean.TRUE.equals(offered.get("window"));
            if (hasWindows) capabilities.put("window", true);
            if (reset != null && Boolean.TRUE.equals(offered.get("reset"))) capabilities.put("reset", true);
            String runtime = System.getProperty("java.vm.name") + " " + System.getProperty("java.version");
            peer.reply(Message.result(id, Json.write(Json.object(
                    "protocol", PROTOCOL,
                    "handler", Json.object("name", name, "version", VERSION, "language", "java", "runtime", runtime),
                    "functions", List.copyOf(functions.keySet()),
                    "capabilities", capabilities,
                    "constants", Map.of()))));
        }
    }

    private void handle(Object id, Map<?, ?> params) {
        Object window = hasWindows ? params.get("window") : null;
        if (!(params.get("call") instanceof Long call) || call < 0) {
            refuse(id, -32602, "call is not a number from 0");
        } else if (!(params.get("seq") instanceof Long seq) || seq < 0) {
            refuse(id, -32602, "seq is not a number from 0");
        } else if (!params.containsKey("event")) {
            refuse(id, -32602, "there is no event");
        } else if (!(params.get("fn") instanceof String fn) || !functions.containsKey(fn)) {
            refuse(id, -32602, "no function named " + Json.text(params.get("fn")));
        } else if (window != null && !Feed.isWindow(window)) {
            refuse(id, -32602, "the window is not one");
        } else {
            peer.queue(new Peer.Work(id, call, seq, fn, params.get("event"), (Map<?, ?>) window));
        }
    }

    private void call(Peer.Work work) {
        Call call = peer.begin();
        byte[] result;
        try {
            if (work.cancelled) throw new Cancelled("the call was cancelled");
            Served function = functions.get(work.fn);
            Object output = function.handler()
                    .handle(Types.to(function.event(), work.event), new Context(peer, call, null));
            byte[] text = Json.write(output);
            peer.checkSize(text.length);
            result = Peer.output(text);
        } catch (Throwable error) {
            result = peer.raised(error);
        }
        peer.end(call, result);
    }

    private void reset(Peer.Work work) {
        byte[] frame;
        try {
            reset.run();
            frame = Message.result(work.id, Json.write(Map.of()));
        } catch (Throwable error) {
            // What went wrong in there is for people.
            System.err.print("playhead: reset: ");
            error.printStackTrace();
            frame = Message.error(work.id, -32603, "the handlers could not be made new",
                    Json.object("reference", "stderr"));
        }
        peer.resetDone(frame);
    }
}
