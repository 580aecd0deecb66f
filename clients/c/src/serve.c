#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "peer.h"

#define PROTOCOL 1

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined(__clang__)
#define RUNTIME "Clang " __clang_version__
#elif defined(__GNUC__)
#define RUNTIME "GCC " TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) "." TEXT(__GNUC_PATCHLEVEL__)
#else
#define RUNTIME "C11"
#endif

static struct {
    const playhead_function *functions;
    const char *name;
    json_t *constants;
    bool initialized;
} served;

static void answer(const json_t *id, const char *member, json_t *value) {
    char said[PLAYHEAD_SAID];
    text written = {NULL, 0, 0};
    message_write(&written, value, said);
    peer_answer(id, member, &written);
    text_free(&written);
    json_decref(value);
}

static void refuse(const json_t *id, int code, const char *message, json_t *data) {
    json_t *error = json_object();
    json_object_set_new(error, "code", json_integer(code));
    json_object_set_new(error, "message", message_clean(message));
    if (data != NULL) json_object_set_new(error, "data", data);
    answer(id, "error", error);
}

static void initialize(const json_t *id, const json_t *params) {
    const json_t *version = json_object_get(params, "protocol");
    const json_t *limit = json_object_get(json_object_get(params, "limits"), "frameBytes");
    if (served.initialized) {
        refuse(id, -32600, "initialize has been answered already", NULL);
        return;
    }
    if (!json_is_integer(version)) {
        refuse(id, -32602, "protocol is not an integer", NULL);
        return;
    }
    if (json_integer_value(version) < PROTOCOL) {
        refuse(id, -32001, "no common protocol version", json_pack("{s:[i]}", "supported", PROTOCOL));
        return;
    }
    if (json_integer_value(limit) > 0) peer_limit((size_t)json_integer_value(limit));
    json_t *names = json_array();
    for (const playhead_function *of = served.functions; of->name != NULL; of++) json_array_append_new(names, message_clean(of->name));
    served.initialized = true;
    answer(id, "result",
           json_pack("{s:i, s:{s:o, s:s, s:s, s:s}, s:o, s:{}, s:O}", "protocol", PROTOCOL, "handler", "name",
                     message_clean(served.name), "version", PLAYHEAD_VERSION, "language", "c", "runtime", RUNTIME, "functions", names,
                     "capabilities", "constants", served.constants));
}

static const playhead_function *function_named(const json_t *name) {
    for (const playhead_function *of = served.functions; json_is_string(name) && of->name != NULL; of++) {
        if (strcmp(of->name, json_string_value(name)) == 0) return of;
    }
    return NULL;
}

/* Adds what the handler gave, or raised. */
static void outcome(text *to, call *of, json_t *event) {
    char said[PLAYHEAD_SAID];
    char where[PLAYHEAD_SAID + 32];
    playhead_context ctx = {of};
    playhead_error error = PLAYHEAD_NO_ERROR;
    json_t *output = of->cancelled ? NULL : of->function->handler(event, &ctx, &error);
    if (output == NULL) playhead_raise(&error, "NotJSON", "the handler gave NULL and raised nothing (json_null() is null)");
    peer_end(of, &error);
    if (error.value == NULL) {
        text_put(to, "{\"output\":");
        if (!message_write(to, output, said)) {
            snprintf(where, sizeof where, "the output%s%s", *said == ':' ? "" : ": ", said);
            playhead_raise(&error, "NotJSON", where);
        } else {
            peer_fits(to->size, &error);
        }
    }
    if (of->cancelled) errors_replace(&error, "Cancelled", PLAYHEAD_CANCELLED);
    if (error.value != NULL) {
        to->size = 0;
        text_put(to, "{\"raised\":");
        if (!message_write(to, error.value, said)) {
            json_object_del(error.value, "args");
            json_object_del(error.value, "data");
            message_write(to, error.value, said);
        }
    }
    text_put(to, "}");
    playhead_clear(&error);
    json_decref(output);
}

static void handle(const json_t *id, const json_t *params) {
    const json_t *name = json_object_get(params, "fn");
    const json_t *number = json_object_get(params, "call");
    const json_t *seq = json_object_get(params, "seq");
    json_t *event = json_object_get(params, "event");
    const playhead_function *function = function_named(name);
    if (!json_is_integer(number) || !json_is_integer(seq) || event == NULL) {
        refuse(id, -32602, "handle has a call, a seq and an event", NULL);
        return;
    }
    if (function == NULL) {
        char said[PLAYHEAD_SAID];
        snprintf(said, sizeof said, "no function named %.100s", json_is_string(name) ? json_string_value(name) : "so");
        refuse(id, -32602, said, NULL);
        return;
    }
    call of = {.number = json_integer_value(number), .seq = json_integer_value(seq), .function = function};
    text result = {NULL, 0, 0};
    peer_begin(&of);
    outcome(&result, &of, event);
    peer_answer(id, "result", &result);
    text_free(&result);
}

static void requested(const json_t *message, const char *said) {
    const json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    if (*said != '\0') refuse(id, -32602, said, NULL);
    else if (strcmp(method, "initialize") == 0) initialize(id, params);
    else if (!served.initialized) refuse(id, -32002, "initialize has not been answered", NULL);
    else if (strcmp(method, "handle") == 0) handle(id, params);
    else if (strcmp(method, "shutdown") == 0) answer(id, "result", json_object());
    else refuse(id, -32601, "no such method", NULL);
}

void playhead_take_stdio(void) {
    peer_take_stdio();
}

void playhead_serve(const playhead_function *functions, const char *name, json_t *constants) {
    peer_take_stdio();
    if (functions == NULL || functions->name == NULL) {
        fputs("playhead: there is no function to serve\n", stderr);
        exit(1);
    }
    served.functions = functions;
    served.name = name;
    served.constants = constants == NULL ? json_object() : constants;
    while (true) {
        const char *said = "";
        json_t *message = peer_next(&said);
        requested(message, said);
        json_decref(message);
    }
}
