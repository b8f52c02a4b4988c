// Many keys in one call: the answers are those of single calls, for every
// length of keys and around the size of a block (1,024 keys).

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 3000, LONGEST = 300, ROOM = MOST * (LONGEST + 1) };

// Keys end to end, from `first` on, and their offsets in both widths.
static struct {
  unsigned char bytes[ROOM];
  uint64_t offsets[MOST + 1];
  uint32_t narrow[MOST + 1];
  size_t count;
} keys;

// Makes keys of all lengths from 0 to 300, of all bytes, at all alignments.
static void make_keys(size_t count, size_t first, uint64_t seed) {
  size_t end = first;
  keys.count = count;
  for (size_t i = 0; i <= count; i++) {
    keys.offsets[i] = end;
    keys.narrow[i] = (uint32_t)end;
    for (size_t length = i * 7 % (LONGEST + 1); i < count && length > 0;
         length--) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      keys.bytes[end++] = (unsigned char)(seed >> 56);
    }
  }
}

static size_t length_of(size_t i) {
  return (size_t)(keys.offsets[i + 1] - keys.offsets[i]);
}

static void check_primaries(const stead_map *map) {
  static int32_t nodes[MOST + 1], narrow[MOST + 1];
  size_t end = (size_t)keys.offsets[keys.count], wrong = 0;
  memset(nodes, 0xA5, sizeof nodes);
  memset(narrow, 0xA5, sizeof narrow);
  GIVES(stead_map_locate_many(map, keys.bytes, end, keys.offsets, keys.count,
                              nodes, at));
  GIVES(stead_map_locate_many_32(map, keys.bytes, end, keys.narrow, keys.count,
                                 narrow, at));
  for (size_t i = 0; i < keys.count; i++)
    wrong += nodes[i] !=
             stead_map_node_of(map, keys.bytes + keys.offsets[i], length_of(i));
  IS(wrong, 0);
  CHECK(memcmp(nodes, narrow, sizeof nodes) == 0);
  IS(nodes[keys.count], (int32_t)0xA5A5A5A5); // nothing beyond the last key
}

static void check_all(const stead_map *map) {
  static int32_t nodes[MOST * 3 + 1];
  static uint64_t starts[MOST + 2];
  size_t end = (size_t)keys.offsets[keys.count], room = MOST * 3, wrong = 0;
  for (int short_of_room = 0; short_of_room < 2; short_of_room++) {
    memset(nodes, 0xA5, sizeof nodes);
    memset(starts, 0xA5, sizeof starts);
    GIVES(stead_map_locate_all_many(map, keys.bytes, end, keys.offsets,
                                    keys.count, nodes, room, starts, &out.count,
                                    at));
    size_t found = out.count, written = found < room ? found : room;
    IS(starts[0], 0);
    IS(starts[keys.count], found);
    CHECK(starts[keys.count + 1] == 0xA5A5A5A5A5A5A5A5);
    for (size_t i = 0; i < keys.count; i++) {
      int32_t single[16];
      size_t count = 0;
      stead_map_locate_all(map, keys.bytes + keys.offsets[i], length_of(i),
                           single, 16, &count, NULL);
      wrong += starts[i + 1] - starts[i] != count;
      for (size_t n = 0; n < count && starts[i] + n < written; n++)
        wrong += nodes[starts[i] + n] != single[n];
    }
    IS(wrong, 0);
    IS(nodes[written], (int32_t)0xA5A5A5A5); // nothing beyond the room
    room = found / 2;
  }
  GIVES(stead_map_locate_all_many(map, keys.bytes, end, keys.offsets,
                                  keys.count, NULL, 0, starts, &out.count, at));
  IS(starts[keys.count], out.count);
}

// The rows are those of the single calls, with the number of the key.
static void check_rows(const stead_plan *plan) {
  static stead_affected rows[MOST * 3];
  size_t row = 0, wrong = 0;
  GIVES(stead_plan_affects_many(plan, keys.bytes,
                                (size_t)keys.offsets[keys.count], keys.offsets,
                                keys.count, rows, MOST * 3, &out.count, at));
  size_t found = out.count;
  for (size_t i = 0; i < keys.count; i++) {
    size_t indexes[16], count = 0;
    stead_plan_affects(plan, keys.bytes + keys.offsets[i], length_of(i),
                       indexes, 16, &count, NULL);
    for (size_t n = 0; n < count; n++, row++) {
      stead_move move;
      stead_plan_move(plan, indexes[n], &move, NULL);
      wrong += row >= found || rows[row].key != i ||
               rows[row].from != move.from || rows[row].to != move.to;
    }
  }
  IS(row, found);
  IS(wrong, 0);
}

// A survey of the same names in one order and in the other says the same, and
// counts each of them.
static void check_survey(void) {
  static unsigned char turned[ROOM];
  static uint64_t offsets[MOST + 1];
  for (size_t i = 0; i < keys.count; i++) {
    size_t last = keys.count - 1 - i;
    memcpy(turned + offsets[i], keys.bytes + keys.offsets[last],
           length_of(last));
    offsets[i + 1] = offsets[i] + length_of(last);
  }
  GIVES(stead_survey(keys.bytes, (size_t)keys.offsets[keys.count], keys.offsets,
                     keys.count, 0, NULL, &out.text, at));
  char *forward = out.text, names[40];
  GIVES(stead_survey(turned, (size_t)offsets[keys.count], offsets, keys.count,
                     0, NULL, &out.text, at));
  SAYS(out.text, forward);
  snprintf(names, sizeof names, "\"names\":%zu", keys.count);
  CHECK(strstr(forward, names) != NULL);
  stead_text_free(out.text);
  stead_text_free(forward);
}

void check_batches(void) {
  static const char *files[] = {
      "three.map",      "replicas.map",     "lists.map",        "many.map",
      "hash-crc32.map", "keys-first-2.map", "hash-md5-mod.map", "pins.map"};
  static const size_t counts[] = {0,    1,    2,    301,  1023, 1024,
                                  1025, 2047, 2048, 2049, MOST};
  for (size_t file = 0; file < sizeof files / sizeof *files; file++) {
    stead_map *map = opened(in(maps, files[file]), STEAD_OPEN_SHARED);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      if (rounds == 1 && i != 3 && i != 6 && file > 2)
        continue;
      make_keys(counts[i], i, file);
      check_primaries(map);
      check_all(map);
    }
    stead_map_free(map);
  }
  stead_map *three = opened(in(maps, "three.map"), 0),
            *next = opened(in(maps, "node-added.map"), 0);
  GIVES(stead_plan_between(three, next, &out.plan, at));
  stead_plan *plan = out.plan;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    make_keys(counts[i], i, 77);
    check_rows(plan);
  }
  check_survey();
  stead_plan_free(plan);
  stead_map_free(next);
  stead_map_free(three);
}
