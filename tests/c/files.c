// Paths that are not maps: missing, empty, unreadable, a directory, a FIFO,
// damaged; and the errno that the record has for each.

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ODD(T) ((T *)((char *)&out.bytes + 1))

// Every function that opens a map file refuses this path in the same way.
// `system` is the errno, or 0 for any.
static void refuse_map(const char *path, int32_t wanted, int system) {
  for (uint32_t flags = STEAD_OPEN_SHARED; flags <= STEAD_OPEN_COPY; flags++) {
    REFUSES(wanted, stead_map_open(path, flags, &out.map, at));
    CHECK(system == 0 || error.os_errno == system);
  }
  REFUSES(wanted, stead_map_open_uncached(path, &out.map, at));
  CHECK(system == 0 || error.os_errno == system);
}

static void refuse_peek(const char *path, int32_t wanted, int system) {
  REFUSES(wanted, stead_map_peek(path, &out.number, out.digest, at));
  CHECK(system == 0 || error.os_errno == system);
}

static void check_path_arguments(void) {
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_open(NULL, 0, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_open("", 0, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_open(in(maps, "three.map"), 0, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "not aligned",
               stead_map_open(in(maps, "three.map"), 0, ODD(stead_map *), at));
  static const uint32_t flags[] = {2,          3,          4,
                                   0x80000000, UINT32_MAX, UINT32_MAX - 1};
  for (size_t i = 0; i < 6; i++)
    REFUSES_WITH(STEAD_INVALID, "unknown",
                 stead_map_open(in(maps, "three.map"), flags[i], &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_open_uncached(NULL, &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_open_uncached("", &out.map, at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_open_uncached(in(maps, "three.map"), NULL, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_map_open_uncached(in(maps, "three.map"), ODD(stead_map *), at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_peek(NULL, &out.number, out.digest, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_peek("", &out.number, out.digest, at));
  REFUSES_WITH(STEAD_INVALID, "epoch is NULL",
               stead_map_peek(in(maps, "three.map"), NULL, out.digest, at));
  REFUSES_WITH(
      STEAD_INVALID, "not aligned",
      stead_map_peek(in(maps, "three.map"), ODD(uint64_t), out.digest, at));
  stead_map *map = opened(in(maps, "three.map"), 0);
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_save(NULL, in(scratch, "x"), at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL", stead_map_save(map, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty", stead_map_save(map, "", at));
  REFUSES_WITH(STEAD_INVALID, "map is NULL",
               stead_map_publish(NULL, NULL, in(scratch, "x"), NULL, at));
  REFUSES_WITH(STEAD_INVALID, "path is NULL",
               stead_map_publish(map, NULL, NULL, NULL, at));
  REFUSES_WITH(STEAD_INVALID, "path is empty",
               stead_map_publish(map, NULL, "", NULL, at));
  stead_map_free(map);
}

static void check_peek(void) {
  stead_map *map = opened(in(maps, "three.map"), 0);
  uint8_t digest[STEAD_DIGEST_ROOM];
  GIVES(stead_map_digest(map, digest, at));
  GIVES(stead_map_peek(in(maps, "three.map"), &out.number, out.digest, at));
  CHECK(out.number == stead_map_epoch(map) &&
        memcmp(out.digest, digest, sizeof digest) == 0);
  GIVES(stead_map_peek(in(maps, "three.map"), &out.number, NULL, at));
  IS(out.number, stead_map_epoch(map));
  GIVES(stead_map_open_uncached(in(maps, "three.map"), &out.map, at));
  CHECK(out.map != map); // the cache has the other one
  IS(stead_map_same(out.map, map), 1);
  stead_map_free(out.map);
  stead_map_free(map);
}

static void check_no_maps(void) {
  const char *missing = in(scratch, "missing");
  refuse_map(missing, STEAD_NOT_FOUND, ENOENT);
  refuse_peek(missing, STEAD_NOT_FOUND, ENOENT);
  CHECK(strstr(error.message, missing) != NULL);
  refuse_map(in(scratch, "no/such/directory"), STEAD_NOT_FOUND, ENOENT);
  REFUSES(STEAD_NOT_FOUND,
          stead_map_build_file(missing, NULL, NULL, &out.map, at));
  IS(error.os_errno, ENOENT);

  const char *empty = in(scratch, "empty");
  write_file(empty, "", 0);
  refuse_map(empty, STEAD_FORMAT, 0);
  refuse_peek(empty, STEAD_FORMAT, 0);
  REFUSES(STEAD_FLEET, stead_map_build_file(empty, NULL, NULL, &out.map, at));

  refuse_map(scratch, STEAD_FORMAT, 0); // a directory
  REFUSES(STEAD_IO, stead_map_peek(scratch, &out.number, out.digest, at));
  IS(error.os_errno, EISDIR);
  REFUSES(STEAD_IO, stead_map_build_file(scratch, NULL, NULL, &out.map, at));
  IS(error.os_errno, EISDIR);

  const char *fifo = in(scratch, "fifo");
  CHECK(mkfifo(fifo, 0600) == 0);
  alarm(60); // a call that waits for somebody to write would end us
  refuse_map(fifo, STEAD_FORMAT, 0);
  refuse_peek(fifo, STEAD_FORMAT, 0);
  alarm(0);

  refuse_map(in(empty, "below"), STEAD_IO, ENOTDIR);
  const char *loop = in(scratch, "loop");
  CHECK(symlink(loop, loop) == 0);
  refuse_map(loop, STEAD_IO, ELOOP);
  char *longest = malloc(5001);
  memset(longest, 'x', 5000);
  longest[5000] = 0;
  refuse_map(longest, STEAD_IO, ENAMETOOLONG);
  free(longest);
  refuse_map("/dev/null", STEAD_FORMAT, 0);
  // a message is one line of UTF-8, whatever bytes the path has: REFUSES checks
  refuse_map(in(scratch, "two\nlines"), STEAD_NOT_FOUND, ENOENT);
  refuse_map(in(scratch, "\x01\x1B[31m\t\x7F"), STEAD_NOT_FOUND, ENOENT);
  refuse_map(in(scratch, "\xFF\xC3 not UTF-8"), STEAD_NOT_FOUND, ENOENT);
}

// However long the path is, the message keeps the reason, what to do, and the
// name of the file.
static void check_long_paths(void) {
  char long_path[4000], *end = long_path;
  stead_map *map = opened(in(maps, "three.map"), 0);
  end += sprintf(end, "%s", scratch);
  for (int i = 0; i < 10; i++) {
    *end++ = '/';
    memset(end, 'a' + i, 100);
    end[100] = 0;
    end += 100;
    CHECK(mkdir(long_path, 0755) == 0);
  }
  sprintf(end, "/missing.map");
  refuse_map(long_path, STEAD_NOT_FOUND, ENOENT);
  CHECK(strstr(error.message, "/missing.map: No such file") != NULL);
  sprintf(end, "/text.map");
  write_file(long_path, "no map", 6);
  refuse_map(long_path, STEAD_FORMAT, 0);
  CHECK(strstr(error.message, "/text.map: byte ") != NULL &&
        strstr(error.message, "restore") != NULL);
  sprintf(end, "/published.map");
  GIVES(stead_map_publish(map, NULL, long_path, NULL, at));
  REFUSES(STEAD_CONFLICT, stead_map_publish(map, NULL, long_path, NULL, at));
  CHECK(strstr(error.message, "/published.map") != NULL);
  stead_map_free(map);
}

static void check_damaged_files(void) {
  stead_map *map = opened(in(maps, "three.map"), STEAD_OPEN_COPY);
  GIVES(stead_map_bytes(map, &out.bytes, &out.length, at));
  size_t length = out.length;
  char *bytes = malloc(length);
  memcpy(bytes, out.bytes, length);
  const char *path = in(scratch, "damaged");
  write_file(path, bytes, length - 1);
  refuse_map(path, STEAD_FORMAT, 0);
  CHECK(strstr(error.message, path) != NULL);
  bytes[length - 1] ^= 1;
  write_file(in(scratch, "damaged-2"), bytes, length);
  refuse_map(in(scratch, "damaged-2"), STEAD_DIGEST, 0);
  GIVES(stead_map_peek(in(scratch, "damaged-2"), &out.number, NULL,
                       at));        // looks at the header alone
  memcpy(bytes + 8, "\xFF\xFF", 2); // the format version
  write_file(in(scratch, "newer"), bytes, length);
  refuse_map(in(scratch, "newer"), STEAD_VERSION, 0);
  memset(bytes, 'x', length);
  write_file(in(scratch, "damaged-3"), bytes, length);
  refuse_map(in(scratch, "damaged-3"), STEAD_FORMAT, 0);
  refuse_peek(in(scratch, "damaged-3"), STEAD_FORMAT, 0);
  CHECK(strstr(error.message, "not a stead map") != NULL);
  free(bytes);
  stead_map_free(map);
}

// Whether a call is refused for lack of rights. Prints what check.c would note,
// since this runs in a child.
static int denied(const char *call, int32_t status) {
  printf("saw %.*s %d\n", (int)strcspn(call, "("), call, status);
  return status == STEAD_PERMISSION && error.status == status &&
         error.os_errno == EACCES;
}
#define DENIED(call) denied(#call, (call))

// Where the permissions of a file matter. If we are root, this runs in a child
// that is nobody.
static int without_rights(void) {
  const char *path = in(scratch, "secret.map"),
             *closed = in(scratch, "closed/x.map");
  stead_map *map;
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
    return 10;
  if (!DENIED(stead_map_open(path, STEAD_OPEN_SHARED, &out.map, &error)) ||
      !DENIED(stead_map_open(path, STEAD_OPEN_COPY, &out.map, &error)) ||
      !DENIED(stead_map_open_uncached(path, &out.map, &error)))
    return 11;
  if (!DENIED(stead_map_peek(path, &out.number, NULL, &error)))
    return 12;
  if (!DENIED(stead_map_build_file(path, NULL, NULL, &out.map, &error)))
    return 13;
  if (stead_map_open(in(scratch, "open.map"), 0, &map, &error) != STEAD_OK)
    return 14;
  // the file became unreadable, which is not the same as being overwritten
  if (!DENIED(stead_map_open(in(scratch, "was-open.map"), 0, &out.map, &error)))
    return 15;
  if (!DENIED(stead_map_save(map, closed, &error)))
    return 16;
  if (!DENIED(stead_map_publish(map, NULL, closed, NULL, &error)))
    return 17;
  static const char fleet[] = "name = \"m\"\nnode = [{name = \"a\"}]";
  if (!DENIED(stead_map_apply(fleet, sizeof fleet - 1, NULL, path, NULL, NULL,
                              &out.map, &error)) ||
      !DENIED(stead_map_apply_file(in(scratch, "secret.toml"), path, NULL, NULL,
                                   &out.map, &error)))
    return 18;
  if (!DENIED(stead_map_history(path, NULL, 0, &out.count, &error)))
    return 19;
  if (!DENIED(stead_map_open_epoch(path, 1, &out.map, &error)))
    return 20;
  if (!DENIED(stead_map_rollback(path, 1, NULL, NULL, &out.map, &error)))
    return 21;
  stead_map_free(map);
  fflush(stdout);
  return 0;
}

static void check_rights(void) {
  stead_map *map = opened(in(maps, "three.map"), 0);
  save_as(map, in(scratch, "secret.map"));
  write_file(in(scratch, "secret.toml"), "", 0);
  CHECK(chmod(in(scratch, "secret.toml"), 0) == 0);
  save_as(map, in(scratch, "open.map"));
  save_as(map, in(scratch, "was-open.map"));
  stead_map_free(opened(in(scratch, "was-open.map"), 0));
  CHECK(chmod(in(scratch, "secret.map"), 0) == 0 &&
        chmod(in(scratch, "was-open.map"), 0) == 0);
  CHECK(mkdir(in(scratch, "closed"), 0555) == 0 && chmod(scratch, 0755) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    _exit(without_rights());
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  IS(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  stead_map_free(map);
}

static void check_saving(void) {
  stead_map *map = opened(in(maps, "three.map"), 0);
  REFUSES(STEAD_NOT_FOUND, stead_map_save(map, in(scratch, "none/x.map"), at));
  IS(error.os_errno, ENOENT);
  REFUSES(STEAD_NOT_FOUND,
          stead_map_publish(map, NULL, in(scratch, "none/x.map"), NULL, at));
  IS(error.os_errno, ENOENT);
  REFUSES_WITH(STEAD_INVALID, "a directory", stead_map_save(map, scratch, at));
  const char *link = in(scratch, "link.map");
  CHECK(symlink("open.map", link) == 0);
  REFUSES_WITH(STEAD_INVALID, "symbolic link", stead_map_save(map, link, at));
  REFUSES_WITH(STEAD_INVALID, "symbolic link",
               stead_map_publish(map, NULL, link, NULL, at));
  REFUSES(STEAD_IO, stead_map_publish(map, NULL, in(scratch, "open.map/x.map"),
                                      NULL, at));
  IS(error.os_errno, ENOTDIR);
  GIVES(stead_map_save(map, in(scratch, "saved.map"), at));
  REFUSES(STEAD_IO, stead_map_save(map, in(scratch, "saved.map/x"), at));
  IS(error.os_errno, ENOTDIR);
  stead_map *saved = opened(in(scratch, "saved.map"), 0);
  IS(stead_map_same(map, saved), 1);
  stead_map_free(saved);
  stead_map_free(map);
}

void check_files(void) {
  check_path_arguments();
  check_peek();
  check_no_maps();
  check_long_paths();
  check_damaged_files();
  check_rights();
  check_saving();
}
