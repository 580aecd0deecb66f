package playhead.client;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * One end of the conversation: questions go out, answers find whoever waits. One thread reads all the time, so the end
 * of input and a cancel are heard whatever the handler does; the handler runs on the thread that serves. Numbering a
 * question and sending it are one step, under the one lock.
 */
final class Peer {
    /** A request of ours that is open. */
    interface Waiter {
        /** Its answer is here. Under the lock. */
        void arrive(Map<?, ?> message);
    }

    /** A call that waits for its turn, or, where it has no function, a reset. */
    static final class Work {
        final Object id;
        final long call;
        final long seq;
        final String fn;
        final Object event;
        Map<?, ?> window;
        boolean cancelled;

        Work(Object id, long call, long seq, String fn, Object event, Map<?, ?> window) {
            this.id = id;
            this.call = call;
            this.seq = seq;
            this.fn = fn;
            this.event = event;
            this.window = window;
        }
    }

    // What a message adds around a value is far below this.
    private static final int MARGIN = 4096;

    // What was taken is reported before it grows beyond this, so that no frame of it is larger than one question.
    private static final int FULL = 256 * 1024;

    private static final int LONGEST_MESSAGE = 4096;

    private static final ThreadLocal<Integer> PRODUCING = new ThreadLocal<>();

    private static final Map<String, Object> PRODUCE = Map.of("produce", true);

    final ReentrantLock lock = new ReentrantLock();
    final Map<String, Function<ErrorData, ? extends Throwable>> revivers;
    final ExecutorService producers = Executors.newCachedThreadPool(run -> {
        Thread thread = new Thread(run, "playhead-producer");
        thread.setDaemon(true);
        return thread;
    });

    private final OutputStream out;
    private final Condition work = lock.newCondition();
    private final Deque<Work> queue = new ArrayDeque<>();
    private final Map<Long, Waiter> waiting = new HashMap<>();
    private final Feed feed = new Feed();
    private final Runnable onEnd;
    private Call current;
    private boolean isResetting;
    private long ids;
    private int asking; // answers to now and random that are waited for
    private int largest = Framing.MAX_FRAME_BYTES - MARGIN;

    Peer(OutputStream out, Map<String, Function<ErrorData, ? extends Throwable>> revivers, Runnable onEnd) {
        this.out = out;
        this.revivers = revivers;
        this.onEnd = onEnd;
    }

    // What a context asks.

    /** Runs a producer: on this thread the context is live meanwhile. */
    static <T, X extends Throwable> T live(Producer<T, X> producer) throws X {
        Integer before = PRODUCING.get();
        PRODUCING.set(1);
        try {
            return producer.produce();
        } finally {
            if (before == null) PRODUCING.remove();
        }
    }

    static boolean isLive() {
        return PRODUCING.get() != null;
    }

    /** `now` or `random`, waited for. `isPlain`: the wall clock or a float, which windows may hold. */
    Object ask(Call call, String method, byte[] rest, boolean isPlain) {
        Object[] answer = new Object[1];
        lock.lock();
        try {
            call.raiseTrouble();
            checkSize(rest.length);
            if (isPlain && asking == 0 && !call.over) {
                Object given = feed.take(method);
                if (given != null) {
                    call.asks++;
                    took(call, Message.item(method, rest));
                    return given;
                }
            }
            asking++;
            try {
                send(call, method, call.asks++, rest, message -> {
                    answer[0] = message;
                    call.changed.signalAll();
                });
                while (answer[0] == null) {
                    if (call.cancelled && !call.over) throw new Cancelled("the call was cancelled");
                    call.changed.awaitUninterruptibly();
                }
            } finally {
                asking--;
            }
        } finally {
            lock.unlock();
        }
        Map<?, ?> message = (Map<?, ?>) answer[0];
        if (message.get("error") != null) throw Errors.ofAnswer(message.get("error"));
        return message.get("result");
    }

    /** Asks `respond`, and does not wait. */
    void ask(Answer<?> answer, byte[] rest) {
        Call call = answer.call;
        lock.lock();
        try {
            call.raiseTrouble();
            checkSize(rest.length);
            answer.ask = call.asks++;
            Map<?, ?> given = call.over ? null : feed.takeRespond(answer.key);
            if (given != null) {
                took(call, Message.item("respond", rest));
                answer.given(given);
            } else if (call.produces && !call.over) {
                answer.isUnasked = true;
                took(call, Message.item("respond", rest));
                write(call, null);
                answer.offer();
            } else {
                send(call, "respond", answer.ask, rest, answer);
            }
        } finally {
            lock.unlock();
        }
    }

    /** What a producer made, when it is handed over. Under the lock. */
    void settle(Answer<?> answer, byte[] made) {
        Call call = answer.call;
        if (answer.isUnasked) {
            byte[] ask = new Json.Writer().raw(",\"ask\":").number(answer.ask).raw(made).bytes();
            took(call, Message.item("respond.settle", ask));
            return;
        }
        send(call, "respond.settle", answer.ask, made, message -> {
            Object error = message.get("error");
            if (error != null && call.trouble == null) call.trouble = Errors.ofAnswer(error);
        });
    }

