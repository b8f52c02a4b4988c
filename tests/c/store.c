// A map file and its history: applying a fleet, listing and opening epochs,
// going back, and getting the fleet back. Names of paths, and surveys.

#include "check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char two[] = "name = \"s\"\nnode = [{name = \"a\"}, {name = "
                          "\"b\"}]\n",
                  three[] = "name = \"s\"\nnode = [{name = \"a\"}, {name = "
                            "\"b\"}, {name = \"c\"}]\n";

static stead_map *applied(const char *fleet, const char *path,
                          const char *max_move) {
  GIVES(stead_map_apply(fleet, strlen(fleet), "f.toml", path, max_move,
                        &out.map, at));
  return out.map;
}

static void check_apply(const char *path) {
  stead_map *first = applied(two, path, NULL), *again = applied(two, path, NULL);
  IS(stead_map_epoch(first), 1);
  IS(stead_map_epoch(again), 1);
  stead_map *step = applied(three, path, "5%");
  IS(stead_map_epoch(step), 2);
  IS(stead_map_node_count(step), 3);
  stead_map *there = opened(path, STEAD_OPEN_SHARED);
  CHECK(stead_map_same(step, there));
  const char *file = in(scratch, "store.toml");
  write_file(file, three, strlen(three));
  GIVES(stead_map_apply_file(file, path, NULL, &out.map, at));
  stead_map *done = out.map;
  IS(stead_map_epoch(done), 3);
  REFUSES_WITH(STEAD_FLEET, "f.toml:1: ",
               stead_map_apply("nam", 3, "f.toml", path, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "max_move \"5\"",
               stead_map_apply(two, strlen(two), NULL, path, "5", &out.map,
                               at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_apply(two, strlen(two), NULL, "", NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "fleet is NULL",
               stead_map_apply_file(NULL, path, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_apply_file(file, path, NULL, NULL, at));
  REFUSES(STEAD_NOT_FOUND,
          stead_map_apply_file(in(scratch, "no.toml"), path, NULL, &out.map,
                               at));
  const char *link = in(scratch, "store.link");
  CHECK(symlink(path, link) == 0);
  REFUSES_WITH(STEAD_INVALID, "symbolic link",
               stead_map_apply_file(file, link, NULL, &out.map, at));
  stead_map *all[] = {first, again, step, there, done};
  for (size_t i = 0; i < 5; i++)
    stead_map_free(all[i]);
}

static void check_history(const char *path) {
  uint64_t epochs[8];
  GIVES(stead_map_history(path, epochs, 8, &out.count, at));
  IS(out.count, 3);
  for (uint64_t i = 0; i < 3; i++)
    IS(epochs[i], i + 1);
  epochs[1] = 7;
  GIVES(stead_map_history(path, epochs, 1, &out.count, at));
  IS(out.count, 3);
  IS(epochs[1], 7);
  GIVES(stead_map_history(path, NULL, 0, &out.count, at));
  IS(out.count, 3);
  REFUSES(STEAD_NOT_FOUND, stead_map_history(in(scratch, "no.map"), NULL, 0,
                                             &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "epochs is NULL",
               stead_map_history(path, NULL, 1, &out.count, at));
  GIVES(stead_map_open_epoch(path, 1, &out.map, at));
  stead_map *old = out.map;
  IS(stead_map_epoch(old), 1);
  REFUSES_WITH(STEAD_INVALID, "epoch 9 is not in the history, which has 1, 2, 3",
               stead_map_open_epoch(path, 9, &out.map, at));
  REFUSES(STEAD_NOT_FOUND, stead_map_open_epoch(in(scratch, "no.map"), 1,
                                                &out.map, at));
  GIVES(stead_map_rollback(path, 1, &out.map, at));
  stead_map *back = out.map;
  IS(stead_map_epoch(back), 4);
  IS(stead_map_same(back, old), 1);
  GIVES(stead_map_rollback(path, 1, &out.map, at));
  IS(stead_map_epoch(out.map), 4);
  stead_map_free(out.map);
  REFUSES(STEAD_INVALID, stead_map_rollback(path, 9, &out.map, at));
  REFUSES(STEAD_NOT_FOUND,
          stead_map_rollback(in(scratch, "no.map"), 1, &out.map, at));
  stead_map_free(old);
  stead_map_free(back);
}

// The fleet of a map changes nothing when it is built on the map.
static void check_fleet(void) {
  stead_map *map = built("name = \"s\"\nhash = \"siphash\"\nsecret = "
                         "\"000102030405060708090a0b0c0d0e0f\"\n"
                         "[[node]]\nname = \"a\"\nweight = 1.5\nlabels = {z "
                         "= \"1\"}\n[[node]]\nname = \"b\"\n"
                         "[[pin]]\nkey = \"k\"\nnodes = [\"b\"]\n",
                         NULL);
  GIVES(stead_map_fleet(map, &out.text, at));
  char *text = out.text;
  CHECK(strstr(text, "0001020304") == NULL);
  CHECK(strstr(text, "weight = 1.5\nlabels = { z = \"1\" }\n") != NULL);
  stead_map *again = built(text, map);
  IS(stead_map_same(again, map), 1);
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_fleet(NULL, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "text is NULL", stead_map_fleet(map, NULL, at));
  stead_text_free(text);
  stead_map_free(again);
  stead_map_free(map);
}

static void check_names(void) {
  static const char path[] = "/nas/38/37/60/frank";
  GIVES(stead_path_name(path, strlen(path), NULL, out.path, STEAD_NAME_ROOM,
                        &out.count, at));
  IS(out.count, 5);
  CHECK(memcmp(out.path, "frank", 5) == 0);
  GIVES(stead_path_name("20/29/12/=", 10, "64,64,128", NULL, 0, &out.count, at));
  IS(out.count, 0);
  REFUSES_WITH(STEAD_NAME, "belongs into `38`",
               stead_path_name("39/37/60/frank", 14, NULL, out.path,
                               STEAD_NAME_ROOM, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "levels",
               stead_path_name(path, strlen(path), "0", out.path,
                               STEAD_NAME_ROOM, &out.count, at));
  poison();
  IS(stead_path_name(path, strlen(path), NULL, out.path, 4, &out.count, at),
     STEAD_INVALID);
  IS(out.count, 5);
}

static void check_surveys(void) {
  static const uint64_t offsets[] = {0, 5, 8}, falling[] = {0, 5, 4};
  GIVES(stead_survey("frankbob", 8, offsets, 2, 0, NULL, &out.text, at));
  CHECK(strstr(out.text, "\"names\":2") != NULL);
  CHECK(strstr(out.text, "projection") == NULL);
  stead_text_free(out.text);
  GIVES(stead_survey("frankbob", 8, offsets, 2, 1000, "4,4", &out.text, at));
  CHECK(strstr(out.text, "\"projection\":{\"members\":1000") != NULL);
  stead_text_free(out.text);
  REFUSES_WITH(STEAD_INVALID, "bytes of names",
               stead_survey("frankbob", 8, falling, 2, 0, NULL, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "levels",
               stead_survey("k", 1, offsets, 0, 0, "x", &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "json is NULL",
               stead_survey("k", 1, offsets, 0, 0, NULL, NULL, at));
}

void check_store(void) {
  const char *path = in(scratch, "store.map");
  char kept[4096];
  snprintf(kept, sizeof kept, "%s", path);
  check_apply(kept);
  check_history(kept);
  check_fleet();
  check_names();
  check_surveys();
}
