// build PREVIOUS FLEET SHAPE MAX_MOVE OUT: the next map of a fleet, from C.
// build.py says more. C has no values of JSON: there SHAPE is file or text.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stead.h>

static stead_error error;

static void good(int32_t status) {
  if (status == STEAD_OK)
    return;
  fprintf(stderr, "%s: %s\n", stead_status_name(status), error.message);
  exit(1);
}

static char *slurp(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 20);
  if (!file || !text)
    exit(2);
  *length = fread(text, 1, 1 << 20, file);
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  stead_map *before = NULL, *after = NULL;
  uint8_t digest[STEAD_DIGEST_ROOM];
  if (argc != 6)
    return 2;
  const char *max_move = strcmp(argv[4], "-") ? argv[4] : NULL;
  if (strcmp(argv[1], "-"))
    good(stead_map_open(argv[1], STEAD_OPEN_SHARED, &before, &error));
  if (strcmp(argv[3], "file") == 0) {
    good(stead_map_build_file(argv[2], before, max_move, &after, &error));
  } else {
    size_t length;
    char *text = slurp(argv[2], &length);
    good(stead_map_build(text, length, argv[2], before, max_move, &after,
                         &error));
    free(text);
  }
  const stead_map *made =
      before && stead_map_same(after, before) == 1 ? before : after;
  good(stead_map_save(made, argv[5], &error));
  good(stead_map_digest(made, digest, &error));
  for (size_t i = 0; i < sizeof digest; i++)
    printf("%02x", digest[i]);
  stead_map_free(after);
  stead_map_free(before);
  return 0;
}
