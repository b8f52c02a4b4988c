// Calls every function of the header once, against the library that was built
// with the tests' faults.
//
//     boundary pass SCRATCH
//         makes correct calls, and prints the functions that passed through the
//         boundary
//     boundary armed SCRATCH
//         makes each call panic inside. The status must be STEAD_INTERNAL, and
//         the message must name the function; a function without a status must
//         return the value that the header gives for wrong arguments; and the
//         process must survive

#include "check.h"

#include <math.h>
#include <stdio.h>

// Only in the library for tests.
void stead_test_arm(int32_t armed);
const char *stead_test_guarded(size_t index);

static int armed;

static void begin(void) {
  poison();
  stead_test_arm(armed);
}

static void end(int32_t status, const char *name) {
  stead_test_arm(0);
  if (!armed) {
    given(status, name, __FILE__, __LINE__);
    return;
  }
  refused(status, STEAD_INTERNAL, name, __FILE__, __LINE__);
  const char *found = strstr(error.message, name);
  check(found != NULL && found[strlen(name)] == ':', name, __FILE__, __LINE__);
}

#define STATUS(name, ...)                                                      \
  do {                                                                         \
    begin();                                                                   \
    end(name(__VA_ARGS__), #name);                                             \
  } while (0)
// `fallback` is whether the function returned the value of a failing call.
#define VALUE(fallback, name, ...)                                             \
  do {                                                                         \
    begin();                                                                   \
    int failed = (fallback(name(__VA_ARGS__)));                                \
    stead_test_arm(0);                                                         \
    check(failed == armed, #name, __FILE__, __LINE__);                         \
  } while (0)
#define IS_NULL(value) ((value) == NULL)
#define IS_ZERO(value) ((value) == 0)
#define IS_MINUS_ONE(value) ((value) == -1)
#define IS_NAN(value) isnan(value)

static const char fleet[] =
    "name = \"m\"\nspread = [\"zone\"]\n"
    "[[node]]\nname = \"a\"\nlabels = { zone = \"z\" "
    "}\nattributes = { note = \"n\" }\n"
    "[[node]]\nname = \"b\"\nlabels = { zone = \"y\" }\n[[policy]]\nname = "
    "\"p\"\nkind = \"k\"\nnodes = [\"a\"]\n";
static const uint64_t offsets[] = {0, 1};
static const uint32_t narrow[] = {0, 1};
static uint64_t starts[2];

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: boundary pass|armed SCRATCH\n"), 2;
  scratch = argv[2];
  // makes what the calls need, before any of them fails
  stead_map *map = built(fleet, NULL),
            *next = built("name = \"m\"\nnode = [{name = \"a\"}]", map);
  stead_plan *plan;
  const void *bytes;
  size_t length;
  const char *path = in(scratch, "boundary.map"),
             *file = in(scratch, "boundary.toml");
  check(stead_plan_between(map, next, &plan, NULL) == STEAD_OK, "a plan",
        __FILE__, __LINE__);
  stead_map_bytes(map, &bytes, &length, NULL);
  save_as(map, path);
  write_file(file, fleet, strlen(fleet));
  armed = strcmp(argv[1], "armed") == 0;

  VALUE(IS_ZERO, stead_abi);
  VALUE(IS_NULL, stead_version);
  VALUE(IS_ZERO, stead_memory_limit, 0);
  VALUE(IS_NULL, stead_status_name, 1);
  STATUS(stead_map_open, path, 0, &out.map, at);
  stead_map *first = out.map;
  STATUS(stead_map_from_bytes, bytes, length, &out.map, at);
  stead_map *second = out.map;
  STATUS(stead_map_build, fleet, strlen(fleet), NULL, NULL, NULL, &out.map, at);
  stead_map *third = out.map;
  STATUS(stead_map_build_file, file, NULL, NULL, &out.map, at);
  stead_map *fourth = out.map;
  STATUS(stead_map_open_uncached, path, &out.map, at);
  stead_map *fifth = out.map;
  const char *applied = in(scratch, "applied.map");
  STATUS(stead_map_apply, fleet, strlen(fleet), NULL, applied, NULL, NULL,
         &out.map, at);
  stead_map *sixth = out.map;
  STATUS(stead_map_apply_file, file, applied, NULL, NULL, &out.map, at);
  stead_map *seventh = out.map;
  if (armed)
    save_as(map, applied);
  STATUS(stead_map_history, applied, &out.number, 1, &out.count, at);
  STATUS(stead_map_open_epoch, applied, 1, &out.map, at);
  stead_map *eighth = out.map;
  STATUS(stead_map_rollback, applied, 1, (const char *)NULL, NULL, &out.map,
         at);
  stead_map *ninth = out.map;
  STATUS(stead_map_peek, path, &out.number, out.digest, at);
  STATUS(stead_map_publish, next, map, path, NULL, at);
  STATUS(stead_map_save, map, in(scratch, "saved.map"), at);
  stead_map *shared = NULL;
  VALUE(IS_NULL, shared = stead_map_share, map);
  STATUS(stead_map_locate, map, "k", 1, &out.node, at);
  VALUE(IS_MINUS_ONE, stead_map_node_of, map, "k", 1);
  STATUS(stead_map_locate_all, map, "k", 1, out.nodes, 16, &out.count, at);
  STATUS(stead_map_locate_many, map, "k", 1, offsets, 1, out.nodes, at);
  STATUS(stead_map_locate_many_32, map, "k", 1, narrow, 1, out.nodes, at);
  STATUS(stead_map_locate_all_many, map, "k", 1, offsets, 1, out.nodes, 16,
         starts, &out.count, at);
  STATUS(stead_map_prefer, map, "k", 1, out.nodes, 16, &out.count, at);
  STATUS(stead_map_point, map, "k", 1, &out.number, at);
  STATUS(stead_map_locate_all_point, map, 1, out.nodes, 16, &out.count, at);
  STATUS(stead_map_locate_point, map, 1, &out.node, at);
  VALUE(IS_NULL, stead_map_name, map);
  VALUE(IS_ZERO, stead_map_epoch, map);
  STATUS(stead_map_digest, map, out.digest, at);
  VALUE(IS_MINUS_ONE, stead_map_same, map, next);
  STATUS(stead_map_bytes, map, &out.bytes, &out.length, at);
  STATUS(stead_map_parent, map, out.digest, at);
  VALUE(IS_NULL, stead_map_hash, map);
  VALUE(IS_NULL, stead_map_key_rule, map);
  VALUE(IS_ZERO, stead_map_spread_count, map);
  VALUE(IS_NULL, stead_map_spread, map, 0);
  VALUE(IS_ZERO, stead_map_replicas, map);
  VALUE(IS_ZERO, stead_map_node_count, map);
  VALUE(IS_NULL, stead_map_node_name, map, 0);
  VALUE(IS_MINUS_ONE, stead_map_node_named, map, "b");
  STATUS(stead_map_node_weight, map, 0, &out.number, at);
  VALUE(IS_MINUS_ONE, stead_map_node_leaving, map, 0);
  VALUE(IS_NULL, stead_map_node_attribute, map, 0, "note");
  VALUE(IS_NULL, stead_map_node_label, map, 0, "zone");
  VALUE(IS_MINUS_ONE, stead_map_node_label_count, map, 0);
  VALUE(IS_NULL, stead_map_node_label_name, map, 0, 0);
  VALUE(IS_MINUS_ONE, stead_map_node_attribute_count, map, 0);
  VALUE(IS_NULL, stead_map_node_attribute_name, map, 0, 0);
  VALUE(IS_ZERO, stead_map_policy_count, map);
  VALUE(IS_NULL, stead_map_policy_name, map, 0);
  VALUE(IS_NULL, stead_map_policy_kind, map, 0);
  STATUS(stead_map_policy_weight, map, 0, &out.number, at);
  STATUS(stead_map_policy_nodes, map, 0, out.nodes, 16, &out.count, at);
  VALUE(IS_ZERO, stead_map_slice_count, map);
  STATUS(stead_map_slice, map, 0, &out.slice, at);
  STATUS(stead_map_report, map, &out.text, at);
  char *report = out.text;
  STATUS(stead_map_fleet, map, &out.text, at);
  char *text = out.text;
  STATUS(stead_plan_between, map, next, &out.plan, at);
  stead_plan *other = out.plan;
  VALUE(IS_ZERO, stead_plan_count, plan);
  STATUS(stead_plan_move, plan, 0, &out.move, at);
  STATUS(stead_plan_affects, plan, "k", 1, out.indexes, 16, &out.count, at);
  STATUS(stead_plan_affects_point, plan, 1, out.indexes, 16, &out.count, at);
  STATUS(stead_plan_affects_many, plan, "k", 1, offsets, 1, out.rows, 16,
         &out.count, at);
  STATUS(stead_plan_amounts, plan, &out.amounts, at);
  VALUE(IS_NAN, stead_plan_fraction, plan);
  STATUS(stead_plan_report, plan, 1, &out.text, at);
  char *moves = out.text;
  stead_pair *pair = NULL, *pairs[4] = {NULL};
  check(stead_pair_between(next, map, 2, &pair, NULL) == STEAD_OK, "a pair",
        __FILE__, __LINE__);
  STATUS(stead_pair_open, path, 0, &pairs[0], at);
  STATUS(stead_pair_open_from, path, 1, 1, &pairs[1], at);
  STATUS(stead_pair_between, map, next, 1, &pairs[2], at);
  VALUE(IS_NULL, pairs[3] = stead_pair_share, pair);
  VALUE(IS_ZERO, stead_pair_state, pair);
  STATUS(stead_pair_reads, pair, "k", 1, out.nodes, 16, &out.count, at);
  STATUS(stead_pair_writes, pair, "k", 1, out.nodes, 16, &out.count, at);
  STATUS(stead_pair_reads_point, pair, 1, out.nodes, 16, &out.count, at);
  STATUS(stead_pair_writes_point, pair, 1, out.nodes, 16, &out.count, at);
  VALUE(IS_MINUS_ONE, stead_pair_moved, pair, "k", 1);
  VALUE(IS_MINUS_ONE, stead_pair_moved_point, pair, 1);
  VALUE(IS_ZERO, stead_pair_node_count, pair);
  VALUE(IS_MINUS_ONE, stead_pair_node_named, pair, "a");
  VALUE(IS_NULL, stead_pair_node_name, pair, 0);
  VALUE(IS_NULL, stead_pair_node_attribute, pair, 0, "note");
  stead_map *of_pair[2] = {NULL};
  VALUE(IS_NULL, of_pair[0] = stead_pair_new_map, pair);
  VALUE(IS_NULL, of_pair[1] = stead_pair_old_map, pair);
  STATUS(stead_point, STEAD_MD5, NULL, "k", 1, &out.number, at);
  STATUS(stead_path, "k", 1, NULL, 0, out.path, sizeof out.path, &out.count,
         at);
  STATUS(stead_path_name, "38/37/60/frank", 14, NULL, out.path, 5, &out.count,
         at);
  STATUS(stead_survey, "k", 1, offsets, 1, 0, NULL, &out.text, at);
  char *survey = out.text;
  STATUS(stead_fold_ascii, "K", 1, out.path, at);

  if (armed) {
    // the functions that free fail and free nothing: their arguments are freed
    // below
    stead_test_arm(1);
    stead_map_free(map);
    stead_plan_free(plan);
    stead_pair_free(pair);
    stead_text_free(NULL);
    stead_test_arm(0);
    CHECK(shared == NULL);
  } else {
    stead_text_free(report);
    stead_text_free(moves);
    stead_text_free(text);
    stead_text_free(survey);
    stead_plan_free(other);
    stead_map *all[] = {first, second,  third,  fourth, fifth,
                        sixth, seventh, eighth, ninth,  shared};
    for (size_t i = 0; i < 10; i++)
      stead_map_free(all[i]);
  }
  for (size_t i = 0; i < 4; i++)
    stead_pair_free(pairs[i]);
  stead_map_free(of_pair[0]);
  stead_map_free(of_pair[1]);
  stead_pair_free(pair);
  SAYS(stead_map_name(map), "m"); // as before
  stead_plan_free(plan);
  stead_map_free(next);
  stead_map_free(map);
  for (size_t i = 0; stead_test_guarded(i) != NULL; i++)
    printf("guarded %s\n", stead_test_guarded(i));
  return closing();
}
