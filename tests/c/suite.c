// The suite of the C library: every function against known answers and against
// wrong arguments.
//
//     suite SCRATCH MAPS ROUNDS
//
// SCRATCH is an empty directory, MAPS is tests/maps. ROUNDS is how often the
// open-ended tests repeat; valgrind uses 1.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void part(const char *name, void (*body)(void)) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  body();
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("part %s %.2f s\n", name,
         (double)(to.tv_sec - from.tv_sec) +
             (double)(to.tv_nsec - from.tv_nsec) / 1e9);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fprintf(stderr, "usage: suite SCRATCH MAPS ROUNDS\n"), 2;
  scratch = argv[1];
  maps = argv[2];
  rounds = atoi(argv[3]);
  part("answers", check_answers);
  part("batches", check_batches);
  part("inside", check_inside);
  part("itself", check_itself);
  part("arguments", check_arguments);
  part("builders", check_builders);
  part("files", check_files);
  part("cache", check_cache);
  part("large", check_large);
  part("limits", check_limits);
  part("changes", check_changes);
  part("pairs", check_pairs);
  part("stores", check_stores);
  part("threads", check_threads);
  return closing();
}
