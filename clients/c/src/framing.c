#include "framing.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)1 << 16)

/* Only where somebody else made the descriptor so: its setting is shared. */
static bool waited(int descriptor, short events) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    struct pollfd waits = {descriptor, events, 0};
    return poll(&waits, 1, -1) >= 0 || errno == EINTR;
}

bool framing_next(framing *of, const char **bytes, size_t *size) {
    const size_t left = of->held.size - of->searched;
    const char *end = left == 0 ? NULL : memchr(of->held.bytes + of->searched, '\n', left);
    if (end == NULL) {
        of->searched = of->held.size;
        return false;
    }
    *bytes = of->held.bytes + of->start;
    *size = (size_t)(end - *bytes);
    of->start = of->searched = (size_t)(end - of->held.bytes) + 1;
    if (*size > 0 && (*bytes)[*size - 1] == '\r') --*size;
    return true;
}

filled framing_fill(framing *of) {
    text *held = &of->held;
    if (of->start > 0) {
        memmove(held->bytes, held->bytes + of->start, held->size - of->start);
        held->size -= of->start;
        of->searched -= of->start;
        of->start = 0;
    }
    /* One more: a frame may have a CR behind it. */
    if (held->size > PLAYHEAD_FRAME_BYTES + 1) return TOO_LARGE;
    if (held->size == 0 && held->room > 16 * READ_BYTES) text_free(held);
    if (held->room - held->size < READ_BYTES) {
        held->room = held->room * 2 + READ_BYTES;
        held->bytes = playhead_alloc(held->bytes, held->room);
    }
    ssize_t size = 0;
    do {
        size = read(of->descriptor, held->bytes + held->size, held->room - held->size);
    } while (size < 0 && waited(of->descriptor, POLLIN));
    if (size <= 0) return ENDED;
    held->size += (size_t)size;
    return FILLED;
}

bool framing_write(int descriptor, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t written = write(descriptor, bytes, size);
        if (written >= 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (!waited(descriptor, POLLOUT)) {
            return false;
        }
    }
    return true;
}
