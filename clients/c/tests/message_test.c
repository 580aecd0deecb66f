/* Values into text and back, also against the project's vectors. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "framing.h"
#include "message.h"

static char said[PLAYHEAD_SAID];

static json_t *read_words(const char *words) {
    return message_read(words, strlen(words), said);
}

static const char *written(const json_t *value) {
    static text out;
    out.size = 0;
    if (!message_write(&out, value, said)) return said;
    text_add(&out, "", 1);
    return out.bytes;
}

static json_t *vector(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", VECTORS, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s is not there\n", path);
        exit(1);
    }
    text all = {NULL, 0, 0};
    char some[4096];
    for (size_t size = 0; (size = fread(some, 1, sizeof some, file)) > 0;) text_add(&all, some, size);
    fclose(file);
    json_t *value = message_read(all.bytes, all.size, said);
    text_free(&all);
    CHECK(json_is_object(value));
    return value;
}

static void a_text_comes_back_as_it_was(void) {
    static const char *const texts[] = {
        "{\"a\":[1,2.5,true,null,\"\"],\"b\":{}}", "[]", "{}", "\"\\ud800\"", "{\"\\udfff\":\"\\udfff\\ud800\"}", "{\"\\u0000\":8,\"\":1}",
        "\"\\u0000\\u001f\\n\\\"\\\\/\"", "\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80<>&\"", "9007199254740993", "9223372036854775807",
        "-9223372036854775808", "5e-324", "-0.0", "4.0", "1e+22", "0.1", "0.30000000000000004", "1.7976931348623157e+308",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *value = read_words(texts[i]);
        CHECK(value != NULL && *said == '\0');
        if (value != NULL) SAME(written(value), texts[i]);
        json_decref(value);
    }
}

static void an_escaped_pair_is_one_character(void) {
    json_t *value = read_words("\"\\ud83d\\ude00 \\ud83d\\ud83d\\ude00\"");
    SAME(written(value), "\"\xf0\x9f\x98\x80 \\ud83d\xf0\x9f\x98\x80\"");
    json_decref(value);
}

static void a_number_that_no_value_can_hold_is_named(void) {
    json_t *value = read_words("{\"a\":[9223372036854775808]}");
    SAME(written(value), "{\"a\":[null]}");
    json_decref(value);
    value = read_words("{\"a\":[9223372036854775808]}");
    CHECK(strstr(said, "9223372036854775808 does not fit") != NULL);
    json_decref(value);
    value = read_words("[-9223372036854775809,1]");
    CHECK(strstr(said, "-9223372036854775809 does not fit") != NULL);
    json_decref(value);
    value = read_words("[1e400]");
    CHECK(strstr(said, "1e400 does not fit") != NULL);
    json_decref(value);
}

static void what_json_cannot_carry_is_refused_with_its_place(void) {
    json_t *value = json_pack("{s:[i, o]}", "a/b~", 1, json_stringn_nocheck("\xff", 1));
    SAME(written(value), "/a~1b~0/1: the text is not UTF-8");
    json_decref(value);
    value = json_array();
    json_array_append_new(value, json_object());
    json_object_set_new_nocheck(json_array_get(value, 0), "\xc0\x80", json_null());
    SAME(written(value), "/0/??: the key is not UTF-8");
    json_decref(value);
    value = json_null();
    for (int i = 0; i < PLAYHEAD_DEPTH; i++) value = json_pack("[o]", value);
    CHECK(strncmp(written(value), "[[[[", 4) == 0);
    value = json_pack("[o]", value);
    CHECK(strstr(written(value), "deeper than 1000") != NULL);
    json_decref(value);
}

static void a_decimal_comma_changes_nothing(void) {
    /* Made here, since most machines have none; where it cannot be made, that is said. */
    char folder[] = "/tmp/playhead-locale-XXXXXX";
    char command[128];
    setenv("LOCPATH", mkdtemp(folder), 1);
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >&2", folder);
    if (system(command) != 0 || setlocale(LC_ALL, "de_DE.UTF-8") == NULL) printf("     (there is no localedef)\n");
    else CHECK(strcmp(localeconv()->decimal_point, ",") == 0);
    json_t *value = read_words("[1234.5,0.1]");
    SAME(written(value), "[1234.5,0.1]");
    json_decref(value);
    setlocale(LC_ALL, "C");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static void texts_are_taken_and_refused_as_the_vectors_say(void) {
    json_t *all = vector("canonical/reject.json");
    size_t index = 0;
    json_t *each = NULL;
    int refused = 0;
    json_array_foreach(json_object_get(all, "cases"), index, each) {
        const char *name = json_string_value(json_object_get(each, "name"));
        const char *verdict = json_string_value(json_object_get(each, "verdict"));
        const char *hex = json_string_value(json_object_get(each, "hex"));
        text bytes = {NULL, 0, 0};
        for (const char *at = hex; *at != '\0'; at += 2) {
            const char pair[3] = {at[0], at[1], '\0'};
            const char byte = (char)strtol(pair, NULL, 16);
            text_add(&bytes, &byte, 1);
        }
        json_t *value = message_read(bytes.bytes == NULL ? "" : bytes.bytes, bytes.size, said);
        /* A key that comes twice is the daemon's to refuse; a number that does not fit is seen by what is said. */
        const int taken = value != NULL && *said == '\0';
        if (strcmp(verdict, "reject") == 0) {
            refused++;
            if (taken && strstr(name, "duplicate") == NULL) fprintf(stderr, "taken: %s\n", name), failures++;
        } else if (strncmp(name, "y_", 2) == 0 && value == NULL) {
            fprintf(stderr, "refused: %s: %s\n", name, said), failures++;
        }
        json_decref(value);
        text_free(&bytes);
    }
    CHECK(refused > 100);
    json_decref(all);
}

