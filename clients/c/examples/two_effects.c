/* Two questions to the outside, one after the other: what is the price, and is there enough? */
#include <playhead/client.h>

static json_t *constant(void *number, playhead_context *ctx, playhead_error *error) {
    (void)ctx, (void)error;
    return json_integer(*(int *)number);
}

static json_t *two_effects(json_t *event, playhead_context *ctx, playhead_error *error) {
    json_t *sku = json_object_get(event, "sku");
    json_int_t amount = json_integer_value(json_object_get(event, "amount"));
    json_int_t at = playhead_now(ctx, error);
    json_t *price = playhead_respond(ctx, "quote", json_pack("[O]", sku), NULL, constant, &(int){990}, error);
    json_t *stock = playhead_respond(ctx, "stock", json_pack("[O]", sku), NULL, constant, &(int){7}, error);
    bool ok = json_integer_value(stock) >= amount;
    return json_pack("{s:I, s:o, s:o, s:b}", "at", at, "price", price, "stock", stock, "ok", ok);
}

int main(void) {
    playhead_serve((playhead_function[]){{"handler", two_effects, NULL}, {0}}, "two_effects", NULL);
}
