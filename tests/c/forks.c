// Forking while threads work: a child uses its parent's handles, opens maps,
// and never waits for a thread that does not exist in it.
//
//     forks MODE SCRATCH ROUNDS
//
// hammer   threads open and close maps; children locate keys and open maps
// first    each process opens its first map in its threads while it forks
// names    threads ask a new handle for its first string while the process
//          forks
// publish  a thread publishes; long-lived children do not keep its lock
// control  as hammer, with a mutex of the test that is held across the fork:
//          this hangs, and the hang must be noticed
//
// SIGALRM kills a child that hangs. That counts as a failure; in control mode
// it counts as success. Under AddressSanitizer, the child is forked again: some
// versions (gcc 12's) do not hold the locks of their own allocator across a
// fork, so a child of threads that allocate hangs in malloc now and then.

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

enum { THREADS = 8 };
#ifdef SANITIZED
enum { PATIENCE = 5, TRIES = 8 };
#else
enum { PATIENCE = 20, TRIES = 1 };
#endif

static int stop;          // tells the threads to stop
static stead_map *handle; // the handle that parent and children use
static char first[4096], second[4096];
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

static void start(pthread_t *threads, void *(*body)(void *)) {
  __atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
}

static void end(pthread_t *threads) {
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

// Forks a child that runs `body` and exits with its result. The child is killed
// if it takes longer than `patience` seconds.
static pid_t child(int (*body)(void), unsigned patience) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(patience);
    _exit(body());
  }
  CHECK(pid > 0);
  return pid;
}

// Returns 0 if the child did what it should, and -SIGALRM if it hung.
static int end_of(pid_t pid) {
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Runs `body` in a child. Returns what it returned, or -SIGALRM if the child,
// and each that replaced it, hung.
static int in_child(int (*body)(void)) {
  int result = -SIGALRM;
  for (int i = 0; i < TRIES && result == -SIGALRM; i++)
    result = end_of(child(body, PATIENCE));
  return result;
}

static int opens(const char *path) {
  stead_map *map = NULL;
  if (stead_map_open(path, STEAD_OPEN_SHARED, &map, NULL) != STEAD_OK)
    return 0;
  int good = place(map, "frank") != NULL;
  stead_map_free(map);
  return good;
}

static int look_up_and_open(void) {
  if (place(handle, "frank") == NULL || stead_map_epoch(handle) != 1)
    return 2;
  return opens(first) && opens(second) ? 0 : 3;
}

static void *open_and_close(void *nothing) {
  (void)nothing;
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
    if (!opens(first) || !opens(second))
      CHECK(!"a thread could not open");
  return NULL;
}

static void hammer(void) {
  pthread_t threads[THREADS];
  int forks = rounds > 1 ? 200 : 20;
  start(threads, open_and_close);
  for (int i = 0; i < forks; i++)
    IS(in_child(look_up_and_open), 0);
  end(threads);
}

static int lock_own(void) {
  pthread_mutex_lock(&own);
  return look_up_and_open();
}

static void *hold_own(void *nothing) {
  (void)nothing;
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    pthread_mutex_lock(&own);
    usleep(1000);
    pthread_mutex_unlock(&own);
  }
  return NULL;
}

static void control(void) {
  pthread_t threads[THREADS];
  int hangs = 0;
  start(threads, hold_own);
  usleep(20000);
  // on a busy machine the lock may be free at several forks
  for (int i = 0; i < 200 && hangs == 0; i++)
    hangs += end_of(child(lock_own, 1)) == -SIGALRM;
  end(threads);
  CHECK(hangs > 0);
}

static pthread_barrier_t together;

static void *open_first(void *nothing) {
  (void)nothing;
  pthread_barrier_wait(&together);
  if (!opens(first))
    CHECK(!"a thread could not open");
  return NULL;
}

static int open_it(void) { return opens(first) && opens(second) ? 0 : 3; }

static unsigned delay;

// Each case needs a process of its own, since only one open is the first.
static int first_open(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&together, NULL, THREADS + 1);
  start(threads, open_first);
  pthread_barrier_wait(&together);
  for (volatile unsigned spin = 0; spin < delay; spin++) {
  }
  int result = in_child(open_it);
  end(threads);
  return result == -SIGALRM ? 99 : result;
}

static void first_opens(void) {
  int processes = rounds > 1 ? 400 : 20;
  for (int i = 0; i < processes; i++) {
    delay = (unsigned)i * 97 % 20000;
    IS(end_of(child(first_open, 2 * PATIENCE)), 0);
  }
}

