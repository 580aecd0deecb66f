package conformance;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import playhead.client.Answer;
import playhead.client.Context;
import playhead.client.HandlerError;
import playhead.client.Json;
import playhead.client.Serve;
import playhead.client.Span;

/** The functions of protocol/conformance.md, and nothing else. */
final class Conformance {
    record Sku(String sku) {}

    record Amount(long amount) {}

    record Price(long price) {}

    static final class TimeoutError extends RuntimeException {
        private static final long serialVersionUID = 1;

        TimeoutError(String message) {
            super(message);
        }
    }

    private static Context kept;
    private static long counted;

    public static void main(String[] args) {
        new Serve("conformance")
                .reviver("TimeoutError", error -> new TimeoutError(error.message()))
                .reset(() -> {
                    kept = null;
                    counted = 0;
                })
                .function("nothing", (event, ctx) -> null)
                .function("echo", (event, ctx) -> event)
                .function("plus_one", Number.class, (event, ctx) -> plusOne(event))
                .function("now", (event, ctx) -> ctx.now())
                .function("clocks", (event, ctx) -> List.of(ctx.now(), ctx.monotonic()))
                .function("seq_and_now", (event, ctx) -> Json.object("seq", ctx.seq(), "at", ctx.now()))
                .function("draws", (event, ctx) -> draws(ctx))
                .function("draw_two", (event, ctx) -> List.of(ctx.randint(1, 6), ctx.random()))
                .function("uuid", (event, ctx) -> ctx.uuid().toString())
                .function("charge", Amount.class, (event, ctx) -> charge(event, ctx))
                .function("quote", Sku.class, (event, ctx) -> quote(event, ctx))
                .function("quote_in_eur", Sku.class, (event, ctx) -> ctx.respond(
                        "quote", Object.class, List.of(event.sku), Map.of("currency", "EUR"), () -> new Price(990)))
                .function("quote_failing", Sku.class, (event, ctx) -> quoteFailing(event, ctx))
                .function("quote_or_null", Sku.class, (event, ctx) -> {
                    try {
                        return Json.object("price", quoteFailing(event, ctx));
                    } catch (TimeoutError noQuote) {
                        return Json.object("price", null);
                    }
                })
                .function("slow", (event, ctx) -> ctx.respond("slow", Object.class, () -> anHour()))
                .function("declined", (event, ctx) -> {
                    throw new HandlerError("Declined", "no funds");
                })
                .function("testify", Amount.class, (event, ctx) -> {
                    try (Span span = ctx.span("charge", event)) {
                        ctx.observe("queue.depth", 17);
                        ctx.note("retry", Map.of("attempt", 2));
                        span.outcome("approved");
                    }
                    return true;
                })
                .function("escaped", (event, ctx) -> {
                    ctx.escaped("socket.connect", "handler.py:12");
                    return true;
                })
                .function("caught", (event, ctx) -> caught(ctx))
                .function("prints", (event, ctx) -> prints(ctx))
                .function("reads", (event, ctx) -> new String(System.in.readAllBytes(), StandardCharsets.UTF_8))
                .function("order", Sku.class, (event, ctx) -> List.of(ctx.now(), ctx.random(), price(event, ctx)))
                .function("readings", (event, ctx) -> List.of(ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)))
                .function("noted", (event, ctx) -> {
                    long first = ctx.now();
                    ctx.note("retry", Map.of("attempt", 2));
                    return List.of(first, ctx.now());
                })
                .function("race", (event, ctx) -> race(ctx))
                .function("abandon", (event, ctx) -> {
                    ctx.start("slow", Object.class, () -> anHour());
                    return "done";
                })
                .function("kept", (event, ctx) -> kept(ctx))
                .function("live", (event, ctx) -> {
                    String made = ctx.respond("live", String.class, () -> {
                        ctx.now();
                        ctx.random();
                        return "made";
                    });
                    return List.of(made, ctx.now());
                })
                .function("not_json", (event, ctx) -> Map.of("items", List.of(1, Double.NaN)))
                .function("lanes", (event, ctx) -> List.of(ctx.now(), ctx.monotonic(), ctx.lane("worker-1").now()))
                .function("left_behind", (event, ctx) -> leftBehind(ctx))
                .function("count", (event, ctx) -> ++counted)
                .run();
    }

    private static Number plusOne(Number event) {
        if (event instanceof Double) return event.doubleValue() + 1;
        return new BigInteger(event.toString()).add(BigInteger.ONE);
    }

    private static Object draws(Context ctx) {
        List<Integer> positions = IntStream.range(0, 10).boxed().toList();
        return List.of(ctx.random(), ctx.randint(1, 6), HexFormat.of().formatHex(ctx.randbytes(5)),
                ctx.sample(positions, 3),
                ctx.random());
    }

    private static Object charge(Amount event, Context ctx) {
        long at = ctx.now();
        boolean sampled = ctx.random() < 0.2;
        long balance = ctx.respond("account.balance", Long.class, () -> 1000 - event.amount);
        return Json.object("receivedAt", at, "sampled", sampled, "approved", balance >= 0, "balance", balance);
    }

    private static Object quote(Sku event, Context ctx) {
        return ctx.respond("quote", Object.class, List.of(event.sku), () -> new Price(990));
    }

    private static long price(Sku event, Context ctx) {
        return ctx.respond("quote", Price.class, List.of(event.sku), () -> new Price(990)).price;
    }

    private static Object quoteFailing(Sku event, Context ctx) {
        return ctx.respond("quote", Object.class, List.of(event.sku), () -> {
            throw new TimeoutError("no quote");
        });
    }

    private static Object anHour() throws InterruptedException {
        TimeUnit.HOURS.sleep(1);
        return null;
    }

    private static Object caught(Context ctx) {
        long at = ctx.now();
        for (Runnable ask : List.<Runnable>of(ctx::now, ctx::random)) {
            try {
                ask.run();
            } catch (RuntimeException dropped) {
                // The call has diverged: the daemon says so.
            }
        }
        return Map.of("at", at);
    }

    @SuppressWarnings("resource") // closing it would close what is printed to
    private static Object prints(Context ctx) throws IOException {
        System.out.println("one");
        long at = ctx.now();
        System.out.print("{\"jsonrpc\":\"2.0\",\"method\":\"two\"}");
        try {
            new FileOutputStream(FileDescriptor.out).write("three\n".getBytes(StandardCharsets.US_ASCII));
        } catch (IOException closed) {
            // So it is, and its number is that of /dev/null.
        }
        try (FileOutputStream one = new FileOutputStream("/dev/fd/1", true)) {
            one.write("three\n".getBytes(StandardCharsets.US_ASCII));
        }
        return at;
    }

    private static Object race(Context ctx) {
        CountDownLatch isRead = new CountDownLatch(1);
        Answer<String> near = ctx.start("near", String.class, () -> {
            isRead.await();
            return "near";
        });
        Answer<String> far = ctx.start("far", String.class, () -> "far");
        long t = ctx.now();
        Answer<?> first = ctx.first(near, far);
        long u = ctx.now();
        isRead.countDown();
        Object one = first.get();
        far.get();
        return Json.object("first", one, "at", List.of(t, u), "last", near.get());
    }

    private static Object kept(Context ctx) {
        if (ctx.seq() == 0) {
            kept = ctx;
            return null;
        }
        try {
            return kept.now();
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName();
        }
    }

    private static Object leftBehind(Context ctx) {
        if (ctx.seq() != 0) return null;
        Thread left = new Thread(() -> {
            while (!ctx.isOver()) Thread.onSpinWait();
            try {
                ctx.now();
            } catch (RuntimeException dropped) {
                // CallEnded, as it should be.
            }
        });
        left.setDaemon(true);
        left.start();
        return null;
    }
}
