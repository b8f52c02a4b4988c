// The limit of memory: each call that may need more than it is refused, and the
// same call succeeds under the usual limit.

#include "check.h"

#include <stdlib.h>

#define SAYS_WHY "bytes of memory, and the limit is 1; raise the limit"
#define REFUSED(call) REFUSES_WITH(STEAD_MEMORY, SAYS_WHY, call)

static const char text[] =
    "name = \"m\"\nspread = [\"zone\"]\n"
    "[[node]]\nname = \"a\"\nlabels = { zone = \"x\" }\n"
    "[[node]]\nname = \"b\"\nlabels = { zone = \"y\" }\n";

static const char more[] =
    "name = \"m\"\nspread = [\"zone\"]\n"
    "[[node]]\nname = \"a\"\nlabels = { zone = \"x\" }\n"
    "[[node]]\nname = \"b\"\nlabels = { zone = \"y\" }\nweight = 2\n";

void check_limits(void) {
  const uint64_t usual = (uint64_t)4 << 30;
  uint64_t before = stead_memory_limit(0);
  if (getenv("STEAD_MEMORY_LIMIT") == NULL)
    CHECK(before == usual);
  CHECK(stead_memory_limit(usual) == before && stead_memory_limit(0) == usual);

  stead_map *map = built(text, NULL), *next = built(more, map);
  stead_plan *plan;
  CHECK(stead_plan_between(map, next, &plan, NULL) == STEAD_OK);
  const char *path = in(scratch, "limited.map"),
             *fleet = in(scratch, "limited.toml");
  save_as(map, path);
  write_file(fleet, more, strlen(more));
  const void *bytes;
  size_t length;
  CHECK(stead_map_bytes(map, &bytes, &length, NULL) == STEAD_OK);
  uint64_t offsets[] = {0, 1};

  CHECK(stead_memory_limit(1) == usual);
  REFUSED(stead_map_build(text, strlen(text), NULL, NULL, NULL, &out.map, at));
  REFUSED(stead_map_build_file(fleet, map, NULL, &out.map, at));
  REFUSED(stead_map_apply(more, strlen(more), NULL, path, NULL, NULL, &out.map,
                          at));
  REFUSED(stead_map_apply_file(fleet, path, NULL, NULL, &out.map, at));
  REFUSED(stead_map_publish(next, map, path, NULL, at));
  REFUSED(stead_map_from_bytes(bytes, length, &out.map, at));
  REFUSED(stead_map_open_uncached(path, &out.map, at));
  REFUSED(stead_plan_between(map, next, &out.plan, at));
  REFUSED(stead_plan_report(plan, 1, &out.text, at));
  REFUSED(stead_map_report(next, &out.text, at));
  REFUSED(stead_map_fleet(next, &out.text, at));
  REFUSED(stead_map_prefer(next, "k", 1, out.nodes, 16, &out.count, at));
  stead_pair *pair = NULL;
  IS(stead_pair_between(map, next, STEAD_STATE_OLD, &pair, &error),
     STEAD_MEMORY);
  saw("stead_pair_between", STEAD_MEMORY);
  CHECK(pair == NULL && strstr(error.message, SAYS_WHY) != NULL);
  REFUSED(stead_survey("k", 1, offsets, 1, 0, NULL, &out.text, at));
  REFUSED(stead_fold_ascii("KEY", 3, out.path, at));
  CHECK(stead_map_node_name(next, 0) == NULL); // its strings are not made yet
  // what needs no memory goes on
  GIVES(stead_map_locate(next, "k", 1, &out.node, at));
  GIVES(stead_map_locate_many(next, "k", 1, offsets, 1, out.nodes, at));
  GIVES(stead_plan_affects(plan, "k", 1, out.indexes, 16, &out.count, at));

  CHECK(stead_memory_limit(usual) == 1);
  SAYS(stead_map_node_name(next, 0), "a");
  GIVES(stead_map_prefer(next, "k", 1, out.nodes, 16, &out.count, at));
  CHECK(stead_memory_limit(1) == usual);
  // what was made is kept, and its memory is not asked for again
  SAYS(stead_map_node_name(next, 0), "a");
  GIVES(stead_map_prefer(next, "k", 1, out.nodes, 16, &out.count, at));
  CHECK(stead_memory_limit(usual) == 1);
  GIVES(stead_map_publish(next, map, path, NULL, at));
  GIVES(stead_map_report(next, &out.text, at));
  stead_text_free(out.text);
  CHECK(stead_memory_limit(before) == usual);
  stead_plan_free(plan);
  stead_map_free(map);
  stead_map_free(next);
}