static void *ask_name(void *nothing) {
  (void)nothing;
  stead_map *last = NULL, *now;
  int problems = 0;
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    now = __atomic_load_n(&handle, __ATOMIC_SEQ_CST);
    if (now != last && now != NULL)
      problems += strcmp(stead_map_node_name(now, 0), "n0000") != 0;
    last = now;
  }
  CHECK(problems == 0);
  return NULL;
}

static int name_it(void) {
  return strcmp(stead_map_node_name(handle, 1), "n0001") != 0;
}

static void names(void) {
  enum { FORKS = 60 };
  stead_map *all[FORKS];
  pthread_t threads[THREADS];
  char *fleet = fleet_of(rounds > 1 ? 3000 : 100, "name = \"m\"\n");
  stead_map *large = built(fleet, NULL);
  free(fleet);
  const void *bytes;
  size_t length;
  CHECK(stead_map_bytes(large, &bytes, &length, &error) == STEAD_OK);
  int forks = rounds > 1 ? FORKS : 6;
  for (int i = 0; i < forks; i++) // nobody has asked these for a string
    CHECK(stead_map_from_bytes(bytes, length, &all[i], &error) == STEAD_OK);
  handle = NULL;
  start(threads, ask_name);
  for (int i = 0; i < forks; i++) {
    __atomic_store_n(&handle, all[i], __ATOMIC_SEQ_CST);
    for (volatile int spin = 0; spin < i * 200; spin++) {
    }
    IS(in_child(name_it), 0);
  }
  end(threads);
  for (int i = 0; i < forks; i++)
    stead_map_free(all[i]);
  stead_map_free(large);
}

static char published[4096];
static int conflicts, epochs;

static void *publish(void *nothing) {
  (void)nothing;
  stead_map *now = opened(published, 0);
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    stead_map *next =
        built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}]", now);
    int32_t status = stead_map_publish(next, now, published, NULL, &error);
    conflicts += status == STEAD_CONFLICT;
    __atomic_add_fetch(&epochs, 1, __ATOMIC_SEQ_CST);
    if (status == STEAD_OK) {
      stead_map_free(now);
      now = next;
    } else {
      stead_map_free(next);
    }
  }
  stead_map_free(now);
  return NULL;
}

static int live_on(void) {
  sleep(600); // its parent kills it long before
  return 1;
}

static void publishing(void) {
  pthread_t thread;
  pid_t children[40];
  stead_map *map = built("name = \"m\"\nnode = [{name = \"a\"}]", NULL);
  snprintf(published, sizeof published, "%s/published.map", scratch);
  CHECK(stead_map_publish(map, NULL, published, NULL, &error) == STEAD_OK);
  stead_map_free(map);
  stop = 0;
  CHECK(pthread_create(&thread, NULL, publish, NULL) == 0);
  for (int i = 0; i < 40; i++) {
    usleep(1000 + (unsigned)i * 137 % 3000);
    children[i] = child(live_on, 600);
  }
  // on a busy machine the other thread may have published nothing yet
  for (int i = 0; i < 6000 && __atomic_load_n(&epochs, __ATOMIC_SEQ_CST) <= 5;
       i++)
    usleep(20000);
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(epochs > 5);
  IS(conflicts, 0);
  for (int i = 0; i < 40; i++) {
    CHECK(kill(children[i], SIGKILL) == 0);
    IS(end_of(children[i]), -SIGKILL);
  }
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fprintf(stderr, "usage: forks MODE SCRATCH ROUNDS\n"), 2;
  const char *mode = argv[1];
  scratch = argv[2];
  rounds = atoi(argv[3]);
  snprintf(first, sizeof first, "%s/first.map", scratch);
  snprintf(second, sizeof second, "%s/second.map", scratch);
  // a process that has not opened anything yet: building and saving do not use
  // the cache
  handle = built("name = \"m\"\nnode = [{name = \"a\"}, {name = \"b\"}]", NULL);
  stead_map *mine = handle;
  save_as(handle, first);
  save_as(handle, second);
  if (strcmp(mode, "hammer") == 0)
    hammer();
  else if (strcmp(mode, "first") == 0)
    first_opens();
  else if (strcmp(mode, "names") == 0)
    names();
  else if (strcmp(mode, "publish") == 0)
    publishing();
  else if (strcmp(mode, "control") == 0)
    control();
  else
    return fprintf(stderr, "forks: no mode %s\n", mode), 2;
  stead_map_free(mine);
  return closing();
}
