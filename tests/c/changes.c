// From fleet to fleet: building, planning before publishing, publishing,
// opening, and conflicts.

#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int has(const int32_t *nodes, size_t count, const stead_map *map,
               const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(stead_map_node_name(map, nodes[i]), name) == 0)
      return 1;
  return 0;
}

// The two other ways to ask agree with the moves of a key: by its point, and
// as a batch.
static void check_rows_of(const stead_plan *plan, const char *key,
                          uint64_t point, const size_t *moves, size_t count) {
  size_t by_point[16], found = 0, length = strlen(key);
  stead_affected rows[16];
  stead_move one;
  const uint64_t offsets[] = {0, length};
  int right = stead_plan_affects_point(plan, point, by_point, 16, &found,
                                       NULL) == STEAD_OK &&
              found == count &&
              memcmp(by_point, moves, count * sizeof *moves) == 0;
  right = right &&
          stead_plan_affects_many(plan, key, length, offsets, 1, rows, 16,
                                  &found, NULL) == STEAD_OK &&
          found == count;
  for (size_t i = 0; right && i < count; i++)
    right = stead_plan_move(plan, moves[i], &one, NULL) == STEAD_OK &&
            rows[i].key == 0 && rows[i].from == one.from &&
            rows[i].to == one.to;
  CHECK(right);
}

// The moves of a key are exactly what its nodes lose and gain. Returns how many
// moves there are.
static size_t check_moves_of(const stead_plan *plan, const stead_map *old,
                             const stead_map *new_map, const char *key) {
  int32_t before[16], after[16];
  size_t had, has_now, length = strlen(key);
  uint64_t point = 0;
  stead_map_locate_all(old, key, length, before, 16, &had, NULL);
  stead_map_locate_all(new_map, key, length, after, 16, &has_now, NULL);
  stead_map_point(old, key, length, &point, NULL);
  size_t lost = 0, got = 0, found = 0, gone = 0, come = 0;
  for (size_t i = 0; i < had; i++)
    lost += !has(after, has_now, new_map, stead_map_node_name(old, before[i]));
  for (size_t i = 0; i < has_now; i++)
    got += !has(before, had, old, stead_map_node_name(new_map, after[i]));
  size_t indexes[16];
  int right = stead_plan_affects(plan, key, length, indexes, 16, &found,
                                 NULL) == STEAD_OK &&
              found <= 16;
  for (size_t i = 0; right && i < found; i++) {
    stead_move one;
    right = stead_plan_move(plan, indexes[i], &one, NULL) == STEAD_OK &&
            one.first <= point && point <= one.last && one.reserved == 0;
    if (right && one.from >= 0) {
      gone++;
      right = has(before, had, old, stead_map_node_name(old, one.from)) &&
              !has(after, has_now, new_map, stead_map_node_name(old, one.from));
    }
    if (right && one.to >= 0) {
      come++;
      right =
          has(after, has_now, new_map, stead_map_node_name(new_map, one.to)) &&
          !has(before, had, old, stead_map_node_name(new_map, one.to));
    }
  }
  CHECK(right && gone == lost && come == got);
  check_rows_of(plan, key, point, indexes, found);
  return found;
}

static int above(const stead_points *one, const stead_points *other) {
  return one->high != other->high ? one->high > other->high
                                  : one->low > other->low;
}

// Compares a plan with the two maps on many keys. Returns the share of the
// space that its moves cover.
static double check_plan(const stead_map *old, const stead_map *new_map) {
  GIVES(stead_plan_between(old, new_map, &out.plan, at));
  stead_plan *plan = out.plan;
  int keys = rounds > 1 ? 10000 : 500, moving = 0;
  for (int i = 0; i < keys; i++) {
    char key[24];
    snprintf(key, sizeof key, "user-%d", i);
    moving += check_moves_of(plan, old, new_map, key) > 0;
  }
  double covered = 0, last_first = 0;
  for (size_t i = 0; i < stead_plan_count(plan); i++) {
    GIVES(stead_plan_move(plan, i, &out.move, at));
    CHECK(out.move.cause >= STEAD_CAUSE_PIN &&
          out.move.cause <= STEAD_CAUSE_REBALANCE &&
          (double)out.move.first >= last_first);
    last_first = (double)out.move.first;
    covered +=
        ((double)(out.move.last - out.move.first) + 1) / 18446744073709551616.0;
  }
  GIVES(stead_plan_amounts(plan, &out.amounts, at));
  const double high = 18446744073709551616.0;
  // the floating-point unit of a 32-bit x86 computes with more bits than a
  // double has
  volatile double amount = (double)out.amounts.moved.high * high;
  amount += (double)out.amounts.moved.low;
  volatile double expected = stead_plan_fraction(plan) * high;
  expected *= stead_map_replicas(new_map);
  CHECK(amount == expected);
  CHECK(!above(&out.amounts.lower_bound, &out.amounts.moved));
  CHECK(out.amounts.by_hand.high == 0 && out.amounts.by_hand.low == 0);
  double fraction = stead_plan_fraction(plan),
         share = covered / stead_map_replicas(new_map);
  CHECK(fraction > share - 1e-9 && fraction < share + 1e-9);
  CHECK((moving == 0) == (stead_plan_count(plan) == 0));
  GIVES(stead_plan_report(plan, 0, &out.text, at));
  char *brief = out.text;
  GIVES(stead_plan_report(plan, 1, &out.text, at));
  CHECK(brief[0] == '{' && strlen(out.text) >= strlen(brief));
  stead_text_free(out.text);
  stead_text_free(brief);
  stead_plan_free(plan);
  return fraction;
}

