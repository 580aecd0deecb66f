package playhead.client;

/** The context was asked after its call had been answered. */
public class CallEnded extends RuntimeException {
    private static final long serialVersionUID = 1;

    public CallEnded(String message) {
        super(message);
    }
}
