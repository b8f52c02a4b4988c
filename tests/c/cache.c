// The cache of open maps: files that are replaced, touched, moved, deleted or
// overwritten between two opens. marked.c is for counting the system calls of
// an open from outside.

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const void *bytes_of(const stead_map *map) {
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  return out.bytes;
}

// The time of change of a file advances in ticks of the kernel's clock: a file
// that is written twice within one tick looks unchanged.
static void wait_a_tick(void) { usleep(20000); }

static void check_replaced(stead_map *first, stead_map *second) {
  const char *path = in(scratch, "replaced.map");
  save_as(first, path);
  stead_map *old = opened(path, 0), *again = opened(path, 0);
  CHECK(bytes_of(old) == bytes_of(again)); // one map, two handles
  stead_map_free(again);
  save_as(second, path); // by renaming
  stead_map *new_one = opened(path, 0);
  CHECK(stead_map_epoch(old) == 1 && stead_map_epoch(new_one) == 2);
  SAYS(place(old, "frank"), place(first, "frank"));
  IS(stead_map_node_count(old), 3);
  IS(stead_map_node_count(new_one), 4);
  save_as(first, path); // an older epoch is put back: the file decides
  stead_map *back = opened(path, 0);
  IS(stead_map_epoch(back), 1);
  stead_map_free(old);
  stead_map_free(back);
  IS(stead_map_node_count(new_one), 4);
  stead_map_free(new_one);
}

// Changes to the file that keep its contents: no error, and the same answers.
static void check_no_false_alarm(stead_map *first) {
  const char *path = in(scratch, "touched.map"),
             *linked = in(scratch, "linked.map");
  save_as(first, path);
  stead_map *old = opened(path, 0);
  wait_a_tick();
  CHECK(utimensat(AT_FDCWD, path, NULL, 0) == 0);
  GIVES(stead_map_open(path, 0, &out.map, at));
  stead_map_free(out.map);
  wait_a_tick();
  CHECK(chmod(path, 0600) == 0);
  GIVES(stead_map_open(path, 0, &out.map, at));
  stead_map_free(out.map);
  wait_a_tick();
  CHECK(link(path, linked) == 0);
  GIVES(stead_map_open(path, 0, &out.map, at));
  stead_map_free(out.map);
  GIVES(stead_map_open(linked, 0, &out.map, at));
  IS(stead_map_same(out.map, old), 1);
  stead_map_free(out.map);
  wait_a_tick();
  const void *bytes = bytes_of(first);
  write_file(path, bytes, out.length); // the same bytes
  GIVES(stead_map_open(path, 0, &out.map, at));
  stead_map_free(out.map);
  stead_map_free(old);
}

static void check_overwritten(stead_map *first, stead_map *second) {
  for (int how = 0; how < 4; how++) {
    char name[32];
    snprintf(name, sizeof name, "overwritten-%d.map", how);
    const char *path = in(scratch, name);
    save_as(first, path);
    stead_map *old = opened(path, 0);
    const void *bytes = bytes_of(second);
    size_t length = out.length;
    wait_a_tick();
    if (how == 0)
      CHECK(truncate(path, 0) == 0);
    else if (how == 1)
      CHECK(truncate(path, 100) == 0);
    else if (how == 2)
      write_file(path, bytes, length); // another good map
    else
      write_file(path, "no map", 6);
    for (uint32_t flags = STEAD_OPEN_SHARED; flags <= STEAD_OPEN_COPY; flags++)
      REFUSES_WITH(STEAD_CHANGED, "overwritten in place",
                   stead_map_open(path, flags, &out.map, at));
    SAYS(place(old, "frank"), place(first, "frank"));
    IS(stead_map_same(old, first), 1);
    stead_map *uncached = NULL; // this way goes round the cache
    IS(stead_map_open_uncached(path, &uncached, NULL) == STEAD_OK, how == 2);
    IS(stead_map_epoch(uncached), how == 2 ? 2 : 0);
    stead_map_free(uncached);
    save_as(second, path);
    GIVES(stead_map_open(path, 0, &out.map, at)); // the file is opened anew
    IS(stead_map_epoch(out.map), 2);
    stead_map_free(out.map);
    stead_map_free(old);
  }
}

static void check_deleted(stead_map *first, stead_map *second) {
  const char *path = in(scratch, "deleted.map");
  save_as(first, path);
  stead_map *old = opened(path, 0);
  CHECK(unlink(path) == 0);
  SAYS(place(old, "frank"), place(first, "frank"));
  REFUSES(STEAD_NOT_FOUND, stead_map_open(path, 0, &out.map, at));
  save_as(second, path);
  GIVES(stead_map_open(path, 0, &out.map, at));
  IS(stead_map_epoch(out.map), 2);
  stead_map_free(out.map);
  write_file(in(scratch, "bad.map"), "no map", 6);
  CHECK(rename(in(scratch, "bad.map"), path) ==
        0); // a new file that is not a map is reported as such
  REFUSES(STEAD_FORMAT, stead_map_open(path, 0, &out.map, at));
  SAYS(place(old, "frank"), place(first, "frank"));
  stead_map_free(old);
}

static void check_chdir(stead_map *first, stead_map *second) {
  char *home = getcwd(NULL, 0);
  CHECK(mkdir(in(scratch, "here"), 0755) == 0 &&
        mkdir(in(scratch, "there"), 0755) == 0);
  save_as(first, in(scratch, "here/relative.map"));
  save_as(second, in(scratch, "there/relative.map"));
  for (int i = 0; i < 6; i++) {
    CHECK(chdir(in(scratch, i % 2 ? "there" : "here")) == 0);
    GIVES(stead_map_open("relative.map", 0, &out.map, at));
    IS(stead_map_epoch(out.map), i % 2 ? 2 : 1);
    stead_map_free(out.map);
  }
  CHECK(chdir(scratch) == 0);
  REFUSES(STEAD_NOT_FOUND, stead_map_open("relative.map", 0, &out.map, at));
  CHECK(chdir(home) == 0);
  free(home);
}

// Opens more files than the cache keeps, and each again: an evicted file is
// opened anew.
static void check_many_files(stead_map *first, stead_map *second) {
  stead_map *kept[40];
  for (int i = 0; i < 40; i++) {
    char name[32];
    snprintf(name, sizeof name, "file-%d.map", i);
    save_as(i % 2 ? second : first, in(scratch, name));
    kept[i] = opened(in(scratch, name), 0);
  }
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < 40; i++) {
      char name[32];
      snprintf(name, sizeof name, "file-%d.map", i);
      GIVES(stead_map_open(in(scratch, name), 0, &out.map, at));
      IS(stead_map_epoch(out.map), i % 2 ? 2 : 1);
      stead_map_free(out.map);
      if (turn == 1)
        stead_map_free(kept[i]);
    }
}

void check_cache(void) {
  stead_map *first = built(
      "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}, {name = \"c\"}]",
      NULL);
  stead_map *second = built("name = \"m\"\nnode = [{name = \"a\"}, {name = "
                            "\"b\"}, {name = \"c\"}, {name = \"d\"}]",
                            first);
  check_replaced(first, second);
  check_no_false_alarm(first);
  check_overwritten(first, second);
  check_deleted(first, second);
  check_chdir(first, second);
  check_many_files(first, second);
  stead_map_free(first);
  stead_map_free(second);
}
