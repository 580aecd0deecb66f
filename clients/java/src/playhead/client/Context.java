package playhead.client;

import java.math.BigDecimal;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/**
 * What a handler is given: the clock, randomness and the outside world, from the daemon on record as on replay. Inside
 * a producer, on its thread, all of it is live and off the tape.
 */
public final class Context {
    private static final Random LIVE = new SecureRandom();
    private static final byte[] NOTHING = {};

    private final Peer peer;
    private final Call call;
    private final String lane;

    Context(Peer peer, Call call, String lane) {
        this.peer = peer;
        this.call = call;
        this.lane = lane;
    }

    /** The event's index, from 0. */
    public long seq() {
        return call.seq;
    }

    /** The call's number. */
    public long call() {
        return call.number;
    }

    /** The function's name. */
    public String fn() {
        return call.fn;
    }

    /** True once the call has been answered: what is asked from then on is refused with {@link CallEnded}. */
    public boolean isOver() {
        peer.lock.lock();
        try {
            return call.over;
        } finally {
            peer.lock.unlock();
        }
    }

    /** The same context for a thread with an order of its own. */
    public Context lane(String name) {
        return new Context(peer, call, name);
    }

    /** Milliseconds since the Unix epoch. */
    public long now() {
        if (Peer.isLive()) return System.currentTimeMillis();
        Object taped = peer.ask(call, "now", rest(), true);
        if (taped instanceof Double at && at != Math.rint(at)) {
            String digits = new BigDecimal(at.toString()).toPlainString();
            throw new ProtocolError("now() gives whole milliseconds, and there is " + digits);
        }
        return Types.to(Long.class, taped);
    }

    /** Milliseconds of a clock that never goes back. */
    public double monotonic() {
        if (Peer.isLive()) return System.nanoTime() / 1e6;
        return Types.to(Double.class, peer.ask(call, "now", rest(",\"clock\":\"monotonic\""), false));
    }

    /** A float in [0, 1). */
    public double random() {
        if (Peer.isLive()) return LIVE.nextDouble();
        return Types.to(Double.class, peer.ask(call, "random", rest(), true));
    }

    /** An integer from low to high, both included. */
    public long randint(long low, long high) {
        if (low > high) throw new IllegalArgumentException("low is " + low + " and high is " + high);
        if (Peer.isLive()) return liveInteger(low, high);
        return Types.to(Long.class, draw(",\"draw\":\"int\",\"low\":" + low + ",\"high\":" + high));
    }

    // The bound of nextLong is not included.
    private static long liveInteger(long low, long high) {
        if (high < Long.MAX_VALUE) return LIVE.nextLong(low, high + 1);
        return low > Long.MIN_VALUE ? LIVE.nextLong(low - 1, high) + 1 : LIVE.nextLong();
    }

    public byte[] randbytes(int n) {
        if (!Peer.isLive()) return HexFormat.of().parseHex((String) draw(",\"draw\":\"bytes\",\"n\":" + n));
        byte[] bytes = new byte[n];
        LIVE.nextBytes(bytes);
        return bytes;
    }

    /** So many different ones of the items, in the order drawn. */
    public <T> List<T> sample(List<T> items, int k) {
        List<T> drawn = new ArrayList<>();
        if (Peer.isLive()) {
            drawn.addAll(items);
            Collections.shuffle(drawn, LIVE);
            return drawn.subList(0, k);
        }
        Object positions = draw(",\"draw\":\"sample\",\"n\":" + items.size() + ",\"k\":" + k);
        for (Object position : (List<?>) positions) drawn.add(items.get(Types.to(Integer.class, position)));
        return drawn;
    }

    /** A UUID of version 4, of sixteen drawn bytes. */
    public UUID uuid() {
        byte[] bytes = randbytes(16);
        bytes[6] = (byte) (bytes[6] & 0x0f | 0x40);
        bytes[8] = (byte) (bytes[8] & 0x3f | 0x80);
        long high = 0;
        long low = 0;
        for (int i = 0; i < 8; i++) {
            high = high << 8 | bytes[i] & 0xff;
            low = low << 8 | bytes[i + 8] & 0xff;
        }
        return new UUID(high, low);
    }

    /**
     * The outcome of something outside: on record what the producer returns or throws, on replay what the tape holds.
     */
    public <T, X extends Throwable> T respond(String key, Class<T> type, Producer<? extends T, X> producer) throws X {
        return respond(key, type, List.of(), Map.of(), producer);
    }

