// Correct calls of the functions that locate keys or look into a map, compared
// with the answers in tests/vectors.

#include "check.h"

#include <math.h>

#define FRANK "frank", 5

static int32_t named(const stead_map *map, const char *name) {
  return stead_map_node_named(map, name);
}

static void check_library(void) {
  IS(stead_abi(), STEAD_ABI);
  CHECK(strchr(stead_version(), '.') != NULL);
  SAYS(stead_status_name(STEAD_OK), "STEAD_OK");
  SAYS(stead_status_name(STEAD_CONFLICT), "STEAD_CONFLICT");
  SAYS(stead_status_name(STEAD_INTERNAL), "STEAD_INTERNAL");
  SAYS(stead_status_name(14), NULL);
  SAYS(stead_status_name(STEAD_PERMISSION), "STEAD_PERMISSION");
  SAYS(stead_status_name(STEAD_MEMORY), "STEAD_MEMORY");
  SAYS(stead_status_name(STEAD_GUARDED), "STEAD_GUARDED");
  SAYS(stead_status_name(STEAD_GUARDED + 1), NULL);
  SAYS(stead_status_name(-1), NULL);
  SAYS(stead_status_name(INT32_MIN), NULL);
  SAYS(stead_status_name(INT32_MAX), NULL);
}

static void check_one_copy(void) {
  stead_map *map = opened(in(maps, "three.map"), STEAD_OPEN_SHARED);
  GIVES(stead_map_locate(map, FRANK, &out.node, at));
  SAYS(stead_map_node_name(map, out.node), "n0");
  IS(stead_map_node_of(map, FRANK), out.node);
  GIVES(stead_map_locate(map, NULL, 0, &out.node, at));
  IS(stead_map_node_of(map, NULL, 0), out.node);
  SAYS(stead_map_node_name(map, out.node), "n2");
  GIVES(stead_map_locate(map, "", 0, &out.node, at));
  SAYS(stead_map_node_name(map, out.node), "n2");
  GIVES(stead_map_locate(map, "\0", 1, &out.node,
                         at)); // a NUL is a byte of the key
  SAYS(stead_map_node_name(map, out.node), "n1");
  GIVES(stead_map_point(map, FRANK, &out.number, at));
  IS(out.number, 0x26253c50741faa9c);
  GIVES(stead_map_point(map, "frank\n", 6, &out.number, at));
  IS(out.number, 0xd268c8fe7f154537);
  GIVES(stead_map_prefer(map, FRANK, out.nodes, 16, &out.count, at));
  IS(out.count, 3);
  SAYS(stead_map_node_name(map, out.nodes[0]), "n0");
  SAYS(stead_map_node_name(map, out.nodes[1]), "n2");
  SAYS(stead_map_node_name(map, out.nodes[2]), "n1");
  CHECK(out.nodes[3] ==
        (int32_t)0xA5A5A5A5); // nothing is written beyond the list
  stead_map_free(map);
}

