// Pairs: where to read and to write in each state of a carry, from files, from
// maps, and with wrong arguments.

#include "check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ODD(T) ((T *)((char *)&out.bytes + 1))

static void copy(const char *from, const char *to) {
  stead_map *map = opened(from, STEAD_OPEN_COPY);
  save_as(map, to);
  stead_map_free(map);
}

// Joins the names of nodes with spaces.
static const char *names(const stead_pair *pair, const int32_t *nodes,
                         size_t count) {
  static char text[256];
  text[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    const char *name = stead_pair_node_name(pair, nodes[i]);
    CHECK(name != NULL && stead_pair_node_named(pair, name) == nodes[i]);
    snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %s" : "%s",
             name ? name : "?");
  }
  return text;
}

// Compares the four lists of a key with what they should be.
static void lists(const stead_pair *pair, const char *key, const char *read,
                  const char *written) {
  size_t length = strlen(key);
  stead_map *map = stead_pair_new_map(pair);
  uint64_t point = 0;
  GIVES(stead_map_point(map, key, length, &point, at));
  GIVES(stead_pair_reads(pair, key, length, out.nodes, 16, &out.count, at));
  SAYS(names(pair, out.nodes, out.count), read);
  GIVES(stead_pair_writes(pair, key, length, out.nodes, 16, &out.count, at));
  SAYS(names(pair, out.nodes, out.count), written);
  GIVES(stead_pair_reads_point(pair, point, out.nodes, 16, &out.count, at));
  SAYS(names(pair, out.nodes, out.count), read);
  GIVES(stead_pair_writes_point(pair, point, out.nodes, 16, &out.count, at));
  SAYS(names(pair, out.nodes, out.count), written);
  IS(stead_pair_moved(pair, key, length), stead_pair_moved_point(pair, point));
  // a call without room asks for the number alone
  size_t count = 0;
  IS(stead_pair_writes(pair, key, length, NULL, 0, &count, NULL), STEAD_OK);
  IS(count, out.count);
  stead_map_free(map);
}

// In each state a key that moves from a to b is read and written as it should.
static void check_states(void) {
  static const char fleet[] =
      "name = \"m\"\nnode = [{ name = \"a\", attributes = { at = \"x\" } }]";
  static const char *read[] = {NULL, "a", "a", "b a", "b"},
                    *written[] = {NULL, "a", "a b", "b a", "b"};
  stead_map *old = built(fleet, NULL),
            *new_map = built("name = \"m\"\nnode = [{ name = \"b\" }]", old);
  for (int32_t state = STEAD_STATE_OLD; state <= STEAD_STATE_NEW; state++) {
    stead_pair *pair = NULL, *other;
    GIVES(stead_pair_between(old, new_map, state, &pair, at));
    other = stead_pair_share(pair);
    stead_pair_free(pair);
    IS(stead_pair_state(other), state);
    IS(stead_pair_node_count(other), 2);
    IS(stead_pair_moved(other, "k", 1), 1);
    lists(other, "k", read[state], written[state]);
    SAYS(stead_pair_node_name(other, 0), "b");
    SAYS(stead_pair_node_name(other, 1), "a");
    SAYS(stead_pair_node_attribute(other, 1, "at"), "x");
    CHECK(stead_pair_node_attribute(other, 0, "at") == NULL);
    CHECK(stead_pair_node_name(other, 2) == NULL);
    CHECK(stead_pair_node_name(other, -1) == NULL);
    IS(stead_pair_node_named(other, "c"), -1);
    stead_map *before = stead_pair_old_map(other);
    IS(stead_map_epoch(before), 1);
    stead_map_free(before);
    stead_pair_free(other);
  }
  stead_map_free(new_map);
  stead_map_free(old);
}

