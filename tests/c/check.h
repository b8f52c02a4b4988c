// Checks that count. A failed check prints its place, and the program
// continues.

#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <string.h>

#include "stead.h"

void check(int passed, const char *text, const char *file, int line);
void check_number(long long found, long long wanted, const char *text,
                  const char *file, int line);
void check_text(const char *found, const char *wanted, const char *text,
                const char *file, int line);

// Prints the closing line and returns the exit code of the program.
int closing(void);

#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
// Compares a number with what it should be.
#define IS(found, wanted)                                                      \
  check_number((long long)(found), (long long)(wanted), #found, __FILE__,      \
               __LINE__)
// Compares a string with what it should be. NULL is allowed.
#define SAYS(found, wanted)                                                    \
  check_text((found), (wanted), #found, __FILE__, __LINE__)

// The outputs of all checked calls go here, so that a failing call that writes
// to any of them is noticed.
struct outputs {
  stead_map *map;
  stead_plan *plan;
  char *text;
  const void *bytes;
  size_t length;
  size_t count;
  size_t indexes[16];
  uint64_t number;
  double fraction;
  stead_slice slice;
  stead_move move;
  stead_affected rows[16];
  stead_amounts amounts;
  int32_t node;
  int32_t nodes[16];
  uint8_t digest[STEAD_DIGEST_ROOM];
  char path[STEAD_PATH_ROOM];
};
extern struct outputs out;
// The error record of the checked call: pass `at`, which is &error or NULL.
extern stead_error error;
extern stead_error *at;

// Notes that a call returned this status, where none of the macros below does.
void saw(const char *call, int32_t status);

void poison(void);
void refused(int32_t status, int32_t wanted, const char *text, const char *file,
             int line);
void refused_silently(int32_t status, int32_t wanted, const char *text,
                      const char *file, int line);
void given(int32_t status, const char *text, const char *file, int line);

// The call fails with this status, with and without a record. The record is
// filled, and `out` is unchanged.
#define REFUSES(wanted, call)                                                  \
  do {                                                                         \
    poison();                                                                  \
    at = NULL;                                                                 \
    refused_silently((call), (wanted), #call, __FILE__, __LINE__);             \
    at = &error;                                                               \
    refused((call), (wanted), #call, __FILE__, __LINE__);                      \
  } while (0)
// Like REFUSES, and the message contains these words.
#define REFUSES_WITH(wanted, words, call)                                      \
  do {                                                                         \
    REFUSES(wanted, call);                                                     \
    check(strstr(error.message, words) != NULL,                                \
          "\"" words "\" in the message of " #call, __FILE__, __LINE__);       \
  } while (0)
// The call succeeds and clears the record.
#define GIVES(call)                                                            \
  do {                                                                         \
    poison();                                                                  \
    given((call), #call, __FILE__, __LINE__);                                  \
  } while (0)

// The surroundings of the test, from the command line.
extern const char *scratch; // a directory of our own
extern const char *maps;    // tests/maps
extern int rounds; // how often open-ended tests repeat; 1 under valgrind

// Joins a directory and a name to a path. The path is valid until the eighth
// next call.
const char *in(const char *directory, const char *name);

// Helpers that do not fail in a working test. If one does, it ends the program.
stead_map *built(const char *fleet, const stead_map *previous);
stead_map *opened(const char *path, uint32_t flags);
void write_file(const char *path, const void *bytes, size_t length);
void save_as(const stead_map *map, const char *path); // by stead_map_save
char *fleet_of(
    int nodes,
    const char *head); // nodes n0000 to the last, weights 1 to 7; free() it
const char *place(const stead_map *map,
                  const char *key); // the name of its node

// The parts of the suite.
void check_answers(void);
void check_batches(void);
void check_inside(void);
void check_itself(void);
void check_arguments(void);
void check_builders(void);
void check_files(void);
void check_cache(void);
void check_large(void);
void check_limits(void);
void check_changes(void);
void check_pairs(void);
void check_stores(void);
void check_threads(void);

#endif
