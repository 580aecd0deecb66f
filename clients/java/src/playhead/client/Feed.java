package playhead.client;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;

/** Answers that came ahead, in lanes. Guarded by the peer's lock. */
final class Feed {
    private final Queue<Object> now = new ArrayDeque<>();
    private final Queue<Object> random = new ArrayDeque<>();
    private final Map<String, Queue<Map<?, ?>>> respond = new HashMap<>();

    static boolean isWindow(Object window) {
        return window instanceof Map<?, ?> lanes
                && isLane(lanes.get("now"), Number.class)
                && isLane(lanes.get("random"), Number.class)
                && (lanes.get("respond") == null
                        || lanes.get("respond") instanceof Map<?, ?> keys
                                && keys.values().stream().allMatch(lane -> lane != null && isLane(lane, Map.class)));
    }

    private static boolean isLane(Object lane, Class<?> item) {
        return lane == null || lane instanceof List<?> items && items.stream().allMatch(item::isInstance);
    }

    void add(Map<?, ?> window) {
        if (window.get("now") instanceof List<?> readings) now.addAll(readings);
        if (window.get("random") instanceof List<?> draws) random.addAll(draws);
        if (!(window.get("respond") instanceof Map<?, ?> keys)) return;
        keys.forEach((key, answers) -> {
            Queue<Map<?, ?>> lane = respond.computeIfAbsent((String) key, none -> new ArrayDeque<>());
            for (Object answer : (List<?>) answers) lane.add((Map<?, ?>) answer);
        });
    }

    void clear() {
        now.clear();
        random.clear();
        respond.clear();
    }

    /** The next of `now` or `random`; null where there is none. */
    Object take(String method) {
        return (method.equals("now") ? now : random).poll();
    }

    Map<?, ?> takeRespond(String key) {
        Queue<Map<?, ?>> lane = respond.get(key);
        return lane == null ? null : lane.poll();
    }
}
