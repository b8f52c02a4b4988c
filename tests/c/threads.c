// Many threads: all on one handle, and each opening and closing maps while
// another publishes.

#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 64, KEYS = 24, EPOCHS = 200, FILES = 20 };

static void key_of(int i, char *key) { snprintf(key, 16, "key-%d", i); }

static void run(void *(*body)(void *), void *given, int also,
                void *(*other)(void *)) {
  pthread_t threads[THREADS + 1];
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, body, given) == 0);
  if (also)
    CHECK(pthread_create(&threads[THREADS], NULL, other, given) == 0);
  for (int i = 0; i < THREADS + also; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

// The answers that a single thread got, for all threads to compare with.
struct shared {
  stead_map *map;
  stead_plan *plan;
  int32_t node[KEYS], all[KEYS][3], preferred[KEYS][6];
  uint64_t point[KEYS];
  size_t moves[KEYS];
  char *report;
};

static int same_answers(const struct shared *known, int i) {
  char key[16];
  int32_t node = -1, all[3], preferred[6], many[2], most[6], policy[6];
  uint64_t point = 0, weight, starts[3];
  size_t count, moves = 0, indexes[4];
  stead_error mine;
  stead_slice slice;
  stead_move one;
  stead_affected rows[4];
  key_of(i, key);
  size_t length = strlen(key);
  const uint64_t offsets[] = {0, length, length};
  const stead_map *map = known->map;
  int good = stead_map_locate(map, key, length, &node, &mine) == STEAD_OK &&
             node == known->node[i];
  good = good &&
         stead_map_locate_all(map, key, length, all, 3, &count, &mine) ==
             STEAD_OK &&
         count == 3 && !memcmp(all, known->all[i], sizeof all);
  good = good &&
         stead_map_prefer(map, key, length, preferred, 6, &count, &mine) ==
             STEAD_OK &&
         !memcmp(preferred, known->preferred[i], sizeof preferred);
  good = good && stead_map_point(map, key, length, &point, &mine) == STEAD_OK &&
         point == known->point[i];
  good = good &&
         stead_map_locate_all_point(map, point, all, 3, &count, &mine) ==
             STEAD_OK &&
         !memcmp(all, known->all[i], sizeof all);
  good = good && stead_map_locate_point(map, point, &node, &mine) == STEAD_OK &&
         node == known->node[i];
  good = good &&
         stead_map_locate_many(map, key, length, offsets, 2, many, &mine) ==
             STEAD_OK &&
         many[0] == node;
  good = good &&
         stead_map_locate_all_many(map, key, length, offsets, 2, most, 6,
                                   starts, &count, &mine) == STEAD_OK &&
         count == 6 && starts[1] == 3 &&
         !memcmp(most, known->all[i], sizeof all);
  good = good &&
         stead_map_node_named(map, stead_map_node_name(map, node)) == node &&
         stead_map_node_label(map, node, "zone") != NULL;
  good = good && stead_map_node_weight(map, node, &weight, &mine) == STEAD_OK &&
         stead_map_node_attribute(map, node, "none") == NULL;
  good = good && stead_map_slice(map, (size_t)i % stead_map_slice_count(map),
                                 &slice, &mine) == STEAD_OK;
  good = good &&
         stead_map_policy_nodes(map, slice.policy, policy, 6, &count, &mine) ==
             STEAD_OK &&
         stead_map_policy_kind(map, slice.policy) != NULL;
  good = good &&
         stead_plan_affects(known->plan, key, length, indexes, 4, &moves,
                            &mine) == STEAD_OK &&
         moves == known->moves[i];
  good = good &&
         stead_plan_affects_many(known->plan, key, length, offsets, 1, rows, 4,
                                 &count, &mine) == STEAD_OK &&
         count == moves;
  // of the strings of a map, which the first that asks copies
  good = good && stead_map_hash(map) != NULL &&
         stead_map_node_label_name(map, node, 0) != NULL;
  good = good &&
         stead_plan_move(known->plan, (size_t)i % stead_plan_count(known->plan),
                         &one, &mine) == STEAD_OK;
  good = good &&
         stead_map_locate(map, NULL, 1, &node, &mine) == STEAD_INVALID &&
         strstr(mine.message, "key is NULL") != NULL;
  return good;
}

static void *ask(void *given) {
  const struct shared *known = given;
  stead_map *mine = stead_map_share(known->map);
  int good = 1;
  for (int round = 0; round < rounds; round++)
    for (int i = 0; i < KEYS; i++)
      good = good && same_answers(known, i);
  char *report = NULL;
  good = good && stead_map_report(mine, &report, NULL) == STEAD_OK &&
         strcmp(report, known->report) == 0;
  stead_text_free(report);
  good = good && stead_map_same(mine, known->map) == 1 &&
         stead_map_epoch(mine) == stead_map_epoch(known->map);
  stead_map_free(mine);
  CHECK(good);
  return NULL;
}

static void check_one_handle(void) {
  struct shared known;
  stead_map *old = opened(in(maps, "copies-2.map"), 0);
  // a handle that nobody has read yet: all threads ask for a string first, and
  // at once
  known.map = opened(in(maps, "replicas.map"), STEAD_OPEN_COPY);
  GIVES(stead_plan_between(old, known.map, &known.plan, at));
  for (int i = 0; i < KEYS; i++) {
    char key[16];
    size_t count, indexes[4];
    key_of(i, key);
    GIVES(stead_map_locate(known.map, key, strlen(key), &known.node[i], at));
    GIVES(stead_map_locate_all(known.map, key, strlen(key), known.all[i], 3,
                               &count, at));
    GIVES(stead_map_prefer(known.map, key, strlen(key), known.preferred[i], 6,
                           &count, at));
    GIVES(stead_map_point(known.map, key, strlen(key), &known.point[i], at));
    GIVES(stead_plan_affects(known.plan, key, strlen(key), indexes, 4,
                             &known.moves[i], at));
  }
  GIVES(stead_map_report(known.map, &known.report, at));
  run(ask, &known, 0, NULL);
  stead_text_free(known.report);
  stead_plan_free(known.plan);
  stead_map_free(known.map);
  stead_map_free(old);
}

// What is published: the digest and the answers of each epoch, written here
// before the epoch is published.
struct publishing {
  const char *path;
  int epochs, done;
  uint8_t digest[EPOCHS + 1][STEAD_DIGEST_ROOM];
  char node[EPOCHS + 1][KEYS][8];
  char files[FILES][4200];
  uint64_t file_epoch;
};

static stead_map *epoch_map(struct publishing *state, int epoch,
                            const stead_map *previous) {
  char fleet[256];
  snprintf(fleet, sizeof fleet,
           "name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\", weight = %d}, "
           "{name = \"c%d\"}]",
           1 + epoch % 5, epoch % 7);
  stead_map *map = built(fleet, previous);
  CHECK(stead_map_digest(map, state->digest[epoch], NULL) == STEAD_OK);
  for (int i = 0; i < KEYS; i++) {
    char key[16];
    key_of(i, key);
    snprintf(state->node[epoch][i], sizeof state->node[epoch][i], "%s",
             place(map, key));
  }
  return map;
}

static void *publish_epochs(void *given) {
  struct publishing *state = given;
  stead_map *now = opened(state->path, 0);
  for (int epoch = 2; epoch <= state->epochs; epoch++) {
    stead_map *next = epoch_map(state, epoch, now);
    IS(stead_map_publish(next, now, state->path, "take-back", NULL), STEAD_OK);
    stead_map_free(now);
    now = next;
  }
  stead_map_free(now);
  __atomic_store_n(&state->done, 1, __ATOMIC_RELEASE);
  return NULL;
}

// The answers of a handle match its epoch.
static int answers_fit(const struct publishing *state, const stead_map *map) {
  uint64_t epoch = stead_map_epoch(map);
  uint8_t digest[STEAD_DIGEST_ROOM];
  if (epoch < 1 || epoch > (uint64_t)state->epochs ||
      stead_map_digest(map, digest, NULL) != STEAD_OK)
    return 0;
  if (memcmp(digest, state->digest[epoch], sizeof digest) != 0)
    return 0;
  for (int i = 0; i < KEYS; i++) {
    char key[16];
    key_of(i, key);
    if (strcmp(place(map, key), state->node[epoch][i]) != 0)
      return 0;
  }
  return 1;
}

static void *open_and_close(void *given) {
  struct publishing *state = given;
  uint64_t last = 0;
  int problems = 0;
  for (unsigned turn = 0, last_turn = 0; !last_turn; turn++) {
    last_turn = __atomic_load_n(&state->done, __ATOMIC_ACQUIRE) != 0;
    stead_map *map, *other;
    stead_error mine;
    if (stead_map_open(state->path,
                       turn % 8 == 7 ? STEAD_OPEN_COPY : STEAD_OPEN_SHARED,
                       &map, &mine) != STEAD_OK) {
      if (problems++ < 3)
        printf("    open: %s\n", mine.message);
      continue;
    }
    uint64_t epoch = stead_map_epoch(map);
    problems += epoch < last; // never an older epoch
    last = epoch;
    if (stead_map_open(state->files[turn % FILES], 0, &other, &mine) !=
            STEAD_OK ||
        stead_map_epoch(other) != state->file_epoch)
      problems++;
    else
      stead_map_free(other);
    problems += !answers_fit(state, map);
    stead_map_free(map);
    // The pause gives the publisher time. Without it, the threads mostly open
    // the same epoch again.
    usleep(turn % 3 * 2000);
  }
  CHECK(problems == 0);
  IS(last, state->epochs); // the newest is seen as soon as it is there
  return NULL;
}

static void check_publishing(void) {
  struct publishing *state = calloc(1, sizeof *state);
  state->path = in(scratch, "epochs.map");
  state->epochs = rounds > 1 ? EPOCHS : 20;
  stead_map *first = epoch_map(state, 1, NULL);
  GIVES(stead_map_publish(first, NULL, state->path, NULL, at));
  state->file_epoch = stead_map_epoch(first);
  for (int i = 0; i < FILES; i++) { // more than the cache keeps
    snprintf(state->files[i], sizeof state->files[i], "%s/other-%d.map",
             scratch, i);
    save_as(first, state->files[i]);
  }
  run(open_and_close, state, 1, publish_epochs);
  stead_map_free(first);
  free(state);
}

// As fast as possible: a file that is replaced between two steps of an open
// must not be taken for one that was overwritten in place.
static void *open_without_pause(void *given) {
  struct publishing *state = given;
  int problems = 0;
  while (!__atomic_load_n(&state->done, __ATOMIC_ACQUIRE)) {
    stead_map *map;
    stead_error mine;
    if (stead_map_open(state->path, 0, &map, &mine) == STEAD_OK)
      stead_map_free(map);
    else if (problems++ < 3)
      printf("    open: %s\n", mine.message);
  }
  IS(problems, 0);
  return NULL;
}

static void check_replacing(void) {
  enum { OPENERS = 8 };
  pthread_t threads[OPENERS];
  struct publishing *state = calloc(1, sizeof *state);
  state->path = in(scratch, "replacing.map");
  stead_map *one = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL),
            *two = built("name = \"m\"\nnode = [{name = \"b\"}]", NULL);
  save_as(one, state->path);
  for (int i = 0; i < OPENERS; i++)
    CHECK(pthread_create(&threads[i], NULL, open_without_pause, state) == 0);
  for (int i = 0; i < 40 * rounds; i++)
    save_as(i % 2 ? one : two, state->path);
  __atomic_store_n(&state->done, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < OPENERS; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
  stead_map_free(one);
  stead_map_free(two);
  free(state);
}

struct saving {
  const char *path;
  stead_map *map[2];
  int savers; // how many threads still save
};

static void *save_again(void *given) {
  struct saving *state = given;
  int problems = 0;
  for (int i = 0; i < 2 * rounds; i++) {
    stead_error mine;
    if (stead_map_save(state->map[i % 2], state->path, &mine) != STEAD_OK &&
        problems++ < 3)
      printf("    save: %s\n", mine.message);
  }
  IS(problems, 0);
  __atomic_sub_fetch(&state->savers, 1, __ATOMIC_RELEASE);
  return NULL;
}

// STEAD_OPEN_COPY, so that each open reads the file.
static void *read_whole_maps(void *given) {
  struct saving *state = given;
  int problems = 0;
  while (__atomic_load_n(&state->savers, __ATOMIC_ACQUIRE) > 0) {
    stead_map *map;
    stead_error mine;
    if (stead_map_open(state->path, STEAD_OPEN_COPY, &map, &mine) == STEAD_OK)
      stead_map_free(map);
    else if (problems++ < 3)
      printf("    open: %s\n", mine.message);
  }
  IS(problems, 0);
  return NULL;
}

// All threads save to one path. A reader finds one map or another, never a part
// of one.
static void check_saving_at_once(void) {
  char fleet[8192] = "name = \"m\"\nreplicas = 1\nnode = [{name = \"n\"}";
  for (int i = 0; i < 200; i++)
    snprintf(fleet + strlen(fleet), 32, ", {name = \"n%d\"}", i);
  strcat(fleet, "]");
  struct saving state = {.path = in(scratch, "saving.map"), .savers = THREADS};
  state.map[0] = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  state.map[1] = built(fleet, NULL);
  save_as(state.map[0], state.path);
  run(save_again, &state, 1, read_whole_maps);
  stead_map_free(state.map[0]);
  stead_map_free(state.map[1]);
}

void check_threads(void) {
  check_one_handle();
  check_publishing();
  check_replacing();
  check_saving_at_once();
}
