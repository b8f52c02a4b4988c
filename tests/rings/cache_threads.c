/* cache_threads MAP PREFIX COUNT THREADS: reads the items PREFIX/0 to
 * PREFIX/COUNT-1 through the example cache.c, in several threads that share
 * nothing but libstead, over and over until the standard input ends. Prints the
 * numbers of reads, of misses and of copied items. It prints a
 * line "round" whenever the items were read as many times as there are
 * threads. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define main example
#include "../../examples/adopt/cache.c"
#undef main

static const char *path, *prefix;
static int items, threads;
static atomic_int rounds, stop;
static atomic_ullong reads, misses, copied;

static void *reader(void *none) {
  struct cache cache = {.path = path, .back = 1};
  do {
    for (int i = 0; i < items; i++) {
      char key[64], *value;
      size_t size;
      int length = snprintf(key, sizeof key, "%s/%d", prefix, i);
      enum cache_answer answer =
          cache_get(&cache, key, (size_t)length, &value, &size);
      if (answer == CACHE_NO_MAP) {
        fprintf(stderr, "cache_threads: %s\n", cache.error.message);
        exit(1);
      }
      /* the value of an item is its key */
      if (answer == CACHE_MISS || size != (size_t)length ||
          memcmp(value, key, size) != 0)
        misses++;
      if (answer == CACHE_OK)
        free(value);
      reads++;
    }
    if (++rounds % threads == 0) {
      puts("round");
      fflush(stdout);
    }
  } while (!stop);
  copied += cache.copied;
  cache_close(&cache);
  return none;
}

int main(int argc, char **argv) {
  pthread_t thread[64];
  char byte;
  if (argc != 5)
    return 2;
  path = argv[1], prefix = argv[2], items = atoi(argv[3]),
  threads = atoi(argv[4]);
  for (int i = 0; i < threads; i++)
    pthread_create(&thread[i], NULL, reader, NULL);
  while (read(0, &byte, 1) == 1)
    ;
  stop = 1;
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  printf("%llu %llu %llu\n", reads, misses, copied);
  return 0;
}
