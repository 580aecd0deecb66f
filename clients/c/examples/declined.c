/* An error that is the same in every language: its type and message are the handler's answer. */
#include <playhead/client.h>

static json_t *declined(json_t *event, playhead_context *ctx, playhead_error *error) {
    (void)event, (void)ctx;
    return playhead_raise(error, "Declined", "no funds");
}

int main(void) {
    playhead_serve((playhead_function[]){{"handler", declined, NULL}, {0}}, "declined", NULL);
}
