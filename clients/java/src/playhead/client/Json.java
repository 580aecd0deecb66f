package playhead.client;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Values into JSON text and back, exactly. A value is null, a Boolean, a String, a Long (a BigInteger where it has more
 * than 64 bits), a Double, a List or a Map that keeps the order of its members. Strings are UTF-16, so lone surrogates
 * survive: they are read from escapes and written as escapes.
 */
public final class Json {
    /** The deepest value: arrays and objects open at once. */
    public static final int MAX_DEPTH = 1000;

    // A frame puts two levels around a value, a window six.
    private static final int READ_DEPTH = MAX_DEPTH + 16;

    private Json() {}

    /** An object with its members in this order: {@code Json.object("sku", "A1", "amount", 3)}. */
    public static Map<String, Object> object(Object... members) {
        if (members.length % 2 != 0) throw new IllegalArgumentException("a key without a value");
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2) object.put((String) members[i], members[i + 1]);
        return object;
    }

    /** An array, whose items may be null: {@code Json.array(1, null)}. */
    public static List<Object> array(Object... items) {
        return new ArrayList<>(Arrays.asList(items));
    }

    /** The value of a JSON text in UTF-8. */
    public static Object read(byte[] text) {
        return new Reader(text).whole();
    }

    /** The value of a JSON text. */
    public static Object read(String text) {
        Writer utf8 = new Writer();
        utf8.characters(text);
        return read(utf8.bytes());
    }

    /** Compact JSON text in UTF-8. What JSON cannot carry is refused with {@link NotJSON}, which names its place. */
    public static byte[] write(Object value) {
        Writer writer = new Writer();
        writer.value(value, 0);
        return writer.bytes();
    }

    /** The same as a string. */
    public static String text(Object value) {
        return new String(write(value), StandardCharsets.UTF_8);
    }

    /** Reads what is exact and refuses the rest, with the byte where it stands. */
    private static final class Reader {
        private final byte[] text;
        private int at;

        Reader(byte[] text) {
            this.text = text;
        }

        Object whole() {
            Object value = value(0);
            space();
            if (at != text.length) throw refused("text behind the value");
            return value;
        }

        private Object value(int depth) {
            if (depth > READ_DEPTH) throw refused("nested deeper than " + MAX_DEPTH);
            space();
            int c = at < text.length ? text[at] : -1;
            switch (c) {
                case '{':
                    return object(depth + 1);
                case '[':
                    return array(depth + 1);
                case '"':
                    return string();
                case 't':
                    word("true");
                    return Boolean.TRUE;
                case 'f':
                    word("false");
                    return Boolean.FALSE;
                case 'n':
                    word("null");
                    return null;
                default:
                    if (c == '-' || isDigit(c)) return number();
                    throw refused(c < 0 && at >= text.length ? "the text ends where a value should be" : "no value");
            }
        }

        private Map<String, Object> object(int depth) {
            Map<String, Object> object = new LinkedHashMap<>();
            at++;
            space();
            if (taken('}')) return object;
            do {
                space();
                if (at == text.length || text[at] != '"') throw refused("a key should be here");
                int place = at;
                String key = string();
                space();
                if (!taken(':')) throw refused("a colon should be here");
                if (object.containsKey(key)) {
                    at = place;
                    throw refused("the key comes twice");
                }
                object.put(key, value(depth));
                space();
            } while (taken(','));
            if (!taken('}')) throw refused("a comma or } should be here");
            return object;
        }

        private List<Object> array(int depth) {
            List<Object> array = new ArrayList<>();
            at++;
            space();
            if (taken(']')) return array;
            do {
                array.add(value(depth));
                space();
            } while (taken(','));
            if (!taken(']')) throw refused("a comma or ] should be here");
            return array;
        }

        private Object number() {
            int start = at;
            taken('-');
            if (!taken('0')) digits();
            boolean isInteger = true;
            if (taken('.')) {
                isInteger = false;
                digits();
            }
            if (taken('e') || taken('E')) {
                isInteger = false;
                if (!taken('+')) taken('-');
                digits();
            }
            String token = new String(text, start, at - start, StandardCharsets.ISO_8859_1);
            if (isInteger && token.length() <= 18) return Long.parseLong(token);
            double value = Double.parseDouble(token);
            if (Double.isInfinite(value)) {
                at = start;
                throw refused("the number overflows");
            }
            if (!isInteger) return value;
            BigInteger integer = new BigInteger(token);
            return integer.bitLength() < 64 ? (Object) integer.longValueExact() : integer;
        }

        private void digits() {
            if (at == text.length || !isDigit(text[at])) throw refused("a digit should be here");
            while (at < text.length && isDigit(text[at])) at++;
        }

        private String string() {
            int start = ++at;
            while (at < text.length && text[at] >= 0x20 && text[at] != '"' && text[at] != '\\') at++;
            if (at < text.length && text[at] == '"') {
                return new String(text, start, at++ - start, StandardCharsets.ISO_8859_1);
            }
            StringBuilder built = new StringBuilder(at - start + 64);
            built.append(new String(text, start, at - start, StandardCharsets.ISO_8859_1));
            while (true) {
                if (at == text.length) throw refused("the text ends in a string");
                int c = text[at];
                if (c == '"') {
                    at++;
                    return built.toString();
                }
                if (c == '\\') escape(built);
                else if (c < 0) character(built);
                else if (c < 0x20) throw refused("a control character in a string");
                else {
                    built.append((char) c);
                    at++;
                }
            }
        }

        private void escape(StringBuilder built) {
            int c = at + 1 < text.length ? text[at + 1] : -1;
            int plain = "\"\\/bfnrt".indexOf(c);
            if (c > 0 && plain >= 0) {
                built.append("\"\\/\b\f\n\r\t".charAt(plain));
                at += 2;
                return;
            }
            if (c != 'u') throw refused("no escape");
            int unit = 0;
            for (int i = at + 2; i < at + 6; i++) {
                int digit = i < text.length ? Character.digit((char) (text[i] & 0xff), 16) : -1;
                if (digit < 0 || text[i] < 0) throw refused("four hex digits should be here");
                unit = unit << 4 | digit;
            }
            built.append((char) unit);
            at += 6;
        }

        // One character of more than one byte: neither overlong nor a surrogate nor beyond the last plane.
        private void character(StringBuilder built) {
            int first = text[at] & 0xff;
            int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
            if (first < 0xc2 || first > 0xf4) throw refused("invalid UTF-8");
            int point = first & 0x3f >> more;
            for (int i = 1; i <= more; i++) {
                int next = at + i < text.length ? text[at + i] & 0xff : 0;
                if ((next & 0xc0) != 0x80) throw refused("invalid UTF-8");
                point = point << 6 | next & 0x3f;
            }
            boolean isOverlong = point < (more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80);
            if (isOverlong || point > 0x10ffff || point >= 0xd800 && point < 0xe000) throw refused("invalid UTF-8");
            built.appendCodePoint(point);
            at += more + 1;
        }

        private void word(String word) {
            for (int i = 0; i < word.length(); i++, at++) {
                if (at == text.length || text[at] != word.charAt(i)) throw refused("no value");
            }
        }

        private boolean taken(char c) {
            if (at == text.length || text[at] != c) return false;
            at++;
            return true;
        }

        private void space() {
            for (; at < text.length; at++) {
                if (text[at] != ' ' && text[at] != '\n' && text[at] != '\r' && text[at] != '\t') return;
            }
        }

        private static boolean isDigit(int c) {
            return c >= '0' && c <= '9';
        }

        private IllegalArgumentException refused(String what) {
            return new IllegalArgumentException("not exact JSON at byte " + at + ": " + what);
        }
    }

    /** Text into a growing array of bytes. UTF-8 is written by hand: the default charset has no say in it. */
    static final class Writer {
        private static final char[] HEX = "0123456789abcdef".toCharArray();

        private byte[] bytes = new byte[256];
        private int size;

        byte[] bytes() {
            return Arrays.copyOf(bytes, size);
        }

        /** ASCII, as it is. */
        Writer raw(String ascii) {
            int length = ascii.length();
            room(length);
            for (int i = 0; i < length; i++) bytes[size++] = (byte) ascii.charAt(i);
            return this;
        }

        Writer raw(byte[] more) {
            room(more.length);
            System.arraycopy(more, 0, bytes, size, more.length);
            size += more.length;
            return this;
        }

        Writer number(long number) {
            return raw(Long.toString(number));
        }

        Writer string(String text) {
            put('"');
            int length = text.length();
            for (int i = 0; i < length; i++) {
                char c = text.charAt(i);
                if (c < 0x80) {
                    if (c == '"' || c == '\\') {
                        put('\\');
                        put(c);
                    } else if (c < 0x20) {
                        control(c);
                    } else {
                        put(c);
                    }
                } else if (!Character.isSurrogate(c)) {
                    point(c);
                } else if (Character.isHighSurrogate(c) && i + 1 < length
                        && Character.isLowSurrogate(text.charAt(i + 1))) {
                    point(Character.toCodePoint(c, text.charAt(++i)));
                } else {
                    unit(c);
                }
            }
            put('"');
            return this;
        }

        // A text that is JSON already; a lone surrogate in it stands inside a string.
        void characters(String text) {
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (!Character.isSurrogate(c)) {
                    point(c);
                } else if (Character.isHighSurrogate(c) && i + 1 < text.length()
                        && Character.isLowSurrogate(text.charAt(i + 1))) {
                    point(Character.toCodePoint(c, text.charAt(++i)));
                } else {
                    unit(c);
                }
            }
        }

        Writer value(Object value, int depth) {
            if (value == null) return raw("null");
            if (value instanceof String) return string((String) value);
            if (value instanceof Boolean) return raw(value.toString());
            if (value instanceof Number) return number((Number) value);
            if (value instanceof Map) return map((Map<?, ?>) value, depth + 1);
            if (value instanceof Iterable) return items((Iterable<?>) value, depth + 1);
            if (value instanceof Record) return record((Record) value, depth + 1);
            if (value instanceof Enum) return string(((Enum<?>) value).name());
            if (value instanceof byte[]) throw new NotJSON("bytes");
            if (value.getClass().isArray() && !(value instanceof char[])) return array(value, depth + 1);
            throw new NotJSON("a " + value.getClass().getName());
        }

        private Writer number(Number number) {
            if (number instanceof Double || number instanceof Float) {
                if (Double.isNaN(number.doubleValue()) || Double.isInfinite(number.doubleValue())) {
                    throw new NotJSON("the number " + number);
                }
                return raw(number.toString());
            }
            if (number instanceof BigInteger || number instanceof BigDecimal) {
                if (Double.isInfinite(number.doubleValue())) throw new NotJSON("a number that overflows float64");
                return raw(number.toString());
            }
            if (number instanceof Long || number instanceof Integer || number instanceof Short || number instanceof Byte
                    || number instanceof AtomicLong || number instanceof AtomicInteger) {
                return number(number.longValue());
            }
            throw new NotJSON("a " + number.getClass().getName());
        }

        private Writer map(Map<?, ?> map, int depth) {
            checkDepth(depth);
            put('{');
            boolean isFirst = true;
            for (Map.Entry<?, ?> member : map.entrySet()) {
                if (!(member.getKey() instanceof String)) throw new NotJSON("the key " + member.getKey() + ", no text,");
                isFirst = member(isFirst, (String) member.getKey(), member.getValue(), depth);
            }
            put('}');
            return this;
        }

        private Writer record(Record record, int depth) {
            checkDepth(depth);
            put('{');
            boolean isFirst = true;
            for (RecordComponent component : record.getClass().getRecordComponents()) {
                isFirst = member(isFirst, component.getName(), get(component, record), depth);
            }
            put('}');
            return this;
        }

        private static Object get(RecordComponent component, Record record) {
            try {
                component.getAccessor().setAccessible(true);
                return component.getAccessor().invoke(record);
            } catch (InvocationTargetException error) {
                throw Errors.thrown(error.getCause());
            } catch (IllegalAccessException error) {
                throw new NotJSON("a record that cannot be read: " + error.getMessage());
            }
        }

        private boolean member(boolean isFirst, String key, Object value, int depth) {
            if (!isFirst) put(',');
            string(key);
            put(':');
            try {
                value(value, depth);
            } catch (NotJSON refused) {
                throw refused.in(key);
            }
            return false;
        }

        private Writer items(Iterable<?> items, int depth) {
            checkDepth(depth);
            put('[');
            int index = 0;
            for (Object item : items) item(index++, item, depth);
            put(']');
            return this;
        }

        private Writer array(Object array, int depth) {
            checkDepth(depth);
            put('[');
            for (int i = 0; i < Array.getLength(array); i++) item(i, Array.get(array, i), depth);
            put(']');
            return this;
        }

        private void item(int index, Object item, int depth) {
            if (index > 0) put(',');
            try {
                value(item, depth);
            } catch (NotJSON refused) {
                throw refused.in(Integer.toString(index));
            }
        }

        private static void checkDepth(int depth) {
            if (depth > MAX_DEPTH) throw new NotJSON("nested deeper than " + MAX_DEPTH + ", or a cycle,");
        }

        private void control(char c) {
            int plain = "\b\f\n\r\t".indexOf(c);
            if (plain >= 0) {
                put('\\');
                put("bfnrt".charAt(plain));
            } else {
                unit(c);
            }
        }

        private void unit(char c) {
            room(6);
            bytes[size++] = '\\';
            bytes[size++] = 'u';
            for (int shift = 12; shift >= 0; shift -= 4) bytes[size++] = (byte) HEX[c >> shift & 0xf];
        }

        private void point(int point) {
            room(4);
            if (point < 0x80) {
                bytes[size++] = (byte) point;
            } else if (point < 0x800) {
                bytes[size++] = (byte) (0xc0 | point >> 6);
                bytes[size++] = (byte) (0x80 | point & 0x3f);
            } else if (point < 0x10000) {
                bytes[size++] = (byte) (0xe0 | point >> 12);
                bytes[size++] = (byte) (0x80 | point >> 6 & 0x3f);
                bytes[size++] = (byte) (0x80 | point & 0x3f);
            } else {
                bytes[size++] = (byte) (0xf0 | point >> 18);
                bytes[size++] = (byte) (0x80 | point >> 12 & 0x3f);
                bytes[size++] = (byte) (0x80 | point >> 6 & 0x3f);
                bytes[size++] = (byte) (0x80 | point & 0x3f);
            }
        }

        private void put(char ascii) {
            room(1);
            bytes[size++] = (byte) ascii;
        }

        private void room(int more) {
            if (bytes.length - size >= more) return;
            long wanted = Math.max((long) bytes.length * 2, (long) size + more);
            if ((long) size + more > Integer.MAX_VALUE - 8) throw new NotJSON("a value of more than 2 GiB");
            bytes = Arrays.copyOf(bytes, (int) Math.min(wanted, Integer.MAX_VALUE - 8));
        }
    }
}
