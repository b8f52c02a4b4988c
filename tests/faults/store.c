// The library's save and publish, as the campaign runs them. Each ends with the
// exit code that the program `stead` has for the same end.
//
//   store save FROM TO
//   store publish NEW PREVIOUS MAP
//   store savers TO A B THREADS ROUNDS    threads save A and B by turns
//   store reader TO A B STOP              opens TO until the file STOP is there
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stead.h"

static int code_of(int32_t status, const stead_error *error) {
  if (status != STEAD_OK)
    fprintf(stderr, "store: %s\n", error->message);
  switch (status) {
  case STEAD_OK:
    return 0;
  case STEAD_UNCERTAIN:
    return 76;
  case STEAD_INTERNAL:
    return 70;
  case STEAD_CONFLICT:
    return 75;
  default:
    return 74;
  }
}

static stead_map *opened(const char *path) {
  stead_map *map = NULL;
  stead_error error;
  int32_t status = stead_map_open_uncached(path, &map, &error);
  if (status != STEAD_OK)
    exit(code_of(status, &error));
  return map;
}

struct savers {
  const char *to;
  stead_map *maps[2];
  int rounds;
};

static void *saver(void *argument) {
  const struct savers *all = argument;
  stead_error error;
  for (int i = 0; i < all->rounds; i++) {
    int32_t status = stead_map_save(all->maps[i % 2], all->to, &error);
    if (status != STEAD_OK)
      exit(code_of(status, &error));
  }
  return NULL;
}

static int save_by_threads(char **words) {
  struct savers all = {
      words[2], {opened(words[3]), opened(words[4])}, atoi(words[6])};
  int count = atoi(words[5]);
  pthread_t threads[64];
  for (int i = 0; i < count; i++)
    if (pthread_create(&threads[i], NULL, saver, &all))
      return 74;
  for (int i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
  return 0;
}

// Each reading must give one of the two maps, whole.
static int read_until(char **words) {
  stead_map *maps[2] = {opened(words[3]), opened(words[4])};
  long reads = 0, torn = 0;
  do {
    stead_map *map = NULL;
    stead_error error;
    if (stead_map_open_uncached(words[2], &map, &error) != STEAD_OK ||
        !(stead_map_same(map, maps[0]) || stead_map_same(map, maps[1])))
      torn++;
    stead_map_free(map);
    reads++;
  } while (access(words[5], F_OK) != 0);
  printf("%ld reads, %ld torn\n", reads, torn);
  return torn != 0;
}

int main(int count, char **words) {
  // a limit of the file size is then an error of write, as in the program
  // `stead`
  signal(SIGXFSZ, SIG_IGN);
  stead_error error;
  const char *verb = count > 1 ? words[1] : "";
  if (count == 4 && !strcmp(verb, "save"))
    return code_of(stead_map_save(opened(words[2]), words[3], &error), &error);
  if (count == 5 && !strcmp(verb, "publish"))
    return code_of(stead_map_publish(opened(words[2]), opened(words[3]),
                                     words[4], NULL, &error),
                   &error);
  if (count == 7 && !strcmp(verb, "savers"))
    return save_by_threads(words);
  if (count == 6 && !strcmp(verb, "reader"))
    return read_until(words);
  fprintf(stderr, "store: see the head of store.c\n");
  return 64;
}
