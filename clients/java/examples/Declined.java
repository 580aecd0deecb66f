package examples;

import playhead.client.HandlerError;
import playhead.client.Serve;

/** An error that is the same in every language. */
final class Declined {
    public static void main(String[] args) {
        new Serve("declined").function("handler", (event, ctx) -> {
            throw new HandlerError("Declined", "no funds");
        }).run();
    }
}
