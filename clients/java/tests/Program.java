package tests;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import playhead.client.Answer;
import playhead.client.Cancelled;
import playhead.client.Context;
import playhead.client.Serve;

/** What the tests ask of a process that the conformance program does not have. */
final class Program {
    public static void main(String[] args) {
        new Serve("program")
                .function("several_threads", (event, ctx) -> severalThreads(ctx))
                .function("both_at_once", (event, ctx) -> bothAtOnce(ctx))
                .function("child", (event, ctx) -> new ProcessBuilder("echo", "from the child").inheritIO().start()
                        .waitFor())
                .function("timeout", (event, ctx) -> timeout(ctx))
                .function("cause", (event, ctx) -> cause(ctx))
                .function("too_large", (event, ctx) -> "x".repeat(1 << 16))
                .function("now_twice", (event, ctx) -> List.of(ctx.now(), ctx.now()))
                .function("ask_then_now", (event, ctx) -> List.of(
                        ctx.respond("k", String.class, () -> "v"), ctx.now()))
                .function("argument", (event, ctx) -> ctx.respond(
                        "k", Object.class, List.of(1, Map.of("a", Double.NaN)), () -> null))
                .function("fraction", (event, ctx) -> ctx.respond("k", Long.class, () -> 1L))
                .function("busy", (event, ctx) -> busy(ctx))
                .reset(() -> {
                    throw new IllegalStateException("still busy");
                })
                .run();
    }

    private static Object severalThreads(Context ctx) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> readings = new ArrayList<>();
        for (int i = 0; i < 40; i++) readings.add(pool.submit(ctx::now));
        long sum = 0;
        for (Future<Long> reading : readings) sum += reading.get();
        pool.shutdown();
        return sum;
    }

    // Each producer waits for the other to have begun.
    private static Object bothAtOnce(Context ctx) {
        CountDownLatch begun = new CountDownLatch(2);
        Answer<String> a = ctx.start("a", String.class, () -> {
            begun.countDown();
            begun.await();
            return "a";
        });
        Answer<String> b = ctx.start("b", String.class, () -> {
            begun.countDown();
            begun.await();
            return "b";
        });
        return List.of(a.get(), b.get());
    }

    // A checked exception that is Java's own is caught as what it was, on record and on replay.
    private static Object timeout(Context ctx) {
        try {
            return ctx.respond("k", String.class, () -> {
                if (ctx.seq() >= 0) throw new TimeoutException("too late");
                return "";
            });
        } catch (TimeoutException error) {
            return "caught " + error.getMessage();
        }
    }

    private static Object cause(Context ctx) {
        IllegalStateException made = new IllegalStateException("no");
        try {
            return ctx.respond("k", String.class, () -> {
                throw made;
            });
        } catch (IllegalStateException error) {
            return error != made && error.getCause() == made;
        }
    }

    private static Object busy(Context ctx) {
        CountDownLatch never = new CountDownLatch(1);
        try {
            return ctx.respond("k", String.class, () -> {
                never.await();
                return "";
            });
        } catch (Cancelled cancelled) {
            return "not the answer of a cancelled call";
        } catch (InterruptedException error) {
            return "an interrupt that was the producer's";
        }
    }
}
