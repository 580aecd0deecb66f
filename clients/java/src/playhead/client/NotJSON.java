package playhead.client;

/** The handler gave away something that JSON cannot carry. */
public class NotJSON extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String what;
    private String pointer = "";

    NotJSON(String what) {
        this.what = what;
    }

    /** Where in the value it is, as RFC 6901 writes it: "" is the whole value. */
    public String pointer() {
        return pointer;
    }

    @Override
    public String getMessage() {
        return what + " cannot be JSON, at " + (pointer.isEmpty() ? "the root" : pointer);
    }

    /** The same, one level further out. */
    NotJSON in(String key) {
        pointer = "/" + key.replace("~", "~0").replace("/", "~1") + pointer;
        return this;
    }
}
