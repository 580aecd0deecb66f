package playhead.client;

/** The daemon gave the call up while the question was open. */
public class Cancelled extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Cancelled(String message) {
        super(message);
    }
}