static void check_copies(void) {
  stead_map *map = opened(in(maps, "replicas.map"), STEAD_OPEN_COPY);
  IS(stead_map_replicas(map), 3);
  GIVES(stead_map_locate_all(map, FRANK, out.nodes, 16, &out.count, at));
  IS(out.count, 3);
  SAYS(stead_map_node_name(map, out.nodes[0]), "b2");
  SAYS(stead_map_node_name(map, out.nodes[1]), "c2");
  SAYS(stead_map_node_name(map, out.nodes[2]), "a2");
  GIVES(stead_map_locate_all(map, FRANK, out.nodes, 2, &out.count, at));
  CHECK(out.count == 3 && out.nodes[1] == named(map, "c2") &&
        out.nodes[2] == (int32_t)0xA5A5A5A5);
  GIVES(stead_map_locate_all(map, FRANK, NULL, 0, &out.count, at));
  IS(out.count, 3);
  GIVES(stead_map_locate_all(map, FRANK, out.nodes, SIZE_MAX, &out.count,
                             at)); // the capacity is only a limit
  IS(out.count, 3);
  GIVES(stead_map_locate_all_point(map, 0x26253c50741faa9c, out.nodes, 16,
                                   &out.count, at));
  CHECK(out.count == 3 && out.nodes[0] == named(map, "b2") &&
        out.nodes[2] == named(map, "a2"));
  GIVES(stead_map_locate_point(map, 0x26253c50741faa9c, &out.node, at));
  SAYS(stead_map_node_name(map, out.node), "b2"); // the primary
  GIVES(stead_map_locate_all_point(map, 0, NULL, 0, &out.count, at));
  IS(out.count, 3);
  GIVES(stead_map_locate_all_point(map, UINT64_MAX, out.nodes, 1, &out.count,
                                   at));
  IS(out.count, 3);
  for (size_t room = 0; room <= 7; room++) {
    static const char *best[] = {"b2", "c2", "a2", "c1", "b1", "a1"};
    GIVES(stead_map_prefer(map, FRANK, room ? out.nodes : NULL, room,
                           &out.count, at));
    IS(out.count, room < 6 ? room : 6);
    for (size_t i = 0; i < out.count; i++)
      SAYS(stead_map_node_name(map, out.nodes[i]), best[i]);
  }
  GIVES(stead_map_prefer(map, FRANK, out.nodes, SIZE_MAX, &out.count, at));
  IS(out.count, 6);
  stead_map_free(map);
}

static void check_many(void) {
  stead_map *map = opened(in(maps, "three.map"), STEAD_OPEN_SHARED);
  const uint64_t offsets[] = {0, 5, 5, 6, 6};
  GIVES(stead_map_locate_many(map, "frank\0", 6, offsets, 4, out.nodes, at));
  CHECK(out.nodes[0] == named(map, "n0") && out.nodes[1] == named(map, "n2") &&
        out.nodes[2] == named(map, "n1"));
  CHECK(out.nodes[3] == named(map, "n2") &&
        out.nodes[4] == (int32_t)0xA5A5A5A5);
  GIVES(stead_map_locate_many(map, "frank", 5, offsets, 1, out.nodes,
                              at)); // bytes after the last key are allowed
  const uint64_t from_two[] = {2, 5};
  GIVES(stead_map_locate_many(map, "xxfra", 5, from_two, 1, out.nodes, at));
  SAYS(place(map, "fra"), stead_map_node_name(map, out.nodes[0]));
  GIVES(stead_map_locate_many(map, NULL, 0, NULL, 0, NULL, at));
  const uint64_t zeros[] = {0, 0, 0};
  GIVES(stead_map_locate_many(map, NULL, 0, zeros, 2, out.nodes, at));
  CHECK(out.nodes[0] == named(map, "n2") && out.nodes[1] == out.nodes[0]);
  const uint32_t narrow[] = {0, 5, 5, 6, 6};
  GIVES(stead_map_locate_many_32(map, "frank\0", 6, narrow, 4, out.nodes, at));
  CHECK(out.nodes[0] == named(map, "n0") && out.nodes[1] == named(map, "n2") &&
        out.nodes[2] == named(map, "n1") && out.nodes[3] == named(map, "n2"));
  GIVES(stead_map_locate_many_32(map, NULL, 0, NULL, 0, NULL, at));
  stead_map_free(map);

  map = opened(in(maps, "replicas.map"), STEAD_OPEN_SHARED);
  const uint64_t twice[] = {0, 5, 10};
  uint64_t starts[] = {7, 7, 7, 7};
  GIVES(stead_map_locate_all_many(map, "frankfrank", 10, twice, 2, out.nodes,
                                  16, starts, &out.count, at));
  CHECK(out.count == 6 && starts[0] == 0 && starts[1] == 3 && starts[2] == 6 &&
        starts[3] == 7);
  for (int32_t i = 0; i < 6; i += 3) {
    SAYS(stead_map_node_name(map, out.nodes[i]), "b2");
    SAYS(stead_map_node_name(map, out.nodes[i + 1]), "c2");
    SAYS(stead_map_node_name(map, out.nodes[i + 2]), "a2");
  }
  GIVES(stead_map_locate_all_many(map, "frankfrank", 10, twice, 2, out.nodes, 4,
                                  starts, &out.count, at));
  CHECK(out.count == 6 && starts[2] == 6 && out.nodes[3] == named(map, "b2") &&
        out.nodes[4] == (int32_t)0xA5A5A5A5);
  GIVES(stead_map_locate_all_many(map, NULL, 0, NULL, 0, NULL, 0, starts,
                                  &out.count, at));
  CHECK(out.count == 0 && starts[0] == 0);
  GIVES(stead_map_locate_all_many(map, "frank", 5, twice, 1, out.nodes,
                                  SIZE_MAX, starts, &out.count, at));
  IS(out.count, 3); // the capacity is only a limit
  stead_map_free(map);
}

