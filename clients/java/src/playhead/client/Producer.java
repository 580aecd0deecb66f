package playhead.client;

/** What makes an answer where the tape has none. */
@FunctionalInterface
public interface Producer<T, X extends Throwable> {
    T produce() throws X;
}
