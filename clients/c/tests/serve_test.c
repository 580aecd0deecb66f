/* Real processes over real pipes. The conversations of the protocol are played by `playhead conformance`. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "framing.h"

static struct {
    pid_t pid;
    int to;
    framing from;
    char errors[32];
    char line[1 << 17];
} program;

static void say(const char *frame) {
    framing_write(program.to, frame, strlen(frame));
    framing_write(program.to, "\n", 1);
}

static const char *line(void) {
    const char *bytes = NULL;
    size_t size = 0;
    while (!framing_next(&program.from, &bytes, &size)) {
        if (framing_fill(&program.from) == ENDED) return "(the end)";
    }
    snprintf(program.line, sizeof program.line, "%.*s", (int)size, bytes);
    return program.line;
}

/* Initialized, with frames of this size. */
static void start(int frame_bytes) {
    int in[2];
    int out[2];
    char frame[512];
    snprintf(program.errors, sizeof program.errors, "/tmp/playhead-stderr-XXXXXX");
    const int errors = mkstemp(program.errors);
    if (errors < 0 || pipe(in) != 0 || pipe(out) != 0) exit(1);
    program.pid = fork();
    if (program.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(errors, 2);
        /* Whatever started the tests may have left some open. */
        for (int other = 3; other < 1024; other++) close(other);
        execl(PROGRAM, PROGRAM, (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]), close(errors);
    program.to = in[1];
    program.from = (framing){.descriptor = out[0]};
    snprintf(frame, sizeof frame,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1,\"daemon\":{\"name\":\"t\",\"version\":"
             "\"0\"},\"capabilities\":{\"window\":true,\"reset\":true},\"limits\":{\"frameBytes\":%d,\"depth\":1000},\"constants\":{}}}",
             frame_bytes);
    say(frame);
    line();
}

/* Ends the input; the exit status, or 128 and the number of the signal. */
static int ended(void) {
    int status = 0;
    close(program.to);
    waitpid(program.pid, &status, 0);
    close(program.from.descriptor);
    text_free(&program.from.held);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *printed(void) {
    static char all[4096];
    const int errors = open(program.errors, O_RDONLY);
    const ssize_t size = read(errors, all, sizeof all - 1);
    close(errors);
    unlink(program.errors);
    all[size < 0 ? 0 : size] = '\0';
    return all;
}

static void over(void) {
    CHECK(ended() == 0);
    unlink(program.errors);
}

static void handle(int id, const char *name, const char *event) {
    char frame[512];
    snprintf(frame, sizeof frame,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"handle\",\"params\":{\"call\":%d,\"fn\":\"%s\",\"event\":%s,\"seq\":%d}}", id, id + 5,
             name, event, id - 2);
    say(frame);
}

/* What a call says is wanted up to its id, which is answered with this. */
static void asked(const char *wanted, int id, const char *member, const char *value) {
    char frame[512];
    SAME(line(), wanted);
    snprintf(frame, sizeof frame, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"%s\":%s}", id, member, value);
    say(frame);
}

#define RESPOND(id, call, key) \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"respond\",\"params\":{\"call\":" #call ",\"ask\":0,\"key\":\"" key "\"}}"

static void what_it_is_told_first_is_answered_byte_for_byte(void) {
    start(1 << 26);
    CHECK(strstr(program.line, "\"language\":\"c\"") != NULL && strstr(program.line, "\"name\":\"program\"") != NULL);
    CHECK(strstr(program.line, "\"capabilities\":{},\"constants\":{\"version\":3}}}") != NULL);
    handle(2, "about", "{}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":[0,7,\"about\",\"its data\"]}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"shutdown\",\"params\":{}}\r");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
    CHECK(ended() == 0);
    SAME(printed(), "before it is served\n");
}

static void a_producer_asks_live(void) {
    start(1 << 26);
    handle(2, "asks_live", "{}");
    asked(RESPOND(1, 7, "live"), 1, "result", "{\"produce\":true}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"respond.settle\",\"params\":{\"call\":7,\"ask\":0,\"value\":true}}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"now\",\"params\":{\"call\":7,\"ask\":1}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":5}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":[true,5]}}");
    over();
}

static void an_errno_is_revived(void) {
    start(1 << 26);
    handle(2, "own_error", "{}");
    asked(RESPOND(1, 7, "k"), 1, "result", "{\"produce\":true}");
    CHECK(strstr(line(), "\"error\":{\"type\":\"ETIMEDOUT\",\"message\":\"") != NULL);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":1}}");
    handle(3, "own_error", "{}");
    asked(RESPOND(3, 8, "k"), 3, "result", "{\"error\":{\"type\":\"ETIMEDOUT\",\"message\":\"\"}}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"output\":1}}");
    handle(4, "own_error", "{}");
    asked(RESPOND(4, 9, "k"), 4, "result", "{\"error\":{\"type\":\"O\\u0000dd\",\"message\":\"th\\u0000en\"}}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"raised\":{\"type\":\"O\\u0000dd\",\"message\":\"th\\u0000en\"}}}");
    over();
}

static void a_null_pointer_is_no_null(void) {
    start(1 << 26);
    handle(2, "produces_nothing", "{}");
    asked(RESPOND(1, 7, "k"), 1, "result", "{\"produce\":true}");
    CHECK(strstr(line(), "\"error\":{\"type\":\"NotJSON\",\"message\":\"the producer of k gave NULL") != NULL);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    CHECK(strstr(line(), "\"raised\":{\"type\":\"NotJSON\"") != NULL);
    handle(3, "no_output", "1");
    CHECK(strstr(line(), "\"raised\":{\"type\":\"NotJSON\",\"message\":\"the handler gave NULL") != NULL);
    over();
}

static void after_an_error_nothing_is_asked(void) {
    start(1 << 26);
    handle(2, "asks_on", "{}");
    asked("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\",\"params\":{\"call\":7,\"ask\":0}}", 1, "error",
          "{\"code\":-32010,\"message\":\"-\",\"data\":{\"kind\":\"exhausted\",\"message\":\"too often\"}}");
    SAME(line(),
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"raised\":{\"type\":\"DeterminismError\",\"message\":\"too often\",\"data\":{\"kind\":"
         "\"exhausted\"}}}}");
    over();
}

static void an_error_that_answers_a_settlement_fails_what_is_next(void) {
    for (int returns = 0; returns < 2; returns++) {
        start(1 << 26);
        handle(2, returns ? "ask_then_return" : "ask_then_now", "{}");
        asked(RESPOND(1, 7, "k"), 1, "result", "{\"produce\":true}");
        line();
        if (!returns) line();
        say("{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32012,\"message\":\"no\"}}");
        if (!returns) say("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1}");
        SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"raised\":{\"type\":\"Forbidden\",\"message\":\"no\"}}}");
        over();
    }
}

