/* A cache in memcached whose servers are chosen by a map: the code that a site
 * writes on top of stead. cache.php, cache.pl and cache.py are the same in
 * their languages.
 *
 * A key may have several nodes, as a hot key with a pin has. Writes and deletes
 * go to all of them, and each read begins at one that is chosen at random.
 *
 * A `struct cache` has a connection to each server, so each thread makes one of
 * its own; libstead shares the map among all of them. While a site changes its
 * clients, or grows, an item may still be in its old place. So a read that
 * finds nothing at the map's nodes takes a second look at the old place, and
 * copies the item that it finds to its new place. Writes and deletes go to all
 * places at which a read may look, so a second look does not find what this
 * program has replaced. If programs in other languages set or delete the same
 * keys, all of them have to write to the old places of all of them: see
 * `rings`.
 *
 * While a carry is open (docs/carry.md), writes and deletes go where the state
 * of the carry says, and reads to the nodes of one map, which have everything.
 * There are no second looks then. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libmemcached/memcached.h>
#include <stead.h>

enum {
  SERVERS = 256,
  MINUTE = 60, /* the lifetime in seconds of a copy that a read makes from
                  another node of the same key */
  MONTH = 30 * 86400, /* beyond so many seconds memcached takes a lifetime for a
                         date, in seconds since 1970 */
};

struct cache {
  const char *path; /* the map file */
  unsigned back; /* the number of previous epochs in which a read looks, too */
  const char *const *rings; /* NULL, or the map files of the rings of all old
                             * clients, and a NULL, if several languages set or
                             * delete the same keys: what is set or deleted is
                             * so at these places, too */
  time_t lifetime; /* of items that are set or copied, in seconds; 0 means for
                      ever. A second look does not know how long an item has
                      lived: the copy begins a new lifetime. To set one item
                      with another lifetime, change this before the call */
  uint64_t copied; /* the number of items that were found at an old place; when
                    * it stays as it is for the lifetime of the items, `back`
                    * can be 0 again */
  unsigned seed;   /* of the choice among several nodes */
  stead_error error; /* why the last call returned CACHE_NO_MAP */
  pid_t process;     /* the one that has opened these */
  size_t servers;    /* how many of them there are */
  struct server {
    char *address;
    memcached_st *client;
  } server[SERVERS];
};

enum cache_answer { CACHE_OK, CACHE_MISS, CACHE_NO_MAP };

/* After a fork, leaves the parent's connections alone: two processes that used
 * one connection would read each other's answers. Nothing is freed, because
 * libmemcached would then tell the servers to hang up. */
static void leave_the_parents(struct cache *cache) {
  if (cache->process != getpid()) {
    cache->process = getpid();
    cache->servers = 0;
  }
}

/* Returns the client of one server. It knows only this server, so it has
 * nothing to choose. NULL when it cannot be made; then the server counts as
 * empty. */