static void floats_keep_every_bit(void) {
    json_t *all = vector("numbers/numbers.json");
    size_t index = 0;
    json_t *each = NULL;
    int wrong = 0;
    json_array_foreach(json_object_get(all, "numbers"), index, each) {
        const unsigned long long bits = strtoull(json_string_value(json_object_get(each, "bits")), NULL, 16);
        double number = 0;
        double again = 0;
        memcpy(&number, &bits, sizeof number);
        json_t *real = json_real(number);
        json_t *value = read_words(written(real));
        again = json_real_value(value);
        if (memcmp(&number, &again, sizeof number) != 0) wrong++;
        json_decref(real);
        json_decref(value);
    }
    CHECK(index == 8632);
    json_array_foreach(json_object_get(all, "parse"), index, each) {
        const unsigned long long bits = strtoull(json_string_value(json_object_get(each, "bits")), NULL, 16);
        double number = 0;
        memcpy(&number, &bits, sizeof number);
        json_t *value = read_words(json_string_value(json_object_get(each, "text")));
        if (*said == '\0' && json_number_value(value) != number) wrong++;
        json_decref(value);
    }
    CHECK(wrong == 0);
    json_decref(all);
}

static void only_a_line_feed_ends_a_frame(void) {
    framing in = {.descriptor = -1};
    const char *bytes = NULL;
    size_t size = 0;
    text_put(&in.held, "a\xe2\x80\xa8\rb\r\n\n\rc");
    CHECK(framing_next(&in, &bytes, &size) && size == 6 && memcmp(bytes, "a\xe2\x80\xa8\rb", 6) == 0);
    CHECK(framing_next(&in, &bytes, &size) && size == 0);
    CHECK(!framing_next(&in, &bytes, &size));
    text_put(&in.held, "\n");
    CHECK(framing_next(&in, &bytes, &size) && size == 2 && memcmp(bytes, "\rc", 2) == 0);
    text_free(&in.held);
}

int main(void) {
    RUN(a_text_comes_back_as_it_was);
    RUN(an_escaped_pair_is_one_character);
    RUN(a_number_that_no_value_can_hold_is_named);
    RUN(what_json_cannot_carry_is_refused_with_its_place);
    RUN(a_decimal_comma_changes_nothing);
    RUN(texts_are_taken_and_refused_as_the_vectors_say);
    RUN(floats_keep_every_bit);
    RUN(only_a_line_feed_ends_a_frame);
    return failures > 0;
}
