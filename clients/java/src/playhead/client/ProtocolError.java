package playhead.client;

/** The daemon refused a message as such, or sent one that is none. */
public class ProtocolError extends RuntimeException {
    private static final long serialVersionUID = 1;

    public ProtocolError(String message) {
        super(message);
    }
}
