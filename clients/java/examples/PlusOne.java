package examples;

import playhead.client.Serve;

/** An integer plus one, to the last digit. */
final class PlusOne {
    public static void main(String[] args) {
        new Serve("plus-one").function("handler", Long.class, (event, ctx) -> Math.addExact(event, 1L)).run();
    }
}
