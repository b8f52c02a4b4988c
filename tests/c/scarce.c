// A process that may have hardly any more memory: where a call needs memory for
// what the caller gave, or for a file, it returns STEAD_MEMORY, and the process
// goes on.
//
//     scarce SCRATCH
//
// A program of its own, since neither valgrind nor a sanitizer lives with the
// limit.

#include "check.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, HUGE_ROOM = 512 * MIB, NODES = 400 };

// Lets the process have this much more memory than it has now.
static void allow(size_t more) {
  unsigned long pages = 0;
  malloc_trim(0);
  FILE *statm = fopen("/proc/self/statm", "r");
  CHECK(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
  fclose(statm);
  struct rlimit limit = {pages * 4096 + more, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return fprintf(stderr, "usage: scarce SCRATCH\n"), 2;
  scratch = argv[1];
  // large blocks come from the system, and go back to it
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  const char *path = in(scratch, "large.map");
  char *text = malloc(NODES * 3200 + 100),
       *end = text + sprintf(text, "name = \"large\"\n");
  for (int i = 0; i < NODES; i++)
    end += sprintf(
        end, "[[node]]\nname = \"n%d\"\nattributes = { note = \"%03000d\" }\n",
        i, i);
  stead_map *map = built(text, NULL);
  save_as(map, path);
  const char *fleet = in(scratch, "large.toml");
  write_file(fleet, "name = \"large\"\nnode = [{name = \"n0\"}]\n", 37);
  free(text);
  // zeros that take no memory until somebody writes to them
  char *huge = mmap(NULL, HUGE_ROOM, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(huge != MAP_FAILED);

  allow(64 * MIB);
  REFUSES_WITH(STEAD_MEMORY, "no memory for 536870912 more bytes",
               stead_map_from_bytes(huge, HUGE_ROOM, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "no memory",
               stead_fold_ascii(huge, HUGE_ROOM, huge, at));
  // a call without a copy works
  GIVES(stead_map_locate(map, huge, 3 * MIB, &out.node, at));
  // nor does a batch need any memory: a million empty keys, whose offsets are
  // those zeros
  allow(16 * MIB);
  int32_t *nodes = calloc(MIB, sizeof *nodes);
  CHECK(nodes != NULL && stead_map_locate(map, "", 0, &out.node, at) == 0);
  int32_t empty = out.node;
  allow(MIB / 64);
  GIVES(stead_map_locate_many(map, huge, HUGE_ROOM, (uint64_t *)huge, MIB,
                              nodes, at));
  CHECK(nodes[0] == empty && nodes[MIB - 1] == empty);
  GIVES(stead_map_locate_many_32(map, huge, HUGE_ROOM, (uint32_t *)huge, MIB,
                                 nodes, at));
  CHECK(nodes[0] == empty && nodes[MIB - 1] == empty);

  allow(64 * MIB);
  free(nodes);

  allow(MIB / 4);
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_open(path, STEAD_OPEN_COPY, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_open_uncached(path, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_open_epoch(path, 1, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_rollback(path, 1, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_apply_file(fleet, path, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_MEMORY, "large.map",
               stead_map_apply("name = \"large\"\nnode = [{name = \"n0\"}]\n",
                               37, NULL, path, NULL, NULL, &out.map, at));

  allow(64 * MIB); // the control: there was nothing else to refuse
  stead_map *again = opened(path, STEAD_OPEN_COPY);
  IS(stead_map_same(map, again), 1);
  stead_map_free(again);
  GIVES(stead_map_open_uncached(path, &out.map, at));
  stead_map_free(out.map);
  stead_map_free(map);
  return closing();
}
