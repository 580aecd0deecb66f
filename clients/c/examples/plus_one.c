/* An event is an integer, and so is the output: exact up to 64 bits. */
#include <playhead/client.h>

static json_t *plus_one(json_t *event, playhead_context *ctx, playhead_error *error) {
    (void)ctx, (void)error;
    return json_integer(json_integer_value(event) + 1);
}

int main(void) {
    playhead_serve((playhead_function[]){{"handler", plus_one, NULL}, {0}}, "plus_one", NULL);
}
