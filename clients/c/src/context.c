#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#include "errors.h"
#include "peer.h"

#define NOTHING {NULL, 0, 0}

json_int_t playhead_seq(const playhead_context *ctx) {
    return ctx->of->seq;
}

json_int_t playhead_call(const playhead_context *ctx) {
    return ctx->of->number;
}

const char *playhead_fn(const playhead_context *ctx) {
    return ctx->of->function->name;
}

void *playhead_data(const playhead_context *ctx) {
    return ctx->of->function->data;
}

bool playhead_cancelled(const playhead_context *ctx) {
    return ctx->of->cancelled;
}

/* In a producer: answered here, and not on the tape. */

static double live_ms(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static void live_bytes(unsigned char *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        const size_t some = n - done < 256 ? n - done : 256;
        if (getentropy(bytes + done, some) != 0) {
            fprintf(stderr, "playhead: no random bytes: %s\n", strerror(errno));
            abort();
        }
        done += some;
    }
}

/* A number below `n`, or any of 64 bits where that is 0. */
static uint64_t live_below(uint64_t n) {
    uint64_t drawn = 0;
    const uint64_t uneven = n == 0 ? 0 : (UINT64_MAX % n + 1) % n;
    do {
        live_bytes((unsigned char *)&drawn, sizeof drawn);
    } while (drawn > UINT64_MAX - uneven);
    return n == 0 ? drawn : drawn % n;
}

static void live_sample(size_t n, size_t k, size_t *positions) {
    for (size_t i = 0; i < k;) {
        size_t before = 0;
        positions[i] = (size_t)live_below(n);
        while (before < i && positions[before] != positions[i]) before++;
        if (before == i) i++;
    }
}

/* Asks. */

static json_t *ask(playhead_context *ctx, const char *method, const char *members, playhead_error *error) {
    const text said = {(char *)members, strlen(members), 0};
    return peer_ask(ctx->of, method, &said, NULL, error);
}

static json_t *unfit(json_t *result, playhead_error *error, const char *wanted) {
    char said[PLAYHEAD_SAID];
    snprintf(said, sizeof said, "%s was to be answered", wanted);
    playhead_raise(error, "ProtocolError", said);
    json_decref(result);
    return NULL;
}

static json_int_t integer(json_t *result, playhead_error *error) {
    json_int_t found = 0;
    if (result == NULL) return 0;
    const double real = json_is_real(result) ? json_real_value(result) : 0.5;
    if (json_is_integer(result)) found = json_integer_value(result);
    else if (floor(real) == real && fabs(real) <= 9007199254740992.0) found = (json_int_t)real;
    else return unfit(result, error, "an integer"), 0;
    json_decref(result);
    return found;
}

static double number(json_t *result, playhead_error *error) {
    if (result == NULL) return 0;
    if (!json_is_number(result)) return unfit(result, error, "a number"), 0.0;
    const double found = json_number_value(result);
    json_decref(result);
    return found;
}

json_int_t playhead_now(playhead_context *ctx, playhead_error *error) {
    if (error->value != NULL) return 0;
    if (ctx->of->producing > 0) return (json_int_t)live_ms(CLOCK_REALTIME);
    json_t *taped = ask(ctx, "now", "", error);
    const double real = json_is_real(taped) ? json_real_value(taped) : 0;
    if (floor(real) == real) return integer(taped, error);
    char said[PLAYHEAD_SAID];
    text digits = {NULL, 0, 0};
    message_write(&digits, taped, said);
    snprintf(said, sizeof said, "playhead_now gives whole milliseconds, and there is %.*s", (int)digits.size, digits.bytes);
    playhead_raise(error, "ProtocolError", said);
    text_free(&digits);
    json_decref(taped);
    return 0;
}

double playhead_monotonic(playhead_context *ctx, playhead_error *error) {
    if (error->value != NULL) return 0;
    if (ctx->of->producing > 0) return live_ms(CLOCK_MONOTONIC);
    return number(ask(ctx, "now", ",\"clock\":\"monotonic\"", error), error);
}

double playhead_random(playhead_context *ctx, playhead_error *error) {
    if (error->value != NULL) return 0;
    if (ctx->of->producing > 0) return (double)(live_below(0) >> 11) / 9007199254740992.0;
    return number(ask(ctx, "random", "", error), error);
}

