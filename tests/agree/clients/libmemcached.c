// Asks libmemcached where keys live: `libmemcached MODE` or `libmemcached MODE
// version`; clients.py describes input and output.

#include <errno.h>
#include <libmemcached/memcached.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *why) {
  fprintf(stderr, "libmemcached.c: %s\n", why);
  exit(3);
}

static void set(memcached_st *memc, memcached_behavior_t behavior,
                uint64_t value) {
  if (memcached_behavior_set(memc, behavior, value) != MEMCACHED_SUCCESS)
    stop("libmemcached refuses a behaviour");
}

// Returns a line without its line end; NULL after the last.
static char *line(size_t *length) {
  static char *buffer;
  static size_t room;
  ssize_t got = getline(&buffer, &room, stdin);
  if (got < 0)
    return NULL;
  if (got && buffer[got - 1] == '\n')
    buffer[--got] = '\0';
  *length = (size_t)got;
  return buffer;
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (argc > 2) {
    puts(LIBMEMCACHED_VERSION_STRING);
    return 0;
  }
  memcached_st *memc = memcached_create(NULL);
  if (strcmp(mode, "consistent") == 0)
    set(memc, MEMCACHED_BEHAVIOR_DISTRIBUTION,
        MEMCACHED_DISTRIBUTION_CONSISTENT);
  else if (strcmp(mode, "ketama") == 0)
    set(memc, MEMCACHED_BEHAVIOR_KETAMA, 1);
  else if (strcmp(mode, "weighted") == 0)
    set(memc, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  else if (strcmp(mode, "spy") == 0)
    set(memc, MEMCACHED_BEHAVIOR_DISTRIBUTION,
        MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY);
  else if (strcmp(mode, "modula") != 0)
    stop("modes: modula, consistent, ketama, weighted, spy");
  size_t length;
  for (char *server; (server = line(&length)) && length;) {
    char *colon = strrchr(server, ':');
    if (!colon)
      stop("a server has no port");
    *colon = '\0';
    if (memcached_server_add(memc, server, (in_port_t)atoi(colon + 1)) !=
        MEMCACHED_SUCCESS)
      stop("libmemcached refuses a server");
  }
  for (char *key; (key = line(&length));) {
    memcached_return_t status;
    const memcached_instance_st *server =
        memcached_server_by_key(memc, key, length, &status);
    if (!server)
      stop(memcached_strerror(memc, status));
    printf("%s:%d\n", memcached_server_name(server),
           (int)memcached_server_port(server));
  }
  memcached_free(memc);
  return 0;
}
