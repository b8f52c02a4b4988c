// Map files and their histories: applying a fleet, old epochs, going back, and
// the fleet of a map; and what needs no map: the name of a path, and surveys.

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ODD(T) ((T *)((char *)&out.bytes + 1))
#define TEXT(text) (text), strlen(text)

static const char two[] = "name = \"m\"\nnode = [{name = \"a\"}, {name = "
                          "\"b\"}]\n",
                  three[] = "name = \"m\"\nnode = [{name = \"a\"}, {name = "
                            "\"b\"}, {name = \"c\"}]\n";

static void apply(const char *fleet, const char *path, uint64_t epoch) {
  GIVES(stead_map_apply(TEXT(fleet), NULL, path, NULL, NULL, &out.map, at));
  stead_map *there = opened(path, 0);
  IS(stead_map_same(out.map, there), 1); // the handle is of what is there
  IS(stead_map_epoch(out.map), epoch);
  stead_map_free(there);
  stead_map_free(out.map);
}

static void check_applying(void) {
  const char *path = in(scratch, "applied.map"),
             *file = in(scratch, "applied.toml");
  apply(two, path, 1);
  apply(two, path, 1); // nothing changes
  apply(three, path, 2);
  write_file(file, TEXT(two));
  GIVES(stead_map_apply_file(file, path, NULL, "take-back", &out.map, at));
  IS(stead_map_epoch(out.map), 3);
  stead_map_free(out.map);
  GIVES(
      stead_map_apply(TEXT(three), "f", path, "5%", "take-back", &out.map, at));
  IS(stead_map_epoch(out.map), 4); // a step towards it
  stead_map_free(out.map);

  uint64_t epochs[8] = {0};
  GIVES(stead_map_history(path, NULL, 0, &out.count, at));
  IS(out.count, 4);
  GIVES(stead_map_history(path, epochs, 8, &out.count, at));
  for (uint64_t i = 0; i < 5; i++)
    IS(epochs[i], i < 4 ? i + 1 : 0);
  epochs[1] = 99;
  GIVES(stead_map_history(path, epochs, 1, &out.count, at));
  CHECK(out.count == 4 && epochs[0] == 1 && epochs[1] == 99);

  for (uint64_t epoch = 1; epoch <= 4; epoch++) {
    GIVES(stead_map_open_epoch(path, epoch, &out.map, at));
    IS(stead_map_epoch(out.map), epoch);
    IS(stead_map_node_count(out.map), epoch == 1 || epoch == 3 ? 2 : 3);
    stead_map_free(out.map);
  }
  GIVES(stead_map_open_epoch(path, 2, &out.map, at));
  stead_map *second = out.map;
  // two epochs back, so it must be said how
  REFUSES_WITH(STEAD_INVALID, "say how to go back: exact",
               stead_map_rollback(path, 2, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "\"most\" is no way to go back",
               stead_map_rollback(path, 2, "most", NULL, &out.map, at));
  GIVES(stead_map_rollback(path, 2, "exact", NULL, &out.map, at));
  IS(stead_map_epoch(out.map), 5);
  IS(stead_map_same(out.map, second), 1);
  stead_map_free(out.map);
  GIVES(stead_map_rollback(path, 2, NULL, NULL, &out.map,
                           at)); // it is there already
  IS(stead_map_epoch(out.map), 5);
  stead_map_free(out.map);
  GIVES(stead_map_rollback(path, 3, "least", NULL, &out.map, at));
  IS(stead_map_epoch(out.map), 6);
  IS(stead_map_node_count(out.map), 2);
  stead_map_free(out.map);
  stead_map_free(second);
}

static void check_store_arguments(void) {
  const char *path = in(scratch, "arguments.map");
  apply(two, path, 1);
  REFUSES_WITH(STEAD_INVALID, "fleet is NULL",
               stead_map_apply(NULL, 1, NULL, path, NULL, NULL, &out.map, at));
  REFUSES_WITH(
      STEAD_INVALID, "path is NULL",
      stead_map_apply(TEXT(two), NULL, NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_apply(TEXT(two), NULL, "", NULL, NULL, &out.map, at));
  REFUSES_WITH(
      STEAD_INVALID, "name is not UTF-8",
      stead_map_apply(TEXT(two), "\xFF", path, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "max_move",
               stead_map_apply(TEXT(two), NULL, path, "5", NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_apply(TEXT(two), NULL, path, NULL, NULL, NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_map_apply(TEXT(two), NULL, path, NULL, NULL, ODD(stead_map *), at));
  REFUSES_WITH(STEAD_INVALID, "fleet is NULL",
               stead_map_apply_file(NULL, path, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "fleet is empty",
               stead_map_apply_file("", path, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_apply_file("f", NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_apply_file("f", path, NULL, NULL, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_history(NULL, NULL, 0, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "epochs is NULL",
               stead_map_history(path, NULL, 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_history(path, ODD(uint64_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_history(path, NULL, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_open_epoch(NULL, 1, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_open_epoch(path, 1, NULL, at));
  static const uint64_t none[] = {0, 2, UINT64_MAX};
  for (size_t i = 0; i < 3; i++) {
    REFUSES(STEAD_INVALID, stead_map_open_epoch(path, none[i], &out.map, at));
    REFUSES(STEAD_INVALID,
            stead_map_rollback(path, none[i], NULL, NULL, &out.map, at));
  }
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_rollback(NULL, 1, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_rollback(path, 1, NULL, NULL, NULL, at));
  const char *link = in(scratch, "arguments-link.map");
  CHECK(symlink("arguments.map", link) == 0);
  REFUSES_WITH(
      STEAD_INVALID, "symbolic link",
      stead_map_apply(TEXT(three), NULL, link, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "symbolic link",
               stead_map_rollback(link, 1, NULL, NULL, &out.map, at));
}

// Every function that reads the map file refuses this path in the same way.
static void refuse_store(const char *path, int32_t wanted) {
  const char *file = in(scratch, "refused.toml");
  write_file(file, TEXT(two));
  REFUSES(wanted,
          stead_map_apply(TEXT(two), NULL, path, NULL, NULL, &out.map, at));
  REFUSES(wanted, stead_map_apply_file(file, path, NULL, NULL, &out.map, at));
  REFUSES(wanted, stead_map_open_epoch(path, 1, &out.map, at));
  REFUSES(wanted, stead_map_rollback(path, 1, NULL, NULL, &out.map, at));
}

static void check_stores_refused(void) {
  const char *path = in(scratch, "refused.map"), *file;
  stead_map *map = built(two, NULL);
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  size_t length = out.length;
  char *bytes = malloc(length);
  memcpy(bytes, out.bytes, length);
  write_file(path, bytes, length - 1);
  refuse_store(path, STEAD_FORMAT);
  GIVES(stead_map_history(path, NULL, 0, &out.count, at));
  bytes[length - 1] ^= 1;
  write_file(path, bytes, length);
  refuse_store(path, STEAD_DIGEST);
  memcpy(bytes + 8, "\xFF\xFF", 2); // the format version
  write_file(path, bytes, length);
  refuse_store(path, STEAD_VERSION);
  free(bytes);
  stead_map_free(map);

  refuse_store(in(path, "below.map"), STEAD_IO);
  REFUSES(STEAD_IO,
          stead_map_history(in(path, "below.map"), NULL, 0, &out.count, at));
  const char *nowhere = in(scratch, "no/such/file.map");
  refuse_store(nowhere, STEAD_NOT_FOUND);
  REFUSES(STEAD_NOT_FOUND, stead_map_history(nowhere, NULL, 0, &out.count, at));
  path = in(scratch, "refused-2.map");
  REFUSES(STEAD_NOT_FOUND, stead_map_apply_file(in(scratch, "no.toml"), path,
                                                NULL, NULL, &out.map, at));

  static const char *fleets[] = {
      "name = \"m\"\nnode = 5\n",
      "name = \"m\"\nmax_slices = 1\nnode = [{name = \"a\"}, {name = \"b\"}]\n",
      "name = \"other\"\nnode = [{name = \"a\"}]\n"};
  static const int32_t wanted[] = {STEAD_FLEET, STEAD_IMPOSSIBLE,
                                   STEAD_IDENTITY};
  apply(two, path, 1);
  file = in(scratch, "refused-2.toml");
  for (size_t i = 0; i < 3; i++) {
    REFUSES(wanted[i], stead_map_apply(TEXT(fleets[i]), "f.toml", path, NULL,
                                       NULL, &out.map, at));
    write_file(file, TEXT(fleets[i]));
    REFUSES(wanted[i],
            stead_map_apply_file(file, path, NULL, NULL, &out.map, at));
  }
  // an epoch that somebody replaced by that of another map
  map = built("name = \"other\"\nnode = [{name = \"a\"}]\n", NULL);
  apply(three, path, 2);
  char epoch[4200];
  snprintf(epoch, sizeof epoch, "%s.history/1", path);
  CHECK(unlink(epoch) == 0);
  save_as(map, epoch);
  REFUSES(STEAD_IDENTITY,
          stead_map_rollback(path, 1, NULL, NULL, &out.map, at));
  stead_map_free(map);
}

struct applier {
  const char *path;
  char fleet[128];
  int32_t status;
  uint64_t epoch;
};

static void *apply_one(void *given) {
  struct applier *self = given;
  stead_map *map = NULL;
  self->status = stead_map_apply(TEXT(self->fleet), NULL, self->path, NULL,
                                 NULL, &map, NULL);
  self->epoch = stead_map_epoch(map);
  stead_map_free(map);
  return NULL;
}

// Eight apply eight fleets at once: each of them gets an epoch of its own, or a
// conflict.
static void check_applying_at_once(void) {
  enum { APPLIERS = 8 };
  const char *path = in(scratch, "at-once.map");
  apply(two, path, 1);
  uint64_t newest = 1;
  for (int round = 0; round < rounds; round++) {
    struct applier all[APPLIERS];
    pthread_t threads[APPLIERS];
    for (int i = 0; i < APPLIERS; i++) {
      all[i].path = path;
      snprintf(all[i].fleet, sizeof all[i].fleet,
               "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b%d-%d\"}]\n",
               round, i);
      pthread_create(&threads[i], NULL, apply_one, &all[i]);
    }
    uint64_t good = 0, sum = 0, wanted = 0;
    for (int i = 0; i < APPLIERS; i++) {
      pthread_join(threads[i], NULL);
      CHECK(all[i].status == STEAD_OK || all[i].status == STEAD_CONFLICT);
      saw("stead_map_apply(", all[i].status);
      good += all[i].status == STEAD_OK;
      sum += all[i].epoch;
    }
    for (uint64_t i = 1; i <= good; i++)
      wanted += newest + i;
    IS(sum, wanted);
    newest += good;
    GIVES(stead_map_peek(path, &out.number, NULL, at));
    IS(out.number, newest);
  }
  CHECK(newest > 1);
}

// The fleet of a map, built on the map, changes nothing.
static void check_fleet(void) {
  static const char whole[] =
      "name = \"m\xC3\xBC\"\nspread = [\"zone\"]\nreplicas = 2\n"
      "[[node]]\nname = \"a\"\nweight = 2.5\nlabels = { zone = \"1\" }\n"
      "attributes = { address = \"10.0.0.1\" }\n"
      "[[node]]\nname = \"b\"\nlabels = { zone = \"2\" }\n"
      "[[node]]\nname = \"c\"\nlabels = { zone = \"3\" }\n"
      "[[policy]]\nname = \"p\"\nkind = \"k\"\nnodes = [\"c\", \"a\"]\n"
      "[[pin]]\nkey = \"justin\"\npolicy = \"p\"\n";
  stead_map *map = built(whole, NULL);
  GIVES(stead_map_fleet(map, &out.text, at));
  char *text = out.text;
  CHECK(strstr(text, "2.5") != NULL && strstr(text, "10.0.0.1") != NULL &&
        strstr(text, "justin") != NULL);
  stead_map *again = built(text, map), *alone = built(text, NULL);
  IS(stead_map_same(map, again), 1);
  IS(stead_map_same(map, alone), 1);
  stead_text_free(text);
  // a secret is never shown; a build on the map keeps it
  stead_map *secret = built("name = \"s\"\nhash = \"siphash\"\nsecret = "
                            "\"000102030405060708090a0b0c0d0e0f\"\n"
                            "node = [{name = \"a\"}]\n",
                            NULL);
  GIVES(stead_map_fleet(secret, &out.text, at));
  text = out.text;
  CHECK(strstr(text, "0001020304") == NULL);
  stead_map *kept = built(text, secret);
  IS(stead_map_same(secret, kept), 1);
  stead_text_free(text);
  stead_map_free(kept);
  stead_map_free(secret);
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_fleet(NULL, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "text is NULL", stead_map_fleet(map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_fleet(map, ODD(char *), at));
  stead_map_free(map);
  stead_map_free(again);
  stead_map_free(alone);
}

static void check_path_names(void) {
  static const char hard[] = "a\0/..=\xFF\n Z";
  char path[STEAD_PATH_ROOM];
  size_t length;
  GIVES(stead_path(hard, sizeof hard - 1, NULL, 0, path, sizeof path,
                   &out.count, at));
  length = out.count;
  GIVES(stead_path_name(path, length, NULL, out.path, STEAD_NAME_ROOM,
                        &out.count, at));
  CHECK(out.count == sizeof hard - 1 &&
        memcmp(out.path, hard, sizeof hard - 1) == 0 &&
        out.path[sizeof hard - 1] == (char)0xA5); // no NUL is added
  GIVES(stead_path_name(TEXT("/srv/maildirs/38/37/60/frank"), NULL, out.path, 5,
                        &out.count, at));
  CHECK(out.count == 5 && memcmp(out.path, "frank\xA5", 6) == 0);
  GIVES(stead_path_name(TEXT("38/frank"), "64", out.path, STEAD_NAME_ROOM,
                        &out.count, at));
  IS(out.count, 5);
  GIVES(stead_path_name(TEXT("20/29/12/="), NULL, NULL, 0, &out.count, at));
  IS(out.count, 0); // the empty name
  REFUSES_WITH(STEAD_NAME, "belongs into `38`",
               stead_path_name(TEXT("39/37/60/frank"), NULL, out.path,
                               STEAD_NAME_ROOM, &out.count, at));
  static const char *not_paths[] = {"",
                                    "frank",
                                    "37/38/60/frank",
                                    "38/37/60/FRANK",
                                    "38/37/60/",
                                    "38/37/60/fr=61nk",
                                    "38/37/60/=6"};
  for (size_t i = 0; i < sizeof not_paths / sizeof *not_paths; i++)
    REFUSES(STEAD_NAME, stead_path_name(TEXT(not_paths[i]), NULL, out.path,
                                        STEAD_NAME_ROOM, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_path_name(NULL, 1, NULL, out.path, 255, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "name is NULL",
               stead_path_name(path, length, NULL, NULL, 255, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_path_name(path, length, NULL, out.path, 255, NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "the name needs 10",
      stead_path_name(path, length, NULL, out.path, 9, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_path_name(path, length, "0", out.path, 255, &out.count, at));
}

// Every function that publishes refuses to drop copies, and the word lets it.
static void check_guards(void) {
  static const char pair[] = "name = \"m\"\nreplicas = 2\nnode = [{name = "
                             "\"a\"}, {name = \"b\"}]\n";
  const char *path = in(scratch, "guarded.map"),
             *file = in(scratch, "guarded.toml");
  apply(pair, path, 1);
  write_file(file, TEXT(two));
  REFUSES_WITH(
      STEAD_GUARDED, "if you mean it, allow drop-copies",
      stead_map_apply(TEXT(two), NULL, path, NULL, NULL, &out.map, at));
  REFUSES(STEAD_GUARDED,
          stead_map_apply(TEXT(two), NULL, path, NULL,
                          "lose-domain,move,take-back", &out.map, at));
  REFUSES(STEAD_GUARDED,
          stead_map_apply_file(file, path, NULL, NULL, &out.map, at));
  REFUSES_WITH(
      STEAD_INVALID, "`drop` is not the word of a guard",
      stead_map_apply(TEXT(two), NULL, path, NULL, "drop", &out.map, at));
  REFUSES(STEAD_INVALID,
          stead_map_apply_file(file, path, NULL, "move, move", &out.map, at));
  REFUSES(STEAD_INVALID,
          stead_map_rollback(path, 1, NULL, "\xFF", &out.map, at));

  stead_map *base = opened(path, 0);
  GIVES(stead_map_build(TEXT(two), NULL, base, NULL, &out.map, at));
  stead_map *next = out.map;
  REFUSES_WITH(STEAD_GUARDED, "drops copies of 100.00 % of the points",
               stead_map_publish(next, base, path, NULL, at));
  REFUSES(STEAD_INVALID, stead_map_publish(next, base, path, "all", at));
  GIVES(stead_map_publish(next, base, path, "drop-copies", at));
  stead_map_free(next);
  stead_map_free(base);

  REFUSES_WITH(
      STEAD_GUARDED, "takes back epoch 2: replicas, 1 -> 2",
      stead_map_apply(TEXT(pair), NULL, path, NULL, NULL, &out.map, at));
  GIVES(
      stead_map_apply(TEXT(pair), NULL, path, NULL, "take-back", &out.map, at));
  stead_map_free(out.map);
  REFUSES_WITH(STEAD_GUARDED, "drop-copies",
               stead_map_rollback(path, 2, NULL, NULL, &out.map, at));
  GIVES(stead_map_rollback(path, 2, NULL, "drop-copies", &out.map, at));
  IS(stead_map_epoch(out.map), 4);
  stead_map_free(out.map);
  GIVES(stead_map_apply_file(file, path, NULL, NULL, &out.map, at));
  IS(stead_map_epoch(out.map), 4); // no change needs no word
  stead_map_free(out.map);
}

static void check_surveys(void) {
  const uint64_t offsets[] = {0, 5, 8, 14}, falls[] = {0, 5, 4, 14};
  GIVES(
      stead_survey(TEXT("frankbobjustin"), offsets, 3, 0, NULL, &out.text, at));
  CHECK(out.text[0] == '{' && strstr(out.text, "\"names\":3") != NULL);
  stead_text_free(out.text);
  GIVES(stead_survey(TEXT("frankbobjustin"), offsets, 3, 1000, "64", &out.text,
                     at));
  CHECK(out.text[0] == '{');
  stead_text_free(out.text);
  GIVES(stead_survey(NULL, 0, NULL, 0, 0, NULL, &out.text, at));
  stead_text_free(out.text);
  REFUSES_WITH(STEAD_INVALID, "names is NULL",
               stead_survey(NULL, 1, offsets, 3, 0, NULL, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "offsets is NULL",
               stead_survey("x", 1, NULL, 1, 0, NULL, &out.text, at));
  REFUSES_WITH(
      STEAD_INVALID, "bytes of names",
      stead_survey(TEXT("frankbobjustin"), falls, 3, 0, NULL, &out.text, at));
  REFUSES(STEAD_INVALID, stead_survey(TEXT("frankbobjustin"), offsets, 3, 1,
                                      "0", &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "json is NULL",
               stead_survey(NULL, 0, NULL, 0, 0, NULL, NULL, at));
}

void check_stores(void) {
  check_applying();
  check_store_arguments();
  check_stores_refused();
  check_applying_at_once();
  check_guards();
  check_fleet();
  check_path_names();
  check_surveys();
}
