/* What the tests ask of a process that the conformance program does not have. */
#include <errno.h>
#include <locale.h>
#include <playhead/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLER(name) static json_t *name(json_t *event, playhead_context *ctx, playhead_error *error)
#define PRODUCER(name) static json_t *name(void *data, playhead_context *ctx, playhead_error *error)
#define UNUSED(x) ((void)(x))

PRODUCER(timed_out) {
    UNUSED(data), UNUSED(ctx);
    return playhead_raise_errno(error, ETIMEDOUT);
}

PRODUCER(gives_nothing) {
    UNUSED(data), UNUSED(ctx), UNUSED(error);
    return NULL;
}

PRODUCER(live) {
    unsigned char bytes[300];
    char uuid[37];
    size_t positions[4];
    UNUSED(data);
    playhead_randbytes(ctx, bytes, sizeof bytes, error);
    playhead_uuid(ctx, uuid, error);
    playhead_sample(ctx, 4, 4, positions, error);
    playhead_note(ctx, "not told", NULL, error);
    const json_int_t thrown = playhead_randint(ctx, 3, 4, error);
    const double drawn = playhead_random(ctx, error);
    const bool fine = playhead_now(ctx, error) > 1500000000000 && playhead_monotonic(ctx, error) > 0 && drawn >= 0 && drawn < 1 &&
                      (thrown == 3 || thrown == 4) && positions[0] + positions[1] + positions[2] + positions[3] == 6;
    json_t *inner = playhead_respond(ctx, "inner", NULL, NULL, timed_out, NULL, error);
    const bool inside = inner == NULL && playhead_errno(error) == ETIMEDOUT;
    playhead_clear(error);
    return json_boolean(fine && inside);
}

PRODUCER(stubborn) {
    UNUSED(data), UNUSED(error);
    while (!playhead_cancelled(ctx)) usleep(1000);
    return json_string("too late");
}

PRODUCER(large) {
    UNUSED(data), UNUSED(ctx), UNUSED(error);
    char *bytes = malloc(1 << 16);
    memset(bytes, 'x', 1 << 16);
    json_t *value = json_stringn(bytes, 1 << 16);
    free(bytes);
    return value;
}

HANDLER(asks_live) {
    UNUSED(event);
    json_t *answer = playhead_respond(ctx, "live", NULL, NULL, live, NULL, error);
    return json_pack("[o, I]", answer, playhead_now(ctx, error));
}

HANDLER(own_error) {
    UNUSED(event);
    playhead_error own = PLAYHEAD_NO_ERROR;
    playhead_respond(ctx, "k", NULL, NULL, timed_out, NULL, &own);
    const int number = playhead_errno(&own);
    if (number == 0) return playhead_move(&own, error), NULL;
    playhead_clear(&own);
    return json_integer(number == ETIMEDOUT);
}

HANDLER(produces_nothing) {
    UNUSED(event);
    return playhead_respond(ctx, "k", NULL, NULL, gives_nothing, NULL, error);
}

HANDLER(stuck) {
    UNUSED(event);
    return playhead_respond(ctx, "k", NULL, NULL, stubborn, NULL, error);
}

HANDLER(too_large) {
    UNUSED(event);
    return large(NULL, ctx, error);
}

HANDLER(too_large_an_answer) {
    UNUSED(event);
    return playhead_respond(ctx, "k", NULL, NULL, large, NULL, error);
}

HANDLER(argument) {
    UNUSED(event);
    return playhead_respond(ctx, "k", json_pack("[i, {s:o}]", 1, "a", json_stringn_nocheck("\xff", 1)), NULL, large, NULL, error);
}

HANDLER(no_output) {
    UNUSED(event), UNUSED(ctx), UNUSED(error);
    return json_real(0.0 / (json_number_value(event) - 1));
}

HANDLER(asks_on) {
    UNUSED(event);
    const json_int_t first = playhead_now(ctx, error);
    return json_pack("[I, I]", first, playhead_now(ctx, error));
}

HANDLER(ask_then_now) {
    UNUSED(event);
    json_t *answer = playhead_respond(ctx, "k", NULL, NULL, live, NULL, error);
    return json_pack("[o, I]", answer, playhead_now(ctx, error));
}

HANDLER(ask_then_return) {
    UNUSED(event);
    return playhead_respond(ctx, "k", NULL, NULL, live, NULL, error);
}

HANDLER(child) {
    UNUSED(event), UNUSED(ctx), UNUSED(error);
    return json_integer(system("echo from the child; cat; ls /dev/fd | wc -l >&2"));
}

HANDLER(about) {
    UNUSED(event), UNUSED(error);
    return json_pack("[I, I, s, s]", playhead_seq(ctx), playhead_call(ctx), playhead_fn(ctx), (char *)playhead_data(ctx));
}

#define SERVED(name) {#name, name, NULL}

int main(void) {
    playhead_take_stdio();
    setlocale(LC_ALL, "de_DE.UTF-8");
    printf("before it is served\n");
    playhead_serve(
        (playhead_function[]){
            SERVED(asks_live), SERVED(own_error), SERVED(produces_nothing), SERVED(stuck), SERVED(too_large), SERVED(too_large_an_answer),
            SERVED(argument), SERVED(no_output), SERVED(asks_on), SERVED(ask_then_now), SERVED(ask_then_return), SERVED(child),
            {"about", about, "its data"}, {0},
        },
        "program", json_pack("{s:i}", "version", 3));
}
