/* Handlers for playhead in C11, with values of jansson.
 *
 * A handler is a function of an event and a context. Whatever could differ between two runs comes from the context. */
#ifndef PLAYHEAD_CLIENT_H
#define PLAYHEAD_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLAYHEAD_VERSION "0.1.0"

/* An error: the JSON object {"type", "message", "args"?, "data"?}, or none. The last parameter of every function that can
 * fail. Where it holds an error already the function does nothing and gives 0, so that it may be looked at once, at the
 * end; what it holds when the handler returns is what the handler raised. */
typedef struct playhead_error {
    json_t *value;
} playhead_error;

#define PLAYHEAD_NO_ERROR {NULL}

/* What is asked for and told is of one call; it is valid until the handler returns, on the thread that runs it. */
typedef struct playhead_context playhead_context;

/* Gives a new reference, json_null() for nothing. `event` is the caller's. */
typedef json_t *playhead_handler(json_t *event, playhead_context *ctx, playhead_error *error);

/* Gives a new reference. Runs on record alone, before `playhead_respond` returns. What it asks `ctx` is answered live. */
typedef json_t *playhead_producer(void *data, playhead_context *ctx, playhead_error *error);

typedef struct playhead_function {
    const char *name;
    playhead_handler *handler;
    void *data; /* what playhead_data gives */
} playhead_function;

/* Takes stdin and stdout for the protocol, and answers the daemon until the input ends. Does not return. `functions` ends
 * with one that has no name. `constants` is told to the daemon; stolen, and NULL for none. */
void playhead_serve(const playhead_function *functions, const char *name, json_t *constants);

/* The first step of playhead_serve, for a program that prints before: from here on printing goes to stderr, and stdin is
 * empty. */
void playhead_take_stdio(void);

/* The event's index from 0, the daemon's number of the call, the name of the function, and its `data`. */
json_int_t playhead_seq(const playhead_context *ctx);
json_int_t playhead_call(const playhead_context *ctx);
const char *playhead_fn(const playhead_context *ctx);
void *playhead_data(const playhead_context *ctx);

/* Whether the daemon has cancelled the call. A producer that works for long looks now and then. */
bool playhead_cancelled(const playhead_context *ctx);

/* Milliseconds since the Unix epoch; of a clock that never goes back. */
json_int_t playhead_now(playhead_context *ctx, playhead_error *error);
double playhead_monotonic(playhead_context *ctx, playhead_error *error);

/* A number in [0, 1). */
double playhead_random(playhead_context *ctx, playhead_error *error);

/* An integer from low to high, both included. */
json_int_t playhead_randint(playhead_context *ctx, json_int_t low, json_int_t high, playhead_error *error);

/* Fills n bytes; with zeros where it fails. */
void playhead_randbytes(playhead_context *ctx, unsigned char *bytes, size_t n, playhead_error *error);

/* Fills `positions` with k different numbers below n, in the order drawn; with zeros where it fails. */
void playhead_sample(playhead_context *ctx, size_t n, size_t k, size_t *positions, playhead_error *error);

/* A UUID of version 4. */
void playhead_uuid(playhead_context *ctx, char uuid[37], playhead_error *error);

/* What the outside world answers: on record what `produce` gives or raises, on replay what the tape holds. A new
 * reference, NULL where it fails. `args` is an array and `kwargs` an object; both are stolen, and NULL for none. */
json_t *playhead_respond(playhead_context *ctx, const char *key, json_t *args, json_t *kwargs, playhead_producer *produce,
                         void *data, playhead_error *error);

/* What the handler says about itself. `data`, `value` and `outcome` are stolen; `data` and `outcome` may be NULL. */
void playhead_note(playhead_context *ctx, const char *name, json_t *data, playhead_error *error);
void playhead_observe(playhead_context *ctx, const char *name, json_t *value, playhead_error *error);

typedef struct playhead_span {
    int sid;
    const char *name;
} playhead_span;

/* A piece of work begins, and ends. `name` stays the caller's, and is there until then. */
playhead_span playhead_span_begin(playhead_context *ctx, const char *name, json_t *data, playhead_error *error);
void playhead_span_end(playhead_context *ctx, playhead_span span, json_t *outcome, playhead_error *error);

/* Says that something outside the tape was reached. `where` may be NULL. */
void playhead_escaped(playhead_context *ctx, const char *key, const char *where, playhead_error *error);

/* Sets an error that is the same in every language. Gives NULL, for `return playhead_raise(...)`. An error that is there
 * already stays. */
void *playhead_raise(playhead_error *error, const char *type, const char *message);

/* The same with `args`, an array, and `data`; both are stolen, and NULL for none. */
void *playhead_raise_with(playhead_error *error, const char *type, const char *message, json_t *args, json_t *data);

/* The same for an errno: the type is its name ("ETIMEDOUT"), the message what strerror says. */
void *playhead_raise_errno(playhead_error *error, int number);

/* The type and the message, NULL where there is no error. Valid until it is cleared. */
const char *playhead_error_type(const playhead_error *error);
const char *playhead_error_message(const playhead_error *error);

/* Whether there is an error, of this type: of a producer here, or of one that was recorded in any language. */
bool playhead_is(const playhead_error *error, const char *type);

/* The errno that an error of such a type stands for, wherever it was recorded; 0 for any other, and where there is none. */
int playhead_errno(const playhead_error *error);

/* Drops the error. What was caught with an error of one's own is over with this; playhead_move hands it on. */
void playhead_clear(playhead_error *error);
void playhead_move(playhead_error *from, playhead_error *to);

#ifdef __cplusplus
}
#endif

#endif
