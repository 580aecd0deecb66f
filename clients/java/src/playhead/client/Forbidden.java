package playhead.client;

/** The policy forbids what was asked or answered to be written. */
public class Forbidden extends RuntimeException {
    private static final long serialVersionUID = 1;

    public Forbidden(String message) {
        super(message);
    }
}
