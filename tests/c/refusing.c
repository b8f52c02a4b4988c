// An allocator that refuses: each block of 64 KiB or more that a call asks for
// is refused in turn, in a child. The call returns STEAD_MEMORY or succeeds, or
// its name is in the list below, and then the system refused a block that it
// had granted before, which ends the process.
//
//     refusing SCRATCH
//
// A program of its own, since it has its own malloc, which neither valgrind nor
// a sanitizer would use.

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 64 * 1024, NODES = 20000, FIRSTS = 3000, MOST = 40 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

// Which large block is refused, from 1; 0 refuses none. And how many there
// were.
static int refuse, asked;

static int refuses(size_t size) {
  if (size < LARGE)
    return 0;
  asked++;
  if (asked != refuse)
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return refuses(size) ? NULL : __libc_malloc(size); }

void *calloc(size_t count, size_t size) {
  return refuses(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  // giving back the end of a block is never refused
  size_t now = block != NULL ? malloc_usable_size(block) : 0;
  return size > now && refuses(size) ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (refuses(size))
    return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block == NULL ? ENOMEM : 0;
}

static char *first, *second, *third;
static stead_map *map, *next, *twice, *led;
static stead_plan *plan;
static const char *path, *wide, *fleet;
static const void *bytes;
static size_t length;

static int32_t build(void) {
  return stead_map_build(first, strlen(first), NULL, NULL, NULL, &out.map,
                         NULL);
}
static int32_t build_next(void) {
  return stead_map_build(second, strlen(second), NULL, map, NULL, &out.map,
                         NULL);
}
static int32_t apply(void) {
  return stead_map_apply_file(fleet, wide, NULL, NULL, &out.map, NULL);
}
static int32_t build_firsts(void) {
  return stead_map_build(third, strlen(third), NULL, twice, NULL, &out.map,
                         NULL);
}
static int32_t report_firsts(void) {
  return stead_map_report(led, &out.text, NULL);
}
static int32_t fleet_of_firsts(void) {
  return stead_map_fleet(led, &out.text, NULL);
}
static int32_t between_firsts(void) {
  return stead_plan_between(twice, led, &out.plan, NULL);
}
static int32_t from_bytes(void) {
  return stead_map_from_bytes(bytes, length, &out.map, NULL);
}
static int32_t open_copy(void) {
  return stead_map_open(path, STEAD_OPEN_COPY, &out.map, NULL);
}
static int32_t open_shared(void) {
  return stead_map_open(path, STEAD_OPEN_SHARED, &out.map, NULL);
}
static int32_t open_uncached(void) {
  return stead_map_open_uncached(path, &out.map, NULL);
}
static int32_t between(void) {
  return stead_plan_between(map, next, &out.plan, NULL);
}
static int32_t plan_report(void) {
  return stead_plan_report(plan, 1, &out.text, NULL);
}
static int32_t report(void) { return stead_map_report(map, &out.text, NULL); }
static int32_t fleet_of_map(void) {
  return stead_map_fleet(map, &out.text, NULL);
}
static int32_t prefer(void) {
  static int32_t nodes[NODES];
  return stead_map_prefer(map, "k", 1, nodes, NODES, &out.count, NULL);
}
static int32_t pair(void) {
  stead_pair *made;
  return stead_pair_between(map, next, STEAD_STATE_OLD, &made, NULL);
}
static int32_t strings(void) {
  return stead_map_node_name(map, 0) != NULL ? STEAD_OK : STEAD_MEMORY;
}
static int32_t fold(void) {
  char *folded = __libc_malloc(1 << 20);
  return stead_fold_ascii(first, 1 << 17, folded, NULL);
}
static int32_t locate_many(void) {
  static uint64_t offsets[100001];
  static int32_t nodes[100000];
  return stead_map_locate_many(map, "", 0, offsets, 100000, nodes, NULL);
}
static int32_t affects(void) {
  return stead_plan_affects(plan, "k", 1, out.indexes, 16, &out.count, NULL);
}
static int32_t survey(void) {
  uint64_t offsets[] = {0, 1};
  return stead_survey("k", 1, offsets, 1, 0, NULL, &out.text, NULL);
}
// the control: its block is refused, and it does not look
static int32_t careless(void) {
  volatile char *block = malloc(LARGE);
  block[0] = 1;
  return STEAD_OK;
}

struct call {
  const char *name;
  int32_t (*body)(void);
  int ends; // whether some refusal ends the process
};

static const struct call calls[] = {
    {"control", careless, 1},
    {"stead_map_build", build, 1},
    {"stead_map_build on a map", build_next, 1},
    {"stead_map_apply_file", apply, 1},
    {"stead_map_build with firsts", build_firsts, 1},
    {"stead_plan_between", between, 1},
    {"stead_plan_between, firsts", between_firsts, 1},
    {"stead_plan_report", plan_report, 1},
    {"stead_map_report", report, 1},
    {"stead_map_fleet", fleet_of_map, 1},
    {"stead_map_report, firsts", report_firsts, 1},
    {"stead_map_fleet, firsts", fleet_of_firsts, 1},
    {"stead_survey", survey, 1},
    {"stead_map_from_bytes", from_bytes, 0},
    {"stead_map_open, copied", open_copy, 0},
    {"stead_map_open, mapped", open_shared, 0},
    {"stead_map_open_uncached", open_uncached, 0},
    {"stead_map_prefer", prefer, 0},
    {"stead_pair_between", pair, 0},
    {"stead_map_node_name", strings, 0},
    {"stead_fold_ascii", fold, 0},
    {"stead_map_locate_many", locate_many, 0},
    {"stead_plan_affects", affects, 0},
};

enum { SUCCEEDED, REFUSED, ALL_GRANTED, OTHER };

// Runs a call in a child that refuses its nth large block. Returns the status
// of the child.
static int child_of(const struct call *call, int nth) {
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 2); // Rust tells of the refusal
    refuse = nth;
    asked = 0;
    int32_t status = call->body();
    if (status != STEAD_OK && status != STEAD_MEMORY)
      _exit(OTHER);
    if (asked < nth)
      _exit(ALL_GRANTED);
    _exit(status == STEAD_OK ? SUCCEEDED : REFUSED);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return status;
}