static void check_growing(const char *head, const char *file) {
  const char *path = in(scratch, file);
  char *three = fleet_of(3, head), *four = fleet_of(4, head);
  stead_map *first = built(three, NULL);
  GIVES(stead_map_publish(first, NULL, path, NULL, at));
  stead_map *there = opened(path, 0);
  IS(stead_map_same(there, first), 1);
  stead_map *second = built(four, there);
  IS(stead_map_epoch(second), 2);
  CHECK(check_plan(there, second) > 0); // before anything is done
  CHECK(check_plan(second, there) > 0);
  CHECK(check_plan(second, second) == 0);
  IS(stead_map_epoch(there), 1);
  GIVES(stead_map_publish(second, there, path, NULL, at));
  GIVES(stead_map_peek(path, &out.number, out.digest, at));
  IS(out.number, 2);
  stead_map *now = opened(path, 0);
  IS(stead_map_same(now, second), 1);
  char history[4200];
  struct stat meta;
  for (int epoch = 1; epoch <= 2; epoch++) {
    snprintf(history, sizeof history, "%s.history/%d", path, epoch);
    CHECK(stat(history, &meta) == 0);
  }
  // the same fleet and the same previous map: the same bytes
  stead_map *twin = built(four, first);
  uint8_t digest[STEAD_DIGEST_ROOM];
  GIVES(stead_map_digest(twin, digest, at));
  GIVES(stead_map_digest(second, out.digest, at));
  CHECK(memcmp(digest, out.digest, sizeof digest) == 0);
  // nothing changed: the next epoch would be the same map
  stead_map *idle = built(four, now);
  IS(stead_map_same(idle, now), 1);
  write_file(in(scratch, "four.toml"), four, strlen(four));
  GIVES(stead_map_build_file(in(scratch, "four.toml"), first, NULL, &out.map,
                             at));
  IS(stead_map_same(out.map, twin), 1);
  stead_map_free(out.map);
  stead_map *all[] = {first, second, there, now, twin, idle};
  for (size_t i = 0; i < 6; i++)
    stead_map_free(all[i]);
  free(three);
  free(four);
}

static void check_gradual(void) {
  char *before = fleet_of(4, "name = \"gradual\"\n"),
       *after = fleet_of(8, "name = \"gradual\"\n");
  stead_map *map = built(before, NULL), *whole = built(after, map);
  int steps = 0;
  for (;; steps++) {
    GIVES(stead_map_build(after, strlen(after), "f", map, "10%", &out.map, at));
    stead_map *next = out.map;
    int same = stead_map_same(map, next);
    CHECK(check_plan(map, next) <= 0.1 + 1e-12);
    stead_map_free(map);
    map = next;
    if (same == 1 || steps > 20)
      break;
  }
  CHECK(steps > 2 && steps < 20);
  CHECK(check_plan(map, whole) == 0); // many steps end where a single one would
  stead_map_free(map);
  stead_map_free(whole);
  free(before);
  free(after);
}

