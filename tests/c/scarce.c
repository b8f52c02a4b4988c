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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, HUGE_ROOM = 512 * MIB, NODES = 400 };
enum { MANY_NODES = 4000, STEPS = 30, SMALL_BLOCKS = 3000 };

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

static int without, done;

// Notes the status of a call; any other than these two ends the child.
static int is_done(int32_t status) {
  if (status != STEAD_OK && status != STEAD_MEMORY)
    _exit(2);
  without += status == STEAD_MEMORY;
  done += status == STEAD_OK;
  return status == STEAD_OK;
}

// Makes every kind of call that may need much memory, each as far as the memory
// goes. Returns 0 when none was refused, 1 when all were, and 3 otherwise.
static int everything(const char *text, const char *more, const stead_map *old,
                      const char *path, const char *applied) {
  static int32_t nodes[MANY_NODES];
  static const uint64_t offsets[MANY_NODES + 1];
  stead_map *map = NULL, *next = NULL;
  stead_plan *plan = NULL;
  const void *bytes;
  size_t length;
  stead_map_bytes(old, &bytes, &length, NULL);
  // a batch needs no memory
  if (stead_map_locate_many(old, "", 0, offsets, MANY_NODES, nodes, NULL) !=
      STEAD_OK)
    _exit(2);
  is_done(stead_map_build(text, strlen(text), NULL, NULL, NULL, &map, NULL));
  if (is_done(
          stead_map_build(more, strlen(more), NULL, old, NULL, &next, NULL)) &&
      is_done(stead_plan_between(old, next, &plan, NULL)) &&
      is_done(stead_plan_report(plan, 1, &out.text, NULL)))
    stead_text_free(out.text);
  stead_pair *pair;
  if (next != NULL)
    is_done(stead_pair_between(old, next, STEAD_STATE_OLD, &pair, NULL));
  if (is_done(stead_map_report(old, &out.text, NULL)))
    stead_text_free(out.text);
  if (is_done(stead_map_fleet(old, &out.text, NULL)))
    stead_text_free(out.text);
  is_done(stead_map_prefer(old, "k", 1, nodes, MANY_NODES, &out.count, NULL));
  is_done(stead_map_from_bytes(bytes, length, &out.map, NULL));
  is_done(stead_map_open(path, STEAD_OPEN_COPY, &out.map, NULL));
  is_done(stead_map_open_uncached(path, &out.map, NULL));
  is_done(stead_map_apply(more, strlen(more), NULL, applied, NULL, NULL,
                          &out.map, NULL));
  is_done(stead_map_node_name(old, 0) != NULL ? STEAD_OK : STEAD_MEMORY);
  return without == 0 ? 0 : done == 0 ? 1 : 3;
}

// Makes all calls in children that may have more and more memory. None of them
// dies.
static void check_steps(void) {
  char *text = malloc(MANY_NODES * 120 + 100), *more;
  char *end =
      text + sprintf(text, "name = \"m\"\nreplicas = 2\nspread = [\"zone\"]\n");
  for (int i = 0; i < MANY_NODES; i++)
    end +=
        sprintf(end, "[[node]]\nname = \"n%d\"\nlabels = { zone = \"z%d\" }\n",
                i, i % 7);
  more = malloc(MANY_NODES * 120 + 200);
  sprintf(more, "%sweight = 3\n", text);
  stead_map *old = built(text, NULL);
  const char *path = in(scratch, "steps.map");
  save_as(old, path);
  int counts[4] = {0}, deaths = 0;
  for (int step = -1; step < STEPS; step++) {
    char name[32];
    snprintf(name, sizeof name, "applied-%d.map", step);
    const char *applied = in(scratch, name);
    save_as(old, applied);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      if (step < 0)
        abort(); // the control
      // there are small blocks, each between two that stay: so every block from
      // 64 KiB on is asked of the system
      mallopt(M_MMAP_THRESHOLD, 64 * 1024);
      mallopt(M_TRIM_THRESHOLD, 1 << 30);
      void *blocks[SMALL_BLOCKS];
      for (int i = 0; i < SMALL_BLOCKS; i++)
        blocks[i] = malloc(60000);
      for (int i = 0; i < SMALL_BLOCKS; i += 2)
        free(blocks[i]);
      unsigned long pages = 0;
      FILE *statm = fopen("/proc/self/statm", "r");
      if (statm == NULL || fscanf(statm, "%lu", &pages) != 1)
        _exit(2);
      fclose(statm);
      size_t room = (size_t)64 * 1024 << step / 2;
      if (step % 2)
        room += room / 2;
      struct rlimit limit = {pages * 4096 + room, RLIM_INFINITY};
      if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(2);
      _exit(everything(text, more, old, path, applied));
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (step < 0) {
      CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) == 2) {
      deaths++;
      printf("step %d: status %d\n", step, status);
    } else {
      counts[WEXITSTATUS(status)]++;
    }
  }
  printf(
      "of %d processes, %d had memory for nothing, %d for some calls, %d for "
      "all; %d died\n",
      STEPS, counts[1], counts[3], counts[0], deaths);
  IS(deaths, 0);
  CHECK(counts[3] > 0 && counts[0] > 0);
  stead_map_free(old);
  free(text);
  free(more);
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

  struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_AS, &none) == 0);
  check_steps();
  return closing();
}
