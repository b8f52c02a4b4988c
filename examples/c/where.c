/* where MAP KEY...: the nodes of each key and their addresses, a line for each
 * node, the primary first. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stead.h>

static int failed(const stead_error *error) {
  fprintf(stderr, "where: %s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  stead_error error;
  stead_map *map;

  if (argc < 2) {
    fprintf(stderr, "usage: where MAP KEY...\n");
    return 2;
  }
  if (stead_map_open(argv[1], STEAD_OPEN_SHARED, &map, &error) != STEAD_OK)
    return failed(&error);

  /* no key lives on more nodes than there are */
  size_t room = (size_t)stead_map_node_count(map);
  int32_t *nodes = malloc(room * sizeof *nodes);
  int end = nodes == NULL;

  for (int i = 2; i < argc && end == 0; i++) {
    size_t count;
    if (stead_map_locate_all(map, argv[i], strlen(argv[i]), nodes, room, &count,
                             &error) != STEAD_OK) {
      end = failed(&error);
      break;
    }
    for (size_t n = 0; n < count; n++) {
      const char *address = stead_map_node_attribute(map, nodes[n], "address");
      printf("%s\t%s\t%s\n", argv[i], stead_map_node_name(map, nodes[n]),
             address ? address : "no address");
    }
  }

  free(nodes);
  stead_map_free(map);
  if (fflush(stdout) != 0) {
    perror("where: standard output");
    end = 1;
  }
  return end;
}
