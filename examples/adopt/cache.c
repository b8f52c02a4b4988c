/* A cache in memcached whose servers are chosen by a map: the code that a site
 * writes on top of stead. cache.php, cache.pl and cache.py are the same in
 * their languages.
 *
 * A `struct cache` has a connection to each server, so each thread makes one of
 * its own; libstead shares the map among all of them. While a site changes its
 * clients, or grows, an item may still be in its old place. So a read that
 * finds nothing at the map's node takes a second look at the old place, and
 * copies the item that it finds to its new place. Writes and deletes go to all
 * places at which a read may look, so a second look never finds an item that is
 * out of date. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmemcached/memcached.h>
#include <stead.h>

enum { SERVERS = 256, PLACES = 32 };

struct cache {
  const char *path; /* the map file */
  unsigned back;    /* the number of previous epochs in which a read looks, too;
                       below PLACES */
  time_t lifetime;  /* of items that are set or copied, in seconds; 0 means for
                       ever. A second look does not know how long an item has
                       lived: the copy begins a new lifetime. To set one item
                       with another lifetime, change this before the call */
  uint64_t
      copied; /* the number of items that a second look found; when it stays as
               * it is for the lifetime of the items, `back` can be 0 again */
  stead_error error; /* why the last call returned CACHE_NO_MAP */
  size_t servers;    /* how many of these are open */
  struct server {
    char *address;
    memcached_st *client;
  } server[SERVERS];
};

enum cache_answer { CACHE_OK, CACHE_MISS, CACHE_NO_MAP };

/* Returns the client of one server. It knows only this server, so it has
 * nothing to choose. NULL when it cannot be made; then the server counts as
 * empty. */
