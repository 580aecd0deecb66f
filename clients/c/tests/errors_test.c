/* Errors as data, both ways. */
#include "errors.h"

#include <errno.h>

#include "check.h"

static void the_first_error_stays(void) {
    playhead_error error = PLAYHEAD_NO_ERROR;
    CHECK(playhead_error_type(&error) == NULL && !playhead_is(&error, "Declined") && playhead_errno(&error) == 0);
    CHECK(playhead_raise(&error, "Declined", "no funds") == NULL);
    playhead_raise(&error, "Later", "never mind");
    CHECK(playhead_is(&error, "Declined"));
    SAME(playhead_error_message(&error), "no funds");
    playhead_error other = PLAYHEAD_NO_ERROR;
    playhead_move(&error, &other);
    CHECK(error.value == NULL && playhead_is(&other, "Declined"));
    playhead_move(&other, &other);
    CHECK(playhead_is(&other, "Declined"));
    playhead_clear(&other);
    CHECK(other.value == NULL);
}

static void an_errno_has_the_same_name_everywhere(void) {
    playhead_error error = PLAYHEAD_NO_ERROR;
    playhead_raise_errno(&error, ETIMEDOUT);
    SAME(playhead_error_type(&error), "ETIMEDOUT");
    CHECK(playhead_errno(&error) == ETIMEDOUT);
    playhead_clear(&error);
    json_t *recorded = json_pack("{s:s, s:s}", "type", "ECONNREFUSED", "message", "as another system says it");
    errors_revive(&error, recorded);
    CHECK(playhead_errno(&error) == ECONNREFUSED);
    json_decref(recorded);
    playhead_clear(&error);
    playhead_raise_errno(&error, 12345);
    SAME(playhead_error_type(&error), "errno12345");
    playhead_clear(&error);
}

static void an_error_keeps_its_data(void) {
    playhead_error error = PLAYHEAD_NO_ERROR;
    playhead_raise_with(&error, "QuoteGone", "gone", json_pack("[s]", "gone"), json_pack("{s:i}", "id", 7));
    playhead_error revived = PLAYHEAD_NO_ERROR;
    errors_revive(&revived, error.value);
    CHECK(json_equal(error.value, revived.value));
    playhead_clear(&error);
    playhead_clear(&revived);
}

static void what_is_not_utf_8_can_be_said_all_the_same(void) {
    playhead_error error = PLAYHEAD_NO_ERROR;
    playhead_raise(&error, "", "caf\xe9");
    SAME(playhead_error_type(&error), "Error");
    SAME(playhead_error_message(&error), "caf?");
    playhead_clear(&error);
}

static void a_reply_stands_for_an_error(void) {
    static const struct {
        int code;
        const char *type;
    } known[] = {{-32003, "CallEnded"}, {-32800, "Cancelled"}, {-32012, "Forbidden"}, {-32013, "LimitExceeded"}, {-32602, "ProtocolError"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        playhead_error error = PLAYHEAD_NO_ERROR;
        json_t *reply = json_pack("{s:i, s:s}", "code", known[i].code, "message", "so");
        errors_of_reply(&error, reply);
        SAME(playhead_error_type(&error), known[i].type);
        playhead_clear(&error);
        json_decref(reply);
    }
    playhead_error error = PLAYHEAD_NO_ERROR;
    json_t *reply = json_pack("{s:i, s:s, s:{s:s, s:s}}", "code", -32010, "message", "-", "data", "kind", "order", "message", "not next");
    errors_of_reply(&error, reply);
    CHECK(playhead_is(&error, "DeterminismError"));
    SAME(playhead_error_message(&error), "not next");
    SAME(json_string_value(json_object_get(json_object_get(error.value, "data"), "kind")), "order");
    playhead_clear(&error);
    json_decref(reply);
}

int main(void) {
    RUN(the_first_error_stays);
    RUN(an_errno_has_the_same_name_everywhere);
    RUN(an_error_keeps_its_data);
    RUN(what_is_not_utf_8_can_be_said_all_the_same);
    RUN(a_reply_stands_for_an_error);
    return failures > 0;
}
