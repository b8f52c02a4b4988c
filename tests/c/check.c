// The counters of the checks, the poison, and helpers of all parts.

#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long passed, failed;
struct outputs out;
static struct outputs before;
stead_error error;
stead_error *at = &error;
const char *scratch, *maps;
int rounds = 10;

// Which statuses each function returned: run.py compares them with the header.
static struct {
  char name[40];
  unsigned statuses; // bit N for status N
} seen[256];

void saw(const char *call, int32_t status) {
  size_t length = strcspn(call, "(");
  if (strncmp(call, "stead_", 6) != 0 || length >= sizeof seen[0].name ||
      status < 0 || status > 31)
    return;
  size_t i = 0;
  while (i < 255 && seen[i].name[0] != 0 &&
         (strlen(seen[i].name) != length ||
          memcmp(seen[i].name, call, length) != 0))
    i++;
  memcpy(seen[i].name, call, length);
  seen[i].statuses |= 1u << status;
}

void check(int ok, const char *text, const char *file, int line) {
  __atomic_add_fetch(ok ? &passed : &failed, 1, __ATOMIC_RELAXED);
  if (!ok)
    printf("%s:%d: failed: %s\n", file, line, text);
}

void check_number(long long found, long long wanted, const char *text,
                  const char *file, int line) {
  check(found == wanted, text, file, line);
  if (found != wanted)
    printf(
        "    is %lld, should be %lld (0x%llx, 0x%llx); last message: %.247s\n",
        found, wanted, found, wanted,
        (unsigned char)error.message[0] == 0xA5 ? "" : error.message);
}

void check_text(const char *found, const char *wanted, const char *text,
                const char *file, int line) {
  int same = found == NULL || wanted == NULL ? found == wanted
                                             : strcmp(found, wanted) == 0;
  check(same, text, file, line);
  if (!same)
    printf("    is %s, should be %s\n", found ? found : "NULL",
           wanted ? wanted : "NULL");
}

int closing(void) {
  for (size_t i = 0; i < 256 && seen[i].name[0] != 0; i++)
    for (int status = 0; status < 32; status++)
      if (seen[i].statuses >> status & 1)
        printf("saw %s %d\n", seen[i].name, status);
  printf("%ld passed, %ld failed, 0 skipped\n", passed, failed);
  return failed != 0 || passed == 0;
}

void poison(void) {
  memset(&out, 0xA5, sizeof out);
  memset(&error, 0xA5, sizeof error);
  before = out;
  at = &error;
}

void refused_silently(int32_t status, int32_t wanted, const char *text,
                      const char *file, int line) {
  saw(text, status);
  check_number(status, wanted, text, file, line);
  check(memcmp(&out, &before, sizeof out) == 0, "nothing is written on failure",
        file, line);
  check((unsigned char)error.message[0] == 0xA5,
        "a record that was not given is not written", file, line);
}

// Whether the text is one line of UTF-8 without control characters that ends
// within the record.
static int is_message(const char *message, size_t room) {
  const unsigned char *p = (const unsigned char *)message,
                      *end = memchr(message, 0, room);
  if (end == NULL || end == p)
    return 0;
  while (p < end) {
    int more = *p < 0x80             ? 0
               : (*p & 0xE0) == 0xC0 ? 1
               : (*p & 0xF0) == 0xE0 ? 2
               : (*p & 0xF8) == 0xF0 ? 3
                                     : -1;
    if (more < 0 || *p < 0x20 || *p == 0x7F)
      return 0;
    for (p++; more > 0; more--, p++)
      if ((*p & 0xC0) != 0x80)
        return 0;
  }
  return 1;
}

void refused(int32_t status, int32_t wanted, const char *text, const char *file,
             int line) {
  check_number(status, wanted, text, file, line);
  check(memcmp(&out, &before, sizeof out) == 0, "nothing is written on failure",
        file, line);
  check_number(error.status, wanted, "error.status", file, line);
  check(is_message(error.message, sizeof error.message),
        "the message is one line of UTF-8", file, line);
  int of_the_system = wanted == STEAD_IO || wanted == STEAD_NOT_FOUND ||
                      wanted == STEAD_PERMISSION;
  check((error.os_errno != 0) == of_the_system || wanted == STEAD_MEMORY,
        "os_errno is there when the system refused, and 0 otherwise", file,
        line);
}

void given(int32_t status, const char *text, const char *file, int line) {
  saw(text, status);
  check_number(status, STEAD_OK, text, file, line);
  check(error.status == STEAD_OK && error.os_errno == 0 &&
            error.message[0] == 0,
        "success clears the record", file, line);
}

static void cannot(const char *what, const char *name) {
  printf("the test itself cannot %s %s: %s\n0 passed, 1 failed, 0 skipped\n",
         what, name, error.message);
  fflush(stdout);
  _exit(1);
}

const char *in(const char *directory, const char *name) {
  static char kept[8][4096];
  static int next;
  char *path = kept[next++ % 8];
  snprintf(path, sizeof kept[0], "%s/%s", directory, name);
  return path;
}

stead_map *built(const char *fleet, const stead_map *previous) {
  stead_map *map;
  if (stead_map_build(fleet, strlen(fleet), "test.toml", previous, NULL, &map,
                      &error) != STEAD_OK)
    cannot("build", fleet);
  return map;
}

stead_map *opened(const char *path, uint32_t flags) {
  stead_map *map;
  if (stead_map_open(path, flags, &map, &error) != STEAD_OK)
    cannot("open", path);
  return map;
}

void write_file(const char *path, const void *bytes, size_t length) {
  int file = open(path, O_WRONLY | O_CREAT, 0644);
  if (file < 0 || ftruncate(file, (off_t)length) != 0 ||
      write(file, bytes, length) != (ssize_t)length || close(file) != 0)
    cannot("write", path);
}

void save_as(const stead_map *map, const char *path) {
  if (stead_map_save(map, path, &error) != STEAD_OK)
    cannot("save", path);
}

char *fleet_of(int nodes, const char *head) {
  size_t room = strlen(head) + 64 * (size_t)nodes + 1;
  char *text = malloc(room);
  size_t end = (size_t)snprintf(text, room, "%s", head);
  for (int i = 0; i < nodes; i++)
    end += (size_t)snprintf(text + end, room - end,
                            "\n[[node]]\nname = \"n%04d\"\nweight = %d\n", i,
                            1 + i % 7);
  return text;
}

const char *place(const stead_map *map, const char *key) {
  int32_t node = -1;
  stead_map_locate(map, key, strlen(key), &node, NULL);
  return stead_map_node_name(map, node);
}
