/* A test is a function; a check that fails says where, and the program ends with 1. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(holds)                                                            \
    do {                                                                        \
        if (!(holds)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds);         \
            failures++;                                                         \
        }                                                                       \
    } while (0)

#define SAME(found, wanted)                                                                                  \
    do {                                                                                                     \
        const char *found_ = (found);                                                                        \
        const char *wanted_ = (wanted);                                                                      \
        if (strcmp(found_, wanted_) != 0) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n   not: %s\n", __FILE__, __LINE__, found_, wanted_);                 \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

#define RUN(test)                                              \
    do {                                                       \
        const int before_ = failures;                          \
        test();                                                \
        printf("%s %s\n", failures == before_ ? "ok  " : "FAIL", #test); \
    } while (0)

#endif
