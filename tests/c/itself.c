// What a map says of itself: its parent, hash, key rule and spread, the labels
// and attributes of its nodes, and the weights of its policies.

#include "check.h"

static const char itself[] =
    "name = \"itself\"\nhash = \"xxh3\"\nkey = \"first 2 segments\"\n"
    "spread = [\"zone\", \"rack\"]\n"
    "[[node]]\nname = \"a\"\nweight = 2\n"
    "labels = { zone = \"z\", rack = \"1\", disk = \"ssd\" }\n"
    "attributes = { port = \"80\", address = \"10.0.0.1\" }\n"
    "[[node]]\nname = \"b\"\nlabels = { zone = \"y\", rack = \"2\" }\n"
    "[[policy]]\nname = \"big\"\nkind = \"chain\"\nnodes = [\"b\", \"a\"]\n"
    "weight = 1.5\n"
    "[[policy]]\nname = \"none\"\nnodes = [\"a\"]\n";

static void check_rules(const stead_map *map) {
  SAYS(stead_map_hash(map), "xxh3");
  SAYS(stead_map_key_rule(map), "first 2 segments");
  IS(stead_map_spread_count(map), 2);
  SAYS(stead_map_spread(map, 0), "zone");
  SAYS(stead_map_spread(map, 1), "rack");
  SAYS(stead_map_spread(map, 2), NULL);
  SAYS(stead_map_spread(map, -1), NULL);
}

static void check_words(const stead_map *map) {
  static const char *labels[] = {"disk", "rack", "zone", NULL},
                    *attributes[] = {"address", "port", NULL};
  IS(stead_map_node_label_count(map, 0), 3);
  for (int32_t i = 0; i < 4; i++)
    SAYS(stead_map_node_label_name(map, 0, i), labels[i]);
  SAYS(stead_map_node_label_name(map, 0, -1), NULL);
  SAYS(stead_map_node_label_name(map, 0, INT32_MAX), NULL);
  IS(stead_map_node_attribute_count(map, 0), 2);
  for (int32_t i = 0; i < 3; i++)
    SAYS(stead_map_node_attribute_name(map, 0, i), attributes[i]);
  SAYS(stead_map_node_attribute_name(map, 0, -1), NULL);
  // a name that is listed has a value
  SAYS(stead_map_node_attribute(map, 0,
                                stead_map_node_attribute_name(map, 0, 1)),
       "80");
  IS(stead_map_node_label_count(map, 1), 2);
  IS(stead_map_node_attribute_count(map, 1), 0);
  SAYS(stead_map_node_attribute_name(map, 1, 0), NULL);
}

static void check_weights(const stead_map *map) {
  int named = 0;
  for (int32_t policy = 0; policy < stead_map_policy_count(map); policy++) {
    const char *name = stead_map_policy_name(map, policy);
    GIVES(stead_map_policy_weight(map, policy, &out.number, at));
    IS(out.number, name != NULL && strcmp(name, "big") == 0 ? 1500000 : 0);
    named += name != NULL;
  }
  IS(named, 2);
}

static void check_parent(const stead_map *map) {
  static const uint8_t zeros[STEAD_DIGEST_ROOM];
  uint8_t digest[STEAD_DIGEST_ROOM];
  GIVES(stead_map_parent(map, out.digest, at));
  CHECK(memcmp(out.digest, zeros, sizeof zeros) == 0); // a first map
  GIVES(stead_map_digest(map, digest, at));
  stead_map *next = built(itself, map);
  GIVES(stead_map_parent(next, out.digest, at));
  CHECK(memcmp(out.digest, digest, sizeof digest) == 0);
  // this is the only difference, with the epoch
  IS(stead_map_same(map, next), 1);
  GIVES(stead_map_digest(next, out.digest, at));
  CHECK(memcmp(out.digest, digest, sizeof digest) != 0);
  stead_map_free(next);
}

// A node that the fleet dropped is leaving, until a gradual change has emptied
// it.
static void check_leaving(void) {
  static const char two[] = "name = \"m\"\nnode = [{name = \"a\"}, {name = "
                            "\"b\"}]",
                    one[] = "name = \"m\"\nnode = [{name = \"a\"}]";
  stead_map *map = built(two, NULL);
  GIVES(stead_map_build(one, strlen(one), "f", map, "10%", &out.map, at));
  stead_map *next = out.map;
  IS(stead_map_node_leaving(map, 0), 0);
  IS(stead_map_node_leaving(map, 1), 0);
  IS(stead_map_node_leaving(next, 0), 0);
  IS(stead_map_node_leaving(next, 1), 1);
  IS(stead_map_node_leaving(next, 2), -1);
  stead_map_free(next);
  stead_map_free(map);
}

void check_itself(void) {
  stead_map *map = built(itself, NULL);
  check_rules(map);
  check_words(map);
  check_weights(map);
  check_parent(map);
  check_leaving();
  stead_map_free(map);
  map = opened(in(maps, "three.map"), 0);
  SAYS(stead_map_hash(map), "md5");
  SAYS(stead_map_key_rule(map), "whole");
  IS(stead_map_spread_count(map), 0);
  SAYS(stead_map_spread(map, 0), NULL);
  stead_map_free(map);
}