    /** Sends a notification of a call, unless it is over. */
    void tell(Call call, String method, byte[] rest) {
        checkSize(rest.length);
        lock.lock();
        try {
            if (!call.over) write(call, Message.notification(method, call.number, rest));
        } finally {
            lock.unlock();
        }
    }

    void checkSize(int size) {
        if (size <= largest) return;
        throw new LimitExceeded("a value of " + size + " bytes; the largest that is sure to fit a frame has "
                + largest);
    }

    void limit(int frameBytes) {
        largest = Math.max(frameBytes - MARGIN, frameBytes / 2);
    }

    private void send(Call call, String method, long ask, byte[] rest, Waiter waiter) {
        long id = ++ids;
        waiting.put(id, waiter);
        write(call, Message.ask(id, method, call.number, ask, rest));
    }

    private void took(Call call, byte[] item) {
        if (call.takenBytes() > 0 && call.takenBytes() + item.length > FULL) write(call, null);
        call.took(item);
    }

    // Under the lock. What was taken is said before anything else of the call is.
    private void write(Call call, byte[] frame) {
        byte[] report = call.report();
        if (report == null) write(frame);
        else write(frame == null ? report : new Json.Writer().raw(report).raw(frame).bytes());
    }

    private void write(byte[] frames) {
        try {
            out.write(frames);
            out.flush();
        } catch (IOException gone) {
            onEnd.run();
        }
    }

    // What the daemon says.

    /** Answers a request of the daemon. */
    void reply(byte[] frame) {
        lock.lock();
        try {
            write(frame);
        } finally {
            lock.unlock();
        }
    }

    void answered(Map<?, ?> message) {
        lock.lock();
        try {
            Waiter waiter = message.get("id") instanceof Long id ? waiting.remove(id) : null;
            if (waiter != null) waiter.arrive(message);
        } finally {
            lock.unlock();
        }
    }

    void queue(Work item) {
        lock.lock();
        try {
            queue.add(item);
            work.signal();
        } finally {
            lock.unlock();
        }
    }

    /** False while a call is open or waits, or another reset does. */
    boolean queueReset(Object id) {
        lock.lock();
        try {
            if (current != null || isResetting || !queue.isEmpty()) return false;
            feed.clear();
            queue(new Work(id, 0, 0, null, null, null));
            return true;
        } finally {
            lock.unlock();
        }
    }

    void cancel(Object number) {
        lock.lock();
        try {
            for (Work waits : queue) {
                // It is answered when its turn comes.
                if (waits.fn != null && number.equals(waits.call)) waits.cancelled = true;
            }
            if (current == null || !number.equals(current.number)) return;
            current.cancelled = true;
            current.producing.forEach(Thread::interrupt);
            current.changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void withdraw() {
        lock.lock();
        try {
            feed.clear();
            for (Work waits : queue) {
                if (waits.window == null) continue;
                waits.window = Boolean.TRUE.equals(waits.window.get("produce")) ? PRODUCE : null;
            }
        } finally {
            lock.unlock();
        }
    }

    // What the thread that serves does.

    /** The next call or reset, waited for. */
    Work next() {
        lock.lock();
        try {
            while (queue.isEmpty()) work.awaitUninterruptibly();
            Work item = queue.poll();
            isResetting = item.fn == null;
            // Under the same lock: a cancel finds it in the queue or as the call that is open.
            if (!isResetting) open(item);
            return item;
        } finally {
            lock.unlock();
        }
    }

    private void open(Work item) {
        current = new Call(item.id, item.call, item.seq, item.fn, lock.newCondition());
        current.cancelled = item.cancelled;
        if (item.window == null) return;
        feed.add(item.window);
        current.produces = Boolean.TRUE.equals(item.window.get("produce"));
    }

    void resetDone(byte[] frame) {
        lock.lock();
        try {
            isResetting = false;
            write(frame);
        } finally {
            lock.unlock();
        }
    }

    /** The call that `next` has opened. */
    Call begin() {
        lock.lock();
        try {
            return current;
        } finally {
            lock.unlock();
        }
    }

    /** Sends a call's answer. After it nothing of the call is settled or handed over, and nothing taken. */
    void end(Call call, byte[] result) {
        lock.lock();
        try {
            byte[] answer = result;
            if (call.cancelled) answer = raised(new Cancelled("the call was cancelled"));
            else if (call.trouble != null) answer = raised(call.trouble);
            write(call, Message.result(call.id, answer));
            call.over = true;
            current = null;
            call.producing.forEach(Thread::interrupt);
            call.changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    static byte[] output(byte[] value) {
        return new Json.Writer().raw("{\"output\":").raw(value).raw("}").bytes();
    }

    byte[] raised(Throwable error) {
        return new Json.Writer().raw("{\"raised\":").raw(text(Errors.describe(error))).raw("}").bytes();
    }

    /**
     * An error's text; without its evidence, and with the beginning of its message, where the whole is larger than a
     * frame.
     */
    byte[] text(ErrorData error) {
        byte[] text = Json.write(error.json());
        if (text.length <= largest) return text;
        String message = error.message().substring(0, Math.min(error.message().length(), LONGEST_MESSAGE));
        return Json.write(new ErrorData(error.type(), message, null, null).json());
    }
}