static void what_is_larger_than_a_frame_is_raised(void) {
    start(1 << 15);
    handle(2, "too_large", "{}");
    CHECK(strstr(line(), "\"raised\":{\"type\":\"LimitExceeded\"") != NULL);
    handle(3, "too_large_an_answer", "{}");
    asked(RESPOND(1, 8, "k"), 1, "result", "{\"produce\":true}");
    CHECK(strstr(line(), "\"error\":{\"type\":\"LimitExceeded\"") != NULL);
    over();
}

static void an_argument_that_json_cannot_carry_is_not_asked(void) {
    start(1 << 26);
    handle(2, "argument", "{}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"raised\":{\"type\":\"NotJSON\",\"message\":\"args/1/a: the text is not "
                 "UTF-8\"}}}");
    over();
}

static void a_number_that_does_not_fit_is_refused_where_it_came(void) {
    start(1 << 26);
    handle(2, "about", "[18446744073709551616]");
    CHECK(strstr(line(), "\"id\":2,\"error\":{\"code\":-32602,\"message\":\"18446744073709551616 does not fit") != NULL);
    handle(3, "own_error", "{}");
    asked(RESPOND(1, 8, "k"), 1, "result", "{\"value\":18446744073709551616}");
    CHECK(strstr(line(), "\"raised\":{\"type\":\"ProtocolError\",\"message\":\"18446744073709551616 does not fit") != NULL);
    over();
}

