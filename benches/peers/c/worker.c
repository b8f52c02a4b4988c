// The C worker of `make bench`: it times libstead and libmemcached on the same
// keys. benches/peers/workers.py describes what it reads and answers.
//
//     worker KEYS     (started by benches/peers/run.py)

#include <libmemcached/memcached.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stead.h>

// The number of nodes that `copies` asks for.
enum { COPIES = 3 };

static char *bytes;       // all keys, end to end
static uint64_t *offsets; // key i begins at offsets[i]
static size_t key_count;
static int32_t *nodes; // room for the answers of a batch

// The candidates: each has an object for its nodes once it is built.
typedef struct candidate {
  const char *name, *hash; // hash: of stead
  bool many;               // one call for all keys
  bool two;                // two nodes of each key
  stead_map *map;
  memcached_st *client;
} candidate;

static candidate candidates[] = {
    {"stead locate md5", "md5", false, false, NULL, NULL},
    {"stead locate xxh3", "xxh3", false, false, NULL, NULL},
    {"stead prefer md5", "md5", false, true, NULL, NULL},
    {"stead prefer xxh3", "xxh3", false, true, NULL, NULL},
    {"stead locate_many md5", "md5", true, false, NULL, NULL},
    {"stead locate_many xxh3", "xxh3", true, false, NULL, NULL},
    {"libmemcached modula", NULL, false, false, NULL, NULL},
    {"libmemcached ketama", NULL, false, false, NULL, NULL},
    {"libmemcached ketama_weighted", NULL, false, false, NULL, NULL},
};

static void stop(const char *why) {
  fprintf(stderr, "worker.c: %s\n", why);
  exit(3);
}

static void *room(size_t size) {
  void *memory = malloc(size ? size : 1);
  if (!memory)
    stop("no memory");
  return memory;
}

// Reads the keys, one in each line.
static void read_keys(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    stop("there is no file of keys");
  size_t length = 0, most = 1 << 20, keys = 0;
  bytes = room(most);
  offsets = room(sizeof *offsets);
  offsets[0] = 0;
  char *line = NULL;
  size_t line_room = 0;
  ssize_t got;
  while ((got = getline(&line, &line_room, file)) >= 0) {
    if (got && line[got - 1] == '\n')
      got--;
    while (length + (size_t)got > most)
      if (!(bytes = realloc(bytes, most *= 2)))
        stop("no memory");
    memcpy(bytes + length, line, (size_t)got);
    length += (size_t)got;
    if ((keys & (keys + 1)) == 0 &&
        !(offsets = realloc(offsets, 2 * (keys + 1) * sizeof *offsets)))
      stop("no memory");
    offsets[++keys] = length;
  }
  free(line);
  fclose(file);
  key_count = keys;
  nodes = room(keys * sizeof *nodes);
}

static uint64_t spent(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// The last state of the file: what follows its last empty line.
static memcached_st *client_of(const candidate *it, const char *states) {
  memcached_st *client = memcached_create(NULL);
  const char *mode = strchr(it->name, ' ') + 1;
  if (strcmp(mode, "ketama") == 0)
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_KETAMA, 1);
  else if (strcmp(mode, "ketama_weighted") == 0)
    memcached_behavior_set(client, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  FILE *file = fopen(states, "r");
  if (!file)
    stop("there is no file of states");
  memcached_server_list_st list = NULL;
  memcached_return_t status = MEMCACHED_SUCCESS;
  char line[256], name[200];
  unsigned weight;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "%199s %u", name, &weight) == 2)
      list = memcached_server_list_append_with_weight(list, name, 11211, weight,
                                                      &status);
    else {
      memcached_server_list_free(list);
      list = NULL;
    }
  fclose(file);
  // all servers at once: libmemcached computes the ring again after each push
  if (status != MEMCACHED_SUCCESS ||
      memcached_server_push(client, list) != MEMCACHED_SUCCESS)
    stop("libmemcached refuses a server");
  memcached_server_list_free(list);
  return client;
}

// Builds a candidate; returns why it cannot be built, or NULL.
static const char *build(candidate *it, const char *states) {
  if (!it->hash) {
    if (it->client)
      memcached_free(it->client);
    it->client = client_of(it, states);
    return NULL;
  }
  static char path[4096];
  static stead_error error;
  stead_map_free(it->map);
  it->map = NULL;
  snprintf(path, sizeof path, "%s.%s.map", states, it->hash);
  return stead_map_open(path, 0, &it->map, &error) == STEAD_OK ? NULL
                                                               : error.message;
}

