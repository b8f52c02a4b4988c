/* cache_threads MAP PREFIX COUNT THREADS: reads the items PREFIX/0 to
 * PREFIX/COUNT-1 through the example cache.c, in several threads that share
 * nothing but libstead, over and over until the standard input ends. Prints the
 * numbers of reads, of misses and of copied items. For each byte of the
 * standard input it prints a line "round", when every thread has read all items
 * since. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define main example
#include "../../examples/adopt/cache.c"
#undef main

static const char *path, *prefix;
static int items, threads;
static atomic_int passes[64], stop;
static atomic_ullong reads, misses, copied;

static void *reader(void *own_passes) {
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
    ++*(atomic_int *)own_passes;
  } while (!stop);
  copied += cache.copied;
  cache_close(&cache);
  return NULL;
}

/* Waits until every thread has read all items. */
static void whole_round(void) {
  int before[64];
  for (int i = 0; i < threads; i++)
    before[i] = passes[i];
  /* the pass that a thread is in the middle of does not count */
  for (int i = 0; i < threads; i++)
    while (passes[i] < before[i] + 2)
      usleep(1000);
}

int main(int argc, char **argv) {
  pthread_t thread[64];
  char byte;
  if (argc != 5)
    return 2;
  path = argv[1], prefix = argv[2], items = atoi(argv[3]),
  threads = atoi(argv[4]);
  for (int i = 0; i < threads; i++)
    pthread_create(&thread[i], NULL, reader, &passes[i]);
  while (read(0, &byte, 1) == 1) {
    whole_round();
    puts("round");
    fflush(stdout);
  }
  stop = 1;
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  printf("%llu %llu %llu\n", reads, misses, copied);
  return 0;
}