static void a_producer_is_told_of_a_cancel(void) {
    start(1 << 26);
    for (int id = 2; id < 4; id++) {
        char cancel[96];
        handle(id, "stuck", "{}");
        line();
        snprintf(cancel, sizeof cancel, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"produce\":true}}", id - 1);
        say(cancel);
        snprintf(cancel, sizeof cancel, "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"call\":%d}}", id + 5);
        say(cancel);
        CHECK(strstr(line(), "\"raised\":{\"type\":\"Cancelled\"") != NULL);
    }
    handle(4, "about", "{}");
    CHECK(strstr(line(), "\"output\":[2,9,\"about\"") != NULL);
    over();
}

static void the_end_of_input_ends_a_producer_that_does_not_look(void) {
    start(1 << 26);
    handle(2, "stuck", "{}");
    asked(RESPOND(1, 7, "k"), 1, "result", "{\"produce\":true}");
    over();
}

static void a_child_does_not_reach_the_protocol(void) {
    start(1 << 26);
    handle(2, "child", "{}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":0}}");
    CHECK(ended() == 0);
    /* 0, 1, 2, and the one by which ls reads. */
    const char *said = printed();
    SAME(said, "before it is served\nfrom the child\n4\n");
}

static void a_frame_that_cannot_be_read_ends_the_conversation(void) {
    const char *frames[][2] = {
        {"{\"jsonrpc\":\"2.0\",", "\"id\":null,\"error\":{\"code\":-32700"},
        {"[1]", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2.5,\"method\":\"shutdown\"}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":5}", "\"id\":null,\"error\":{\"code\":-32600"},
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        start(1 << 26);
        say(frames[i][0]);
        CHECK(strstr(line(), frames[i][1]) != NULL);
        CHECK(ended() == 1);
        unlink(program.errors);
    }
}

static void a_reading_with_a_fraction_is_refused_and_not_rounded(void) {
    start(1 << 26);
    handle(2, "asks_on", "{}");
    asked("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"now\",\"params\":{\"call\":7,\"ask\":0}}", 1, "result", "1783036800000.5");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"raised\":{\"type\":\"ProtocolError\",\"message\":"
                 "\"playhead_now gives whole milliseconds, and there is 1783036800000.5\"}}}");
    over();
}

static void answers_that_nobody_waits_for_are_dropped(void) {
    const char *ids[] = {"77", "\"1\"", "null", "-1", "1000000000000000000000000000000"};
    char frame[128];
    start(1 << 26);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        snprintf(frame, sizeof frame, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":1}", ids[i]);
        say(frame);
    }
    handle(2, "child", "{}");
    SAME(line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"output\":0}}");
    over();
}

static void a_daemon_that_is_gone_is_no_signal(void) {
    start(1 << 26);
    close(program.from.descriptor);
    handle(2, "about", "{}");
    int status = 0;
    waitpid(program.pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(program.to);
    unlink(program.errors);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    alarm(100); /* a program that says nothing fails the tests, and does not hang them */
    RUN(what_it_is_told_first_is_answered_byte_for_byte);
    RUN(a_producer_asks_live);
    RUN(an_errno_is_revived);
    RUN(a_null_pointer_is_no_null);
    RUN(after_an_error_nothing_is_asked);
    RUN(an_error_that_answers_a_settlement_fails_what_is_next);
    RUN(what_is_larger_than_a_frame_is_raised);
    RUN(an_argument_that_json_cannot_carry_is_not_asked);
    RUN(a_number_that_does_not_fit_is_refused_where_it_came);
    RUN(a_producer_is_told_of_a_cancel);
    RUN(the_end_of_input_ends_a_producer_that_does_not_look);
    RUN(a_child_does_not_reach_the_protocol);
    RUN(a_frame_that_cannot_be_read_ends_the_conversation);
    RUN(a_reading_with_a_fraction_is_refused_and_not_rounded);
    RUN(answers_that_nobody_waits_for_are_dropped);
    RUN(a_daemon_that_is_gone_is_no_signal);
    return failures > 0;
}
