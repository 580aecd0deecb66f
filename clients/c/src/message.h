/* Values into JSON text and back. jansson holds them; its own reader and writer are not used, since they refuse texts that
 * the protocol has: NUL in a key, half a character. */
#ifndef PLAYHEAD_MESSAGE_H
#define PLAYHEAD_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A value's depth. A frame has some levels of its own around it. */
#define PLAYHEAD_DEPTH 1000
#define PLAYHEAD_NESTING (PLAYHEAD_DEPTH + 10)

#define PLAYHEAD_SAID 200

/* Bytes that grow. Without memory the process ends. */
typedef struct text {
    char *bytes;
    size_t size;
    size_t room;
} text;

void text_add(text *to, const char *bytes, size_t size);
void text_put(text *to, const char *words);
void text_number(text *to, json_int_t number);
void text_free(text *of);

void *playhead_alloc(void *block, size_t size);

/* The value of one JSON text in UTF-8, or NULL and what is wrong in `said`. A number that no json_t can hold is a fault of
 * its own: the value is there with null in its place, and `said` is not empty. */
json_t *message_read(const char *bytes, size_t size, char said[PLAYHEAD_SAID]);

/* Adds compact JSON of a value. Where JSON cannot carry it: false, and `said` begins with the JSON Pointer. */
bool message_write(text *to, const json_t *value, char said[PLAYHEAD_SAID]);

/* Adds a text in quotes. What is not UTF-8 becomes question marks. */
void message_quote(text *to, const char *words);

/* The text as a value; what is not UTF-8 becomes question marks. */
json_t *message_clean(const char *words);

#endif