static void check_conflicts(void) {
  const char *path = in(scratch, "conflict.map");
  stead_map *base = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  stead_map *one =
      built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}]", base);
  stead_map *other =
      built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"c\"}]", base);
  REFUSES(STEAD_CONFLICT,
          stead_map_publish(one, base, path, NULL,
                            at)); // the map that it was built on is not there
  GIVES(stead_map_publish(base, NULL, path, NULL, at));
  REFUSES(STEAD_CONFLICT, stead_map_publish(base, NULL, path, NULL,
                                            at)); // there is a map already
  GIVES(stead_map_publish(one, base, path, NULL, at));
  REFUSES(STEAD_CONFLICT, stead_map_publish(other, base, path, NULL, at));
  stead_map *now = opened(path, 0);
  IS(stead_map_same(now, one), 1);
  stead_map *again = built(
      "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}, {name = \"c\"}]",
      now);
  GIVES(stead_map_publish(again, now, path, NULL, at));
  // an old map is put back: to try again would not help
  GIVES(stead_map_save(one, path, at));
  REFUSES(STEAD_IDENTITY, stead_map_publish(again, one, path, NULL, at));
  stead_map *all[] = {base, one, other, now, again};
  for (size_t i = 0; i < 5; i++)
    stead_map_free(all[i]);
}

