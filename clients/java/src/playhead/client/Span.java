package playhead.client;

/** A piece of work that a handler says it does; it ends when this is closed. */
public final class Span implements AutoCloseable {
    private final Context ctx;
    private final long sid;
    private final String name;
    private Object outcome;
    private boolean hasOutcome;
    private boolean isClosed;

    Span(Context ctx, long sid, String name) {
        this.ctx = ctx;
        this.sid = sid;
        this.name = name;
    }

    /** What came of it, said when it ends. */
    public void outcome(Object outcome) {
        this.outcome = outcome;
        hasOutcome = true;
    }

    @Override
    public void close() {
        if (isClosed) return;
        isClosed = true;
        Json.Writer rest = new Json.Writer().raw(",\"sid\":").number(sid).raw(",\"phase\":\"end\",\"name\":")
                .string(name);
        if (hasOutcome) rest.raw(",\"outcome\":").raw(Json.write(outcome));
        ctx.tell("span", rest);
    }
}
