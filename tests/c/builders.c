// Wrong arguments for functions that make maps, and wrong fleets: every status
// that they can return.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#define ODD(T) ((T *)((char *)&out.bytes + 1))
#define TEXT(text) (text), strlen(text)

static const char one[] = "name = \"m\"\n[[node]]\nname = \"a\"\n";

static void check_build_arguments(void) {
  REFUSES_WITH(STEAD_INVALID, "fleet is NULL",
               stead_map_build(NULL, 1, NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_build(TEXT(one), NULL, NULL, NULL, NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_map_build(TEXT(one), NULL, NULL, NULL, ODD(stead_map *), at));
  REFUSES_WITH(
      STEAD_INVALID, "map is not aligned",
      stead_map_build(TEXT(one), NULL, ODD(stead_map), NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "name is not UTF-8",
               stead_map_build(TEXT(one), "\xC3(", NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "max_move is not UTF-8",
               stead_map_build(TEXT(one), NULL, NULL, "5%\xFF", &out.map, at));
  static const char *wrong[] = {"",    "5",    "%",    "-1%", "101%",
                                "5 %", "nan%", "1e1%", "5%%", "\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    REFUSES_WITH(
        STEAD_INVALID, "max_move",
        stead_map_build(TEXT(one), NULL, NULL, wrong[i], &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "fleet cannot be so long",
               stead_map_build(one, SIZE_MAX, NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(
      STEAD_INVALID, "fleet cannot be so long",
      stead_map_build(one, SIZE_MAX / 2, NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_build_file(NULL, NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_build_file("", NULL, NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_build_file("x", NULL, NULL, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_build_file("x", NULL, NULL, ODD(stead_map *), at));
  REFUSES_WITH(STEAD_INVALID, "bytes is NULL",
               stead_map_from_bytes(NULL, 1, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_from_bytes("x", 1, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_from_bytes("x", 1, ODD(stead_map *), at));
  REFUSES_WITH(STEAD_INVALID, "bytes cannot be so long",
               stead_map_from_bytes("x", SIZE_MAX, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "bytes cannot be so long",
               stead_map_from_bytes("x", SIZE_MAX / 2, &out.map, at));
}

// Checks the status and the message of a wrong fleet.
static void wrong_fleet(const char *fleet, size_t length, int32_t wanted,
                        const char *words) {
  REFUSES(wanted, stead_map_build(fleet, length, "dir/x.toml", NULL, NULL,
                                  &out.map, at));
  CHECK(strstr(error.message, words) != NULL);
}

static void check_wrong_fleets(void) {
  wrong_fleet("", 0, STEAD_FLEET, "dir/x.toml:1: ");
  wrong_fleet(NULL, 0, STEAD_FLEET, "dir/x.toml:1: ");
  wrong_fleet(TEXT("name = \"m\"\n[[node]]\nname = \"a\"\nwieght = 2\n"),
              STEAD_FLEET, "dir/x.toml:4: ");
  wrong_fleet(TEXT("name = \"m\"\n\xFF\n"), STEAD_FLEET, "dir/x.toml:2: ");
  wrong_fleet("name = \"m\"\n\0\n", 12, STEAD_FLEET, "dir/x.toml:");
  wrong_fleet(TEXT("{\"name\": \"m\", \"node\": [{\"name\": \"a\", }"),
              STEAD_FLEET, "dir/x.toml:1: ");
  wrong_fleet(TEXT("name = \"m\"\nnode = [{name = \"a\"}]\nreplicas = 2\n"),
              STEAD_FLEET, "");
  wrong_fleet(TEXT("name = \"m\"\nmax_slices = 1\nnode = [{name = \"a\"}, "
                   "{name = \"b\"}]\n"),
              STEAD_IMPOSSIBLE, "");
  wrong_fleet(TEXT("name = \"m\"\nhash = \"siphash\"\nsecret_file = "
                   "\"none\"\nnode = [{name = \"a\"}]\n"),
              STEAD_FLEET, "dir");
  // without a name it is "fleet"
  REFUSES_WITH(STEAD_FLEET, "fleet:1: ",
               stead_map_build("", 0, NULL, NULL, NULL, &out.map, at));
  // a name is shown on one line, whatever it contains
  REFUSES(STEAD_FLEET, stead_map_build("", 0, "two\nlines\r\x1B[31m\x7F", NULL,
                                       NULL, &out.map, at));
  // but the secret is not shown
  REFUSES(
      STEAD_FLEET,
      stead_map_build(
          TEXT(
              "name = \"m\"\nhash = \"siphash\"\nsecret = "
              "\"00112233445566778899aabbccddeef\"\nnode = [{name = \"a\"}]\n"),
          NULL, NULL, NULL, &out.map, at));
  CHECK(strstr(error.message, "00112233") == NULL);
}

static void check_identity(void) {
  stead_map *map = built(one, NULL);
  REFUSES(STEAD_IDENTITY,
          stead_map_build(TEXT("name = \"other\"\n[[node]]\nname = \"a\"\n"),
                          NULL, map, NULL, &out.map, at));
  REFUSES(STEAD_IDENTITY,
          stead_map_build(
              TEXT("name = \"m\"\nhash = \"sha1\"\n[[node]]\nname = \"a\"\n"),
              NULL, map, NULL, &out.map, at));
  const char *file = in(scratch, "fleet.toml"),
             *named = "name = \"other\"\n[[node]]\nname = \"a\"\n",
             *narrow = "name = \"m\"\nmax_slices = 1\nnode = [{name = \"a\"}, "
                       "{name = \"b\"}]\n";
  write_file(file, named, strlen(named));
  REFUSES(STEAD_IDENTITY, stead_map_build_file(file, map, NULL, &out.map, at));
  write_file(file, narrow, strlen(narrow));
  REFUSES(STEAD_IMPOSSIBLE,
          stead_map_build_file(file, map, NULL, &out.map, at));
  stead_map *other = built(named, NULL);
  REFUSES(STEAD_IDENTITY, stead_plan_between(map, other, &out.plan, at));
  stead_map_free(other);
  stead_map_free(map);
}

// A path that makes a message too long loses its middle, between two
// characters; the reason stays. The pads make the cut fall on each byte of a
// character.
static void check_long_messages(void) {
  static const char *pads[] = {"", "x", "xx", "xxx"};
  for (size_t pad = 0; pad < 4; pad++) {
    char name[1024];
    int end = snprintf(name, sizeof name, "%s", pads[pad]);
    for (int i = 0; i < 100; i++)
      end +=
          snprintf(name + end, sizeof name - (size_t)end, "\xF0\x9F\x92\x9A");
    REFUSES(STEAD_FLEET,
            stead_map_build("", 0, name, NULL, NULL, &out.map, at));
    size_t length = strlen(error.message);
    CHECK(length > 240 && length < sizeof error.message);
    CHECK(strncmp(error.message, name, 20) == 0);
    CHECK(strstr(error.message, "\x9A:1: ") != NULL &&
          strstr(error.message, "...") != NULL);
  }
}

// Every prefix of a small map, and the map with any one byte changed, is
// refused with a fitting status.
static void check_damage(void) {
  stead_map *map = built(one, NULL);
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  const void *bytes = out.bytes;
  size_t length = out.length, step = rounds > 1 ? 1 : 7;
  for (size_t kept = 0; kept < length; kept += step) {
    char *part =
        malloc(kept ? kept : 1); // exact, so that tools notice a read beyond it
    memcpy(part, bytes, kept);
    REFUSES(STEAD_FORMAT, stead_map_from_bytes(part, kept, &out.map, at));
    free(part);
  }
  char *copy = malloc(length + 8);
  for (size_t i = 0; i < length; i += step) {
    memcpy(copy, bytes, length);
    copy[i] ^= 0x41;
    poison();
    int32_t status = stead_map_from_bytes(copy, length, &out.map, at);
    CHECK(status == STEAD_FORMAT || status == STEAD_DIGEST ||
          status == STEAD_VERSION);
  }
  memcpy(copy, bytes, length);
  memset(copy + length, 0, 8);
  REFUSES(STEAD_FORMAT,
          stead_map_from_bytes(copy, length + 8, &out.map,
                               at)); // nothing may come after the map
  copy[length - 1] ^= 1;
  REFUSES(STEAD_DIGEST, stead_map_from_bytes(copy, length, &out.map, at));
  memcpy(copy + 8, "\xFF\xFF", 2); // the format version
  REFUSES(STEAD_VERSION, stead_map_from_bytes(copy, length, &out.map, at));
  free(copy);
  stead_map_free(map);
}

// Nothing is built on a map that this stead does not understand wholly, nor on
// one whose data is being carried.
static void check_maps_before(void) {
  static const struct {
    const char *map;
    int32_t status;
  } before[] = {{"newer.map", STEAD_VERSION},
                {"carry-old.map", STEAD_GUARDED},
                {"carry-new.map", STEAD_GUARDED}};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    stead_map *old = opened(in(maps, before[i].map), STEAD_OPEN_SHARED);
    char fleet[128];
    snprintf(fleet, sizeof fleet, "name = \"%s\"\n[[node]]\nname = \"a\"\n",
             stead_map_name(old));
    const char *file = in(scratch, "before.toml");
    write_file(file, TEXT(fleet));
    REFUSES(before[i].status,
            stead_map_build(TEXT(fleet), NULL, old, NULL, &out.map, at));
    REFUSES(before[i].status,
            stead_map_build(TEXT(fleet), NULL, old, "5%", &out.map, at));
    REFUSES(before[i].status,
            stead_map_build_file(file, old, NULL, &out.map, at));
    stead_map_free(old);
  }
}

void check_builders(void) {
  check_build_arguments();
  check_wrong_fleets();
  check_identity();
  check_maps_before();
  check_long_messages();
  check_damage();
}
