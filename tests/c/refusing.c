// An allocator that refuses. Each block of 64 KiB or more that a call asks for
// is the one, in a child of its own: either this block alone is refused, or
// somebody else takes all memory at this moment, and from then on the call can
// have only what it gives back. It returns STEAD_MEMORY or succeeds; the
// process never ends.
//
// A call that touches no file runs once for all its blocks: its child forks at
// each of them, so that only what comes after the block is done again. A call
// on files would find those of the others, so it begins anew for each block.
//
//     refusing SCRATCH
//
// Of a call with many blocks, 12 are tried, from its first to its last, or as
// many as STEAD_BLOCKS says.
//
// A program of its own, since it has its own malloc, which neither valgrind nor
// a sanitizer would use.

#define _GNU_SOURCE // _Fork

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 64 * 1024, PAGE = 4096, NODES = 20000, FIRSTS = 3000 };
enum { MOST_TRIES = 1000 };
static int most_tries = 12; // blocks of a call, from its first to its last

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// Which large block is refused, from 1; 0 refuses none. And how many there
// were.
static int refuse, asked;

// Whether all memory is taken then, and how much the call has given back since.
static int taking;
static size_t back;

static size_t large(size_t size) { return size < LARGE ? 0 : size; }

// What children write: how many blocks a call asked for, and the statuses of
// the two that were refused its nth block, alone and with all memory.
static struct told {
  int asked, tries, nth[MOST_TRIES], status[MOST_TRIES][2];
} *told;
enum { NEVER = -1 }; // the status of one that did not run

// Whether this process forks at these blocks.
static int forking;

// Continues in a child for each way to refuse the block that is asked for. The
// caller has no thread, but may hold locks, so no handler of pthread_atfork may
// run.
static void fork_at_block(void) {
  for (int i = 0; i < told->tries; i++)
    for (int takes = 0; told->nth[i] == asked && takes < 2; takes++) {
      pid_t child = _Fork();
      if (child == 0) {
        forking = 0;
        refuse = asked;
        taking = takes;
        return;
      }
      if (child < 0 || waitpid(child, &told->status[i][takes], 0) != child)
        told->status[i][takes] = NEVER;
    }
}

// Whether somebody else has taken all memory.
static int is_taken(void) { return taking && refuse > 0 && asked >= refuse; }

// Whether the system refuses a block in place of one with as many large bytes.
// What it grants is counted in whole pages, and one more.
static int refuses(size_t size, size_t before) {
  if (large(size) <= before)
    return 0;
  asked++;
  if (forking)
    fork_at_block();
  size_t more = (size - before + 2 * PAGE - 1) / PAGE * PAGE;
  if (is_taken() ? more > back : asked == refuse) {
    errno = ENOMEM;
    return 1;
  }
  if (is_taken())
    back -= more;
  return 0;
}

// Notes that a block is no longer there, or is smaller.
static void returns(size_t before, size_t size) {
  if (is_taken() && before > large(size))
    back += before - large(size);
}

static size_t large_in(void *block) {
  return block != NULL ? large(malloc_usable_size(block)) : 0;
}

void *malloc(size_t size) {
  return refuses(size, 0) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return refuses(count * size, 0) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  // giving back the end of a block is never refused
  size_t before = large_in(block);
  if (refuses(size, before))
    return NULL;
  returns(before, size);
  return __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (refuses(size, 0))
    return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block == NULL ? ENOMEM : 0;
}

void free(void *block) {
  returns(large_in(block), 0);
  __libc_free(block);
}

static char *first, *second, *third;
static stead_map *map, *next, *dropping, *twice, *led;
static stead_plan *plan;
static const char *path, *published, *fleet;
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
  return stead_map_apply_file(fleet, published, NULL, NULL, &out.map, NULL);
}
static int32_t publish(void) {
  return stead_map_publish(next, map, published, NULL, NULL);
}
static int32_t publish_guarded(void) {
  return stead_map_publish(dropping, twice, published, NULL, NULL);
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
  int32_t usual;      // the status when nothing is refused
  int is_on_files;    // whether it reads or writes any
  stead_map **before; // what is published before each call; NULL: nothing
};

