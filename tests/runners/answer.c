// Answers the requests of tests/runners/answers.py through the C library: one
// line in, one line out, with fields separated by tabs.
//
// Keys, texts, paths, names and messages are in hex, lists are joined by
// commas, and points are 16 hex digits. An answer begins with the name of its
// status. After STEAD_OK come the fields on the right; after any other status
// comes the message alone.
//
//     point        HASH SECRET KEY     POINT; an empty SECRET is none
//     map-point    MAP KEY             POINT
//     locate       MAP FOLD KEY        POINT NODE NODES
//     locate-point MAP POINT           NODES
//     locate-many  MAP KEYS            NODES
//     prefer       MAP N KEY           NODES
//     path         LEVELS FOLD KEY     PATH
//     path-name    LEVELS PATH         NAME
//     plan         OLD NEW KEYS        FRACTION REPORT COUNT, then each of
//                                      COUNT moves FIRST,LAST,FROM,TO,CAUSE,
//                                      then for each key the numbers of the
//                                      moves that concern it
//     pair         OLD NEW STATE KEY   READS WRITES MOVED, which is 0 or 1
//     pair-point   OLD NEW STATE POINT the same
//     bytes        BYTES               nothing
//     file         PATH                nothing, in each of three answers:
//                                      opened uncached, opened, and opened with
//                                      STEAD_OPEN_COPY
//     build        NAME FLEET SAVE     nothing; an empty SAVE saves nothing
//     build-file   PATH                nothing
//
// Two commands read no requests. They print the nodes or the points of the keys
// "0", "1", ... up to COUNT - 1:
//
//     answer lines MAP COUNT     one line for each key: names joined by commas
//     answer points MAP COUNT    8 bytes for each key, big-endian
//
// The program also checks promises of the header: a status is the record's, a
// failed call gives no output, and two functions give the same answer.
// When one is broken, it exits with code 3 and a line that says which.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stead.h>

enum { FIELDS = 5, MAPS = 256 };

// Bytes with a length; text also ends in NUL.
typedef struct {
  char *text;
  size_t length;
} bytes;

static void stop(const char *why) {
  fflush(stdout);
  fprintf(stderr, "answer: %s\n", why);
  exit(3);
}

static void *room(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory)
    stop("out of memory");
  return memory;
}

// ---- the notation

static int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : (stop("a request is not in hex"), 0);
}

