package playhead.client;

/** Larger than the largest frame, or than what the daemon keeps. */
public class LimitExceeded extends RuntimeException {
    private static final long serialVersionUID = 1;

    public LimitExceeded(String message) {
        super(message);
    }
}