// Publishing a map that was not built on the map that it should follow would
// lose epochs: it is refused, whatever file is there.
static void check_not_built_on(void) {
  const char *path = in(scratch, "follows.map");
  stead_map *first = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  stead_map *second =
      built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}]", first);
  stead_map *third = built(
      "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}, {name = \"c\"}]",
      second);
  stead_map *alien = built("name = \"other\"\nnode = [{name = \"a\"}]", NULL);
  GIVES(stead_map_publish(first, NULL, path, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not built on",
               stead_map_publish(third, first, path, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not built on",
               stead_map_publish(first, first, path, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not built on",
               stead_map_publish(alien, first, path, NULL, at));
  GIVES(stead_map_publish(second, first, path, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not built on",
               stead_map_publish(first, second, path, NULL, at));
  GIVES(stead_map_publish(third, second, path, NULL, at));
  stead_map *all[] = {first, second, third, alien};
  for (size_t i = 0; i < 4; i++)
    stead_map_free(all[i]);
}

struct publisher {
  stead_map *base, *map;
  const char *path;
  int32_t status;
  pthread_barrier_t *start;
};

static void *publish_one(void *given) {
  struct publisher *self = given;
  pthread_barrier_wait(self->start);
  self->status =
      stead_map_publish(self->map, self->base, self->path, "take-back", NULL);
  return NULL;
}

// Eight publish at once: one succeeds, seven get a conflict, and the file is
// the winner's map.
static void check_race(void) {
  enum { PUBLISHERS = 8 };
  const char *path = in(scratch, "race.map");
  stead_map *base = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  GIVES(stead_map_publish(base, NULL, path, NULL, at));
  for (int round = 0; round < rounds; round++) {
    struct publisher all[PUBLISHERS];
    pthread_t threads[PUBLISHERS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, PUBLISHERS);
    for (int i = 0; i < PUBLISHERS; i++) {
      char fleet[128];
      snprintf(fleet, sizeof fleet,
               "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b%d-%d\"}]",
               round, i);
      all[i] = (struct publisher){base, built(fleet, base), path, -1, &start};
      pthread_create(&threads[i], NULL, publish_one, &all[i]);
    }
    int winner = -1, won = 0, conflicts = 0;
    for (int i = 0; i < PUBLISHERS; i++) {
      pthread_join(threads[i], NULL);
      won += all[i].status == STEAD_OK;
      conflicts += all[i].status == STEAD_CONFLICT;
      if (all[i].status == STEAD_OK)
        winner = i;
    }
    CHECK(won == 1 && conflicts == PUBLISHERS - 1);
    stead_map *now = opened(path, 0);
    CHECK(winner >= 0 && stead_map_same(now, all[winner].map) == 1);
    for (int i = 0; i < PUBLISHERS; i++)
      stead_map_free(all[i].map);
    stead_map_free(base);
    base = now;
    pthread_barrier_destroy(&start);
  }
  stead_map_free(base);
}

// A move of a copy that is new comes from the node -1, and that of one that is
// dropped goes there.
static void check_copies_that_come_or_go(const stead_map *old,
                                         const stead_map *new_map) {
  int come = stead_map_replicas(new_map) > stead_map_replicas(old), ends = 0;
  GIVES(stead_plan_between(old, new_map, &out.plan, at));
  stead_plan *plan = out.plan;
  for (size_t i = 0; i < stead_plan_count(plan); i++) {
    GIVES(stead_plan_move(plan, i, &out.move, at));
    CHECK(out.move.from >= -1 && out.move.to >= -1);
    CHECK((come ? out.move.to : out.move.from) >= 0);
    ends += (come ? out.move.from : out.move.to) == -1;
  }
  CHECK(ends > 0);
  const char keys[] = "abcdefghijklmnopqrstuvwxyz";
  enum { KEYS = sizeof keys - 1 };
  uint64_t offsets[KEYS + 1];
  for (uint64_t i = 0; i <= KEYS; i++)
    offsets[i] = i;
  static stead_affected rows[4 * KEYS];
  GIVES(stead_plan_affects_many(plan, keys, KEYS, offsets, KEYS, rows, 4 * KEYS,
                                &out.count, at));
  CHECK(out.count >= KEYS && out.count <= 4 * KEYS);
  ends = 0;
  for (size_t i = 0; i < out.count; i++)
    ends += (come ? rows[i].from : rows[i].to) == -1;
  CHECK(ends == KEYS); // each key has a copy more or less
  stead_plan_free(plan);
}

// The part that moves is of the copies of the map that has more of them, as in
// `stead plan`.
static void check_fraction_of_the_larger_number(void) {
  stead_map *two = built("name = \"m\"\nreplicas = 2\nnode = [{name = \"a\"}, "
                         "{name = \"b\"}, {name = \"c\"}]",
                         NULL);
  stead_map *one = built("name = \"m\"\nnode = [{name = \"a\"}, "
                         "{name = \"b\"}, {name = \"c\"}, {name = \"d\"}]",
                         two);
  GIVES(stead_plan_between(two, one, &out.plan, at));
  stead_plan *plan = out.plan;
  GIVES(stead_plan_amounts(plan, &out.amounts, at));
  CHECK(out.amounts.moved.high == 0 && out.amounts.moved.low == 1ULL << 62);
  CHECK(stead_plan_fraction(plan) == 0.125);
  stead_plan_free(plan);
  check_copies_that_come_or_go(two, one);
  check_copies_that_come_or_go(one, two);
  stead_map_free(two);
  stead_map_free(one);
}

// Handles are freed in any order; a map lives as long as anything holds it.
static void check_lives(void) {
  stead_map *old = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  stead_map *new_map =
      built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}]", old);
  GIVES(stead_plan_between(old, new_map, &out.plan, at));
  stead_plan *plan = out.plan;
  stead_map *second = stead_map_share(old), *third = stead_map_share(second);
  const char *name = stead_map_name(third);
  stead_map_free(old);
  stead_map_free(new_map);
  CHECK(stead_plan_count(plan) > 0 && stead_plan_fraction(plan) == 0.5);
  GIVES(stead_plan_move(plan, 0, &out.move, at));
  GIVES(stead_plan_affects(plan, "frank", 5, out.indexes, 16, &out.count, at));
  GIVES(stead_plan_report(plan, 1, &out.text, at));
  stead_plan_free(plan);
  CHECK(strstr(out.text, "\"moves\"") != NULL);
  stead_text_free(out.text);
  stead_map_free(second);
  SAYS(name, "m"); // the third handle still holds the map
  SAYS(place(third, "frank"), "a");
  stead_map_free(third);
}

// One batch of many keys: rows in the order of the keys, none for a key that
// stays, and as many as there is room for.
static void check_affected(void) {
  stead_map *three = opened(in(maps, "three.map"), 0),
            *next = opened(in(maps, "node-added.map"), 0);
  GIVES(stead_plan_between(three, next, &out.plan, at));
  stead_plan *plan = out.plan;
  enum { KEYS = 400 };
  char keys[KEYS * 8];
  uint64_t offsets[KEYS + 1] = {0};
  static stead_affected rows[KEYS];
  for (int i = 0; i < KEYS; i++)
    offsets[i + 1] =
        offsets[i] + (uint64_t)snprintf(keys + offsets[i], 8, "k%d", i);
  size_t length = offsets[KEYS], row = 0, count;
  GIVES(stead_plan_affects_many(plan, keys, length, offsets, KEYS, NULL, 0,
                                &out.count, at));
  CHECK(out.count > 50 && out.count < 150); // a quarter of the keys
  count = out.count;
  GIVES(stead_plan_affects_many(plan, keys, length, offsets, KEYS, rows, KEYS,
                                &out.count, at));
  IS(out.count, count);
  for (int i = 0; i < KEYS; i++) {
    const char *key = keys + offsets[i];
    size_t bytes = (size_t)(offsets[i + 1] - offsets[i]);
    int32_t was = stead_map_node_of(three, key, bytes),
            is = stead_map_node_of(next, key, bytes);
    if (strcmp(stead_map_node_name(three, was),
               stead_map_node_name(next, is)) == 0)
      continue;
    CHECK(row < count && rows[row].key == (uint64_t)i &&
          rows[row].from == was && rows[row].to == is);
    row++;
  }
  IS(row, count);
  GIVES(stead_plan_affects_many(plan, keys, length, offsets, KEYS, out.rows, 2,
                                &out.count, at)); // room for two rows
  CHECK(out.count == count && out.rows[1].key == rows[1].key &&
        out.rows[2].key == 0xA5A5A5A5A5A5A5A5);
  GIVES(stead_plan_affects_many(plan, NULL, 0, NULL, 0, out.rows, 16,
                                &out.count, at));
  IS(out.count, 0);
  stead_plan_free(plan);
  stead_map_free(next);
  stead_map_free(three);
}

static void check_known_plan(void) {
  stead_map *three = opened(in(maps, "three.map"), 0),
            *next = opened(in(maps, "node-added.map"), 0);
  GIVES(stead_plan_between(three, next, &out.plan, at));
  stead_plan *plan = out.plan;
  IS(stead_plan_count(plan), 4); // tests/vectors/plans.json
  GIVES(stead_plan_move(plan, 0, &out.move, at));
  CHECK(out.move.first == 0x4000000000000000 &&
        out.move.last == 0x5555555555555555 &&
        out.move.cause == STEAD_CAUSE_REBALANCE);
  SAYS(stead_map_node_name(three, out.move.from), "n0");
  SAYS(stead_map_node_name(next, out.move.to), "n3");
  stead_plan_free(plan);
  stead_map *pinned = opened(in(maps, "pin-added.map"), 0);
  GIVES(stead_plan_between(three, pinned, &out.plan, at));
  plan = out.plan;
  IS(stead_plan_count(plan), 1);
  GIVES(stead_plan_affects(plan, "justin", 6, out.indexes, 16, &out.count, at));
  CHECK(out.count == 1 && out.indexes[0] == 0);
  GIVES(stead_plan_amounts(plan, &out.amounts, at));
  CHECK(out.amounts.moved.low == 0 && out.amounts.by_hand.low == 1 &&
        out.amounts.by_hand.high == 0 && out.amounts.reordered.low == 0);
  GIVES(stead_plan_move(plan, 0, &out.move, at));
  CHECK(out.move.first == 0x53dd9c6005f3cdfc &&
        out.move.last == out.move.first && out.move.cause == STEAD_CAUSE_PIN);
  CHECK(stead_plan_fraction(plan) == 0); // it moves by hand, not by rebalancing
  stead_plan_free(plan);
  stead_map_free(pinned);
  stead_map_free(next);
  stead_map_free(three);
}

static void check_json_and_secrets(void) {
  stead_map *toml = built(
      "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\", weight = 2.5}]",
      NULL);
  stead_map *json = built(" {\"name\": \"m\", \"node\": [{\"name\": \"b\", "
                          "\"weight\": 2.5}, {\"name\": \"a\"}]}",
                          NULL);
  IS(stead_map_same(toml, json), 1);
  const char *hex = "00112233445566778899aabbccddeeff\n",
             *fleet = "name = \"s\"\nhash = \"siphash\"\nsecret_file = "
                      "\"key.hex\"\nnode = [{name = \"a\"}]";
  write_file(in(scratch, "key.hex"), hex, strlen(hex));
  GIVES(stead_map_build(fleet, strlen(fleet), in(scratch, "s.toml"), NULL, NULL,
                        &out.map, at)); // key.hex is beside s.toml
  stead_map *secret = out.map;
  GIVES(stead_map_publish(secret, NULL, in(scratch, "secret-hash.map"), NULL,
                          at));
  struct stat meta;
  CHECK(stat(in(scratch, "secret-hash.map"), &meta) == 0 &&
        (meta.st_mode & 0777) == 0600);
  GIVES(stead_map_report(secret, &out.text, at));
  CHECK(strstr(out.text, "0011223344") == NULL);
  stead_text_free(out.text);
  stead_map_free(secret);
  stead_map_free(toml);
  stead_map_free(json);
}

void check_changes(void) {
  check_growing("name = \"grows\"\n", "grows.map");
  check_growing("name = \"grows\"\nreplicas = 3\n", "copies.map");
  check_gradual();
  check_conflicts();
  check_not_built_on();
  check_race();
  check_fraction_of_the_larger_number();
  check_lives();
  check_known_plan();
  check_affected();
  check_json_and_secrets();
}
