package examples;

import java.util.List;
import java.util.Map;
import playhead.client.Context;
import playhead.client.Json;
import playhead.client.Serve;

/** Two questions to the outside, one after the other: what is the price, and is there enough? */
final class TwoEffects {
    record Event(String sku, long amount) {}

    static Map<String, Object> handle(Event event, Context ctx) {
        long at = ctx.now();
        long price = ctx.respond("quote", Long.class, List.of(event.sku()), () -> 990L);
        long stock = ctx.respond("stock", Long.class, List.of(event.sku()), () -> 7L);
        return Json.object("at", at, "price", price, "stock", stock, "ok", stock >= event.amount());
    }

    public static void main(String[] args) {
        new Serve("two-effects").function("handler", Event.class, TwoEffects::handle).run();
    }
}
