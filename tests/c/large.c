// A map above 1 MiB, which is mapped: replaced, overwritten and truncated while
// it is open.

#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 400 };

// Nodes with long attributes: 400 attributes of 3,000 bytes make more than 1
// MiB.
static stead_map *large_map(const stead_map *previous, int first_weight) {
  char *text = malloc(NODES * 3200 + 100),
       *end = text + sprintf(text, "name = \"large\"\n");
  for (int i = 0; i < NODES; i++)
    end += sprintf(end,
                   "[[node]]\nname = \"n%04d\"\nweight = %d\nattributes = { "
                   "note = \"%03000d\" }\n",
                   i, i ? 1 : first_weight, i);
  stead_map *map = built(text, previous);
  free(text);
  return map;
}

static void touch_everything(const stead_map *map) {
  // once the file was overwritten any answer will do, but nothing may be read
  // out of bounds
  for (int i = 0; i < (rounds > 1 ? 200 : 20); i++) {
    char key[16];
    size_t length = (size_t)sprintf(key, "key-%d", i);
    stead_map_locate(map, key, length, &out.node, &error);
    stead_map_locate_all(map, key, length, out.nodes, 16, &out.count, &error);
    stead_map_prefer(map, key, length, out.nodes, 16, &out.count, &error);
    stead_map_node_weight(map, i, &out.number, &error);
    stead_map_node_label(map, i, "zone");
    stead_map_node_attribute(map, i, "note");
    stead_map_policy_nodes(map, i, out.nodes, 16, &out.count, &error);
    stead_map_slice(map, (size_t)i, &out.slice, &error);
  }
  stead_map_node_name(map, 0);
  stead_map_node_named(map, "n0001");
  stead_map_same(map, map);
  char *report = NULL;
  if (stead_map_report(map, &report, &error) == STEAD_OK)
    stead_text_free(report);
}

static void check_replaced(const stead_map *first, const stead_map *second) {
  const char *path = in(scratch, "large.map");
  save_as(first, path);
  stead_map *old = opened(path, STEAD_OPEN_SHARED);
  save_as(second, path);
  stead_map *new_one = opened(path, STEAD_OPEN_SHARED),
            *copy = opened(path, STEAD_OPEN_COPY),
            *third = opened(path, STEAD_OPEN_SHARED);
  CHECK(stead_map_same(old, first) == 1 &&
        stead_map_same(new_one, second) == 1 &&
        stead_map_same(copy, second) == 1);
  SAYS(place(old, "frank"), place(first, "frank"));
  stead_map_free(old);
  stead_map_free(new_one);
  stead_map_free(third);
  CHECK(unlink(path) == 0);
  SAYS(place(copy, "frank"), place(second, "frank"));
  stead_map_free(copy);
}

// A file that is overwritten in place: the next open reports it, and processes
// that have it open survive.
static void check_overwritten(const stead_map *first, const stead_map *second) {
  for (int how = 0; how < 3; how++) {
    char name[32];
    snprintf(name, sizeof name, "large-over-%d.map", how);
    const char *path = in(scratch, name);
    save_as(first, path);
    stead_map *mapped = opened(path, STEAD_OPEN_SHARED);
    GIVES(stead_map_bytes(how == 0 ? second : first, &out.bytes, &out.length,
                          at));
    size_t length = out.length;
    unsigned char *bytes = malloc(length);
    memcpy(bytes, out.bytes, length);
    for (size_t i = 0; how > 0 && i < length; i++)
      bytes[i] = how == 1 ? 0xFF : (unsigned char)(i * 2654435761u >> 13);
    usleep(20000); // a tick of the clock that files have
    write_file(path, bytes, length);
    free(bytes);
    REFUSES(STEAD_CHANGED,
            stead_map_open(path, STEAD_OPEN_SHARED, &out.map, at));
    REFUSES(STEAD_CHANGED, stead_map_open(path, STEAD_OPEN_COPY, &out.map, at));
    touch_everything(mapped);
    stead_map_free(mapped);
  }
}

// Returns how a child ends that opens the file, has it truncated in place, and
// then reads.
static int child_of_truncation(const stead_map *map, uint32_t flags) {
  const char *path = in(scratch, flags == STEAD_OPEN_COPY ? "large-copy.map"
                                                          : "large-mapped.map");
  save_as(map, path);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL); // not the handler of a sanitizer
    stead_map *mine = opened(path, flags);
    if (truncate(path, 4096) != 0)
      _exit(3);
    const char *node = place(mine, "frank");
    int wrong = node == NULL || strcmp(node, place(map, "frank")) != 0;
    stead_map_free(mine);
    // a signal rather than _exit(0): at exit, a leak checker would report what
    // the parent still holds
    if (!wrong)
      raise(SIGUSR1);
    _exit(1);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void check_large(void) {
  stead_map *first = large_map(NULL, 1), *second = large_map(first, 3);
  GIVES(stead_map_bytes(first, &out.bytes, &out.length, at));
  CHECK(out.length > 1 << 20);
  check_replaced(first, second);
  check_overwritten(first, second);
  IS(child_of_truncation(first, STEAD_OPEN_SHARED),
     -SIGBUS); // as the manual says
  IS(child_of_truncation(first, STEAD_OPEN_COPY),
     -SIGUSR1); // it read the right answer
  stead_map_free(first);
  stead_map_free(second);
}