// Decodes hex in place. The result is shorter, so there is room for a NUL.
static bytes unhex(char *hex) {
  bytes found = {hex, strlen(hex) / 2};
  for (size_t i = 0; i < found.length; i++)
    hex[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  hex[found.length] = '\0';
  return found;
}

// The items of a list. An empty list has one item, which is empty.
static size_t unlist(char *list, bytes **items) {
  size_t count = 1;
  for (char *c = list; *c; c++)
    count += *c == ',';
  *items = room(count, sizeof(bytes));
  for (size_t i = 0; i < count; i++) {
    char *end = strchr(list, ',');
    if (end)
      *end = '\0';
    (*items)[i] = unhex(list);
    list = end ? end + 1 : list;
  }
  return count;
}

static void put_hex(const char *text) {
  for (; *text; text++)
    printf("%02x", (unsigned char)*text);
}

static void put_node(const stead_map *map, int32_t node) {
  const char *name = stead_map_node_name(map, node);
  if (!name)
    stop("a node has no name");
  if (stead_map_node_named(map, name) != node)
    stop("stead_map_node_named disagrees with stead_map_node_name");
  put_hex(name);
}

static void put_nodes(const stead_map *map, const int32_t *nodes,
                      size_t count) {
  putchar('\t');
  for (size_t i = 0; i < count; i++) {
    if (i)
      putchar(',');
    put_node(map, nodes[i]);
  }
}

// ---- calls

// Whether a call succeeded; prints its status and message when it did not.
static int good(int32_t returned, const stead_error *error) {
  const char *name = stead_status_name(returned);
  if (!name || returned != error->status)
    stop("a status is not the record's, or has no name");
  if (returned == STEAD_OK) {
    if (error->message[0] || error->os_errno)
      stop("success left something in the record");
    return 1;
  }
  printf("%s\t", name);
  put_hex(error->message);
  return 0;
}

// The same for a call that makes a map; frees the map.
static int made(int32_t returned, stead_map *map, const stead_error *error) {
  if ((returned == STEAD_OK) != (map != NULL))
    stop("a map without STEAD_OK, or STEAD_OK without a map");
  stead_map_free(map);
  return good(returned, error);
}

// The map of a file, which is opened once and stays open.
static const stead_map *opened(bytes path) {
  static struct {
    char *path;
    stead_map *map;
  } maps[MAPS];
  static size_t count;
  stead_error error;
  for (size_t i = 0; i < count; i++)
    if (strcmp(maps[i].path, path.text) == 0)
      return maps[i].map;
  if (count == MAPS)
    stop("too many maps");
  if (stead_map_open(path.text, STEAD_OPEN_SHARED, &maps[count].map, &error) !=
      STEAD_OK)
    stop(error.message);
  maps[count].path = strcpy(room(path.length + 1, 1), path.text);
  return maps[count++].map;
}

// Finds all nodes of a key, or of a point when the key is NULL. It first asks
// how many there are.
static int nodes_of(const stead_map *map, const bytes *key, uint64_t point,
                    int32_t **nodes, size_t *count, stead_error *error) {
  size_t filled = 0;
  int32_t status =
      key ? stead_map_locate_all(map, key->text, key->length, NULL, 0, count,
                                 error)
          : stead_map_locate_all_point(map, point, NULL, 0, count, error);
  if (!good(status, error))
    return 0;
  *nodes = room(*count, sizeof **nodes);
  status = key ? stead_map_locate_all(map, key->text, key->length, *nodes,
                                      *count, &filled, error)
               : stead_map_locate_all_point(map, point, *nodes, *count, &filled,
                                            error);
  if (status == STEAD_OK && filled != *count)
    stop("two counts of one place differ");
  return good(status, error);
}

static void fold(bytes key, const char *number) {
  stead_error error;
  if (atoi(number) == STEAD_FOLD_ASCII &&
      stead_fold_ascii(key.text, key.length, key.text, &error) != STEAD_OK)
    stop(error.message);
}

// ---- requests

static void answer_point(char **field) {
  stead_error error;
  bytes secret = unhex(field[1]), key = unhex(field[2]);
  uint64_t point;
  if (secret.length != 0 && secret.length != 16)
    stop("a secret has 16 bytes");
  if (good(stead_point(atoi(field[0]), secret.length ? secret.text : NULL,
                       key.text, key.length, &point, &error),
           &error))
    printf("STEAD_OK\t%016" PRIx64, point);
}

static void answer_map_point(char **field) {
  stead_error error;
  const stead_map *map = opened(unhex(field[0]));
  bytes key = unhex(field[1]);
  uint64_t point;
  if (good(stead_map_point(map, key.text, key.length, &point, &error), &error))
    printf("STEAD_OK\t%016" PRIx64, point);
}

static void answer_locate(char **field) {
  stead_error error;
  const stead_map *map = opened(unhex(field[0]));
  bytes key = unhex(field[2]);
  uint64_t point;
  int32_t node, *nodes = NULL;
  size_t count;
  fold(key, field[1]);
  if (good(stead_map_point(map, key.text, key.length, &point, &error),
           &error) &&
      good(stead_map_locate(map, key.text, key.length, &node, &error),
           &error) &&
      nodes_of(map, &key, 0, &nodes, &count, &error)) {
    if (stead_map_node_of(map, key.text, key.length) != node)
      stop("stead_map_node_of disagrees with stead_map_locate");
    printf("STEAD_OK\t%016" PRIx64, point);
    put_nodes(map, &node, 1);
    put_nodes(map, nodes, count);
  }
  free(nodes);
}

static void answer_locate_point(char **field) {
  stead_error error;
  const stead_map *map = opened(unhex(field[0]));
  int32_t *nodes = NULL, primary;
  size_t count;
  uint64_t point = strtoull(field[1], NULL, 16);
  if (nodes_of(map, NULL, point, &nodes, &count, &error)) {
    if (stead_map_locate_point(map, point, &primary, &error) != STEAD_OK ||
        primary != nodes[0])
      stop("stead_map_locate_point is not the first of all");
    printf("STEAD_OK");
    put_nodes(map, nodes, count);
  }
  free(nodes);
}

static void answer_locate_many(char **field) {
  stead_error error;
  const stead_map *map = opened(unhex(field[0]));
  bytes *keys;
  size_t length = 0, count = unlist(field[1], &keys);
  for (size_t i = 0; i < count; i++)
    length += keys[i].length;
  char *joined = room(length, 1);
  uint64_t *offsets = room(count + 1, sizeof *offsets);
  int32_t *nodes = room(count, sizeof *nodes);
  for (size_t i = 0; i < count; i++) {
    memcpy(joined + offsets[i], keys[i].text, keys[i].length);
    offsets[i + 1] = offsets[i] + keys[i].length;
  }
  if (good(stead_map_locate_many(map, joined, length, offsets, count, nodes,
                                 &error),
           &error)) {
    printf("STEAD_OK");
    put_nodes(map, nodes, count);
  }
  free(nodes);
  free(offsets);
  free(joined);
  free(keys);
}

static void answer_prefer(char **field) {
  stead_error error;
  const stead_map *map = opened(unhex(field[0]));
  size_t count, capacity = strtoul(field[1], NULL, 10);
  bytes key = unhex(field[2]);
  int32_t *nodes = room(capacity, sizeof *nodes);
  if (good(stead_map_prefer(map, key.text, key.length, nodes, capacity, &count,
                            &error),
           &error)) {
    if (count > capacity)
      stop("more nodes are preferred than there is room for");
    printf("STEAD_OK");
    put_nodes(map, nodes, count);
  }
  free(nodes);
}

static void answer_path(char **field) {
  stead_error error;
  char path[STEAD_PATH_ROOM];
  bytes levels = unhex(field[0]), key = unhex(field[2]);
  size_t count;
  if (good(stead_path(key.text, key.length, levels.text, atoi(field[1]), path,
                      sizeof path, &count, &error),
           &error)) {
    if (count != strlen(path))
      stop("a path's count is not its length");
    printf("STEAD_OK\t");
    put_hex(path);
  }
}

static void answer_path_name(char **field) {
  stead_error error;
  char name[STEAD_NAME_ROOM];
  bytes levels = unhex(field[0]), path = unhex(field[1]);
  size_t count;
  if (good(stead_path_name(path.text, path.length, levels.text, name,
                           sizeof name, &count, &error),
           &error)) {
    printf("STEAD_OK\t");
    for (size_t i = 0; i < count; i++)
      printf("%02x", (unsigned char)name[i]);
  }
}

// Prints the moves of a plan, and then for each key the numbers of its moves.
// stead_plan_affects_many says the same as the moves of a key.
static void check_rows(const stead_plan *plan, const bytes *key,
                       const size_t *moves, size_t count) {
  const uint64_t offsets[] = {0, key->length};
  stead_affected *rows = room(count, sizeof *rows);
  stead_error error;
  stead_move one;
  size_t found;
  if (stead_plan_affects_many(plan, key->text, key->length, offsets, 1, rows,
                              count, &found, &error) != STEAD_OK)
    stop(error.message);
  if (found != count)
    stop("stead_plan_affects_many has another number of rows");
  for (size_t i = 0; i < count; i++)
    if (stead_plan_move(plan, moves[i], &one, &error) != STEAD_OK ||
        rows[i].key != 0 || rows[i].from != one.from || rows[i].to != one.to)
      stop("stead_plan_affects_many disagrees with stead_plan_affects");
  free(rows);
}

static void put_moves(const stead_plan *plan, const stead_map *old_map,
                      const stead_map *new_map, const bytes *keys,
                      size_t key_count) {
  static const char *causes[] = {[STEAD_CAUSE_PIN] = "pin",
                                 [STEAD_CAUSE_POLICY] = "policy",
                                 [STEAD_CAUSE_REBALANCE] = "rebalance"};
  stead_error error;
  stead_move one;
  size_t count = stead_plan_count(plan), found,
         *indexes = room(count, sizeof *indexes);
  printf("\t%zu", count);
  for (size_t i = 0; i < count; i++) {
    if (stead_plan_move(plan, i, &one, &error) != STEAD_OK)
      stop(error.message);
    if (one.cause < STEAD_CAUSE_PIN || one.cause > STEAD_CAUSE_REBALANCE ||
        one.reserved || one.from < -1 || one.to < -1)
      stop("a move has numbers that are none");
    printf("\t%016" PRIx64 ",%016" PRIx64 ",", one.first, one.last);
    if (one.from != -1)
      put_node(old_map, one.from);
    putchar(',');
    if (one.to != -1)
      put_node(new_map, one.to);
    printf(",%s", causes[one.cause]);
  }
  if (stead_plan_move(plan, count, &one, &error) != STEAD_INVALID)
    stop("there is a move behind the last");
  for (size_t i = 0; i < key_count; i++) {
    if (stead_plan_affects(plan, keys[i].text, keys[i].length, indexes, count,
                           &found, &error) != STEAD_OK)
      stop(error.message);
    check_rows(plan, &keys[i], indexes, found);
    putchar('\t');
    for (size_t j = 0; j < found; j++)
      printf(j ? ",%zu" : "%zu", indexes[j]);
  }
  free(indexes);
}

static void answer_plan(char **field) {
  stead_error error;
  const stead_map *old_map = opened(unhex(field[0])),
                  *new_map = opened(unhex(field[1]));
  stead_plan *plan = NULL;
  char *report = NULL;
  bytes *keys;
  size_t key_count = unlist(field[2], &keys);
  if (good(stead_plan_between(old_map, new_map, &plan, &error), &error) &&
      good(stead_plan_report(plan, 1, &report, &error), &error)) {
    printf("STEAD_OK\t%.17g\t", stead_plan_fraction(plan));
    put_hex(report);
    put_moves(plan, old_map, new_map, keys, key_count);
  }
  stead_text_free(report);
  stead_plan_free(plan);
  free(keys);
}

// Prints the names of the nodes of a pair.
static void put_pair_nodes(const stead_pair *pair, const int32_t *nodes,
                           size_t count) {
  putchar('\t');
  for (size_t i = 0; i < count; i++) {
    const char *name = stead_pair_node_name(pair, nodes[i]);
    if (!name || stead_pair_node_named(pair, name) != nodes[i])
      stop("a node of a pair has no name, or the name another node");
    if (i)
      putchar(',');
    put_hex(name);
  }
}

static void answer_a_pair(char **field, bool by_key) {
  stead_error error;
  stead_pair *pair = NULL;
  const stead_map *old_map = opened(unhex(field[0])),
                  *new_map = opened(unhex(field[1]));
  int32_t state = atoi(field[2]), reads[64], writes[64], moved;
  size_t read, written;
  if (!good(stead_pair_between(old_map, new_map, state, &pair, &error), &error))
    return;
  if (stead_pair_state(pair) != state)
    stop("a pair has another state than it was given");
  if (by_key) {
    bytes key = unhex(field[3]);
    if (stead_pair_reads(pair, key.text, key.length, reads, 64, &read,
                         &error) != STEAD_OK ||
        stead_pair_writes(pair, key.text, key.length, writes, 64, &written,
                          &error) != STEAD_OK)
      stop(error.message);
    moved = stead_pair_moved(pair, key.text, key.length);
  } else {
    uint64_t point = strtoull(field[3], NULL, 16);
    if (stead_pair_reads_point(pair, point, reads, 64, &read, &error) !=
            STEAD_OK ||
        stead_pair_writes_point(pair, point, writes, 64, &written, &error) !=
            STEAD_OK)
      stop(error.message);
    moved = stead_pair_moved_point(pair, point);
  }
  if (read > 64 || written > 64)
    stop("a key has more nodes than the vectors have");
  printf("STEAD_OK");
  put_pair_nodes(pair, reads, read);
  put_pair_nodes(pair, writes, written);
  printf("\t%d", moved);
  stead_pair_free(pair);
}

static void answer_pair(char **field) { answer_a_pair(field, true); }

static void answer_pair_point(char **field) { answer_a_pair(field, false); }

static void answer_bytes(char **field) {
  stead_error error;
  stead_map *map = NULL;
  bytes file = unhex(field[0]);
  int32_t status = stead_map_from_bytes(file.text, file.length, &map, &error);
  if (made(status, map, &error))
    printf("STEAD_OK");
}

static void answer_file(char **field) {
  static const uint32_t flags[] = {STEAD_OPEN_SHARED, STEAD_OPEN_COPY};
  stead_error error;
  bytes path = unhex(field[0]);
  stead_map *uncached = NULL;
  int32_t read = stead_map_open_uncached(path.text, &uncached, &error);
  if (made(read, uncached, &error))
    printf("STEAD_OK\t");
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    stead_map *map = NULL;
    int32_t status = stead_map_open(path.text, flags[i], &map, &error);
    putchar('\t');
    if (made(status, map, &error))
      printf("STEAD_OK\t");
  }
}

