#include "errors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

static const struct {
    json_int_t code;
    const char *type;
} by_code[] = {
    {-32003, "CallEnded"},
    {-32800, "Cancelled"},
    {-32012, "Forbidden"},
    {-32013, "LimitExceeded"},
};

/* Those of POSIX. Two names of one number: the first is what is said, both are understood. */
static const struct {
    int number;
    const char *name;
} numbers[] = {
#define NAMED(number) {number, #number}
    NAMED(E2BIG),           NAMED(EACCES),       NAMED(EADDRINUSE),   NAMED(EADDRNOTAVAIL),   NAMED(EAFNOSUPPORT),
    NAMED(EAGAIN),          NAMED(EWOULDBLOCK),  NAMED(EALREADY),     NAMED(EBADF),           NAMED(EBADMSG),
    NAMED(EBUSY),           NAMED(ECANCELED),    NAMED(ECHILD),       NAMED(ECONNABORTED),    NAMED(ECONNREFUSED),
    NAMED(ECONNRESET),      NAMED(EDEADLK),      NAMED(EDESTADDRREQ), NAMED(EDOM),            NAMED(EDQUOT),
    NAMED(EEXIST),          NAMED(EFAULT),       NAMED(EFBIG),        NAMED(EHOSTUNREACH),    NAMED(EIDRM),
    NAMED(EILSEQ),          NAMED(EINPROGRESS),  NAMED(EINTR),        NAMED(EINVAL),          NAMED(EIO),
    NAMED(EISCONN),         NAMED(EISDIR),       NAMED(ELOOP),        NAMED(EMFILE),          NAMED(EMLINK),
    NAMED(EMSGSIZE),        NAMED(ENAMETOOLONG), NAMED(ENETDOWN),     NAMED(ENETRESET),       NAMED(ENETUNREACH),
    NAMED(ENFILE),          NAMED(ENOBUFS),      NAMED(ENODEV),       NAMED(ENOENT),          NAMED(ENOEXEC),
    NAMED(ENOLCK),          NAMED(ENOMEM),       NAMED(ENOMSG),       NAMED(ENOPROTOOPT),     NAMED(ENOSPC),
    NAMED(ENOSYS),          NAMED(ENOTCONN),     NAMED(ENOTDIR),      NAMED(ENOTEMPTY),       NAMED(ENOTSOCK),
    NAMED(ENOTSUP),         NAMED(EOPNOTSUPP),   NAMED(ENOTTY),       NAMED(ENXIO),           NAMED(EOVERFLOW),
    NAMED(EPERM),           NAMED(EPIPE),        NAMED(EPROTO),       NAMED(EPROTONOSUPPORT), NAMED(EPROTOTYPE),
    NAMED(ERANGE),          NAMED(EROFS),        NAMED(ESPIPE),       NAMED(ESRCH),           NAMED(ESTALE),
    NAMED(ETIMEDOUT),       NAMED(ETXTBSY),      NAMED(EXDEV),
#undef NAMED
};

#define NUMBERS (sizeof numbers / sizeof numbers[0])

void *playhead_raise_with(playhead_error *error, const char *type, const char *message, json_t *args, json_t *data) {
    if (error->value == NULL) {
        error->value = json_object();
        json_object_set_new(error->value, "type", message_clean(type == NULL || *type == '\0' ? "Error" : type));
        json_object_set_new(error->value, "message", message_clean(message == NULL ? "" : message));
        if (json_is_array(args)) json_object_set(error->value, "args", args);
        if (data != NULL) json_object_set(error->value, "data", data);
    }
    json_decref(args);
    json_decref(data);
    return NULL;
}

void *playhead_raise(playhead_error *error, const char *type, const char *message) {
    return playhead_raise_with(error, type, message, NULL, NULL);
}

void *playhead_raise_errno(playhead_error *error, int number) {
    for (size_t i = 0; i < NUMBERS; i++) {
        if (numbers[i].number == number) return playhead_raise(error, numbers[i].name, strerror(number));
    }
    char name[32];
    snprintf(name, sizeof name, "errno%d", number);
    return playhead_raise(error, name, strerror(number));
}

static const char *member(const playhead_error *error, const char *name) {
    return error->value == NULL ? NULL : json_string_value(json_object_get(error->value, name));
}

const char *playhead_error_type(const playhead_error *error) {
    return member(error, "type");
}

const char *playhead_error_message(const playhead_error *error) {
    return member(error, "message");
}

bool playhead_is(const playhead_error *error, const char *type) {
    return error->value != NULL && strcmp(member(error, "type"), type) == 0;
}

int playhead_errno(const playhead_error *error) {
    for (size_t i = 0; i < NUMBERS; i++) {
        if (playhead_is(error, numbers[i].name)) return numbers[i].number;
    }
    return 0;
}

void playhead_clear(playhead_error *error) {
    json_decref(error->value);
    error->value = NULL;
}

void playhead_move(playhead_error *from, playhead_error *to) {
    if (from == to) return;
    if (to->value == NULL) {
        to->value = from->value;
        from->value = NULL;
    }
    playhead_clear(from);
}

void errors_replace(playhead_error *error, const char *type, const char *message) {
    playhead_clear(error);
    playhead_raise(error, type, message);
}

static const char *words(const json_t *object, const char *name, const char *otherwise) {
    const json_t *found = json_object_get(object, name);
    return json_is_string(found) ? json_string_value(found) : otherwise;
}

void errors_of_reply(playhead_error *error, const json_t *reply_error) {
    const json_int_t code = json_integer_value(json_object_get(reply_error, "code"));
    const char *message = words(reply_error, "message", "");
    if (code == -32010) {
        const json_t *data = json_object_get(reply_error, "data");
        json_t *kept = json_object();
        json_object_set_new(kept, "kind", message_clean(words(data, "kind", "question")));
        playhead_raise_with(error, "DeterminismError", words(data, "message", message), NULL, kept);
        return;
    }
    for (size_t i = 0; i < sizeof by_code / sizeof by_code[0]; i++) {
        if (by_code[i].code == code) {
            playhead_raise(error, by_code[i].type, message);
            return;
        }
    }
    char said[PLAYHEAD_SAID];
    if (code == 0) snprintf(said, sizeof said, "%.190s", message);
    else snprintf(said, sizeof said, "%.150s (%" JSON_INTEGER_FORMAT ")", message, code);
    playhead_raise(error, "ProtocolError", said);
}

void errors_revive(playhead_error *error, const json_t *described) {
    json_t *type = json_object_get(described, "type");
    json_t *message = json_object_get(described, "message");
    if (error->value != NULL) return;
    if (!json_is_string(type)) {
        playhead_raise(error, "ProtocolError", "an error has no type");
        return;
    }
    /* As they came: both may hold what no C string can. */
    error->value = json_object();
    json_object_set(error->value, "type", type);
    if (json_is_string(message)) json_object_set(error->value, "message", message);
    else json_object_set_new(error->value, "message", json_string(""));
    json_t *args = json_object_get(described, "args");
    json_t *data = json_object_get(described, "data");
    if (json_is_array(args)) json_object_set(error->value, "args", args);
    if (data != NULL && !json_is_null(data)) json_object_set(error->value, "data", data);
}
