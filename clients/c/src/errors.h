/* Errors as data, E, both ways. */
#ifndef PLAYHEAD_ERRORS_H
#define PLAYHEAD_ERRORS_H

#include <playhead/client.h>

#define PLAYHEAD_CANCELLED "the call was cancelled"

/* What the `error` member of a reply stands for. */
void errors_of_reply(playhead_error *error, const json_t *reply_error);

/* An error that a client elsewhere described. */
void errors_revive(playhead_error *error, const json_t *described);

/* Takes the place of whatever error is there. */
void errors_replace(playhead_error *error, const char *type, const char *message);

#endif