static void check_keys(void) {
  static const struct {
    int32_t hash;
    uint64_t point;
  } points[] = {{STEAD_MD5, 0x26253c50741faa9c},
                {STEAD_SHA1, 0x86a8c2da8527a1c6},
                {STEAD_XXH3, 0xc1173f2154a8d2b5},
                {STEAD_SIPHASH, 0xd203ff67e3a20f6d},
                {STEAD_MD5_LE32, 0x503c252600000000},
                {STEAD_MD5_BE32, 0x26253c5000000000},
                {STEAD_CRC32, 0x796d420900000000},
                {STEAD_CRC32_15, 0xf2da000000000000},
                {STEAD_CRC16_TAG, 0x8bdc000000000000},
                {STEAD_FNV1_32, 0x6b2f4a5b00000000},
                {STEAD_FNV1_32_SIGNED, 0x6b2f4a5b00000000},
                {STEAD_FNV1A_32, 0xf40ce5c300000000},
                {STEAD_FNV1A_32_SIGNED, 0xf40ce5c300000000},
                {STEAD_FNV1_64, 0x643bce9b00000000},
                {STEAD_FNV1_64_SIGNED, 0x643bce9b00000000},
                {STEAD_FNV1A_64, 0x28b5c1c300000000},
                {STEAD_FNV1A_64_SIGNED, 0x28b5c1c300000000},
                {STEAD_ONE_AT_A_TIME, 0x2a1e052500000000},
                {STEAD_ONE_AT_A_TIME_SIGNED, 0x2a1e052500000000},
                {STEAD_FNV1A_FOLD16, 0x11cf000000000000},
                {STEAD_RIAK, 0x137e5f3cf70cf1e6},
                {STEAD_RIAK_TYPED, 0x1db1b993475371b1},
                {STEAD_DJB2, 0x310f74f1f7},
                {STEAD_DECIMAL, 0},
                {STEAD_XXH64, 0x6434664bbbd2dfb2}};
  const unsigned char secret[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                  8, 9, 10, 11, 12, 13, 14, 15};
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    GIVES(stead_point(points[i].hash,
                      points[i].hash == STEAD_SIPHASH ? secret : NULL, FRANK,
                      &out.number, at));
    IS(out.number, points[i].point);
  }
  GIVES(stead_point(STEAD_DECIMAL, NULL, "4711x", 5, &out.number, at));
  IS(out.number, 4711);
  GIVES(stead_path(FRANK, NULL, STEAD_FOLD_NONE, out.path, sizeof out.path,
                   &out.count, at));
  SAYS(out.path, "38/37/60/frank");
  IS(out.count, 14);
  GIVES(stead_path(FRANK, NULL, STEAD_FOLD_NONE, out.path, 15, &out.count,
                   at)); // exactly enough room for the NUL
  SAYS(out.path, "38/37/60/frank");
  GIVES(stead_path("frank\n", 6, "64,64,128", STEAD_FOLD_NONE, out.path,
                   STEAD_PATH_ROOM, &out.count, at));
  SAYS(out.path, "18/40/72/frank=0a");
  GIVES(stead_path("FRANK", 5, "64", STEAD_FOLD_ASCII, out.path, SIZE_MAX,
                   &out.count, at));
  SAYS(out.path, "38/frank");
  GIVES(stead_path(NULL, 0, NULL, STEAD_FOLD_NONE, out.path, STEAD_PATH_ROOM,
                   &out.count, at));
  CHECK(out.path[out.count - 1] == '=' && out.path[out.count] == 0);
  GIVES(stead_path("a\0b/..", 6, "256", STEAD_FOLD_NONE, out.path,
                   STEAD_PATH_ROOM, &out.count, at));
  CHECK(strstr(out.path, "/a=00b=2f=2e=2e") != NULL);
  char key[255];
  memset(key, 'k', sizeof key); // the longest possible file name
  GIVES(stead_path(key, sizeof key, NULL, STEAD_FOLD_NONE, out.path,
                   STEAD_PATH_ROOM, &out.count, at));
  CHECK(out.count > 255 && out.count < STEAD_PATH_ROOM &&
        strlen(out.path) == out.count);
  // the largest number of levels, each with the longest number: the room
  // suffices
  GIVES(stead_path(
      key, sizeof key,
      "256,256,256,256,256,256,256,256,256,256,256,256,256,256,256,256",
      STEAD_FOLD_NONE, out.path, STEAD_PATH_ROOM, &out.count, at));
  CHECK(strlen(out.path) == out.count);
  GIVES(stead_fold_ascii("Frank\0Z\xC4[", 9, out.path, at));
  CHECK(memcmp(out.path, "frank\0z\xC4[\xA5", 10) == 0);
  char self[] = "ABC";
  GIVES(stead_fold_ascii(self, 3, self, at));
  SAYS(self, "abc");
  GIVES(stead_fold_ascii(NULL, 0, NULL, at));
}

