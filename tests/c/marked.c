// Opens maps with marks around, for a tracer that counts the system calls
// between `write(-1, "begin")` and `write(-1, "end")`.
//
//     marked MODE DIRECTORY
//
// DIRECTORY contains 0.map to 16.map, and must be the working directory.
//
// again     the second open of an absolute path
// relative  the second open of a relative path
// sixteen   a path again after 15 others: the cache is full but still has it
// evicted   a path again after 16 others: the cache has dropped it
// first     the first open, for comparison
// replaced  the second open of a path whose file was replaced

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void mark(const char *text) {
  ssize_t refused = write(-1, text, strlen(text));
  CHECK(refused == -1);
}

static void open_number(int number) {
  char name[32];
  snprintf(name, sizeof name, "%d.map", number);
  stead_map_free(opened(in(scratch, name), 0));
}

static void marked_open(const char *path) {
  stead_map *map = NULL;
  mark("begin");
  int32_t status = stead_map_open(path, STEAD_OPEN_SHARED, &map, &error);
  mark("end");
  IS(status, STEAD_OK);
  stead_map_free(map);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: marked MODE DIRECTORY\n"), 2;
  const char *mode = argv[1];
  scratch = argv[2];
  char path[4096];
  snprintf(path, sizeof path, "%s",
           strcmp(mode, "relative") == 0 ? "0.map" : in(scratch, "0.map"));
  stead_map *map = NULL;
  if (strcmp(mode, "first") != 0)
    map = opened(path, 0);
  int others = strcmp(mode, "sixteen") == 0   ? 15
               : strcmp(mode, "evicted") == 0 ? 16
                                              : 0;
  for (int i = 1; i <= others; i++)
    open_number(i);
  if (strcmp(mode, "replaced") == 0)
    save_as(map, path);
  marked_open(path);
  stead_map_free(map);
  return closing();
}
