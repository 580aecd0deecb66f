package examples;

import java.util.Map;
import playhead.client.Context;
import playhead.client.Json;
import playhead.client.Serve;

/** The handler of incident-4211. */
final class Charge {
    record Event(long amount) {}

    static Map<String, Object> handle(Event event, Context ctx) {
        long receivedAt = ctx.now();
        boolean sampled = ctx.random() < 0.2;
        long balance = ctx.respond("account.balance", Long.class, () -> 1000 - event.amount());
        return Json.object("receivedAt", receivedAt, "sampled", sampled, "approved", balance >= 0, "balance", balance);
    }

    public static void main(String[] args) {
        new Serve("incident-4211").function("handler", Event.class, Charge::handle).run();
    }
}