// A pair of files: the state and the old map follow the map that is there.
static void check_files_of_pairs(void) {
  const char *path = in(scratch, "pair.map"),
             *history = in(scratch, "pair.map.history"),
             *old = in(scratch, "pair.map.history/1");
  stead_pair *pair = NULL;
  copy(in(maps, "three.map"), path);
  GIVES(stead_pair_open(path, STEAD_OPEN_SHARED, &pair, at));
  IS(stead_pair_state(pair), STEAD_STATE_NONE);
  CHECK(stead_pair_old_map(pair) == NULL);
  IS(stead_pair_moved(pair, "k", 1), 0);
  stead_pair_free(pair);

  copy(in(maps, "carry-both-old.map"), path);
  REFUSES_WITH(
      STEAD_NOT_FOUND, "the map where its data was",
      stead_pair_open(path, STEAD_OPEN_SHARED, (stead_pair **)&out.plan, at));
  mkdir(history, 0700);
  copy(in(maps, "words.map"), old);
  REFUSES_WITH(
      STEAD_IDENTITY, "is not the one where the data was",
      stead_pair_open(path, STEAD_OPEN_SHARED, (stead_pair **)&out.plan, at));
  REFUSES(STEAD_IDENTITY, stead_pair_open_from(path, 1, STEAD_STATE_NEW,
                                               (stead_pair **)&out.plan, at));
  copy(in(maps, "three.map"), old);
  GIVES(stead_pair_open(path, STEAD_OPEN_SHARED, &pair, at));
  IS(stead_pair_state(pair), STEAD_STATE_BOTH_OLD_FIRST);
  stead_pair_free(pair);
  GIVES(stead_pair_open(path, STEAD_OPEN_COPY, &pair, at));
  IS(stead_pair_state(pair), STEAD_STATE_BOTH_OLD_FIRST);
  stead_pair_free(pair);
  GIVES(stead_pair_open_from(path, 1, STEAD_STATE_NEW, &pair, at));
  IS(stead_pair_state(pair), STEAD_STATE_NEW);
  stead_pair_free(pair);

#define OTHER (stead_pair **)&out.plan
  REFUSES(STEAD_NOT_FOUND,
          stead_pair_open_from(path, 9, STEAD_STATE_NEW, OTHER, at));
  REFUSES_WITH(STEAD_INVALID, "there is no state 5",
               stead_pair_open_from(path, 1, 5, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_open_from(NULL, 1, 1, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_open_from(path, 1, 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "flags 2 are unknown",
               stead_pair_open(path, 2, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_open(NULL, 0, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_open(path, 0, NULL, at));
  REFUSES(STEAD_INVALID, stead_pair_open(path, 0, ODD(stead_pair *), at));
  write_file(in(scratch, "none.map"), "none", 4);
  REFUSES(STEAD_FORMAT, stead_pair_open(in(scratch, "none.map"), 0, OTHER, at));
}

// Wrong arguments of everything that asks a pair.
static void check_wrong_arguments(void) {
  stead_map *map = opened(in(maps, "three.map"), STEAD_OPEN_SHARED),
            *words = opened(in(maps, "words.map"), STEAD_OPEN_SHARED);
  stead_pair *pair = NULL;
  GIVES(stead_pair_between(map, map, STEAD_STATE_OLD, &pair, at));
  REFUSES_WITH(STEAD_IDENTITY, "two clusters",
               stead_pair_between(map, words, 1, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_between(NULL, map, 1, OTHER, at));
  REFUSES_WITH(STEAD_INVALID, "new_map is NULL",
               stead_pair_between(map, NULL, 1, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_between(map, map, 1, NULL, at));
  REFUSES(STEAD_INVALID, stead_pair_between(map, map, 0, OTHER, at));
  REFUSES(STEAD_INVALID, stead_pair_between(map, map, -1, OTHER, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads(NULL, "k", 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads(pair, NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads(pair, "k", SIZE_MAX, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads(pair, "k", 1, NULL, 1, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads(pair, "k", 1, out.nodes, 1, NULL, at));
  REFUSES(STEAD_INVALID,
          stead_pair_writes(NULL, "k", 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_writes(pair, NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_writes(pair, "k", 1, ODD(int32_t), 1, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads_point(NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_reads_point(pair, 1, NULL, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_writes_point(NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES(STEAD_INVALID,
          stead_pair_writes_point(pair, 1, out.nodes, 16, NULL, at));
  IS(stead_pair_moved(NULL, "k", 1), -1);
  IS(stead_pair_moved(pair, NULL, 1), -1);
  IS(stead_pair_moved_point(NULL, 1), -1);
  IS(stead_pair_state(NULL), STEAD_STATE_NONE);
  IS(stead_pair_node_count(NULL), 0);
  IS(stead_pair_node_named(NULL, "n0"), -1);
  IS(stead_pair_node_named(pair, NULL), -1);
  CHECK(stead_pair_node_name(NULL, 0) == NULL);
  CHECK(stead_pair_node_attribute(NULL, 0, "a") == NULL);
  CHECK(stead_pair_node_attribute(pair, 0, NULL) == NULL);
  CHECK(stead_pair_new_map(NULL) == NULL);
  CHECK(stead_pair_old_map(NULL) == NULL);
  CHECK(stead_pair_share(NULL) == NULL);
  stead_pair_free(NULL);
  stead_pair_free(pair);
  stead_map_free(words);
  stead_map_free(map);
}

void check_pairs(void) {
  check_states();
  check_files_of_pairs();
  check_wrong_arguments();
}
