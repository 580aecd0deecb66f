/* Bytes into lines. Only the byte 0x0A ends a frame. */
#ifndef PLAYHEAD_FRAMING_H
#define PLAYHEAD_FRAMING_H

#include <stdbool.h>

#include "message.h"

#define PLAYHEAD_FRAME_BYTES ((size_t)64 << 20)

typedef struct framing {
    int descriptor;
    text held;
    size_t start;    /* of the next frame */
    size_t searched; /* no line end before this */
} framing;

typedef enum filled { FILLED, ENDED, TOO_LARGE } filled;

/* The next frame without its line end, if it is here whole; it is valid until the next call of either. */
bool framing_next(framing *of, const char **bytes, size_t *size);

/* Reads what there is, and waits until there is something. What the end of input cuts off is no frame. */
filled framing_fill(framing *of);

/* False where nobody reads any more. */
bool framing_write(int descriptor, const char *bytes, size_t size);

#endif
