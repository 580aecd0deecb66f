#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

/* What a frame has around what is in it. */
#define AROUND_BYTES 256

/* Why a frame is no message. */
#define UNREADABLE (-32700)
#define NO_MESSAGE (-32600)

/* How often a producer that goes on after a cancel is interrupted. */
#define AGAIN_MS 50

static struct {
    bool taken;
    int out;
    framing in;
    size_t frame_bytes;
    json_int_t last_id;
    json_int_t awaited;
    json_t *reply; /* to what is awaited */
    json_t *queue; /* requests and notifications, each with what could not be read of it */
    size_t queued; /* how many of them are taken already */
    json_t *given_up; /* numbers of calls that wait and were cancelled */
    text frame;
    call *current;
} peer = {.in.descriptor = -1, .out = -1, .frame_bytes = PLAYHEAD_FRAME_BYTES};

/* The two threads. Whoever reads holds `reading`. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t producer_runs = PTHREAD_COND_INITIALIZER;
static bool producing;
static bool watched;
static bool interrupts;
static pthread_t asker;

static void nothing(int signal) {
    (void)signal;
}

static int kept(int descriptor) {
    const int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (duplicate >= 0) return duplicate;
    fprintf(stderr, "playhead: descriptor %d cannot be duplicated: %s\n", descriptor, strerror(errno));
    exit(1);
}

static bool caught(int number) {
    struct sigaction before;
    sigaction(number, NULL, &before);
    if (before.sa_handler != SIG_DFL) return false;
    struct sigaction handled = {.sa_handler = nothing};
    sigemptyset(&handled.sa_mask);
    return sigaction(number, &handled, NULL) == 0;
}

void peer_take_stdio(void) {
    if (peer.taken) return;
    peer.taken = true;
    peer.in.descriptor = kept(0);
    peer.out = kept(1);
    fflush(stdout);
    const int empty = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (empty >= 0) {
        dup2(empty, 0);
        if (dup2(2, 1) < 0) dup2(empty, 1);
        if (empty > 2) close(empty);
    }
    /* Line by line, since the end of input may find it anywhere. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    /* A daemon that is gone is seen where the write fails. Children get the default back, which they would not after
     * SIG_IGN. */
    caught(SIGPIPE);
    interrupts = caught(SIGURG);
    asker = pthread_self();
    peer.queue = json_array();
    peer.given_up = json_array();
}

_Noreturn void peer_leave(void) {
    _exit(0);
}

void peer_limit(size_t frame_bytes) {
    peer.frame_bytes = frame_bytes;
}

bool peer_fits(size_t size, playhead_error *error) {
    if (size + AROUND_BYTES < peer.frame_bytes) return true;
    char said[PLAYHEAD_SAID];
    snprintf(said, sizeof said, "%zu bytes, and a frame has %zu at most", size, peer.frame_bytes);
    playhead_raise(error, "LimitExceeded", said);
    return false;
}

/* Sending. */

static text *begin(void) {
    peer.frame.size = 0;
    text_put(&peer.frame, "{\"jsonrpc\":\"2.0\",");
    return &peer.frame;
}

static void send_frame(void) {
    text_put(&peer.frame, "\n");
    if (!framing_write(peer.out, peer.frame.bytes, peer.frame.size)) peer_leave();
    if (peer.frame.room > (1u << 20)) text_free(&peer.frame);
}

static json_int_t begin_request(const call *of, const char *method, int ask) {
    text *frame = begin();
    text_put(frame, "\"id\":");
    text_number(frame, ++peer.last_id);
    text_put(frame, ",\"method\":\"");
    text_put(frame, method);
    text_put(frame, "\",\"params\":{\"call\":");
    text_number(frame, of->number);
    text_put(frame, ",\"ask\":");
    text_number(frame, ask);
    return peer.last_id;
}

void peer_tell(call *of, const char *method, const text *members) {
    text *frame = begin();
    text_put(frame, "\"method\":\"");
    text_put(frame, method);
    text_put(frame, "\",\"params\":{\"call\":");
    text_number(frame, of->number);
    text_add(frame, members->bytes, members->size);
    text_put(frame, "}}");
    send_frame();
}

