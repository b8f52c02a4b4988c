// stead in C: `where MAP` reads keys in hex, one per line, and prints the node
// of each.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stead.h>

static void stop(const char *why) {
  fprintf(stderr, "where.c: %s\n", why);
  exit(3);
}

static int digit(char c) {
  const char *digits = "0123456789abcdef", *at = strchr(digits, c);
  if (!c || !at)
    stop("a key is not in hex");
  return (int)(at - digits);
}

int main(int argc, char **argv) {
  static char line[8192], key[4096];
  stead_error error;
  stead_map *map;
  int32_t node;
  if (argc != 2)
    stop("usage: where MAP");
  if (stead_map_open(argv[1], STEAD_OPEN_SHARED, &map, &error) != STEAD_OK)
    stop(error.message);
  while (fgets(line, sizeof line, stdin)) {
    size_t length = strcspn(line, "\n") / 2;
    for (size_t i = 0; i < length; i++)
      key[i] = (char)(digit(line[2 * i]) << 4 | digit(line[2 * i + 1]));
    if (stead_map_locate(map, key, length, &node, &error) != STEAD_OK)
      stop(error.message);
    puts(stead_map_node_name(map, node));
  }
  stead_map_free(map);
  return 0;
}
