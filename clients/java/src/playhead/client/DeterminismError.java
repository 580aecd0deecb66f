package playhead.client;

/** The tape has no answer to what was asked. Catching it does not make the call green again. */
public class DeterminismError extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String kind;

    public DeterminismError(String message, String kind) {
        super(message);
        this.kind = kind;
    }

    /** That of the verdict: question, order, exhausted, ... */
    public String kind() {
        return kind;
    }
}