void check_answers(void) {
  check_library();
  check_one_copy();
  check_copies();
  check_many();
  check_keys();
}

static const char members[] =
    "name = \"m\xC3\xBC\"\nspread = [\"zone\"]\n"
    "[[node]]\nname = \"db1\"\nweight = 1.5\nlabels = { zone = \"a\" "
    "}\nattributes = { address = \"10.0.0.1:3306\", note = \"\" }\n"
    "[[node]]\nname = \"db2\"\nlabels = { zone = \"b\" }\n"
    "[[node]]\nname = \"n11\"\nweight = 0\n"
    "[[policy]]\nname = \"cray\"\nkind = \"chain\"\nnodes = [\"n11\", "
    "\"db1\"]\n"
    "[[policy]]\nname = \"plain\"\nnodes = [\"db2\"]\n"
    "[[pin]]\nkey = \"justin\"\npolicy = \"cray\"\n";

static void check_policies(const stead_map *map) {
  int cray = -1, plain = -1, without_name = 0;
  for (int32_t policy = 0; policy < stead_map_policy_count(map); policy++) {
    const char *name = stead_map_policy_name(map, policy),
               *kind = stead_map_policy_kind(map, policy);
    if (name == NULL) {
      without_name++;
      SAYS(kind, "");
    } else if (strcmp(name, "cray") == 0) {
      cray = policy;
      SAYS(kind, "chain");
      GIVES(stead_map_policy_nodes(map, policy, out.nodes, 16, &out.count, at));
      CHECK(out.count == 2 && out.nodes[0] == 2 && out.nodes[1] == 0);
      GIVES(stead_map_policy_nodes(map, policy, NULL, 0, &out.count, at));
      IS(out.count, 2);
    } else if (strcmp(name, "plain") == 0) {
      plain = policy;
      SAYS(kind, "");
    }
  }
  CHECK(cray >= 0 && plain >= 0);
  IS(without_name, 2); // one for each node with a share
}

