#include "message.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

void *playhead_alloc(void *block, size_t size) {
    void *found = realloc(block, size == 0 ? 1 : size);
    if (found == NULL) {
        fputs("playhead: no memory\n", stderr);
        abort();
    }
    return found;
}

static json_t *held(json_t *value) {
    if (value == NULL) playhead_alloc(NULL, SIZE_MAX / 2);
    return value;
}

void text_add(text *to, const char *bytes, size_t size) {
    if (to->room - to->size < size) {
        const size_t least = to->size + size;
        to->room = to->room * 2 < least ? least + 256 : to->room * 2;
        to->bytes = playhead_alloc(to->bytes, to->room);
    }
    if (size > 0) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

void text_put(text *to, const char *words) {
    text_add(to, words, strlen(words));
}

void text_number(text *to, json_int_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, number);
    text_put(to, digits);
}

void text_free(text *of) {
    free(of->bytes);
    *of = (text){NULL, 0, 0};
}

/* A handler may have set a locale that writes decimal commas. */
static locale_t plainly(void) {
    static locale_t plain;
    if (plain == (locale_t)0) plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain == (locale_t)0 ? (locale_t)0 : uselocale(plain);
}

static void as_before(locale_t before) {
    if (before != (locale_t)0) uselocale(before);
}

/* The size of the character at the start: 0 where it is none. Half a character is taken, as the three bytes that UTF-8
 * would have for it; `half` says so. */
static size_t character(const unsigned char *at, size_t left, bool *half) {
    *half = false;
    if (left == 0) return 0;
    if (at[0] < 0x80) return 1;
    const size_t size = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    if (at[0] < 0xC2 || at[0] > 0xF4 || left < size) return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
    }
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F)) return 0;
    *half = at[0] == 0xED && at[1] >= 0xA0;
    return size;
}

/* Reading. */

typedef struct reader {
    const char *at;
    const char *end;
    const char *start;
    int depth;
    char *said;
    text scratch;
} reader;

static json_t *read_value(reader *in);

static json_t *broken(reader *in, const char *what) {
    snprintf(in->said, PLAYHEAD_SAID, "%s at byte %zu", what, (size_t)(in->at - in->start));
    in->end = in->at = in->start;
    return NULL;
}

static char next(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n')) in->at++;
    return in->at < in->end ? *in->at : '\0';
}

