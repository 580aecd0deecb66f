package playhead.client;

/**
 * An error of a tape whose type has no reviver and is no class of Java's own. It leaves the handler under its own type.
 */
public class RecordedError extends HandlerError {
    private static final long serialVersionUID = 1;

    private final transient ErrorData data;

    RecordedError(ErrorData data) {
        super(data.type(), data.message());
        this.data = data;
    }

    /** All that was recorded of it. */
    public ErrorData data() {
        return data;
    }
}
