package playhead.client;

import java.util.List;
import java.util.Map;

/** An error as data. {@code args} and {@code data} are null where there are none. */
public record ErrorData(String type, String message, List<?> args, Object data) {
    static ErrorData of(Object value) {
        if (!(value instanceof Map<?, ?> error) || !(error.get("type") instanceof String type)) {
            throw new ProtocolError("an error has a type and a message");
        }
        String message = error.get("message") instanceof String text ? text : "";
        return new ErrorData(type, message, error.get("args") instanceof List<?> args ? args : null, error.get("data"));
    }

    Map<String, Object> json() {
        Map<String, Object> error = Json.object("type", type, "message", message);
        if (args != null) error.put("args", args);
        if (data != null) error.put("data", data);
        return error;
    }
}