static void answer_build(char **field) {
  stead_error error;
  stead_map *map = NULL;
  bytes name = unhex(field[0]), fleet = unhex(field[1]), save = unhex(field[2]);
  int32_t status = stead_map_build(fleet.text, fleet.length, name.text, NULL,
                                   NULL, &map, &error);
  if (status == STEAD_OK && save.length)
    status = stead_map_save(map, save.text, &error);
  if (good(status, &error))
    printf("STEAD_OK");
  else if (map && !save.length)
    stop("a map without STEAD_OK");
  stead_map_free(map);
}

static void answer_build_file(char **field) {
  stead_error error;
  stead_map *map = NULL;
  int32_t status =
      stead_map_build_file(unhex(field[0]).text, NULL, NULL, &map, &error);
  if (made(status, map, &error))
    printf("STEAD_OK");
}

static const struct {
  const char *name;
  int fields;
  void (*answer)(char **field);
} REQUESTS[] = {
    {"point", 3, answer_point},
    {"map-point", 2, answer_map_point},
    {"locate", 3, answer_locate},
    {"locate-point", 2, answer_locate_point},
    {"locate-many", 2, answer_locate_many},
    {"prefer", 3, answer_prefer},
    {"path", 3, answer_path},
    {"path-name", 2, answer_path_name},
    {"plan", 3, answer_plan},
    {"pair", 4, answer_pair},
    {"pair-point", 4, answer_pair_point},
    {"bytes", 1, answer_bytes},
    {"file", 1, answer_file},
    {"build", 3, answer_build},
    {"build-file", 1, answer_build_file},
};

