package playhead.client;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON values as the types that a handler names. Nothing is rounded: a number that does not fit is refused. */
final class Types {
    private Types() {}

    static <T> T to(Class<T> type, Object value) {
        @SuppressWarnings("unchecked")
        T typed = (T) to(type, value, "");
        return typed;
    }

    private static Object to(Type type, Object value, String pointer) {
        if (type instanceof ParameterizedType generic) return generic(generic, value, pointer);
        if (!(type instanceof Class<?> wanted)) return value;
        if (wanted == Object.class) return value;
        if (wanted == Void.class || wanted == void.class) return null;
        if (value == null) {
            if (wanted.isPrimitive()) throw refused(wanted, null, pointer);
            return null;
        }
        if (wanted == boolean.class && value instanceof Boolean) return value;
        if (value instanceof Number number) {
            Object fitting = number(wanted, number, pointer);
            if (fitting != null) return fitting;
        }
        if (wanted.isInstance(value)) return value;
        if (wanted.isRecord() && value instanceof Map<?, ?> members) return record(wanted, members, pointer);
        if (wanted.isEnum() && value instanceof String) {
            for (Object constant : wanted.getEnumConstants()) {
                if (((Enum<?>) constant).name().equals(value)) return constant;
            }
        }
        throw refused(wanted, value, pointer);
    }

    private static Object generic(ParameterizedType type, Object value, String pointer) {
        Type[] arguments = type.getActualTypeArguments();
        Class<?> raw = (Class<?>) type.getRawType();
        if (value instanceof List<?> list && raw.isAssignableFrom(ArrayList.class)) {
            List<Object> typed = new ArrayList<>(list.size());
            for (Object item : list) typed.add(to(arguments[0], item, pointer + "/" + typed.size()));
            return typed;
        }
        if (value instanceof Map<?, ?> map && raw.isAssignableFrom(LinkedHashMap.class)) {
            Map<Object, Object> typed = new LinkedHashMap<>();
            map.forEach((key, member) -> typed.put(key, to(arguments[1], member, pointer + "/" + key)));
            return typed;
        }
        return to(raw, value, pointer);
    }

    private static Object record(Class<?> type, Map<?, ?> members, String pointer) {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] takes = new Class<?>[components.length];
        Object[] given = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            String name = components[i].getName();
            takes[i] = components[i].getType();
            given[i] = to(components[i].getGenericType(), members.get(name), pointer + "/" + name);
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(takes);
            constructor.setAccessible(true);
            return constructor.newInstance(given);
        } catch (InvocationTargetException error) {
            throw Errors.thrown(error.getCause());
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException("a " + type.getName() + " cannot be made: " + error.getMessage(), error);
        }
    }

    // null where the type is none of numbers.
    private static Object number(Class<?> wanted, Number value, String pointer) {
        if (wanted == Number.class) return value;
        if (wanted == BigDecimal.class) return decimal(value);
        if (wanted == BigInteger.class) return integer(wanted, value, pointer);
        if (wanted == double.class || wanted == Double.class) {
            double rounded = value.doubleValue();
            if (!(value instanceof Double) && new BigDecimal(rounded).compareTo(decimal(value)) != 0) {
                throw refused(wanted, value, pointer);
            }
            return rounded;
        }
        long smallest;
        if (wanted == long.class || wanted == Long.class) smallest = Long.MIN_VALUE;
        else if (wanted == int.class || wanted == Integer.class) smallest = Integer.MIN_VALUE;
        else if (wanted == short.class || wanted == Short.class) smallest = Short.MIN_VALUE;
        else if (wanted == byte.class || wanted == Byte.class) smallest = Byte.MIN_VALUE;
        else return null;
        BigInteger whole = integer(wanted, value, pointer);
        if (whole.bitLength() > 63 || whole.longValue() < smallest || whole.longValue() > -(smallest + 1)) {
            throw refused(wanted, value, pointer);
        }
        if (smallest == Long.MIN_VALUE) return whole.longValue();
        if (smallest == Integer.MIN_VALUE) return whole.intValue();
        if (smallest == Short.MIN_VALUE) return whole.shortValue();
        return whole.byteValue();
    }

    private static BigInteger integer(Class<?> wanted, Number value, String pointer) {
        if (value instanceof BigInteger whole) return whole;
        if (value instanceof Long) return BigInteger.valueOf(value.longValue());
        try {
            return decimal(value).toBigIntegerExact();
        } catch (ArithmeticException hasFraction) {
            throw refused(wanted, value, pointer);
        }
    }

    private static BigDecimal decimal(Number value) {
        if (value instanceof BigDecimal decimal) return decimal;
        if (value instanceof BigInteger whole) return new BigDecimal(whole);
        return value instanceof Double ? new BigDecimal(value.toString()) : BigDecimal.valueOf(value.longValue());
    }

    private static IllegalArgumentException refused(Class<?> wanted, Object value, String pointer) {
        String text = Json.text(value);
        String found = text.length() > 60 ? text.substring(0, 60) + "..." : text;
        String place = pointer.isEmpty() ? "" : " at " + pointer;
        return new IllegalArgumentException("a " + wanted.getSimpleName() + " was expected" + place
                + ", and there is " + found);
    }
}