static int hex(reader *in) {
    int code = 0;
    if (in->end - in->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const char c = in->at[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    in->at += 4;
    return code;
}

static void add_character(text *to, long code) {
    const char bytes[4] = {
        (char)(code < 0x80 ? code : code < 0x800 ? 0xC0 | code >> 6 : code < 0x10000 ? 0xE0 | code >> 12 : 0xF0 | code >> 18),
        (char)(0x80 | (code < 0x800 ? code : code < 0x10000 ? code >> 6 : code >> 12) % 64),
        (char)(0x80 | (code < 0x10000 ? code : code >> 6) % 64),
        (char)(0x80 | code % 64),
    };
    text_add(to, bytes, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
}

static bool read_escape(reader *in) {
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (in->at == in->end) return false;
    const char letter = *in->at++;
    const char *simple = letter == '\0' ? NULL : strchr(letters, letter);
    if (simple != NULL) {
        text_add(&in->scratch, &meant[simple - letters], 1);
        return true;
    }
    long code = letter == 'u' ? hex(in) : -1;
    if (code < 0) return false;
    if (code >= 0xD800 && code < 0xDC00 && in->end - in->at >= 6 && in->at[0] == '\\' && in->at[1] == 'u') {
        const char *before = in->at;
        in->at += 2;
        const int low = hex(in);
        if (low >= 0xDC00 && low < 0xE000) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        else in->at = before;
    }
    add_character(&in->scratch, code);
    return true;
}

/* Into `scratch`; `at` is behind the first quote. */
static bool read_text(reader *in) {
    in->scratch.size = 0;
    while (true) {
        const char *plain = in->at;
        bool half = false;
        while (in->at < in->end && *in->at != '"' && *in->at != '\\') {
            const size_t size = (unsigned char)*in->at < 0x20 ? 0 : character((const unsigned char *)in->at, (size_t)(in->end - in->at), &half);
            if (size == 0 || half) return false;
            in->at += size;
        }
        text_add(&in->scratch, plain, (size_t)(in->at - plain));
        if (in->at == in->end) return false;
        if (*in->at++ == '"') return true;
        if (!read_escape(in)) return false;
    }
}

static bool digits(reader *in) {
    const char *first = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
    return in->at > first;
}

static json_t *unholdable(reader *in, const char *number, size_t size) {
    snprintf(in->said, PLAYHEAD_SAID, "%.*s%s does not fit the 64 bits that a number has here", (int)(size < 60 ? size : 60), number,
             size < 60 ? "" : "...");
    return json_null();
}

static json_t *read_number(reader *in) {
    const char *first = in->at;
    if (*in->at == '-') in->at++;
    if (in->at < in->end && *in->at == '0') in->at++;
    else if (!digits(in)) return broken(in, "not JSON");
    bool real = false;
    if (in->at < in->end && *in->at == '.') {
        in->at++;
        real = true;
        if (!digits(in)) return broken(in, "not JSON");
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        in->at++;
        real = true;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-')) in->at++;
        if (!digits(in)) return broken(in, "not JSON");
    }
    const size_t size = (size_t)(in->at - first);
    in->scratch.size = 0;
    text_add(&in->scratch, first, size);
    text_add(&in->scratch, "", 1);
    errno = 0;
    if (!real) {
        const long long integer = strtoll(in->scratch.bytes, NULL, 10);
        return errno == ERANGE ? unholdable(in, first, size) : held(json_integer(integer));
    }
    const double number = strtod(in->scratch.bytes, NULL);
    return isfinite(number) ? held(json_real(number)) : unholdable(in, first, size);
}

/* Takes a comma, or the end: true where there is another item. `at` is `start` where it is neither. */
static bool another(reader *in, char end) {
    const char found = next(in);
    if (found != ',' && found != end) {
        broken(in, "not JSON");
        return false;
    }
    in->at++;
    return found == ',';
}

static json_t *read_array(reader *in) {
    json_t *array = held(json_array());
    in->at++;
    if (next(in) == ']') {
        in->at++;
        return array;
    }
    do {
        json_t *item = read_value(in);
        if (item == NULL) break;
        held(json_array_append_new(array, item) == 0 ? array : NULL);
    } while (another(in, ']'));
    if (in->at > in->start) return array;
    json_decref(array);
    return NULL;
}

static json_t *read_object(reader *in) {
    json_t *object = held(json_object());
    in->at++;
    if (next(in) == '}') {
        in->at++;
        return object;
    }
    do {
        if (next(in) != '"' || (in->at++, !read_text(in))) {
            broken(in, "not JSON");
            break;
        }
        const text key = in->scratch;
        in->scratch = (text){NULL, 0, 0};
        json_t *item = NULL;
        if (next(in) == ':') {
            in->at++;
            item = read_value(in);
        } else {
            broken(in, "not JSON");
        }
        if (item != NULL) {
            held(json_object_setn_new_nocheck(object, key.bytes == NULL ? "" : key.bytes, key.size, item) == 0 ? object : NULL);
        }
        free(key.bytes);
    } while (in->at > in->start && another(in, '}'));
    if (in->at > in->start) return object;
    json_decref(object);
    return NULL;
}

static json_t *read_word(reader *in) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        const size_t size = strlen(words[i]);
        if ((size_t)(in->end - in->at) >= size && memcmp(in->at, words[i], size) == 0) {
            in->at += size;
            return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
        }
    }
    return broken(in, "not JSON");
}

static json_t *read_value(reader *in) {
    const char first = next(in);
    json_t *value;
    if (in->depth++ > PLAYHEAD_NESTING) value = broken(in, "too deep");
    else if (first == '{') value = read_object(in);
    else if (first == '[') value = read_array(in);
    else if (first == '-' || (first >= '0' && first <= '9')) value = read_number(in);
    else if (first != '"') value = read_word(in);
    else if (in->at++, !read_text(in)) value = broken(in, "not JSON");
    else value = held(json_stringn_nocheck(in->scratch.bytes == NULL ? "" : in->scratch.bytes, in->scratch.size));
    in->depth--;
    return value;
}

json_t *message_read(const char *bytes, size_t size, char said[PLAYHEAD_SAID]) {
    const locale_t before = plainly();
    reader in = {bytes, bytes + size, bytes, 0, said, {NULL, 0, 0}};
    said[0] = '\0';
    json_t *value = read_value(&in);
    if (value != NULL && (next(&in) != '\0' || in.at != in.end)) {
        json_decref(value);
        value = broken(&in, "not JSON");
    }
    text_free(&in.scratch);
    as_before(before);
    return value;
}

/* Writing. */

typedef struct writer {
    text *to;
    text path;
    char *said;
    int depth;
} writer;

static void pointer_part(text *to, const char *key, size_t size) {
    text_put(to, "/");
    for (size_t i = 0; i < size; i++) {
        if (key[i] == '~') text_put(to, "~0");
        else if (key[i] == '/') text_put(to, "~1");
        else if ((unsigned char)key[i] < 0x20 || (unsigned char)key[i] > 0x7E) text_put(to, "?");
        else text_add(to, &key[i], 1);
    }
}

static bool refuse(writer *out, const char *what) {
    const int shown = (int)(out->path.size < 120 ? out->path.size : 120);
    snprintf(out->said, PLAYHEAD_SAID, "%.*s: %s", shown, out->path.size == 0 ? "" : out->path.bytes, what);
    return false;
}

static bool write_text(text *to, const char *words, size_t size) {
    static const char hex_digits[] = "0123456789abcdef";
    const unsigned char *at = (const unsigned char *)words;
    const unsigned char *end = at + size;
    text_put(to, "\"");
    while (at < end) {
        const unsigned char *plain = at;
        bool half = false;
        size_t step = 0;
        while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') {
            step = character(at, (size_t)(end - at), &half);
            if (step == 0) return false;
            if (half) break;
            at += step;
        }
        text_add(to, (const char *)plain, (size_t)(at - plain));
        if (at == end) break;
        if (half) {
            const int code = 0xD000 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F);
            const char escape[6] = {'\\', 'u', 'd', hex_digits[code >> 8 & 15], hex_digits[code >> 4 & 15], hex_digits[code & 15]};
            text_add(to, escape, 6);
            at += 3;
            continue;
        }
        static const char simple[] = "\"\"\\\\\bb\ff\nn\rr\tt";
        const char *found = NULL;
        for (const char *pair = simple; *pair != '\0' && found == NULL; pair += 2) {
            if ((unsigned char)*pair == *at) found = pair + 1;
        }
        if (found != NULL) {
            const char escape[2] = {'\\', *found};
            text_add(to, escape, 2);
        } else {
            const char escape[6] = {'\\', 'u', '0', '0', hex_digits[*at >> 4], hex_digits[*at & 15]};
            text_add(to, escape, 6);
        }
        at++;
    }
    text_put(to, "\"");
    return true;
}

