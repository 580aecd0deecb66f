package playhead.client;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;

/** What is known of one call. Guarded by the peer's lock. */
final class Call {
    final long number;
    final long seq;
    final String fn;
    final Object id;
    final Condition changed;
    final Set<Thread> producing = new HashSet<>();
    boolean produces;
    boolean over;
    boolean cancelled;
    long asks;
    long arrivals;
    long spans;
    RuntimeException trouble;

    private List<byte[]> taken = new ArrayList<>();
    private int takenBytes;

    Call(Object id, long number, long seq, String fn, Condition changed) {
        this.id = id;
        this.number = number;
        this.seq = seq;
        this.fn = fn;
        this.changed = changed;
    }

    /** The next question, or the return of the handler, fails with what went wrong. */
    void raiseTrouble() {
        if (over) return;
        if (cancelled) throw new Cancelled("the call was cancelled");
        if (trouble == null) return;
        RuntimeException raised = trouble;
        trouble = null;
        throw raised;
    }

    void took(byte[] item) {
        taken.add(item);
        takenBytes += item.length;
    }

    int takenBytes() {
        return takenBytes;
    }

    /** What was taken and not told yet, as a frame; null where there is nothing. */
    byte[] report() {
        if (taken.isEmpty()) return null;
        Json.Writer asks = new Json.Writer().raw(",\"asks\":[");
        for (int i = 0; i < taken.size(); i++) {
            if (i > 0) asks.raw(",");
            asks.raw(taken.get(i));
        }
        taken = new ArrayList<>();
        takenBytes = 0;
        return Message.notification("asked", number, asks.raw("]").bytes());
    }
}
