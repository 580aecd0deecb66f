package playhead.client;

/** An error that is the same in every language: its type and its message go to the tape as they are. */
public class HandlerError extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String type;

    public HandlerError(String type, String message) {
        super(message);
        this.type = type;
    }

    public String type() {
        return type;
    }
}