/* The shortest that reads as the same float, and is seen to be one. */
static void write_real(text *to, double number) {
    char shown[40];
    /* 15 digits come back from any float that has them all; the smallest have fewer. */
    for (int precision = fabs(number) < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
        snprintf(shown, sizeof shown, "%.*g", precision, number);
        if (precision == 17 || strtod(shown, NULL) == number) break;
    }
    text_put(to, shown);
    if (strpbrk(shown, ".e") == NULL) text_put(to, ".0");
}

static bool write_value(writer *out, const json_t *value);

static bool write_items(writer *out, const json_t *array) {
    text_put(out->to, "[");
    const size_t path = out->path.size;
    for (size_t i = 0; i < json_array_size(array); i++) {
        char place[24];
        snprintf(place, sizeof place, "/%zu", i);
        out->path.size = path;
        text_put(&out->path, place);
        if (i > 0) text_put(out->to, ",");
        if (!write_value(out, json_array_get(array, i))) return false;
    }
    out->path.size = path;
    text_put(out->to, "]");
    return true;
}

static bool write_members(writer *out, const json_t *object) {
    const char *key = NULL;
    size_t size = 0;
    json_t *item = NULL;
    bool first = true;
    const size_t path = out->path.size;
    text_put(out->to, "{");
    json_object_keylen_foreach((json_t *)object, key, size, item) {
        out->path.size = path;
        pointer_part(&out->path, key, size);
        if (!first) text_put(out->to, ",");
        first = false;
        if (!write_text(out->to, key, size)) return refuse(out, "the key is not UTF-8");
        text_put(out->to, ":");
        if (!write_value(out, item)) return false;
    }
    out->path.size = path;
    text_put(out->to, "}");
    return true;
}

static bool write_value(writer *out, const json_t *value) {
    bool written = true;
    switch (json_typeof(value)) {
    case JSON_NULL:
        text_put(out->to, "null");
        break;
    case JSON_TRUE:
        text_put(out->to, "true");
        break;
    case JSON_FALSE:
        text_put(out->to, "false");
        break;
    case JSON_INTEGER:
        text_number(out->to, json_integer_value(value));
        break;
    case JSON_REAL:
        if (!isfinite(json_real_value(value))) return refuse(out, "JSON has no such number");
        write_real(out->to, json_real_value(value));
        break;
    case JSON_STRING:
        written = write_text(out->to, json_string_value(value), json_string_length(value)) || refuse(out, "the text is not UTF-8");
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (out->depth == PLAYHEAD_DEPTH) return refuse(out, "deeper than 1000 levels, or a cycle");
        out->depth++;
        written = json_is_array(value) ? write_items(out, value) : write_members(out, value);
        out->depth--;
        break;
    }
    return written;
}

bool message_write(text *to, const json_t *value, char said[PLAYHEAD_SAID]) {
    const locale_t before = plainly();
    const size_t size = to->size;
    writer out = {to, {NULL, 0, 0}, said, 0};
    said[0] = '\0';
    const bool written = write_value(&out, value);
    if (!written) to->size = size;
    text_free(&out.path);
    as_before(before);
    return written;
}

json_t *message_clean(const char *words) {
    json_t *value = json_string(words);
    if (value != NULL) return value;
    text plain = {NULL, 0, 0};
    for (const char *at = words; *at != '\0'; at++) text_add(&plain, (unsigned char)*at < 0x80 ? at : "?", 1);
    value = held(json_stringn(plain.bytes == NULL ? "" : plain.bytes, plain.size));
    text_free(&plain);
    return value;
}

void message_quote(text *to, const char *words) {
    const size_t size = to->size;
    if (write_text(to, words, strlen(words))) return;
    to->size = size;
    json_t *clean = message_clean(words);
    write_text(to, json_string_value(clean), json_string_length(clean));
    json_decref(clean);
}
