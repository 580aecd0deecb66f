package playhead.client;

/** A function of an event and a context. */
@FunctionalInterface
public interface Handler<E> {
    Object handle(E event, Context ctx) throws Exception;
}
