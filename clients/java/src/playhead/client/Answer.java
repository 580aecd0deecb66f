package playhead.client;

import java.util.Map;

/**
 * An answer that is on its way. It is handed over when {@link #get} returns it: on record what its producer made is
 * settled then, with no other question in between.
 */
public final class Answer<T> implements Peer.Waiter {
    final Peer peer;
    final Call call;
    final String key;
    final boolean isEager;
    private final Class<T> type;
    private final Producer<? extends T, ?> producer;

    // Guarded by the peer's lock.
    long ask;
    long arrival;
    boolean isUnasked; // reported with the question; the daemon answers neither it nor its settlement
    private boolean isOffered;
    private boolean isStarted;
    private boolean isHandedOver;
    private byte[] made; // what the producer made, as a member of respond.settle
    private Throwable cause;
    private Object value;
    private ErrorData error;
    private RuntimeException refusal;

    Answer(Peer peer, Call call, String key, Class<T> type, Producer<? extends T, ?> producer, boolean isEager) {
        this.peer = peer;
        this.call = call;
        this.key = key;
        this.type = type;
        this.producer = producer;
        this.isEager = isEager;
    }

    /** The answer, or the error that was recorded in its place; waits until it is there. */
    public T get() {
        peer.lock.lock();
        try {
            while (arrival == 0) await();
            handOver();
        } finally {
            peer.lock.unlock();
        }
        if (refusal != null) throw refusal;
        if (error == null) return Types.to(type, value);
        Throwable revived = Errors.revive(error, peer.revivers);
        if (cause != null && revived.getCause() == null && revived != cause) attachCause(revived);
        throw Errors.thrown(revived);
    }

    private void attachCause(Throwable revived) {
        try {
            revived.initCause(cause);
        } catch (IllegalStateException hasOne) {
            // It was made with a cause, be it null.
        }
    }

    // Under the lock, which is given up meanwhile.
    void await() {
        if (!call.over && call.cancelled) throw new Cancelled("the call was cancelled");
        if (call.over && isOffered) throw new CallEnded("the call has ended");
        if (isOffered && !isStarted && !isEager) {
            peer.lock.unlock();
            try {
                produce();
            } finally {
                peer.lock.lock();
            }
        } else {
            call.changed.awaitUninterruptibly();
        }
    }

    // Under the lock.
    void handOver() {
        if (isHandedOver) return;
        if (made != null) {
            if (call.over) throw new CallEnded("the call has ended");
            if (call.cancelled) throw new Cancelled("the call was cancelled");
            peer.settle(this, made);
        }
        isHandedOver = true;
    }

    /** The daemon's answer is here. Under the lock. */
    @Override
    public void arrive(Map<?, ?> message) {
        if (message.get("error") != null) {
            refusal = Errors.ofAnswer(message.get("error"));
            arrived();
        } else if (message.get("result") instanceof Map<?, ?> result) {
            given(result);
        } else {
            given(Map.of());
        }
    }

    void given(Map<?, ?> result) {
        if (Boolean.TRUE.equals(result.get("produce"))) {
            offer();
            return;
        }
        try {
            if (result.get("error") != null) error = ErrorData.of(result.get("error"));
            else if (result.containsKey("value")) value = result.get("value");
            else refusal = new ProtocolError("an answer to respond has value, error or produce");
        } catch (ProtocolError refused) {
            refusal = refused;
        }
        arrived();
    }

    void offer() {
        isOffered = true;
        if (isEager) peer.producers.execute(this::produce);
        call.changed.signalAll();
    }

    private void arrived() {
        arrival = ++call.arrivals;
        call.changed.signalAll();
    }

    private void produce() {
        Thread me = Thread.currentThread();
        peer.lock.lock();
        try {
            if (isStarted || call.over || call.cancelled) return;
            isStarted = true;
            call.producing.add(me);
        } finally {
            peer.lock.unlock();
        }
        byte[] settled;
        try {
            byte[] text = Json.write(Peer.live(producer));
            peer.checkSize(text.length);
            // Record and replay hand over the very same: what has been through JSON.
            value = Json.read(text);
            settled = member("value", text);
        } catch (Throwable thrown) {
            error = Errors.describe(thrown);
            settled = member("error", peer.text(error));
            cause = thrown;
        }
        peer.lock.lock();
        try {
            call.producing.remove(me);
            // It was meant for the producer.
            if (call.over || call.cancelled) Thread.interrupted();
            made = settled;
            arrived();
        } finally {
            peer.lock.unlock();
        }
    }

    private static byte[] member(String name, byte[] text) {
        return new Json.Writer().raw(",\"").raw(name).raw("\":").raw(text).bytes();
    }
}