static void answer(char *line) {
  char *field[FIELDS] = {0};
  int count = 0;
  line[strcspn(line, "\n")] = '\0';
  for (char *next = line; next && count < FIELDS; count++) {
    field[count] = next;
    next = strchr(next, '\t');
    if (next)
      *next++ = '\0';
  }
  for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++)
    if (strcmp(REQUESTS[i].name, field[0]) == 0 &&
        REQUESTS[i].fields == count - 1) {
      REQUESTS[i].answer(field + 1);
      putchar('\n');
      return;
    }
  stop("a request that is none");
}

// ---- a million keys

// Returns the keys "0", "1", ... end to end, and the offset of each.
static char *decimals(size_t count, uint64_t *offsets) {
  char *keys = room(count, 20),
       *end = keys; // a number of 64 bits has at most 20 digits
  for (size_t i = 0; i < count; i++) {
    end += sprintf(end, "%zu", i);
    offsets[i + 1] = (uint64_t)(end - keys);
  }
  return keys;
}

static void million(const char *what, const stead_map *map, size_t count) {
  stead_error error;
  uint64_t *offsets = room(count + 1, sizeof *offsets), point;
  char *keys = decimals(count, offsets);
  size_t found, most = (size_t)stead_map_node_count(map);
  int32_t *primaries = room(count, sizeof *primaries),
          *nodes = room(most, sizeof *nodes);
  if (stead_map_locate_many(map, keys, offsets[count], offsets, count,
                            primaries, &error) != STEAD_OK)
    stop(error.message);
  for (size_t i = 0; i < count; i++) {
    const char *key = keys + offsets[i];
    size_t length = offsets[i + 1] - offsets[i];
    if (strcmp(what, "points") == 0) {
      if (stead_map_point(map, key, length, &point, &error) != STEAD_OK)
        stop(error.message);
      for (int shift = 56; shift >= 0; shift -= 8)
        putchar((int)(point >> shift & 0xff));
      continue;
    }
    if (stead_map_locate_all(map, key, length, nodes, most, &found, &error) !=
        STEAD_OK)
      stop(error.message);
    if (found == 0 || found > most || nodes[0] != primaries[i])
      stop("stead_map_locate_many disagrees with stead_map_locate_all");
    for (size_t j = 0; j < found; j++) {
      if (j)
        putchar(',');
      fputs(stead_map_node_name(map, nodes[j]), stdout);
    }
    putchar('\n');
  }
  free(nodes);
  free(primaries);
  free(keys);
  free(offsets);
}

// Reads a line of any length; NULL at the end of the input. The buffer grows,
// and is kept for the next line.
static char *read_line(void) {
  static char *line;
  static size_t capacity = 1 << 16;
  size_t length = 0;
  if (!line)
    line = room(capacity, 1);
  while (fgets(line + length, (int)(capacity - length), stdin)) {
    length += strlen(line + length);
    if (line[length - 1] == '\n')
      return line;
    capacity *= 2;
    line = realloc(line, capacity);
    if (!line)
      stop("out of memory");
  }
  if (length)
    stop("the last line has no end");
  return NULL;
}

int main(int argc, char **argv) {
  if (stead_abi() != STEAD_ABI)
    stop("the library has another ABI than the header");
  if (argc == 4 &&
      (strcmp(argv[1], "lines") == 0 || strcmp(argv[1], "points") == 0)) {
    million(argv[1], opened((bytes){argv[2], strlen(argv[2])}),
            strtoul(argv[3], NULL, 10));
  } else if (argc == 1) {
    for (char *line = read_line(); line; line = read_line())
      answer(line);
  } else {
    stop("usage: answer | answer lines MAP COUNT | answer points MAP COUNT");
  }
  return fflush(stdout) == 0 ? 0 : 3;
}
