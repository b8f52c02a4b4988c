// Wrong arguments for functions that ask a map, a plan or a key: NULL,
// impossible lengths, misaligned pointers, unknown numbers.

#include "check.h"

#include <math.h>
#include <stdlib.h>

// Lengths that no key can have. -1 and the like come from arithmetic that went
// wrong.
static const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1,
                                    SIZE_MAX / 2, (size_t)INT32_MIN};
#define IMPOSSIBLE (sizeof impossible / sizeof *impossible)

// 2^32, where a size_t has more than 32 bits: cut to 32 bits it would be 0,
// which is a right index.
#define CUT_TO_0                                                               \
  (SIZE_MAX > UINT32_MAX ? (size_t)((uint64_t)UINT32_MAX + 1) : SIZE_MAX - 1)

// The address of a T, one byte off.
#define ODD(T) ((T *)((char *)&out.bytes + 1))

static stead_map *map;
static stead_plan *plan;

static void check_locating(void) {
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_locate(NULL, "k", 1, &out.node, at));
  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_map_locate(map, NULL, 1, &out.node, at));
  REFUSES_WITH(STEAD_INVALID, "node is NULL",
               stead_map_locate(map, "k", 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "node is not aligned",
               stead_map_locate(map, "k", 1, ODD(int32_t), at));
  REFUSES_WITH(
      STEAD_INVALID, "map is not aligned",
      stead_map_locate((stead_map *)((char *)map + 1), "k", 1, &out.node, at));

  REFUSES_WITH(
      STEAD_INVALID, "map is NULL",
      stead_map_locate_all(NULL, "k", 1, out.nodes, 16, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "key is NULL",
      stead_map_locate_all(map, NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_locate_all(map, "k", 1, NULL, 1, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "nodes is NULL",
      stead_map_locate_all(map, "k", 1, NULL, SIZE_MAX, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "nodes is not aligned",
      stead_map_locate_all(map, "k", 1, ODD(int32_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_locate_all(map, "k", 1, out.nodes, 16, NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "count is not aligned",
      stead_map_locate_all(map, "k", 1, out.nodes, 16, ODD(size_t), at));

  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_prefer(NULL, "k", 1, out.nodes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_map_prefer(map, NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_prefer(map, "k", 1, NULL, 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is not aligned",
               stead_map_prefer(map, "k", 1, ODD(int32_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_prefer(map, "k", 1, out.nodes, 16, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "count is not aligned",
               stead_map_prefer(map, "k", 1, out.nodes, 16, ODD(size_t), at));

  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_point(NULL, "k", 1, &out.number, at));
  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_map_point(map, NULL, 1, &out.number, at));
  REFUSES_WITH(STEAD_INVALID, "point is NULL",
               stead_map_point(map, "k", 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "point is not aligned",
               stead_map_point(map, "k", 1, ODD(uint64_t), at));

  REFUSES_WITH(
      STEAD_INVALID, "map is NULL",
      stead_map_locate_all_point(NULL, 1, out.nodes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_locate_all_point(map, 1, NULL, 1, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "nodes is not aligned",
      stead_map_locate_all_point(map, 1, ODD(int32_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_locate_all_point(map, 1, out.nodes, 16, NULL, at));

  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_locate_point(NULL, 1, &out.node, at));
  REFUSES_WITH(STEAD_INVALID, "node is NULL",
               stead_map_locate_point(map, 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "node is not aligned",
               stead_map_locate_point(map, 1, ODD(int32_t), at));

  for (size_t i = 0; i < IMPOSSIBLE; i++) {
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_map_locate(map, "k", impossible[i], &out.node, at));
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_map_locate_all(map, "k", impossible[i], out.nodes, 16,
                                      &out.count, at));
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_map_prefer(map, "k", impossible[i], out.nodes, 16,
                                  &out.count, at));
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_map_point(map, "k", impossible[i], &out.number, at));
  }
}

static void check_locating_many(void) {
  const uint64_t good[] = {0, 1, 2}, falls[] = {0, 2, 1}, above[] = {0, 1, 3},
                 starts_above[] = {3, 3}, wraps[] = {0, UINT64_MAX, 2};
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_locate_many(NULL, "kk", 2, good, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "keys is NULL",
               stead_map_locate_many(map, NULL, 2, good, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "offsets is NULL",
               stead_map_locate_many(map, "kk", 2, NULL, 2, out.nodes, at));
  REFUSES_WITH(
      STEAD_INVALID, "offsets is not aligned",
      stead_map_locate_many(map, "kk", 2, ODD(uint64_t), 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_locate_many(map, "kk", 2, good, 2, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is not aligned",
               stead_map_locate_many(map, "kk", 2, good, 2, ODD(int32_t), at));
  REFUSES_WITH(STEAD_INVALID, "offsets 1 and 2 are 2 and 1",
               stead_map_locate_many(map, "kk", 2, falls, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "within the 2 bytes",
               stead_map_locate_many(map, "kk", 2, above, 2, out.nodes, at));
  REFUSES_WITH(
      STEAD_INVALID, "offsets 0 and 1",
      stead_map_locate_many(map, "kk", 2, starts_above, 1, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "offsets 0 and 1",
               stead_map_locate_many(map, "kk", 2, wraps, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "within the 0 bytes",
               stead_map_locate_many(map, NULL, 0, good, 1, out.nodes, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++) {
    REFUSES(STEAD_INVALID, stead_map_locate_many(map, "kk", 2, good,
                                                 impossible[i], out.nodes, at));
    REFUSES_WITH(STEAD_INVALID, "keys cannot be so long",
                 stead_map_locate_many(map, "kk", impossible[i], good, 2,
                                       out.nodes, at));
  }
  // the counts themselves are possible, but their bytes are too many
  REFUSES(STEAD_INVALID,
          stead_map_locate_many(map, "kk", 2, good, SIZE_MAX / sizeof *good,
                                out.nodes, at));
  REFUSES(STEAD_INVALID,
          stead_map_locate_many(map, "kk", 2, good, SIZE_MAX / 2 / sizeof *good,
                                out.nodes, at));

  const uint32_t fits[] = {0, 1, 2}, sinks[] = {0, 2, 1}, beyond[] = {0, 1, 3};
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_locate_many_32(NULL, "kk", 2, fits, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "keys is NULL",
               stead_map_locate_many_32(map, NULL, 2, fits, 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "offsets is NULL",
               stead_map_locate_many_32(map, "kk", 2, NULL, 2, out.nodes, at));
  REFUSES_WITH(
      STEAD_INVALID, "offsets is not aligned",
      stead_map_locate_many_32(map, "kk", 2, ODD(uint32_t), 2, out.nodes, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_locate_many_32(map, "kk", 2, fits, 2, NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "nodes is not aligned",
      stead_map_locate_many_32(map, "kk", 2, fits, 2, ODD(int32_t), at));
  REFUSES_WITH(STEAD_INVALID, "offsets 1 and 2 are 2 and 1",
               stead_map_locate_many_32(map, "kk", 2, sinks, 2, out.nodes, at));
  REFUSES_WITH(
      STEAD_INVALID, "within the 2 bytes",
      stead_map_locate_many_32(map, "kk", 2, beyond, 2, out.nodes, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++)
    REFUSES(STEAD_INVALID,
            stead_map_locate_many_32(map, "kk", 2, fits, impossible[i],
                                     out.nodes, at));
}

static void check_locating_all_many(void) {
  const uint64_t good[] = {0, 1, 2}, falls[] = {0, 2, 1};
  uint64_t *starts = &out.number;
  size_t *count = &out.count;
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_locate_all_many(NULL, "kk", 2, good, 2, out.nodes, 16,
                                         starts, count, at));
  REFUSES_WITH(STEAD_INVALID, "keys is NULL",
               stead_map_locate_all_many(map, NULL, 2, good, 2, out.nodes, 16,
                                         starts, count, at));
  REFUSES_WITH(STEAD_INVALID, "offsets is NULL",
               stead_map_locate_all_many(map, "kk", 2, NULL, 2, out.nodes, 16,
                                         starts, count, at));
  REFUSES_WITH(STEAD_INVALID, "offsets 1 and 2 are 2 and 1",
               stead_map_locate_all_many(map, "kk", 2, falls, 2, out.nodes, 16,
                                         starts, count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_locate_all_many(map, "kk", 2, good, 2, NULL, 1, starts,
                                         count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is not aligned",
               stead_map_locate_all_many(map, "kk", 2, good, 2, ODD(int32_t), 1,
                                         starts, count, at));
  REFUSES_WITH(STEAD_INVALID, "starts is NULL",
               stead_map_locate_all_many(map, "kk", 2, good, 2, out.nodes, 16,
                                         NULL, count, at));
  REFUSES_WITH(STEAD_INVALID, "starts is not aligned",
               stead_map_locate_all_many(map, "kk", 2, good, 2, out.nodes, 16,
                                         ODD(uint64_t), count, at));
  REFUSES_WITH(STEAD_INVALID, "starts is NULL",
               stead_map_locate_all_many(map, NULL, 0, NULL, 0, NULL, 0, NULL,
                                         count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_locate_all_many(map, "kk", 2, good, 2, out.nodes, 16,
                                         starts, NULL, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++) {
    REFUSES(STEAD_INVALID,
            stead_map_locate_all_many(map, "kk", 2, good, impossible[i],
                                      out.nodes, 16, starts, count, at));
    REFUSES_WITH(STEAD_INVALID, "keys cannot be so long",
                 stead_map_locate_all_many(map, "kk", impossible[i], good, 2,
                                           out.nodes, 16, starts, count, at));
  }
}

static void check_map_of_null(void) {
  SAYS(stead_map_name(NULL), NULL);
  IS(stead_map_epoch(NULL), 0);
  IS(stead_map_same(NULL, map), -1);
  IS(stead_map_same(map, NULL), -1);
  IS(stead_map_same(NULL, NULL), -1);
  SAYS(stead_map_hash(NULL), NULL);
  SAYS(stead_map_key_rule(NULL), NULL);
  IS(stead_map_spread_count(NULL), 0);
  SAYS(stead_map_spread(NULL, 0), NULL);
  IS(stead_map_node_leaving(NULL, 0), -1);
  IS(stead_map_node_label_count(NULL, 0), -1);
  SAYS(stead_map_node_label_name(NULL, 0, 0), NULL);
  IS(stead_map_node_attribute_count(NULL, 0), -1);
  SAYS(stead_map_node_attribute_name(NULL, 0, 0), NULL);
  IS(stead_map_replicas(NULL), 0);
  IS(stead_map_node_count(NULL), 0);
  SAYS(stead_map_node_name(NULL, 0), NULL);
  IS(stead_map_node_of(NULL, "k", 1), -1);
  IS(stead_map_node_of(map, NULL, 1), -1);
  CHECK(stead_map_node_of(map, NULL, 0) >= 0);
  for (size_t i = 0; i < IMPOSSIBLE; i++)
    IS(stead_map_node_of(map, "k", impossible[i]), -1);
  IS(stead_map_node_named(NULL, "n0"), -1);
  IS(stead_map_node_named(map, NULL), -1);
  IS(stead_map_node_named(map, "\xFF"), -1);
  SAYS(stead_map_node_attribute(NULL, 0, "a"), NULL);
  SAYS(stead_map_node_attribute(map, 0, NULL), NULL);
  SAYS(stead_map_node_attribute(map, 0, "\xC3"), NULL);
  SAYS(stead_map_node_label(NULL, 0, "a"), NULL);
  SAYS(stead_map_node_label(map, 0, NULL), NULL);
  SAYS(stead_map_node_label(map, 0, "\x80"), NULL);
  IS(stead_map_policy_count(NULL), 0);
  SAYS(stead_map_policy_name(NULL, 0), NULL);
  SAYS(stead_map_policy_kind(NULL, 0), NULL);
  IS(stead_map_slice_count(NULL), 0);
  CHECK(stead_map_share(NULL) == NULL);
  IS(stead_plan_count(NULL), 0);
  CHECK(isnan(stead_plan_fraction(NULL)));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_digest(NULL, out.digest, at));
  REFUSES_WITH(STEAD_INVALID, "digest is NULL",
               stead_map_digest(map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_parent(NULL, out.digest, at));
  REFUSES_WITH(STEAD_INVALID, "digest is NULL",
               stead_map_parent(map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_bytes(NULL, &out.bytes, &out.length, at));
  REFUSES_WITH(STEAD_INVALID, "bytes is NULL",
               stead_map_bytes(map, NULL, &out.length, at));
  REFUSES_WITH(STEAD_INVALID, "length is NULL",
               stead_map_bytes(map, &out.bytes, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_bytes(map, ODD(const void *), &out.length, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_bytes(map, &out.bytes, ODD(size_t), at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_node_weight(NULL, 0, &out.number, at));
  REFUSES_WITH(STEAD_INVALID, "millionths is NULL",
               stead_map_node_weight(map, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_node_weight(map, 0, ODD(uint64_t), at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_policy_weight(NULL, 0, &out.number, at));
  REFUSES_WITH(STEAD_INVALID, "millionths is NULL",
               stead_map_policy_weight(map, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_policy_weight(map, 0, ODD(uint64_t), at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_policy_nodes(NULL, 0, out.nodes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "nodes is NULL",
               stead_map_policy_nodes(map, 0, NULL, 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_policy_nodes(map, 0, ODD(int32_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_map_policy_nodes(map, 0, out.nodes, 16, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_slice(NULL, 0, &out.slice, at));
  REFUSES_WITH(STEAD_INVALID, "slice is NULL",
               stead_map_slice(map, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_slice(map, 0, ODD(stead_slice), at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_report(NULL, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "json is NULL", stead_map_report(map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_report(map, ODD(char *), at));
}

// Numbers of nodes, policies, slices and moves that do not exist, and the last
// ones that do.
static void check_numbers(void) {
  int32_t nodes = stead_map_node_count(map),
          policies = stead_map_policy_count(map);
  const int32_t not_nodes[] = {-1,    INT32_MIN, INT32_MAX,
                               nodes, nodes + 1, -nodes};
  for (size_t i = 0; i < sizeof not_nodes / sizeof *not_nodes; i++) {
    SAYS(stead_map_node_name(map, not_nodes[i]), NULL);
    SAYS(stead_map_node_attribute(map, not_nodes[i], "address"), NULL);
    SAYS(stead_map_node_label(map, not_nodes[i], "zone"), NULL);
    IS(stead_map_node_leaving(map, not_nodes[i]), -1);
    IS(stead_map_node_label_count(map, not_nodes[i]), -1);
    SAYS(stead_map_node_label_name(map, not_nodes[i], 0), NULL);
    IS(stead_map_node_attribute_count(map, not_nodes[i]), -1);
    SAYS(stead_map_node_attribute_name(map, not_nodes[i], 0), NULL);
    SAYS(stead_map_spread(map, not_nodes[i]), NULL);
    REFUSES_WITH(STEAD_INVALID, "there is no node",
                 stead_map_node_weight(map, not_nodes[i], &out.number, at));
  }
  CHECK(stead_map_node_name(map, nodes - 1) != NULL);
  const int32_t not_policies[] = {-1,       INT32_MIN,    INT32_MAX,
                                  policies, policies + 1, -policies};
  for (size_t i = 0; i < sizeof not_policies / sizeof *not_policies; i++) {
    SAYS(stead_map_policy_name(map, not_policies[i]), NULL);
    SAYS(stead_map_policy_kind(map, not_policies[i]), NULL);
    REFUSES_WITH(
        STEAD_INVALID, "there is no policy",
        stead_map_policy_weight(map, not_policies[i], &out.number, at));
    REFUSES_WITH(STEAD_INVALID, "there is no policy",
                 stead_map_policy_nodes(map, not_policies[i], out.nodes, 16,
                                        &out.count, at));
  }
  SAYS(stead_map_policy_kind(map, policies - 1), "");
  const size_t slices = stead_map_slice_count(map),
               not_slices[] = {slices, slices + 1, SIZE_MAX, SIZE_MAX / 2,
                               CUT_TO_0};
  for (size_t i = 0; i < 5; i++)
    REFUSES_WITH(STEAD_INVALID, "there is no slice",
                 stead_map_slice(map, not_slices[i], &out.slice, at));
  const size_t moves = stead_plan_count(plan),
               not_moves[] = {moves, moves + 1, SIZE_MAX, SIZE_MAX / 2,
                              CUT_TO_0};
  for (size_t i = 0; i < 5; i++)
    REFUSES_WITH(STEAD_INVALID, "there is no move",
                 stead_plan_move(plan, not_moves[i], &out.move, at));
}

// A number from a larger map, used with a smaller one: the answer is that of
// the smaller map, or there is none. It never crashes.
static void check_stale_numbers(void) {
  stead_map *large = opened(in(maps, "many.map"), STEAD_OPEN_SHARED);
  CHECK(stead_map_node_count(large) > stead_map_node_count(map));
  for (int32_t node = 0; node < stead_map_node_count(large); node++)
    CHECK((stead_map_node_name(map, node) != NULL) ==
          (node < stead_map_node_count(map)));
  for (int32_t policy = 0; policy < stead_map_policy_count(large); policy++)
    CHECK((stead_map_policy_kind(map, policy) != NULL) ==
          (policy < stead_map_policy_count(map)));
  stead_map_free(large);
}

static void check_affecting_many(void) {
  const uint64_t good[] = {0, 1, 2}, falls[] = {0, 2, 1};
  size_t *count = &out.count;
  REFUSES_WITH(
      STEAD_INVALID, "plan is NULL",
      stead_plan_affects_many(NULL, "kk", 2, good, 2, out.rows, 16, count, at));
  REFUSES_WITH(
      STEAD_INVALID, "keys is NULL",
      stead_plan_affects_many(plan, NULL, 2, good, 2, out.rows, 16, count, at));
  REFUSES_WITH(
      STEAD_INVALID, "offsets is NULL",
      stead_plan_affects_many(plan, "kk", 2, NULL, 2, out.rows, 16, count, at));
  REFUSES_WITH(STEAD_INVALID, "offsets 1 and 2 are 2 and 1",
               stead_plan_affects_many(plan, "kk", 2, falls, 2, out.rows, 16,
                                       count, at));
  REFUSES_WITH(
      STEAD_INVALID, "rows is NULL",
      stead_plan_affects_many(plan, "kk", 2, good, 2, NULL, 1, count, at));
  REFUSES_WITH(STEAD_INVALID, "rows is not aligned",
               stead_plan_affects_many(plan, "kk", 2, good, 2,
                                       ODD(stead_affected), 1, count, at));
  REFUSES_WITH(
      STEAD_INVALID, "count is NULL",
      stead_plan_affects_many(plan, "kk", 2, good, 2, out.rows, 16, NULL, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++) {
    REFUSES(STEAD_INVALID,
            stead_plan_affects_many(plan, "kk", 2, good, impossible[i],
                                    out.rows, 16, count, at));
    REFUSES_WITH(STEAD_INVALID, "keys cannot be so long",
                 stead_plan_affects_many(plan, "kk", impossible[i], good, 2,
                                         out.rows, 16, count, at));
  }
}

static void check_plans(void) {
  REFUSES_WITH(STEAD_INVALID, "old_map is NULL",
               stead_plan_between(NULL, map, &out.plan, at));
  REFUSES_WITH(STEAD_INVALID, "new_map is NULL",
               stead_plan_between(map, NULL, &out.plan, at));
  REFUSES_WITH(STEAD_INVALID, "plan is NULL",
               stead_plan_between(map, map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_plan_between(map, map, ODD(stead_plan *), at));
  REFUSES_WITH(STEAD_INVALID, "plan is NULL",
               stead_plan_move(NULL, 0, &out.move, at));
  REFUSES_WITH(STEAD_INVALID, "one is NULL",
               stead_plan_move(plan, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_plan_move(plan, 0, ODD(stead_move), at));
  REFUSES_WITH(
      STEAD_INVALID, "plan is NULL",
      stead_plan_affects(NULL, "k", 1, out.indexes, 16, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "key is NULL",
      stead_plan_affects(plan, NULL, 1, out.indexes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "indexes is NULL",
               stead_plan_affects(plan, "k", 1, NULL, 1, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_plan_affects(plan, "k", 1, ODD(size_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_plan_affects(plan, "k", 1, out.indexes, 16, NULL, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++)
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_plan_affects(plan, "k", impossible[i], out.indexes, 16,
                                    &out.count, at));
  GIVES(
      stead_plan_affects(plan, "k", 1, out.indexes, SIZE_MAX, &out.count, at));
  GIVES(stead_plan_affects(plan, NULL, 0, NULL, 0, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "plan is NULL",
      stead_plan_affects_point(NULL, 1, out.indexes, 16, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "indexes is NULL",
               stead_plan_affects_point(plan, 1, NULL, 1, &out.count, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_plan_affects_point(plan, 1, ODD(size_t), 1, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_plan_affects_point(plan, 1, out.indexes, 16, NULL, at));
  check_affecting_many();
  REFUSES_WITH(STEAD_INVALID, "plan is NULL",
               stead_plan_amounts(NULL, &out.amounts, at));
  REFUSES_WITH(STEAD_INVALID, "amounts is NULL",
               stead_plan_amounts(plan, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_plan_amounts(plan, ODD(stead_amounts), at));
  REFUSES_WITH(STEAD_INVALID, "plan is NULL",
               stead_plan_report(NULL, 0, &out.text, at));
  REFUSES_WITH(STEAD_INVALID, "json is NULL",
               stead_plan_report(plan, 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_plan_report(plan, 0, ODD(char *), at));
}

static void check_keys(void) {
  const char secret[16] = "0123456789abcde";
  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_point(STEAD_MD5, NULL, NULL, 1, &out.number, at));
  REFUSES_WITH(STEAD_INVALID, "point is NULL",
               stead_point(STEAD_MD5, NULL, "k", 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_point(STEAD_MD5, NULL, "k", 1, ODD(uint64_t), at));
  REFUSES_WITH(STEAD_INVALID, "secret is NULL",
               stead_point(STEAD_SIPHASH, NULL, "k", 1, &out.number, at));
  // every hash that there is: their numbers have no gap
  int32_t hash = STEAD_MD5;
  for (; hash == STEAD_SIPHASH ||
         stead_point(hash, NULL, "k", 1, &out.number, NULL) == STEAD_OK;
       hash++)
    if (hash != STEAD_SIPHASH)
      REFUSES_WITH(STEAD_INVALID, "secret is for STEAD_SIPHASH",
                   stead_point(hash, secret, "k", 1, &out.number, at));
  CHECK(hash > STEAD_XXH64);
  const int32_t unknown[] = {0,   hash, -1,  INT32_MIN, INT32_MAX, 255,
                             256, 257,  263, 519,       65537};
  for (size_t i = 0; i < 11; i++)
    REFUSES_WITH(STEAD_INVALID, "hash is not a number of stead_hash",
                 stead_point(unknown[i], NULL, "k", 1, &out.number, at));

  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_path(NULL, 1, NULL, 0, out.path, 320, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_path("k", 1, NULL, 0, NULL, 320, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "count is NULL",
               stead_path("k", 1, NULL, 0, out.path, 320, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_path("k", 1, NULL, 0, out.path, 320, ODD(size_t), at));
  REFUSES_WITH(STEAD_INVALID, "the path needs 15",
               stead_path("frank", 5, NULL, 0, out.path, 14, &out.count, at));
  REFUSES_WITH(STEAD_INVALID, "the path needs 15",
               stead_path("frank", 5, NULL, 0, NULL, 0, &out.count, at));
  static const char *levels[] = {"",     ",",
                                 "0",    "257",
                                 "64,",  "64,,64",
                                 " 64",  "+64",
                                 "-1",   "64;64",
                                 "1e2",  "99999999999999999999",
                                 "\xFF", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    REFUSES(STEAD_INVALID,
            stead_path("k", 1, levels[i], 0, out.path, 320, &out.count, at));
  static const int32_t folds[] = {-1, 2, INT32_MIN, INT32_MAX, 256};
  for (size_t i = 0; i < 5; i++)
    REFUSES_WITH(
        STEAD_INVALID, "is not a number of stead_fold",
        stead_path("k", 1, NULL, folds[i], out.path, 320, &out.count, at));
  char key[256];
  memset(key, 'k', sizeof key);
  REFUSES(STEAD_NAME,
          stead_path(key, 256, NULL, 0, out.path, 320, &out.count, at));
  memset(key, '/', sizeof key); // each takes three bytes
  REFUSES(STEAD_NAME,
          stead_path(key, 86, NULL, 0, out.path, 320, &out.count, at));
  GIVES(stead_path(key, 85, NULL, 0, out.path, 320, &out.count, at));

  REFUSES_WITH(STEAD_INVALID, "key is NULL",
               stead_fold_ascii(NULL, 1, out.path, at));
  REFUSES_WITH(STEAD_INVALID, "folded is NULL",
               stead_fold_ascii("K", 1, NULL, at));
  for (size_t i = 0; i < IMPOSSIBLE; i++) {
    REFUSES_WITH(
        STEAD_INVALID, "key cannot be so long",
        stead_point(STEAD_XXH3, NULL, "k", impossible[i], &out.number, at));
    REFUSES_WITH(
        STEAD_INVALID, "key cannot be so long",
        stead_path("k", impossible[i], NULL, 0, out.path, 320, &out.count, at));
    REFUSES_WITH(STEAD_INVALID, "key cannot be so long",
                 stead_fold_ascii("K", impossible[i], out.path, at));
  }
}

void check_arguments(void) {
  map = opened(in(maps, "three.map"), STEAD_OPEN_SHARED);
  stead_map *next = opened(in(maps, "node-added.map"), STEAD_OPEN_SHARED);
  GIVES(stead_plan_between(map, next, &out.plan, at));
  plan = out.plan;
  check_locating();
  check_locating_many();
  check_locating_all_many();
  check_map_of_null();
  check_numbers();
  check_stale_numbers();
  check_plans();
  check_keys();
  stead_plan_free(plan);
  stead_map_free(next);
  stead_map_free(map);
}