void peer_answer(const json_t *id, const char *member, const text *value) {
    char said[PLAYHEAD_SAID];
    text *frame = begin();
    text_put(frame, "\"id\":");
    message_write(frame, id, said);
    text_put(frame, ",\"");
    text_put(frame, member);
    text_put(frame, "\":");
    text_add(frame, value->bytes, value->size);
    text_put(frame, "}");
    send_frame();
}

/* Nothing can be said about a conversation that is no longer one. */
static _Noreturn void give_up(int code, const char *said) {
    text error = {NULL, 0, 0};
    text_put(&error, "{\"code\":");
    text_number(&error, code);
    text_put(&error, code == UNREADABLE ? ",\"message\":\"the frame is not one JSON text: "
                                        : ",\"message\":\"the frame is not a JSON-RPC 2.0 message: ");
    text_put(&error, said);
    text_put(&error, "\"}");
    json_t *none = json_null();
    peer_answer(none, "error", &error);
    fprintf(stderr, "playhead: a frame cannot be read: %s\n", said);
    _exit(1);
}

/* Reading. */

static void take_reply(json_t *message, const char *said) {
    json_t *id = json_object_get(message, "id");
    if (*said != '\0') {
        /* What asked for it has to hear. */
        json_t *error = json_object();
        json_object_set_new(error, "message", json_string(said));
        json_object_set_new(message, "error", error);
    }
    if (!json_is_integer(id)) return;
    const json_int_t number = json_integer_value(id);
    if (number == peer.awaited) {
        peer.reply = json_incref(message);
        return;
    }
    call *of = peer.current;
    if (of == NULL || number < of->first_id || number > peer.last_id || of->unsettled == 0) return;
    of->unsettled--;
    const json_t *error = json_object_get(message, "error");
    if (error != NULL) errors_of_reply(&of->failure, error);
}

static void take_in(const char *bytes, size_t size) {
    char said[PLAYHEAD_SAID];
    if (size == 0) return;
    json_t *message = message_read(bytes, size, said);
    if (message == NULL) give_up(UNREADABLE, said);
    if (!json_is_object(message)) give_up(NO_MESSAGE, "it is no object");
    const json_t *method = json_object_get(message, "method");
    const json_t *id = json_object_get(message, "id");
    if (method != NULL && !json_is_string(method)) give_up(NO_MESSAGE, "the method is not a string");
    if (method != NULL && id != NULL && !json_is_integer(id) && !json_is_string(id)) {
        give_up(NO_MESSAGE, "an id is an integer or a string");
    }
    const json_t *number = json_object_get(json_object_get(message, "params"), "call");
    if (method == NULL) {
        take_reply(message, said);
    } else if (strcmp(json_string_value(method), "cancel") == 0) {
        if (peer.current != NULL && json_is_integer(number) && json_integer_value(number) == peer.current->number) {
            peer.current->cancelled = true;
        } else if (peer.queued < json_array_size(peer.queue)) {
            json_array_append(peer.given_up, (json_t *)number);
        }
    } else if (id != NULL) {
        json_array_append(peer.queue, message);
        json_array_append_new(peer.queue, json_string(said));
    }
    json_decref(message);
}

static void take_what_is_here(void) {
    const char *bytes = NULL;
    size_t size = 0;
    while (framing_next(&peer.in, &bytes, &size)) take_in(bytes, size);
}

static void fill(void) {
    const filled how = framing_fill(&peer.in);
    if (how == ENDED) peer_leave();
    if (how == TOO_LARGE) give_up(UNREADABLE, "it is larger than 67108864 bytes");
}

/* Reads and takes in one frame. */
static void step(void) {
    const char *bytes = NULL;
    size_t size = 0;
    while (!framing_next(&peer.in, &bytes, &size)) fill();
    take_in(bytes, size);
}