static memcached_st *server(struct cache *cache, const char *address) {
  for (size_t i = 0; i < cache->servers; i++)
    if (strcmp(cache->server[i].address, address) == 0)
      return cache->server[i].client;

  char *name = strdup(address), *port = name ? strrchr(name, ':') : NULL;
  memcached_st *client =
      port && cache->servers < SERVERS ? memcached_create(NULL) : NULL;
  if (client == NULL) {
    free(name);
    return NULL;
  }
  *port = 0;
  memcached_behavior_set(client, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, 5000);
  memcached_behavior_set(client, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
  if (memcached_server_add(client, name, (in_port_t)atoi(port + 1)) !=
      MEMCACHED_SUCCESS) {
    memcached_free(client);
    free(name);
    return NULL;
  }
  *port = ':';
  cache->server[cache->servers++] = (struct server){name, client};
  return client;
}

/* Finds the client of the node that a map gives for a key; NULL when it cannot
 * be made. Returns false when the map has no answer or the node no address, and
 * cache->error says which. */
static bool of(struct cache *cache, const stead_map *map, const char *key,
               size_t length, memcached_st **client) {
  int32_t node;
  if (stead_map_locate(map, key, length, &node, &cache->error) != STEAD_OK)
    return false;
  /* the address may change without moving a key; the ring that was adopted has
   * it as the name */
  const char *name = stead_map_node_name(map, node);
  const char *address = stead_map_node_attribute(map, node, "address");
  if (address == NULL)
    address = name;
  if (strchr(address, ':') == NULL) {
    snprintf(cache->error.message, sizeof cache->error.message,
             "node %s needs an attribute `address` with HOST:PORT", name);
    return false;
  }
  *client = server(cache, address);
  return true;
}

/* Finds the clients of the servers that may have a key: the new place first,
 * then the old ones, each once. Returns how many; 0 when the map, or the epoch
 * before it, cannot be asked, and cache->error says why. */
static size_t places(struct cache *cache, const char *key, size_t length,
                     memcached_st *found[PLACES]) {
  stead_map *map;
  /* opened for each query: that costs one stat, and sees a new epoch
   * immediately */
  if (stead_map_open(cache->path, STEAD_OPEN_SHARED, &map, &cache->error) !=
      STEAD_OK)
    return 0;
  size_t count = of(cache, map, key, length, &found[0]);
  uint64_t epoch = stead_map_epoch(map);
  stead_map_free(map);
  if (count == 0)
    return 0;

  for (unsigned i = 0; i < cache->back && --epoch > 0 && count < PLACES; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s.history/%" PRIu64, cache->path, epoch);
    int32_t status =
        stead_map_open(path, STEAD_OPEN_SHARED, &map, &cache->error);
    if (status == STEAD_NOT_FOUND && i > 0)
      break; /* stead keeps 32 epochs */
    if (status != STEAD_OK)
      return 0; /* the epoch just before is always kept; its absence means that
                 * the history was not copied to this host */
    memcached_st *client;
    bool asked = of(cache, map, key, length, &client);
    stead_map_free(map);
    if (!asked)
      return 0;
    size_t seen = 0;
    while (seen < count && found[seen] != client)
      seen++;
    if (seen == count)
      found[count++] = client;
  }
  return count;
}

/* Reads a key. The value ends with a NUL behind its length; free it. A server
 * that does not answer counts as empty. */
enum cache_answer cache_get(struct cache *cache, const char *key, size_t length,
                            char **value, size_t *size) {
  memcached_st *found[PLACES];
  size_t count = places(cache, key, length, found);
  if (count == 0)
    return CACHE_NO_MAP;
  for (size_t i = 0; i < count; i++) {
    uint32_t flags;
    memcached_return_t status = MEMCACHED_FAILURE;
    if (found[i] == NULL)
      continue;
    *value = memcached_get(found[i], key, length, size, &flags, &status);
    if (status != MEMCACHED_SUCCESS)
      continue;
    if (*value == NULL) /* the value is empty */
      *value = calloc(1, 1);
    if (i > 0) {
      cache->copied++;
      /* add, not set: another client may have written a newer value meanwhile
       */
      if (found[0] != NULL)
        memcached_add(found[0], key, length, *value, *size, cache->lifetime,
                      flags);
    }
    return CACHE_OK;
  }
  return CACHE_MISS;
}

/* Sets a key. CACHE_MISS means that the new place did not store it. */
enum cache_answer cache_set(struct cache *cache, const char *key, size_t length,
                            const char *value, size_t size) {
  memcached_st *found[PLACES];
  size_t count = places(cache, key, length, found);
  enum cache_answer answer = count ? CACHE_MISS : CACHE_NO_MAP;
  for (size_t i = 0; i < count; i++)
    if (found[i] &&
        memcached_set(found[i], key, length, value, size, cache->lifetime, 0) ==
            MEMCACHED_SUCCESS &&
        i == 0)
      answer = CACHE_OK;
  return answer;
}

/* Deletes a key. CACHE_MISS means that the new place did not have it. */
enum cache_answer cache_delete(struct cache *cache, const char *key,
                               size_t length) {
  memcached_st *found[PLACES];
  size_t count = places(cache, key, length, found);
  enum cache_answer answer = count ? CACHE_MISS : CACHE_NO_MAP;
  for (size_t i = 0; i < count; i++)
    if (found[i] &&
        memcached_delete(found[i], key, length, 0) == MEMCACHED_SUCCESS &&
        i == 0)
      answer = CACHE_OK;
  return answer;
}

/* Closes all connections. */
void cache_close(struct cache *cache) {
  while (cache->servers > 0) {
    struct server *last = &cache->server[--cache->servers];
    memcached_free(last->client);
    free(last->address);
  }
}

/* The program answers the commands `get KEY`, `set KEY VALUE`, `delete KEY` and
 * `copied`, one per line. */
int main(int argc, char **argv) {
  static struct cache cache;
  char line[4096];
  if (argc == 4 && strcmp(argv[1], "--back") == 0)
    cache.back = (unsigned)atoi(argv[2]);
  else if (argc != 2)
    return fprintf(stderr, "usage: cache [--back EPOCHS] MAP\n"), 2;
  cache.path = argv[argc - 1];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    char *verb = strtok(line, " "), *key = strtok(NULL, " "),
         *rest = strtok(NULL, ""), *value;
    size_t length = key ? strlen(key) : 0, size;
    enum cache_answer answer = CACHE_OK;
    if (verb && key && strcmp(verb, "get") == 0) {
      answer = cache_get(&cache, key, length, &value, &size);
      if (answer == CACHE_OK) {
        printf("hit %s\n", value);
        free(value);
      } else if (answer == CACHE_MISS)
        puts("miss");
    } else if (verb && key && rest && strcmp(verb, "set") == 0) {
      answer = cache_set(&cache, key, length, rest, strlen(rest));
      if (answer != CACHE_NO_MAP)
        puts(answer == CACHE_OK ? "set" : "not set");
    } else if (verb && key && strcmp(verb, "delete") == 0) {
      answer = cache_delete(&cache, key, length);
      if (answer != CACHE_NO_MAP)
        puts(answer == CACHE_OK ? "deleted" : "not there");
    } else if (verb && strcmp(verb, "copied") == 0) {
      printf("%" PRIu64 "\n", cache.copied);
    } else {
      puts("say get KEY, set KEY VALUE, delete KEY or copied");
    }
    if (answer == CACHE_NO_MAP) {
      fprintf(stderr, "cache: %s\n", cache.error.message);
      cache_close(&cache);
      return 1;
    }
    fflush(stdout);
  }
  cache_close(&cache);
  return 0;
}