static memcached_st *server(struct cache *cache, const char *address) {
  leave_the_parents(cache);
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
  /* libmemcached would pass over a server for two seconds after it was away,
   * and a write would not be at all nodes of its key */
  memcached_behavior_set(client, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT,
                         (uint64_t)-1);
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

/* The clients of the servers that may have a key, each once: those of its nodes
 * by the map, in their order; while a carry is open, the others to which its
 * state lets hosts write; and those of the places before. One that cannot be
 * made is NULL. Each number is the end of a part. */
struct places {
  size_t present, carried, all;
  memcached_st *client[SERVERS + 1];
};

/* Adds the client of a node. Returns false when the node has no address, and
 * cache->error says so. */
static bool add(struct places *places, struct cache *cache, const char *name,
                const char *address) {
  /* the ring that was adopted has the address as the name */
  if (address == NULL)
    address = name;
  if (strchr(address, ':') == NULL) {
    snprintf(cache->error.message, sizeof cache->error.message,
             "node %s needs an attribute `address` with HOST:PORT", name);
    return false;
  }
  memcached_st *client = server(cache, address);
  size_t seen = 0;
  while (seen < places->all && places->client[seen] != client)
    seen++;
  if (seen == places->all && seen < SERVERS)
    places->client[places->all++] = client;
  return true;
}

/* Adds the places that a key had in an epoch before. A node that the newest map
 * has, too, has its address there, also if it was renamed. Returns what opening
 * or asking the maps has returned, or STEAD_INVALID when a node of today has no
 * address. */
static int32_t add_before(struct places *places, struct cache *cache,
                          uint64_t epoch, int32_t today, const char *key,
                          size_t length) {
  int32_t nodes[SERVERS];
  size_t count;
  stead_pair *pair;
  int32_t status = stead_pair_open_from(
      cache->path, epoch, STEAD_STATE_BOTH_NEW_FIRST, &pair, &cache->error);
  if (status != STEAD_OK)
    return status;
  status = stead_pair_reads(pair, key, length, nodes, SERVERS, &count,
                            &cache->error);
  for (size_t i = 0; status == STEAD_OK && i < count && i < SERVERS; i++) {
    const char *name = stead_pair_node_name(pair, nodes[i]);
    const char *address = stead_pair_node_attribute(pair, nodes[i], "address");
    /* a node that has left and never had an address has no item */
    if (nodes[i] >= today && strchr(address ? address : name, ':') == NULL)
      continue;
    if (!add(places, cache, name, address))
      status = STEAD_INVALID;
  }
  stead_pair_free(pair);
  return status;
}

/* Adds the places of a key by the newest map. `epoch` and `today` become its
 * epoch and the number of its nodes, and `carry` whether one is open. */
static bool add_now(struct places *places, struct cache *cache, const char *key,
                    size_t length, uint64_t *epoch, int32_t *today,
                    bool *carry) {
  int32_t nodes[SERVERS], of_one[SERVERS];
  size_t count = 0, reads = 0;
  stead_pair *pair;
  if (stead_pair_open(cache->path, STEAD_OPEN_SHARED, &pair, &cache->error) !=
      STEAD_OK)
    return false;
  int32_t state = stead_pair_state(pair);
  bool is_old = state == STEAD_STATE_OLD || state == STEAD_STATE_BOTH_OLD_FIRST;
  stead_map *map = stead_pair_new_map(pair), *old = stead_pair_old_map(pair);
  /* the first nodes are those of the map by which hosts read */
  bool done =
      stead_map_locate_all(is_old ? old : map, key, length, of_one, SERVERS,
                           &reads, &cache->error) == STEAD_OK &&
      stead_pair_writes(pair, key, length, nodes, SERVERS, &count,
                        &cache->error) == STEAD_OK;
  places->present = places->all = 0;
  for (size_t i = 0; done && i < count && i < SERVERS; i++) {
    done = add(places, cache, stead_pair_node_name(pair, nodes[i]),
               stead_pair_node_attribute(pair, nodes[i], "address"));
    if (i < reads)
      places->present = places->all;
  }
  places->carried = places->all;
  *epoch = stead_map_epoch(map);
  *today = stead_map_node_count(map);
  *carry = state != STEAD_STATE_NONE;
  stead_map_free(old);
  stead_map_free(map);
  stead_pair_free(pair);
  return done;
}

/* Adds the places of a key by the map of a ring. */
static bool add_of_ring(struct places *places, struct cache *cache,
                        const char *path, const char *key, size_t length) {
  int32_t found[SERVERS];
  size_t count;
  stead_map *map;
  if (stead_map_open(path, STEAD_OPEN_SHARED, &map, &cache->error) != STEAD_OK)
    return false;
  bool done = stead_map_locate_all(map, key, length, found, SERVERS, &count,
                                   &cache->error) == STEAD_OK;
  for (size_t i = 0; done && i < count && i < SERVERS; i++)
    done = add(places, cache, stead_map_node_name(map, found[i]),
               stead_map_node_attribute(map, found[i], "address"));
  stead_map_free(map);
  return done;
}

/* Finds the places of a key, for a write also those of the rings. Returns false
 * when the map, the epoch before it or a ring cannot be asked, and cache->error
 * says why. */
static bool find(struct places *places, struct cache *cache, const char *key,
                 size_t length, bool writing) {
  uint64_t epoch;
  int32_t today;
  bool carry;
  /* opened for each query: that costs one stat, and sees a new epoch
   * immediately */
  bool found = add_now(places, cache, key, length, &epoch, &today, &carry);
  unsigned back = found && !carry ? cache->back : 0;
  for (unsigned i = 0; i < back && found && --epoch > 0; i++) {
    int32_t status = add_before(places, cache, epoch, today, key, length);
    if (status == STEAD_NOT_FOUND && i > 0)
      break; /* stead keeps 32 epochs */
    /* the epoch just before is always kept; its absence means that the history
     * was not copied to this host */
    found = status == STEAD_OK;
  }
  for (const char *const *ring = writing ? cache->rings : NULL;
       found && ring && *ring; ring++)
    found = add_of_ring(places, cache, *ring, key, length);
  return found;
}

/* Asks one server. One that does not answer counts as empty. */
static bool ask(memcached_st *client, const char *key, size_t length,
                char **value, size_t *size, uint32_t *flags) {
  memcached_return_t status = MEMCACHED_FAILURE;
  if (client)
    *value = memcached_get(client, key, length, size, flags, &status);
  if (status != MEMCACHED_SUCCESS)
    return false;
  if (*value == NULL) /* the value is empty */
    *value = calloc(1, 1);
  return true;
}

/* Whether to ask a server once again: when it was started again, the connection
 * of before is lost. */
static bool is_lost(memcached_return_t status) {
  return status != MEMCACHED_SUCCESS && status != MEMCACHED_NOTFOUND &&
         status != MEMCACHED_NOTSTORED && status != MEMCACHED_TIMEOUT;
}

/* Returns what to tell memcached of a lifetime; a date to come stays one. */
static time_t expiry(time_t lifetime) {
  time_t now = time(NULL);
  return lifetime > MONTH && lifetime < now ? now + lifetime : lifetime;
}

/* Reads a key. The value ends with a NUL behind its length; free it. */
enum cache_answer cache_get(struct cache *cache, const char *key, size_t length,
                            char **value, size_t *size) {
  struct places places;
  uint32_t flags;
  if (!find(&places, cache, key, length, false))
    return CACHE_NO_MAP;

  size_t order[SERVERS + 1] = {0};
  if (cache->seed == 0) /* other threads and processes begin elsewhere */
    cache->seed = (unsigned)time(NULL) ^ (unsigned)(uintptr_t)cache;
  for (size_t i = 0; i < places.present; i++) { /* shuffles them */
    size_t other = (size_t)rand_r(&cache->seed) % (i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  for (size_t i = 0; i < places.present; i++) {
    if (!ask(places.client[order[i]], key, length, value, size, &flags))
      continue;
    /* A node is filled only from one before it, and not for long. Otherwise two
     * nodes could keep an item alive between them for ever */
    memcached_st *first = places.client[order[0]];
    if (order[i] < order[0] && first != NULL)
      memcached_add(first, key, length, *value, *size,
                    cache->lifetime && cache->lifetime < MINUTE
                        ? cache->lifetime
                        : MINUTE,
                    flags);
    return CACHE_OK;
  }
  for (size_t i = places.carried; i < places.all; i++) {
    if (!ask(places.client[i], key, length, value, size, &flags))
      continue;
    cache->copied++;
    /* add, not set: another client may have written a newer value meanwhile */
    for (size_t j = 0; j < places.present; j++)
      if (places.client[j])
        memcached_add(places.client[j], key, length, *value, *size,
                      expiry(cache->lifetime), flags);
    return CACHE_OK;
  }
  return CACHE_MISS;
}

/* Sets a key. CACHE_MISS means that not all its nodes stored it. */
enum cache_answer cache_set(struct cache *cache, const char *key, size_t length,
                            const char *value, size_t size) {
  struct places places;
  if (!find(&places, cache, key, length, true))
    return CACHE_NO_MAP;
  size_t stored = 0;
  for (size_t i = 0; i < places.all; i++) {
    memcached_return_t status = MEMCACHED_TIMEOUT;
    for (int turn = 0; places.client[i] && turn < 2; turn++)
      if (turn == 0 || is_lost(status))
        status = memcached_set(places.client[i], key, length, value, size,
                               expiry(cache->lifetime), 0);
    stored += status == MEMCACHED_SUCCESS && i < places.present;
  }
  return stored == places.present ? CACHE_OK : CACHE_MISS;
}

/* Deletes a key. CACHE_MISS means that none of its nodes had it. */
enum cache_answer cache_delete(struct cache *cache, const char *key,
                               size_t length) {
  struct places places;
  if (!find(&places, cache, key, length, true))
    return CACHE_NO_MAP;
  enum cache_answer answer = CACHE_MISS;
  /* the places of second looks first, or a read in between would bring it back
   */
  for (size_t turn = 0; turn < places.all; turn++) {
    size_t i = (places.carried + turn) % places.all;
    memcached_return_t status = MEMCACHED_TIMEOUT;
    for (int again = 0; places.client[i] && again < 2; again++)
      if (again == 0 || is_lost(status))
        status = memcached_delete(places.client[i], key, length, 0);
    if (status == MEMCACHED_SUCCESS && i < places.present)
      answer = CACHE_OK;
  }
  return answer;
}

/* Closes all connections. */
void cache_close(struct cache *cache) {
  leave_the_parents(cache);
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
  const char *rings[16] = {NULL};
  size_t count = 0;
  int next = 1;
  for (; next + 2 < argc && argv[next][0] == '-'; next += 2) {
    if (strcmp(argv[next], "--back") == 0)
      cache.back = (unsigned)atoi(argv[next + 1]);
    else if (strcmp(argv[next], "--lifetime") == 0)
      cache.lifetime = (time_t)atol(argv[next + 1]);
    else if (strcmp(argv[next], "--rings") == 0)
      for (char *ring = strtok(argv[next + 1], ","); ring && count < 15;
           ring = strtok(NULL, ","))
        rings[count++] = ring;
    else
      break;
  }
  if (next + 1 != argc)
    return fprintf(stderr, "usage: cache [--back EPOCHS] [--lifetime SECONDS] "
                           "[--rings MAP,...] MAP\n"),
           2;
  cache.path = argv[next];
  cache.rings = rings;
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