json_t *peer_next(const char **said) {
    while (peer.queued == json_array_size(peer.queue)) {
        json_array_clear(peer.queue);
        json_array_clear(peer.given_up);
        peer.queued = 0;
        step();
    }
    json_t *message = json_incref(json_array_get(peer.queue, peer.queued));
    *said = json_string_value(json_array_get(peer.queue, peer.queued + 1));
    json_array_set_new(peer.queue, peer.queued, json_null());
    peer.queued += 2;
    return message;
}

static void *watch(void *unused) {
    (void)unused;
    pthread_mutex_lock(&reading);
    while (true) {
        while (!producing) pthread_cond_wait(&producer_runs, &reading);
        const bool again = interrupts && peer.current->cancelled;
        if (again) pthread_kill(asker, SIGURG);
        pthread_mutex_unlock(&reading);
        struct pollfd waits = {peer.in.descriptor, POLLIN, 0};
        const int ready = poll(&waits, 1, again ? AGAIN_MS : -1);
        pthread_mutex_lock(&reading);
        /* The producer may have ended meanwhile: what there is to read is for the other then. */
        if (producing && ready > 0) {
            fill();
            take_what_is_here();
        }
    }
    return NULL;
}

static void start_watching(void) {
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    /* The signals of the program are for its own threads. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watched = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (watched) pthread_detach(thread);
}

/* Calls. */

void peer_begin(call *of) {
    of->first_id = peer.last_id + 1;
    for (size_t i = 0; i < json_array_size(peer.given_up); i++) {
        if (json_integer_value(json_array_get(peer.given_up, i)) == of->number) of->cancelled = true;
    }
    peer.current = of;
}

static bool failed(call *of, playhead_error *error) {
    if (of->failure.value != NULL) playhead_move(&of->failure, error);
    return error->value != NULL;
}

void peer_end(call *of, playhead_error *error) {
    while (of->unsettled > 0) step();
    failed(of, error);
    playhead_clear(&of->failure);
    peer.current = NULL;
}

json_t *peer_ask(call *of, const char *method, const text *members, int *ask, playhead_error *error) {
    const int number = of->asks++;
    const json_int_t id = begin_request(of, method, number);
    text_add(&peer.frame, members->bytes, members->size);
    text_put(&peer.frame, "}}");
    send_frame();
    if (ask != NULL) *ask = number;
    peer.awaited = id;
    peer.reply = NULL;
    while (peer.reply == NULL) step();
    peer.awaited = 0;
    json_t *reply = peer.reply;
    json_t *result = NULL;
    if (!failed(of, error)) {
        const json_t *refused = json_object_get(reply, "error");
        if (refused != NULL) errors_of_reply(error, refused);
        else if ((result = json_incref(json_object_get(reply, "result"))) == NULL) result = json_null();
    }
    json_decref(reply);
    return result;
}

json_t *peer_produce(call *of, playhead_producer *produce, void *data, playhead_context *ctx, playhead_error *error) {
    if (!watched) start_watching();
    pthread_mutex_lock(&reading);
    take_what_is_here();
    producing = !of->cancelled;
    if (producing) pthread_cond_signal(&producer_runs);
    pthread_mutex_unlock(&reading);
    json_t *value = NULL;
    if (producing) {
        of->producing++;
        value = produce(data, ctx, error);
        of->producing--;
    }
    pthread_mutex_lock(&reading);
    producing = false;
    pthread_mutex_unlock(&reading);
    if (of->cancelled) errors_replace(error, "Cancelled", PLAYHEAD_CANCELLED);
    if (error->value == NULL) return value;
    json_decref(value);
    return NULL;
}

void peer_settle(call *of, int ask, const char *member, const text *value) {
    begin_request(of, "respond.settle", ask);
    text_put(&peer.frame, ",\"");
    text_put(&peer.frame, member);
    text_put(&peer.frame, "\":");
    text_add(&peer.frame, value->bytes, value->size);
    text_put(&peer.frame, "}}");
    of->unsettled++;
    send_frame();
}
