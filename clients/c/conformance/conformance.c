/* The functions of protocol/conformance.md that are core, and order, whose three questions the benchmarks ask. */
#include <playhead/client.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HANDLER(name) static json_t *name(json_t *event, playhead_context *ctx, playhead_error *error)
#define PRODUCER(name) static json_t *name(void *data, playhead_context *ctx, playhead_error *error)
#define UNUSED(x) ((void)(x))

PRODUCER(price) {
    UNUSED(data), UNUSED(ctx), UNUSED(error);
    return json_pack("{s:i}", "price", 990);
}

PRODUCER(no_quote) {
    UNUSED(data), UNUSED(ctx);
    return playhead_raise(error, "TimeoutError", "no quote");
}

PRODUCER(an_hour) {
    UNUSED(data), UNUSED(ctx), UNUSED(error);
    sleep(3600);
    return json_null();
}

PRODUCER(balance_left) {
    UNUSED(ctx), UNUSED(error);
    return json_integer(1000 - *(json_int_t *)data);
}

HANDLER(nothing) {
    UNUSED(event), UNUSED(ctx), UNUSED(error);
    return json_null();
}

HANDLER(echo) {
    UNUSED(ctx), UNUSED(error);
    return json_incref(event);
}

HANDLER(plus_one) {
    UNUSED(ctx), UNUSED(error);
    return json_is_real(event) ? json_real(json_real_value(event) + 1) : json_integer(json_integer_value(event) + 1);
}

HANDLER(now) {
    UNUSED(event);
    return json_integer(playhead_now(ctx, error));
}

HANDLER(clocks) {
    UNUSED(event);
    json_int_t wall = playhead_now(ctx, error);
    return json_pack("[I, f]", wall, playhead_monotonic(ctx, error));
}

HANDLER(seq_and_now) {
    UNUSED(event);
    return json_pack("{s:I, s:I}", "seq", playhead_seq(ctx), "at", playhead_now(ctx, error));
}

HANDLER(draws) {
    UNUSED(event);
    unsigned char bytes[5];
    char hex[11];
    size_t positions[3];
    double first = playhead_random(ctx, error);
    json_int_t thrown = playhead_randint(ctx, 1, 6, error);
    playhead_randbytes(ctx, bytes, sizeof bytes, error);
    playhead_sample(ctx, 10, 3, positions, error);
    for (int i = 0; i < 5; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return json_pack("[f, I, s, [i, i, i], f]", first, thrown, hex, (int)positions[0], (int)positions[1], (int)positions[2],
                     playhead_random(ctx, error));
}

HANDLER(draw_two) {
    UNUSED(event);
    json_int_t thrown = playhead_randint(ctx, 1, 6, error);
    return json_pack("[I, f]", thrown, playhead_random(ctx, error));
}

HANDLER(uuid) {
    UNUSED(event);
    char made[37];
    playhead_uuid(ctx, made, error);
    return json_string(made);
}

HANDLER(charge) {
    json_int_t amount = json_integer_value(json_object_get(event, "amount"));
    json_int_t at = playhead_now(ctx, error);
    bool sampled = playhead_random(ctx, error) < 0.2;
    json_t *balance = playhead_respond(ctx, "account.balance", NULL, NULL, balance_left, &amount, error);
    return json_pack("{s:I, s:b, s:b, s:o}", "receivedAt", at, "sampled", sampled, "approved", json_integer_value(balance) >= 0,
                     "balance", balance);
}

static json_t *ask_quote(json_t *event, playhead_context *ctx, json_t *kwargs, playhead_producer *produce, playhead_error *error) {
    return playhead_respond(ctx, "quote", json_pack("[O]", json_object_get(event, "sku")), kwargs, produce, NULL, error);
}

HANDLER(quote) {
    return ask_quote(event, ctx, NULL, price, error);
}

HANDLER(order) {
    json_int_t at = playhead_now(ctx, error);
    double drawn = playhead_random(ctx, error);
    json_t *quoted = ask_quote(event, ctx, NULL, price, error);
    json_t *made = json_pack("[I, f, O]", at, drawn, json_object_get(quoted, "price"));
    json_decref(quoted);
    return made;
}

HANDLER(quote_in_eur) {
    return ask_quote(event, ctx, json_pack("{s:s}", "currency", "EUR"), price, error);
}

HANDLER(quote_failing) {
    return ask_quote(event, ctx, NULL, no_quote, error);
}

HANDLER(quote_or_null) {
    playhead_error own = PLAYHEAD_NO_ERROR;
    json_t *answer = ask_quote(event, ctx, NULL, no_quote, &own);
    if (playhead_is(&own, "TimeoutError")) {
        playhead_clear(&own);
        answer = json_null();
    }
    playhead_move(&own, error);
    return json_pack("{s:o}", "price", answer);
}

HANDLER(slow) {
    UNUSED(event);
    return playhead_respond(ctx, "slow", NULL, NULL, an_hour, NULL, error);
}

HANDLER(declined) {
    UNUSED(event), UNUSED(ctx);
    return playhead_raise(error, "Declined", "no funds");
}

HANDLER(testify) {
    playhead_span span = playhead_span_begin(ctx, "charge", json_pack("{s:O}", "amount", json_object_get(event, "amount")), error);
    playhead_observe(ctx, "queue.depth", json_integer(17), error);
    playhead_note(ctx, "retry", json_pack("{s:i}", "attempt", 2), error);
    playhead_span_end(ctx, span, json_string("approved"), error);
    return json_true();
}

HANDLER(escaped) {
    UNUSED(event);
    playhead_escaped(ctx, "socket.connect", "handler.py:12", error);
    return json_true();
}

HANDLER(caught) {
    UNUSED(event);
    playhead_error own = PLAYHEAD_NO_ERROR;
    json_int_t at = playhead_now(ctx, error);
    playhead_now(ctx, &own);
    playhead_clear(&own);
    playhead_random(ctx, &own);
    playhead_clear(&own);
    return json_pack("{s:I}", "at", at);
}

HANDLER(prints) {
    UNUSED(event);
    puts("one");
    json_int_t at = playhead_now(ctx, error);
    printf("{\"jsonrpc\":\"2.0\",\"method\":\"two\"}");
    fflush(stdout);
    if (write(1, "three\n", 6) != 6) return playhead_raise(error, "OSError", "descriptor 1 takes nothing");
    return json_integer(at);
}

HANDLER(reads) {
    UNUSED(event), UNUSED(ctx), UNUSED(error);
    char found[64];
    return json_stringn(found, fread(found, 1, sizeof found, stdin));
}

#define SERVED(name) {#name, name, NULL}

int main(void) {
    playhead_serve(
        (playhead_function[]){
            SERVED(nothing),      SERVED(echo),          SERVED(plus_one),      SERVED(now),    SERVED(clocks),   SERVED(seq_and_now),
            SERVED(draws),        SERVED(draw_two),      SERVED(uuid),          SERVED(charge), SERVED(quote),    SERVED(quote_in_eur),
            SERVED(quote_failing), SERVED(quote_or_null), SERVED(slow),          SERVED(declined), SERVED(testify), SERVED(escaped),
            SERVED(caught),       SERVED(prints),        SERVED(reads),         SERVED(order),  {0},
        },
        "conformance", NULL);
}
