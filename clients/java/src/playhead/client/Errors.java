package playhead.client;

import java.lang.reflect.Constructor;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Errors as data and back. */
final class Errors {
    private static final List<String> PACKAGES = List.of(
            "java.lang.", "java.util.", "java.io.", "java.util.concurrent.", "java.net.", "java.net.http.",
            "java.nio.file.", "java.time.", "java.time.format.", "java.sql.", "playhead.client.");

    private Errors() {}

    /** The error of an answer of the daemon. */
    static RuntimeException ofAnswer(Object error) {
        Map<?, ?> known = error instanceof Map<?, ?> map ? map : Map.of();
        String message = String.valueOf(known.get("message"));
        long code = known.get("code") instanceof Long number ? number : 0;
        if (code == -32003) return new CallEnded(message);
        if (code == -32800) return new Cancelled(message);
        if (code == -32012) return new Forbidden(message);
        if (code == -32013) return new LimitExceeded(message);
        if (code != -32010) return new ProtocolError(message + " (" + code + ")");
        Map<?, ?> data = known.get("data") instanceof Map<?, ?> map ? map : Map.of();
        String why = data.get("message") instanceof String text ? text : message;
        return new DeterminismError(why, data.get("kind") instanceof String kind ? kind : "question");
    }

    /** What left a handler or a producer. */
    static ErrorData describe(Throwable error) {
        if (error instanceof RecordedError recorded && recorded.data() != null) return recorded.data();
        if (error instanceof HandlerError own) return new ErrorData(own.type(), text(own), null, null);
        return new ErrorData(name(error.getClass()), text(error), null, null);
    }

    private static String text(Throwable error) {
        try {
            String message = error.getMessage();
            return message == null ? "" : message;
        } catch (RuntimeException thrown) {
            return ""; // the handler has raised, and says so
        }
    }

    private static String name(Class<?> type) {
        return type.isAnonymousClass() ? name(type.getSuperclass()) : type.getSimpleName();
    }

    /**
     * The error to throw: of the reviver registered for its type, else of Java's own class of that name, else a
     * RecordedError.
     */
    static Throwable revive(ErrorData data, Map<String, Function<ErrorData, ? extends Throwable>> revivers) {
        Function<ErrorData, ? extends Throwable> reviver = revivers.get(data.type());
        Throwable revived = reviver != null ? reviver.apply(data) : own(data);
        return revived != null ? revived : new RecordedError(data);
    }

    // Only where it would leave the handler again as what was recorded.
    private static Throwable own(ErrorData data) {
        for (String name : PACKAGES) {
            try {
                Class<?> type = Class.forName(name + data.type());
                if (!Throwable.class.isAssignableFrom(type)) continue;
                Throwable made = data.message().isEmpty() ? empty(type) : of(type, data.message());
                ErrorData again = describe(made);
                if (again.type().equals(data.type()) && again.message().equals(data.message())) return made;
            } catch (ReflectiveOperationException | LinkageError next) {
                // There is no such class here, or none that is made of a message.
            }
        }
        return null;
    }

    private static Throwable empty(Class<?> type) throws ReflectiveOperationException {
        try {
            return (Throwable) type.getConstructor().newInstance();
        } catch (NoSuchMethodException none) {
            return of(type, "");
        }
    }

    private static Throwable of(Class<?> type, String message) throws ReflectiveOperationException {
        for (Constructor<?> constructor : type.getConstructors()) {
            Class<?>[] takes = constructor.getParameterTypes();
            if (takes.length == 1 && (takes[0] == String.class || takes[0] == Object.class)) {
                return (Throwable) constructor.newInstance(message);
            }
        }
        throw new NoSuchMethodException();
    }

    /** Throws whatever it is, checked or not: {@code throw Errors.thrown(error)}. */
    @SuppressWarnings("unchecked")
    static <X extends Throwable> RuntimeException thrown(Throwable error) throws X {
        throw (X) error;
    }
}
