/* cache_forks MAP: sets 400 items through the example cache.c and forks four
 * children. Two of them read with the parent's `struct cache`, two with one of
 * their own. Then the parent reads all items. Prints what is not as it was set;
 * nothing when all is well. */

#include <sys/wait.h>
#include <unistd.h>

#define main example
#include "../../examples/adopt/cache.c"
#undef main

enum { ITEMS = 400 };

/* Reads an item, and returns whether it is as it was set. */
static bool right(struct cache *cache, int item) {
  char key[32], *value;
  size_t size, length = (size_t)snprintf(key, sizeof key, "item/%d", item);
  if (cache_get(cache, key, length, &value, &size) != CACHE_OK) {
    printf("%s: miss\n", key);
    return false;
  }
  /* the value of an item is its key */
  bool same = size == length && memcmp(value, key, size) == 0;
  if (!same)
    printf("%s: %s\n", key, value);
  free(value);
  return same;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  struct cache cache = {.path = argv[1]};
  for (int i = 0; i < ITEMS; i++) {
    char key[32];
    size_t length = (size_t)snprintf(key, sizeof key, "item/%d", i);
    if (cache_set(&cache, key, length, key, length) != CACHE_OK)
      return 3;
  }
  for (int n = 0; n < 4; n++) {
    if (fork() != 0)
      continue;
    struct cache fresh = {.path = argv[1]}, *own = n % 2 ? &cache : &fresh;
    srand((unsigned)n);
    for (int i = 0; i < 2000; i++)
      if (!right(own, rand() % ITEMS))
        return 1;
    cache_close(own);
    if (own != &cache)
      cache_close(&cache);
    return 0;
  }
  while (wait(NULL) > 0)
    ;
  for (int i = 0; i < ITEMS; i++)
    right(&cache, i);
  cache_close(&cache);
  return 0;
}
