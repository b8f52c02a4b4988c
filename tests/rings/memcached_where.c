/* Prints where libmemcached places each key.
 *
 *     memcached-where MODE HASH NAMESPACE-OR-DASH HOST:PORT:WEIGHT... < keys
 *
 * Before each key comes a line with the key's length. The answer is the index
 * of a server on each line. */
#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(memcached_st *memc, memcached_return_t ended,
                  const char *what) {
  if (memcached_failed(ended)) {
    fprintf(stderr, "%s: %s\n", what, memcached_strerror(memc, ended));
    exit(1);
  }
}

#define SET(behavior, value)                                                   \
  check(memc,                                                                  \
        memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_##behavior,            \
                               (uint64_t)(value)),                             \
        #behavior)

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    memcached_hash_t hash;
  } hashes[] = {
      {"one_at_a_time", MEMCACHED_HASH_DEFAULT},
      {"md5", MEMCACHED_HASH_MD5},
      {"crc", MEMCACHED_HASH_CRC},
      {"fnv1_64", MEMCACHED_HASH_FNV1_64},
      {"fnv1a_64", MEMCACHED_HASH_FNV1A_64},
      {"fnv1_32", MEMCACHED_HASH_FNV1_32},
      {"fnv1a_32", MEMCACHED_HASH_FNV1A_32},
  };
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    puts(memcached_lib_version());
    return 0;
  }
  if (argc < 5)
    return 2;
  memcached_st *memc = memcached_create(NULL);
  const char *mode = argv[1], *hash = argv[2], *prefix = argv[3];
  if (!strcmp(mode, "weighted") || !strcmp(mode, "spy"))
    SET(KETAMA_WEIGHTED, 1);
  if (!strcmp(mode, "consistent"))
    SET(DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT);
  if (!strncmp(mode, "spy", 3))
    SET(DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY);
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++)
    if (!strcmp(hash, hashes[i].name))
      SET(HASH, hashes[i].hash);
  if (strcmp(prefix, "-")) {
    check(memc,
          memcached_callback_set(memc, MEMCACHED_CALLBACK_PREFIX_KEY, prefix),
          "namespace");
    SET(HASH_WITH_PREFIX_KEY, 1);
  }
  for (int i = 4; i < argc; i++) {
    char host[256];
    unsigned port, weight;
    if (sscanf(argv[i], "%255[^:]:%u:%u", host, &port, &weight) != 3)
      return 2;
    check(memc,
          memcached_server_add_with_weight(memc, host, (in_port_t)port, weight),
          argv[i]);
  }
  size_t length;
  while (scanf("%zu", &length) == 1) {
    char *key = malloc(length + 1);
    if (getchar() != '\n' || !key || fread(key, 1, length, stdin) != length)
      return 3;
    printf("%u\n", (unsigned)memcached_generate_hash(memc, key, length));
    free(key);
  }
  memcached_free(memc);
  return 0;
}
