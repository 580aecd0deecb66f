/* One end of the conversation: questions go out, and whoever waits reads, and keeps what is for others.
 *
 * One thread asks and reads. While a producer is at work, and only then, a second one reads in its place, so that the end
 * of input and a cancel are seen. */
#ifndef PLAYHEAD_PEER_H
#define PLAYHEAD_PEER_H

#include <playhead/client.h>
#include <stdatomic.h>

#include "framing.h"

/* A call that the daemon wants answered. */
typedef struct call {
    json_int_t number;
    json_int_t seq;
    const playhead_function *function;
    int asks;
    int spans;
    json_int_t first_id; /* requests of the call have this id or a larger one */
    int unsettled;       /* settlements whose replies are not here yet */
    int producing;       /* how many producers are at work, one in the other */
    atomic_bool cancelled;
    playhead_error failure; /* what the call's next question fails with */
} call;

struct playhead_context {
    call *of;
};

/* Takes the real stdin and stdout. The second time: nothing. */
void peer_take_stdio(void);

/* What a frame may have, as the daemon says. */
void peer_limit(size_t frame_bytes);

/* Refuses what no frame can hold. */
bool peer_fits(size_t size, playhead_error *error);

/* The daemon's next request or notification: a new reference. `said` says what of it could not be read. */
json_t *peer_next(const char **said);

void peer_begin(call *of);

/* Waits for what is out of the call, and ends it. */
void peer_end(call *of, playhead_error *error);

/* Sends a question, `members` behind its number, and gives its result: a new reference, NULL where it fails. */
json_t *peer_ask(call *of, const char *method, const text *members, int *ask, playhead_error *error);

/* Runs a producer. In a call that was cancelled it counts for nothing. */
json_t *peer_produce(call *of, playhead_producer *produce, void *data, playhead_context *ctx, playhead_error *error);

/* Tells what a producer gave. Nobody waits for the reply: where it is an error, the call's next question fails. */
void peer_settle(call *of, int ask, const char *member, const text *value);

/* A notification of a call. */
void peer_tell(call *of, const char *method, const text *members);

/* An answer to the daemon: `member` is "result" or "error". */
void peer_answer(const json_t *id, const char *member, const text *value);

/* At the end of input: nothing is waited for. */
_Noreturn void peer_leave(void);

#endif