// Looks keys up, each once.
static void pass(const candidate *it, size_t first, size_t count) {
  if (it->many) {
    if (stead_map_locate_many(it->map, bytes, offsets[first + count],
                              offsets + first, count, nodes, NULL) != STEAD_OK)
      stop("locate_many fails");
  } else if (it->two) {
    for (size_t i = first; i < first + count; i++) {
      int32_t two[2];
      size_t found = 0;
      if (stead_map_prefer(it->map, bytes + offsets[i],
                           offsets[i + 1] - offsets[i], two, 2, &found,
                           NULL) != STEAD_OK)
        stop("prefer fails");
      nodes[i - first] = two[0];
    }
  } else if (it->map) {
    for (size_t i = first; i < first + count; i++)
      if (stead_map_locate(it->map, bytes + offsets[i],
                           offsets[i + 1] - offsets[i], &nodes[i - first],
                           NULL) != STEAD_OK)
        stop("locate fails");
  } else {
    // the quickest question that libmemcached has: a server's number
    for (size_t i = first; i < first + count; i++)
      nodes[i - first] = (int32_t)memcached_generate_hash(
          it->client, bytes + offsets[i], offsets[i + 1] - offsets[i]);
  }
}

// The name of the server of a key, whose number the timed call has found. The
// call with a documented page of its own must give the same name.
static const char *server_of(const candidate *it, size_t key) {
  const char *text = bytes + offsets[key];
  size_t length = offsets[key + 1] - offsets[key];
  const char *found =
      memcached_server_name(memcached_server_instance_by_position(
          it->client, memcached_generate_hash(it->client, text, length)));
  if (key < 1000) {
    memcached_return_t status;
    const memcached_instance_st *server =
        memcached_server_by_key(it->client, text, length, &status);
    if (!server || strcmp(memcached_server_name(server), found) != 0)
      stop("libmemcached's two calls do not agree");
  }
  return found;
}

// Writes the names of the nodes of the first keys.
static void place(const candidate *it, size_t count, FILE *file) {
  if (it->map)
    pass(it, 0, count);
  for (size_t i = 0; i < count; i++)
    fprintf(file, "%s\n",
            it->map ? stead_map_node_name(it->map, nodes[i])
                    : server_of(it, i));
}

// Writes the names of several nodes of the first keys.
static void copies(const candidate *it, size_t count, FILE *file) {
  for (size_t i = 0; i < count; i++) {
    int32_t found[COPIES];
    size_t many = 0;
    if (stead_map_prefer(it->map, bytes + offsets[i],
                         offsets[i + 1] - offsets[i], found, COPIES, &many,
                         NULL) != STEAD_OK)
      stop("prefer fails");
    for (size_t at = 0; at < many; at++)
      fprintf(file, "%s%c", stead_map_node_name(it->map, found[at]),
              at + 1 < many ? ' ' : '\n');
  }
}

static void answer(char *line) {
  char *words[5] = {0};
  size_t count = 0;
  for (char *word = strtok(line, "\t\n"); word && count < 5;
       word = strtok(NULL, "\t\n"))
    words[count++] = word;
  candidate *it = NULL;
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
    if (count > 1 && strcmp(candidates[i].name, words[1]) == 0)
      it = &candidates[i];
  if (!it) {
    printf("no\tno such candidate\n");
  } else if (strcmp(words[0], "version") == 0) {
    printf("ok\t%s\n", it->hash ? "this tree" : LIBMEMCACHED_VERSION_STRING);
  } else if (strcmp(words[0], "build") == 0 && count == 3) {
    uint64_t start = spent();
    const char *why = build(it, words[2]);
    if (why)
      printf("no\t%s\n", why);
    else
      printf("ok\t%llu\n", (unsigned long long)(spent() - start));
  } else if (!it->map && !it->client) {
    printf("no\tnot built\n");
  } else if (strcmp(words[0], "time") == 0 && count == 4) {
    size_t first = strtoul(words[2], NULL, 10),
           keys = strtoul(words[3], NULL, 10);
    if (first > key_count || keys > key_count - first) {
      printf("no\tthere are fewer keys\n");
      return;
    }
    uint64_t start = spent();
    pass(it, first, keys);
    printf("ok\t%llu\n", (unsigned long long)(spent() - start));
  } else if (count == 4) {
    size_t keys = strtoul(words[2], NULL, 10);
    FILE *file = fopen(words[3], "w");
    if (!file || keys > key_count)
      stop("no file for the answers, or fewer keys");
    bool known = true;
    if (strcmp(words[0], "place") == 0)
      place(it, keys, file);
    else if (it->map && strcmp(words[0], "copies") == 0)
      copies(it, keys, file);
    else
      known = false;
    fclose(file);
    puts(known ? "ok" : "no\tno call for it");
  } else {
    printf("no\tan unknown command\n");
  }
}

int main(int argc, char **argv) {
  if (argc != 2)
    stop("usage: worker KEYS");
  read_keys(argv[1]);
  char *line = NULL;
  size_t line_room = 0;
  while (getline(&line, &line_room, stdin) >= 0) {
    answer(line);
    fflush(stdout);
  }
  free(line);
  return 0;
}