    public <T, X extends Throwable> T respond(
            String key, Class<T> type, List<?> args, Producer<? extends T, X> producer) throws X {
        return respond(key, type, args, Map.of(), producer);
    }

    public <T, X extends Throwable> T respond(
            String key, Class<T> type, List<?> args, Map<String, ?> kwargs, Producer<? extends T, X> producer)
            throws X {
        if (Peer.isLive()) return producer.produce();
        return asked(new Answer<>(peer, call, key, type, producer, false), args, kwargs).get();
    }

    /** The same, not waited for. A producer runs on a thread of its own. */
    public <T> Answer<T> start(String key, Class<T> type, Producer<? extends T, ?> producer) {
        return start(key, type, List.of(), Map.of(), producer);
    }

    public <T> Answer<T> start(String key, Class<T> type, List<?> args, Producer<? extends T, ?> producer) {
        return start(key, type, args, Map.of(), producer);
    }

    public <T> Answer<T> start(
            String key, Class<T> type, List<?> args, Map<String, ?> kwargs, Producer<? extends T, ?> producer) {
        if (Peer.isLive()) throw new IllegalStateException("a producer starts nothing: call what is meant");
        return asked(new Answer<>(peer, call, key, type, producer, true), args, kwargs);
    }

    /** Waits until one of the answers is there, hands it over, and gives it: of several, the one that came first. */
    public Answer<?> first(Answer<?>... answers) {
        peer.lock.lock();
        try {
            while (true) {
                Answer<?> found = null;
                for (Answer<?> answer : answers) {
                    if (answer.arrival != 0 && (found == null || answer.arrival < found.arrival)) found = answer;
                }
                if (found != null) {
                    found.handOver();
                    return found;
                }
                answers[0].await();
            }
        } finally {
            peer.lock.unlock();
        }
    }

    /** Testimony: something about what the handler does. */
    public void note(String name) {
        tell("note", new Json.Writer().raw(",\"name\":").string(name));
    }

    public void note(String name, Object data) {
        tell("note", new Json.Writer().raw(",\"name\":").string(name).raw(",\"data\":").raw(Json.write(data)));
    }

    /** Testimony: what the handler believes about the world. */
    public void observe(String name, Object value) {
        tell("observe", new Json.Writer().raw(",\"name\":").string(name).raw(",\"value\":").raw(Json.write(value)));
    }

    /** Testimony: a piece of work begins, and ends when the span is closed. */
    public Span span(String name) {
        return span(name, null);
    }

    public Span span(String name, Object data) {
        long sid;
        peer.lock.lock();
        try {
            sid = ++call.spans;
        } finally {
            peer.lock.unlock();
        }
        Json.Writer rest = new Json.Writer().raw(",\"sid\":").number(sid).raw(",\"phase\":\"begin\",\"name\":")
                .string(name);
        if (data != null) rest.raw(",\"data\":").raw(Json.write(data));
        tell("span", rest);
        return new Span(this, sid, name);
    }

    /** Says that something outside the tape was reached. */
    public void escaped(String key, String where) {
        tell("escaped", new Json.Writer().raw(",\"key\":").string(key).raw(",\"where\":").string(where));
    }

    void tell(String method, Json.Writer rest) {
        if (Peer.isLive()) return;
        if (lane != null && !method.equals("escaped")) rest.raw(",\"lane\":").string(lane);
        peer.tell(call, method, rest.bytes());
    }

    private Object draw(String rest) {
        return peer.ask(call, "random", rest(rest), false);
    }

    private byte[] rest() {
        return lane == null ? NOTHING : rest("");
    }

    private byte[] rest(String members) {
        Json.Writer rest = new Json.Writer().raw(members);
        if (lane != null) rest.raw(",\"lane\":").string(lane);
        return rest.bytes();
    }

    private <T> Answer<T> asked(Answer<T> answer, List<?> args, Map<String, ?> kwargs) {
        Json.Writer rest = new Json.Writer().raw(",\"key\":").string(answer.key);
        if (!args.isEmpty()) rest.raw(",\"args\":").raw(Json.write(args));
        if (!kwargs.isEmpty()) rest.raw(",\"kwargs\":").raw(Json.write(kwargs));
        if (lane != null) rest.raw(",\"lane\":").string(lane);
        peer.ask(answer, rest.bytes());
        return answer;
    }
}
