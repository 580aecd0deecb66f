package playhead.client;

import java.util.Arrays;

/** The frames that are written, compact and in this order of members, each with its LF. */
final class Message {
    private Message() {}

    /** `rest` are the params behind `call` and `ask`, each with a comma before it. */
    static byte[] ask(long id, String method, long call, long ask, byte[] rest) {
        return begin().raw(",\"id\":").number(id).raw(",\"method\":\"").raw(method).raw("\",\"params\":{\"call\":")
                .number(call).raw(",\"ask\":").number(ask).raw(rest).raw("}}\n").bytes();
    }

    static byte[] notification(String method, long call, byte[] rest) {
        return begin().raw(",\"method\":\"").raw(method).raw("\",\"params\":{\"call\":").number(call).raw(rest)
                .raw("}}\n").bytes();
    }

    /** One item of `asked`. */
    static byte[] item(String method, byte[] rest) {
        Json.Writer item = new Json.Writer().raw("{\"m\":\"").raw(method).raw("\"");
        if (rest.length == 0) return item.raw("}").bytes();
        // Without the comma that stands before the first.
        return item.raw(",\"p\":{").raw(Arrays.copyOfRange(rest, 1, rest.length)).raw("}}").bytes();
    }

    static byte[] result(Object id, byte[] result) {
        return begin().raw(",\"id\":").value(id, 0).raw(",\"result\":").raw(result).raw("}\n").bytes();
    }

    static byte[] error(Object id, int code, String message, Object data) {
        Json.Writer frame = begin().raw(",\"id\":").value(id, 0).raw(",\"error\":{\"code\":").number(code)
                .raw(",\"message\":");
        frame.string(message);
        if (data != null) frame.raw(",\"data\":").value(data, 0);
        return frame.raw("}}\n").bytes();
    }

    private static Json.Writer begin() {
        return new Json.Writer().raw("{\"jsonrpc\":\"2.0\"");
    }
}
