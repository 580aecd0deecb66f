/* The handler of charge.c after a change that nobody noticed: `>= 0` became `> 0`. */
#include <playhead/client.h>

static json_t *balance_left(void *amount, playhead_context *ctx, playhead_error *error) {
    (void)ctx, (void)error;
    return json_integer(1000 - *(json_int_t *)amount);
}

static json_t *charge(json_t *event, playhead_context *ctx, playhead_error *error) {
    json_int_t amount = json_integer_value(json_object_get(event, "amount"));
    json_int_t received_at = playhead_now(ctx, error);
    bool sampled = playhead_random(ctx, error) < 0.2;
    json_t *balance = playhead_respond(ctx, "account.balance", NULL, NULL, balance_left, &amount, error);
    return json_pack("{s:I, s:b, s:b, s:o}", "receivedAt", received_at, "sampled", sampled, "approved",
                     json_integer_value(balance) > 0, "balance", balance);
}

int main(void) {
    playhead_serve((playhead_function[]){{"handler", charge, NULL}, {0}}, "charge", NULL);
}