static const struct call calls[] = {
    {"control", careless, STEAD_OK, 0, NULL},
    {"stead_map_build", build, STEAD_OK, 0, NULL},
    {"stead_map_build on a map", build_next, STEAD_OK, 0, NULL},
    {"stead_map_apply_file", apply, STEAD_OK, 1, &map},
    {"stead_map_publish", publish, STEAD_OK, 1, &map},
    {"stead_map_publish, guarded", publish_guarded, STEAD_GUARDED, 1, &twice},
    {"stead_map_build with firsts", build_firsts, STEAD_OK, 0, NULL},
    {"stead_plan_between", between, STEAD_OK, 0, NULL},
    {"stead_plan_between, firsts", between_firsts, STEAD_OK, 0, NULL},
    {"stead_plan_report", plan_report, STEAD_OK, 0, NULL},
    {"stead_map_report", report, STEAD_OK, 0, NULL},
    {"stead_map_fleet", fleet_of_map, STEAD_OK, 0, NULL},
    {"stead_map_report, firsts", report_firsts, STEAD_OK, 0, NULL},
    {"stead_map_fleet, firsts", fleet_of_firsts, STEAD_OK, 0, NULL},
    {"stead_survey", survey, STEAD_OK, 0, NULL},
    {"stead_map_from_bytes", from_bytes, STEAD_OK, 0, NULL},
    {"stead_map_open, copied", open_copy, STEAD_OK, 1, NULL},
    {"stead_map_open, mapped", open_shared, STEAD_OK, 1, NULL},
    {"stead_map_open_uncached", open_uncached, STEAD_OK, 1, NULL},
    {"stead_map_prefer", prefer, STEAD_OK, 0, NULL},
    {"stead_pair_between", pair, STEAD_OK, 0, NULL},
    {"stead_map_node_name", strings, STEAD_OK, 0, NULL},
    {"stead_fold_ascii", fold, STEAD_OK, 0, NULL},
    {"stead_map_locate_many", locate_many, STEAD_OK, 0, NULL},
    {"stead_plan_affects", affects, STEAD_OK, 0, NULL},
};

enum { MADE, REFUSED, OTHER };

// Runs a call in a child that is refused its nth large block, or all memory
// from then on; or, with `forks`, that forks at the blocks of `told`. Returns
// the status of the child.
static int child_of(const struct call *call, int nth, int takes, int forks) {
  static int children;
  char name[32];
  if (call->before != NULL) {
    snprintf(name, sizeof name, "published-%d.map", children++);
    published = in(scratch, name);
    save_as(*call->before, published);
  }
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 2); // Rust tells of the refusal
    refuse = nth;
    taking = takes;
    forking = forks;
    asked = 0;
    int32_t status = call->body();
    told->asked = asked;
    _exit(status == call->usual    ? MADE
          : status == STEAD_MEMORY ? REFUSED
                                   : OTHER);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child ? status : NEVER;
}

static void check_call(const struct call *call) {
  int count[2][3] = {{0}}, ended = 0;
  int status = child_of(call, 0, 0, 0);
  CHECK(status != NEVER);
  check(WIFEXITED(status) && WEXITSTATUS(status) == MADE, call->name, __FILE__,
        __LINE__);
  int all = told->asked, tries = all < most_tries ? all : most_tries;
  for (int i = 0; i < tries; i++) {
    told->nth[i] = tries == 1 ? 1 : 1 + i * (all - 1) / (tries - 1);
    for (int takes = 0; takes < 2; takes++)
      told->status[i][takes] =
          call->is_on_files ? child_of(call, told->nth[i], takes, 0) : NEVER;
  }
  told->tries = tries;
  if (!call->is_on_files)
    child_of(call, 0, 0, 1);
  for (int i = 0; i < tries; i++)
    for (int takes = 0; takes < 2; takes++) {
      status = told->status[i][takes];
      CHECK(status != NEVER);
      if (WIFEXITED(status))
        count[takes][WEXITSTATUS(status)]++;
      else
        ended++;
    }
  printf("%-26s %3d of %4d blocks: alone %2d refused, %2d did without; all "
         "taken %2d refused, %2d had their own; %d ended\n",
         call->name, tries, all, count[0][REFUSED], count[0][MADE],
         count[1][REFUSED], count[1][MADE], ended);
  int ends = call->body == careless ? 2 : 0;
  check(ended == ends && count[0][OTHER] + count[1][OTHER] == 0, call->name,
        __FILE__, __LINE__);
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
  const char *tries = getenv("STEAD_BLOCKS");
  if (tries != NULL)
    most_tries = atoi(tries);
  CHECK(most_tries > 0 && most_tries <= MOST_TRIES);
  first = large_fleet("spread = [\"zone\"]\n", "1");
  second = large_fleet("spread = [\"zone\"]\n", "3");
  map = built(first, NULL);
  next = built(second, map);
  char *two = large_fleet("replicas = 2\n", "1");
  twice = built(two, NULL);
  third = with_firsts(two);
  led = built(third, twice);
  free(two);
  dropping = built(first, twice);
  path = strdup(in(scratch, "large.map"));
  fleet = strdup(in(scratch, "large.toml"));
  save_as(map, path);
  write_file(fleet, second, strlen(second));
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  bytes = out.bytes;
  length = out.length;
  CHECK(length > 1 << 20);
  GIVES(stead_plan_between(map, next, &out.plan, at));
  plan = out.plan;
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(told != MAP_FAILED);
  fflush(stdout);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    check_call(&calls[i]);
  return closing();
}