static void check_call(const struct call *call) {
  int refused = 0, succeeded = 0, ended = 0, nth = 1;
  for (; nth <= MOST; nth++) {
    int status = child_of(call, nth);
    if (WIFSIGNALED(status)) {
      ended++;
    } else if (WEXITSTATUS(status) == ALL_GRANTED) {
      break;
    } else {
      refused += WEXITSTATUS(status) == REFUSED;
      succeeded += WEXITSTATUS(status) == SUCCEEDED;
      check(WEXITSTATUS(status) != OTHER, call->name, __FILE__, __LINE__);
    }
  }
  printf("%-26s %3d blocks: %3d refused, %3d did without, %3d ended the "
         "process\n",
         call->name, nth - 1, refused, succeeded, ended);
  check((ended > 0) == call->ends, call->name, __FILE__, __LINE__);
  // the first block of what may end the process is the question for all
  if (call->ends && call->body != careless)
    check(refused > 0, call->name, __FILE__, __LINE__);
}

static char *large_fleet(const char *head, const char *weight) {
  char *text = malloc(NODES * 100 + 100);
  char *end = text + sprintf(text, "name = \"large\"\n%s", head);
  for (int i = 0; i < NODES; i++)
    end += sprintf(end,
                   "[[node]]\nname = \"n%d\"\nlabels = { zone = \"z%d\" }\n"
                   "weight = %s\n",
                   i, i % 7, i % 100 == 0 ? weight : "1");
  return text;
}

// A fleet with two copies, as a text with firsts: each makes the second holder
// of a key answer first.
static char *with_firsts(const char *text) {
  char *whole = malloc(strlen(text) + FIRSTS * 80), key[16];
  char *end = whole + sprintf(whole, "%s", text);
  for (int i = 0; i < FIRSTS; i++) {
    sprintf(key, "k%d", i);
    GIVES(stead_map_locate_all(twice, key, strlen(key), out.nodes, 2,
                               &out.count, at));
    end += sprintf(end, "[[first]]\nkey = \"%s\"\nnode = \"%s\"\n", key,
                   stead_map_node_name(twice, out.nodes[1]));
  }
  return whole;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return fprintf(stderr, "usage: refusing SCRATCH\n"), 2;
  scratch = argv[1];
  first = large_fleet("spread = [\"zone\"]\n", "1");
  second = large_fleet("spread = [\"zone\"]\n", "3");
  map = built(first, NULL);
  next = built(second, map);
  char *two = large_fleet("replicas = 2\n", "1");
  twice = built(two, NULL);
  third = with_firsts(two);
  led = built(third, twice);
  free(two);
  path = in(scratch, "large.map");
  wide = in(scratch, "applied.map");
  fleet = in(scratch, "large.toml");
  save_as(map, path);
  save_as(map, wide);
  write_file(fleet, second, strlen(second));
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  bytes = out.bytes;
  length = out.length;
  CHECK(length > 1 << 20);
  GIVES(stead_plan_between(map, next, &out.plan, at));
  plan = out.plan;
  fflush(stdout);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    check_call(&calls[i]);
  return closing();
}