json_int_t playhead_randint(playhead_context *ctx, json_int_t low, json_int_t high, playhead_error *error) {
    char members[96];
    if (error->value != NULL) return 0;
    if (ctx->of->producing > 0) {
        if (low > high) return playhead_raise(error, "ProtocolError", "low is above high"), 0;
        return (json_int_t)((uint64_t)low + live_below((uint64_t)high - (uint64_t)low + 1));
    }
    snprintf(members, sizeof members, ",\"draw\":\"int\",\"low\":%" JSON_INTEGER_FORMAT ",\"high\":%" JSON_INTEGER_FORMAT, low, high);
    return integer(ask(ctx, "random", members, error), error);
}

static int nibble(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void playhead_randbytes(playhead_context *ctx, unsigned char *bytes, size_t n, playhead_error *error) {
    char members[64];
    memset(bytes, 0, n);
    if (error->value != NULL) return;
    if (ctx->of->producing > 0) {
        live_bytes(bytes, n);
        return;
    }
    snprintf(members, sizeof members, ",\"draw\":\"bytes\",\"n\":%zu", n);
    json_t *result = ask(ctx, "random", members, error);
    if (result == NULL) return;
    const char *hex = json_string_value(result);
    bool fits = hex != NULL && json_string_length(result) == 2 * n;
    for (size_t i = 0; fits && i < n; i++) {
        const int high = nibble(hex[2 * i]);
        const int low = nibble(hex[2 * i + 1]);
        fits = high >= 0 && low >= 0;
        if (fits) bytes[i] = (unsigned char)(high << 4 | low);
    }
    if (fits) json_decref(result);
    else unfit(result, error, "so many bytes in hex");
}

void playhead_sample(playhead_context *ctx, size_t n, size_t k, size_t *positions, playhead_error *error) {
    char members[96];
    for (size_t i = 0; i < k; i++) positions[i] = 0;
    if (error->value != NULL) return;
    snprintf(members, sizeof members, ",\"draw\":\"sample\",\"n\":%zu,\"k\":%zu", n, k);
    if (ctx->of->producing > 0) {
        if (k > n) playhead_raise(error, "ProtocolError", "fewer there than are to be drawn");
        else live_sample(n, k, positions);
        return;
    }
    json_t *result = ask(ctx, "random", members, error);
    if (result == NULL) return;
    bool fits = json_array_size(result) == k;
    for (size_t i = 0; fits && i < k; i++) {
        const json_t *position = json_array_get(result, i);
        fits = json_is_integer(position) && json_integer_value(position) >= 0;
        if (fits) positions[i] = (size_t)json_integer_value(position);
    }
    if (fits) json_decref(result);
    else unfit(result, error, "so many positions");
}

void playhead_uuid(playhead_context *ctx, char uuid[37], playhead_error *error) {
    unsigned char b[16];
    playhead_randbytes(ctx, b, sizeof b, error);
    b[6] = (unsigned char)((b[6] & 0x0F) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
    snprintf(uuid, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
             b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* What a member says, behind a comma. False where it cannot be said. */
static bool member(text *to, const char *name, const json_t *value, playhead_error *error) {
    char said[PLAYHEAD_SAID];
    char where[PLAYHEAD_SAID + 32];
    if (value == NULL) return true;
    text_put(to, ",\"");
    text_put(to, name);
    text_put(to, "\":");
    if (message_write(to, value, said)) return true;
    snprintf(where, sizeof where, "%s%s", name, said);
    playhead_raise(error, "NotJSON", where);
    return false;
}

static void words(text *to, const char *name, const char *value) {
    text_put(to, ",\"");
    text_put(to, name);
    text_put(to, "\":");
    message_quote(to, value);
}

/* As it will come on replay. */
static json_t *through_json(const text *value, playhead_error *error) {
    char said[PLAYHEAD_SAID];
    json_t *read = message_read(value->bytes, value->size, said);
    if (read == NULL) playhead_raise(error, "NotJSON", said);
    return read;
}

static void settle_error(call *of, int ask, playhead_error *made, playhead_error *error) {
    char said[PLAYHEAD_SAID];
    text written = NOTHING;
    if (!message_write(&written, made->value, said)) {
        /* Its data: the rest is clean. */
        json_object_del(made->value, "args");
        json_object_del(made->value, "data");
        message_write(&written, made->value, said);
    }
    peer_settle(of, ask, "error", &written);
    json_t *described = through_json(&written, error);
    if (described != NULL) errors_revive(error, described);
    json_decref(described);
    text_free(&written);
}

static json_t *produced(playhead_context *ctx, const char *key, int ask, playhead_producer *produce, void *data,
                        playhead_error *error) {
    char said[PLAYHEAD_SAID];
    char where[2 * PLAYHEAD_SAID];
    text written = NOTHING;
    playhead_error made = PLAYHEAD_NO_ERROR;
    json_t *value = peer_produce(ctx->of, produce, data, ctx, &made);
    json_t *given = NULL;
    if (playhead_cancelled(ctx)) {
        playhead_move(&made, error);
        json_decref(value);
        return NULL;
    }
    if (value == NULL) {
        snprintf(where, sizeof where, "the producer of %.100s gave NULL and raised nothing (json_null() is null)", key);
        playhead_raise(&made, "NotJSON", where);
    } else if (!message_write(&written, value, said)) {
        snprintf(where, sizeof where, "what the producer of %.100s gave: %s", key, said);
        playhead_raise(&made, "NotJSON", where);
    } else {
        peer_fits(written.size, &made);
    }
    if (made.value != NULL) {
        settle_error(ctx->of, ask, &made, error);
    } else {
        peer_settle(ctx->of, ask, "value", &written);
        given = through_json(&written, error);
    }
    playhead_clear(&made);
    json_decref(value);
    text_free(&written);
    return given;
}

static json_t *answered(json_t *result, playhead_error *error) {
    json_t *value = json_object_get(result, "value");
    const json_t *raised = json_object_get(result, "error");
    if (value == NULL && raised != NULL) errors_revive(error, raised);
    return json_incref(value);
}

json_t *playhead_respond(playhead_context *ctx, const char *key, json_t *args, json_t *kwargs, playhead_producer *produce,
                         void *data, playhead_error *error) {
    text members = NOTHING;
    json_t *value = NULL;
    int number = 0;
    if (error->value != NULL) {
        value = NULL;
    } else if (ctx->of->producing > 0) {
        value = produce(data, ctx, error);
        if (value == NULL) playhead_raise(error, "NotJSON", "a producer gave NULL and raised nothing (json_null() is null)");
    } else if ((args != NULL && !json_is_array(args)) || (kwargs != NULL && !json_is_object(kwargs))) {
        playhead_raise(error, "NotJSON", "args is an array, and kwargs an object");
    } else {
        words(&members, "key", key);
        if (member(&members, "args", args, error) && member(&members, "kwargs", kwargs, error) && peer_fits(members.size, error)) {
            json_t *result = peer_ask(ctx->of, "respond", &members, &number, error);
            value = result == NULL ? NULL : answered(result, error);
            if (result != NULL && value == NULL && error->value == NULL) value = produced(ctx, key, number, produce, data, error);
            json_decref(result);
        }
    }
    json_decref(args);
    json_decref(kwargs);
    text_free(&members);
    return value;
}

/* What is told. In a producer nothing is. */

static void tell(playhead_context *ctx, const char *method, text *members, const char *name, json_t *value, playhead_error *error) {
    if (error->value == NULL && ctx->of->producing == 0 && member(members, name, value, error) && peer_fits(members->size, error)) {
        peer_tell(ctx->of, method, members);
    }
    json_decref(value);
    text_free(members);
}

void playhead_note(playhead_context *ctx, const char *name, json_t *data, playhead_error *error) {
    text members = NOTHING;
    words(&members, "name", name);
    tell(ctx, "note", &members, "data", data, error);
}

void playhead_observe(playhead_context *ctx, const char *name, json_t *value, playhead_error *error) {
    text members = NOTHING;
    words(&members, "name", name);
    if (value == NULL) playhead_raise(error, "NotJSON", "there is no value to observe (json_null() is null)");
    tell(ctx, "observe", &members, "value", value, error);
}

static void span(playhead_context *ctx, int sid, const char *phase, const char *name, const char *of, json_t *value,
                 playhead_error *error) {
    text members = NOTHING;
    text_put(&members, ",\"sid\":");
    text_number(&members, sid);
    words(&members, "phase", phase);
    words(&members, "name", name);
    tell(ctx, "span", &members, of, value, error);
}

playhead_span playhead_span_begin(playhead_context *ctx, const char *name, json_t *data, playhead_error *error) {
    const playhead_span begun = {++ctx->of->spans, name};
    span(ctx, begun.sid, "begin", name, "data", data, error);
    return begun;
}

void playhead_span_end(playhead_context *ctx, playhead_span ended, json_t *outcome, playhead_error *error) {
    span(ctx, ended.sid, "end", ended.name, "outcome", outcome, error);
}

void playhead_escaped(playhead_context *ctx, const char *key, const char *where, playhead_error *error) {
    text members = NOTHING;
    words(&members, "key", key);
    tell(ctx, "escaped", &members, "where", where == NULL ? NULL : message_clean(where), error);
}
