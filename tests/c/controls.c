// Controls: mistakes that a tool must report. If it does not, its silence about
// the suite means nothing.
//
//     controls leak          a handle is never freed
//     controls beyond        a key is one byte longer than its heap block
//     controls overflow      the program itself writes behind a block
//     controls overflow-int  the program itself overflows a signed number

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stead.h"

static const char fleet[] = "name = \"m\"\nnode = [{name = \"a\"}]";

int main(int argc, char **argv) {
  const char *mode = argc == 2 ? argv[1] : "";
  stead_map *map;
  if (stead_map_build(fleet, strlen(fleet), NULL, NULL, NULL, &map, NULL) !=
      STEAD_OK)
    return 2;
  if (strcmp(mode, "leak") == 0) {
    map = NULL;
  } else if (strcmp(mode, "beyond") == 0) {
    char *key = malloc(24);
    int32_t node;
    memset(key, 'k', 24);
    stead_map_locate(map, key, 25, &node, NULL);
    free(key);
  } else if (strcmp(mode, "overflow") == 0) {
    char *volatile block =
        malloc(24); // volatile: the compiler must not know its length
    block[24] = 1;
    free(block);
  } else if (strcmp(mode, "overflow-int") == 0) {
    volatile int most = INT_MAX;
    printf("%d\n", most + argc);
  } else {
    fprintf(stderr, "usage: controls leak|beyond|overflow|overflow-int\n");
    return 2;
  }
  stead_map_free(map);
  printf("the control ended as if nothing were wrong\n");
  return 0;
}