static void check_slices(const stead_map *map) {
  size_t count = stead_map_slice_count(map);
  uint64_t next = 0;
  CHECK(count >= 4); // two shares, the pin, and the rest behind it
  for (size_t i = 0; i < count; i++) {
    GIVES(stead_map_slice(map, i, &out.slice, at));
    stead_slice slice = out.slice;
    CHECK(slice.first == next && slice.last >= slice.first &&
          slice.reserved == 0);
    next = slice.last + 1;
    GIVES(stead_map_policy_nodes(map, slice.policy, out.nodes, 1, &out.count,
                                 at));
    int32_t primary = out.nodes[0];
    for (int end = 0; end < 2; end++) {
      GIVES(stead_map_locate_all_point(map, end ? slice.last : slice.first,
                                       out.nodes, 16, &out.count, at));
      IS(out.nodes[0], primary);
      GIVES(stead_map_locate_point(map, end ? slice.last : slice.first,
                                   &out.node, at));
      IS(out.node, primary);
    }
  }
  IS(next, 0); // after the last point it wraps around to 0
}

void check_inside(void) {
  stead_map *map = built(members, NULL);
  SAYS(stead_map_name(map), "m\xC3\xBC");
  IS(stead_map_epoch(map), 1);
  IS(stead_map_replicas(map), 1);
  IS(stead_map_node_count(map), 3);
  SAYS(stead_map_node_name(map, 0), "db1");
  SAYS(stead_map_node_name(map, 2), "n11");
  IS(stead_map_node_named(map, "db2"), 1);
  IS(stead_map_node_named(map, "db"), -1);
  IS(stead_map_node_named(map, ""), -1);
  GIVES(stead_map_node_weight(map, 0, &out.number, at));
  IS(out.number, 1500000);
  GIVES(stead_map_node_weight(map, 2, &out.number, at));
  IS(out.number, 0);
  SAYS(stead_map_node_attribute(map, 0, "address"), "10.0.0.1:3306");
  SAYS(stead_map_node_attribute(map, 0, "note"), "");
  SAYS(stead_map_node_attribute(map, 1, "address"), NULL);
  SAYS(stead_map_node_label(map, 1, "zone"), "b");
  SAYS(stead_map_node_label(map, 2, "zone"), NULL);
  SAYS(stead_map_node_label(map, 0, "address"), NULL);
  SAYS(place(map, "justin"), "n11");
  check_policies(map);
  check_slices(map);
  // the digest is that of the file, and the bytes are those of the file
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  const void *bytes = out.bytes;
  size_t length = out.length;
  GIVES(stead_map_from_bytes(bytes, length, &out.map, at));
  stead_map *again = out.map;
  uint8_t digest[STEAD_DIGEST_ROOM];
  GIVES(stead_map_digest(map, digest, at));
  GIVES(stead_map_digest(again, out.digest, at));
  CHECK(memcmp(digest, out.digest, sizeof digest) == 0);
  IS(stead_map_same(map, again), 1);
  GIVES(stead_map_report(map, &out.text, at));
  char *report = out.text;
  CHECK(report[0] == '{' && report[strlen(report) - 1] == '}' &&
        strstr(report, "\"n11\"") != NULL);
  stead_text_free(report);
  stead_map *other = opened(in(maps, "three.map"), STEAD_OPEN_SHARED);
  IS(stead_map_same(map, other), 0);
  stead_map_free(other);
  // this version of stead can look keys up in it, and cannot judge it
  stead_map *newer = opened(in(maps, "newer.map"), STEAD_OPEN_SHARED);
  GIVES(stead_plan_between(newer, newer, &out.plan, at));
  stead_plan *plan = out.plan;
  REFUSES(STEAD_VERSION, stead_plan_report(plan, 0, &out.text, at));
  REFUSES(STEAD_VERSION, stead_map_report(newer, &out.text, at));
  stead_plan_free(plan);
  stead_map_free(newer);
  stead_map_free(again);
  stead_map_free(map);
  stead_map_free(NULL);
  stead_plan_free(NULL);
  stead_text_free(NULL);
  CHECK(isnan(stead_plan_fraction(NULL)));
}
