// The client of `make bench-rrd`: it updates RRD files through an rrdcached, or
// through a router, as fast as they answer or at a given rate.
//
//     load --to ADDRESS [--to ADDRESS] --files LIST --start T --seconds S
//          [--updates N] [--clients N] [--batch N] [--rate R]
//          [--server ADDRESS]... [--copies R]
//
// Each client has files of its own and updates them in turn, each time one
// second later than the last, beginning at T. It sends the next request when it
// has the answer to the last: one update, or a BATCH. With two --to, it sends
// each request to both and waits for both answers. It ends after S seconds, or
// after N updates. Any answer that is not success ends the run with an error.
//
// With --rate, update k is due at k/R seconds after the start; the first client
// without an unanswered request sends it. `late` is the time from then to its
// answer.
//
// With --server, the run goes on until these rrdcacheds have received R times
// as many updates as were answered.
//
// All clients share one thread, so that they take at most one core from the
// servers that are measured. A single client takes two system calls an update.
// The results are one line of JSON.

#define _GNU_SOURCE
#include "connection.h"
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// Bounds of the command line.
enum { MOST_SERVERS = 64, MOST_CLIENTS = 4096, MOST_COPIES = 2 };

typedef struct client {
  connection to[MOST_COPIES];
  int waits;         // connections without their answer
  size_t at;         // its next file
  uint64_t time;     // of its next update
  uint64_t asked_at; // nanoseconds, as all times below
  uint64_t due_at;
  uint64_t updates; // in its request
  char *text;       // its request
  size_t text_length;
} client;

typedef struct times {
  uint64_t *all;
  size_t count, room;
} times;

static const char *to[MOST_COPIES], *servers[MOST_SERVERS];
static size_t to_count, server_count, client_count = 1, batch, copies = 1;
static double seconds, rate;
static uint64_t start_time, updates_wanted = UINT64_MAX;
static char **files; // "update NAME "
static size_t *file_lengths, file_count, longest_file;

static uint64_t asked, answered, requests; // asked and answered: updates
static times latencies, late;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void keep(times *times, uint64_t time) {
  if (times->count == times->room) {
    times->room = times->room ? 2 * times->room : 1 << 16;
    times->all = room(times->all, times->room * sizeof *times->all);
  }
  times->all[times->count++] = time;
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

// Microseconds at a part of the sorted times, in thousandths.
static double micros(const times *times, size_t part) {
  if (!times->count)
    return 0;
  size_t at = times->count * part / 1000;
  return (double)times->all[at < times->count ? at : times->count - 1] / 1e3;
}

static void read_files(const char *path) {
  FILE *list = fopen(path, "r");
  if (!list)
    stop("%s: %s", path, strerror(errno));
  char *line = NULL;
  size_t size = 0, space = 0;
  for (ssize_t length; (length = getline(&line, &size, list)) > 0;) {
    length -= line[length - 1] == '\n';
    if (file_count == space) {
      space = space ? 2 * space : 1024;
      files = room(files, space * sizeof *files);
      file_lengths = room(file_lengths, space * sizeof *file_lengths);
    }
    char *file = room(NULL, (size_t)length + sizeof "update  ");
    sprintf(file, "update %.*s ", (int)length, line);
    files[file_count] = file;
    file_lengths[file_count] = strlen(file);
    if (file_lengths[file_count] > longest_file)
      longest_file = file_lengths[file_count];
    file_count++;
  }
  free(line);
  fclose(list);
}

static char *decimal(char *at, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count)
    *at++ = digits[--count];
  return at;
}

// Writes the request of `client->updates` lines.
static void compose(client *client) {
  char *at = client->text;
  for (uint64_t line = 0; line < client->updates; line++) {
    if (client->at >= file_count) {
      client->at %= client_count;
      client->time++;
    }
    memcpy(at, files[client->at], file_lengths[client->at]);
    at = decimal(at + file_lengths[client->at], client->time);
    *at++ = ':';
    // a value that changes from file to file and from time to time
    at = decimal(at, client->time * 7919 % 9973 + client->at);
    *at++ = '\n';
    client->at += client_count;
  }
  if (batch) {
    *at++ = '.';
    *at++ = '\n';
  }
  client->text_length = (size_t)(at - client->text);
}

// Sends a client's next request. While a server answers the word BATCH, the
// client writes the lines.
static void ask(client *client, uint64_t time, uint64_t due) {
  client->asked_at = time;
  client->due_at = due;
  client->updates = batch ? batch : 1;
  if (client->updates > updates_wanted - asked)
    client->updates = updates_wanted - asked;
  asked += client->updates;
  client->waits = (int)to_count;
  if (!batch)
    compose(client);
  for (size_t copy = 0; copy < to_count; copy++) {
    connection *connection = &client->to[copy];
    connection->waits_for = batch ? GO_AHEAD : ENQUEUED;
    if (batch)
      send_all(connection, "BATCH\n", 6);
    else
      send_all(connection, client->text, client->text_length);
  }
  if (batch)
    compose(client);
}

// Receives on a connection; returns whether its client then has all answers.
static bool hear(client *client, connection *from) {
  if (!receive(from, sizeof from->text - 1))
    return false;
  from->text[from->length] = 0;
  if (from->waits_for == NOTHING ||
      strcmp(from->text, answers[from->waits_for])) {
    for (char *at = from->text; (at = strchr(at, '\n'));)
      *at = ' ';
    stop("%s: not the answer of success: %s", from->address, from->text);
  }
  from->length = 0;
  if (from->waits_for == GO_AHEAD) {
    from->waits_for = NO_ERRORS;
    send_all(from, client->text, client->text_length);
    return false;
  }
  from->waits_for = NOTHING;
  return --client->waits == 0;
}

static void note(const client *client, uint64_t time) {
  answered += client->updates;
  requests++;
  keep(&latencies, time - client->asked_at);
  if (rate > 0)
    keep(&late, time - client->due_at);
}

// A single client needs no epoll: it waits for the answer of one connection
// after the other.
static void run_alone(client *client, uint64_t until) {
  for (uint64_t time = now(); time < until && asked < updates_wanted;) {
    ask(client, time, time);
    for (size_t copy = 0; copy < to_count; copy++)
      while (client->to[copy].waits_for != NOTHING)
        hear(client, &client->to[copy]);
    time = now();
    note(client, time);
  }
}

// When update `number` is due.
static uint64_t due(uint64_t start, uint64_t number) {
  return start + (uint64_t)((double)number * 1e9 / rate);
}

static void run_many(client *clients, uint64_t start, uint64_t until) {
  int poll = epoll_create1(0);
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  if (poll < 0 || timer < 0)
    stop("cannot wait for events: %s", strerror(errno));
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
  epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
  client **idle = room(NULL, client_count * sizeof *idle);
  size_t idle_count = 0;
  for (size_t at = 0; at < client_count; at++) {
    idle[idle_count++] = &clients[client_count - 1 - at];
    for (size_t copy = 0; copy < to_count; copy++) {
      event.data.u64 = at * MOST_COPIES + copy;
      if (epoll_ctl(poll, EPOLL_CTL_ADD, clients[at].to[copy].fd, &event))
        stop("cannot wait for an answer: %s", strerror(errno));
    }
  }
  for (uint64_t time = start, number = 0;;) {
    while (idle_count && asked < updates_wanted) {
      uint64_t at = rate > 0 ? due(start, number) : time;
      if (at > time || (rate > 0 ? at : time) >= until)
        break;
      ask(idle[--idle_count], time, at);
      number++;
    }
    bool more = asked < updates_wanted &&
                (rate > 0 ? due(start, number) : time) < until;
    if (idle_count == client_count && !more)
      break;
    if (idle_count && more) {
      uint64_t at = due(start, number);
      struct itimerspec when = {
          .it_value = {(time_t)(at / 1000000000), (long)(at % 1000000000)}};
      timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
    }
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, -1);
    if (count < 0 && errno != EINTR)
      stop("cannot wait for an answer: %s", strerror(errno));
    for (int at = 0; at < count; at++) {
      uint64_t which = events[at].data.u64;
      if (which == UINT64_MAX) {
        uint64_t times;
        if (read(timer, &times, sizeof times) < 0 && errno != EAGAIN)
          stop("cannot read a timer: %s", strerror(errno));
        continue;
      }
      client *client = &clients[which / MOST_COPIES];
      if (!hear(client, &client->to[which % MOST_COPIES]))
        continue;
      time = now();
      note(client, time);
      if (rate == 0 && time < until && asked < updates_wanted)
        ask(client, time, time);
      else
        idle[idle_count++] = client;
    }
    time = now();
  }
  free(idle);
  close(timer);
  close(poll);
}

// The updates that the servers have received since they started.
static uint64_t received(connection *connections) {
  uint64_t total = 0;
  for (size_t at = 0; at < server_count; at++) {
    connection *server = &connections[at];
    send_all(server, "STATS\n", 6);
    server->length = 0;
    size_t lines = SIZE_MAX, seen = 0;
    while (seen != lines) {
      receive(server, sizeof server->text - 1);
      server->text[server->length] = 0;
      seen = 0;
      for (const char *end = server->text; (end = strchr(end, '\n')); end++)
        seen++;
      if (seen) // the first line begins with the number of those after it
        lines = strtoul(server->text, NULL, 10) + 1;
    }
    const char *count = strstr(server->text, "UpdatesReceived: ");
    if (!count)
      stop("%s: STATS without UpdatesReceived: %s", server->address,
           server->text);
    total += strtoull(count + strlen("UpdatesReceived: "), NULL, 10);
  }
  return total;
}

// Waits until the servers have received this many updates; returns how many
// they lacked at first.
static uint64_t deliver(connection *connections, uint64_t wanted) {
  // generous, because the machine may be very busy; nothing is measured by it
  const uint64_t limit = 120 * (uint64_t)1000000000;
  uint64_t have = received(connections), most = have, progress = now();
  uint64_t lacked = have < wanted ? wanted - have : 0;
  while (have < wanted) {
    // half a millisecond: each question takes the servers some microseconds
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    have = received(connections);
    if (have > most) {
      most = have;
      progress = now();
    } else if (now() - progress > limit) {
      stop("%llu updates were answered, and the servers got only %llu",
           (unsigned long long)wanted, (unsigned long long)have);
    }
  }
  if (have > wanted)
    stop("%llu updates were answered, and the servers got %llu",
         (unsigned long long)wanted, (unsigned long long)have);
  return lacked;
}

static double in_seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double number(const char *name, const char *text, double least) {
  char *end;
  double value = strtod(text, &end);
  if (!*text || *end || !(value >= least) || value > 1e15)
    stop("--%s %s: give a number that is at least %g", name, text, least);
  return value;
}

static void command_line(int count, char **words) {
  static const struct option options[] = {{"to", 1, 0, 't'},
                                          {"files", 1, 0, 'f'},
                                          {"start", 1, 0, 's'},
                                          {"seconds", 1, 0, 'S'},
                                          {"updates", 1, 0, 'u'},
                                          {"clients", 1, 0, 'c'},
                                          {"batch", 1, 0, 'b'},
                                          {"rate", 1, 0, 'r'},
                                          {"server", 1, 0, 'v'},
                                          {"copies", 1, 0, 'R'},
                                          {0, 0, 0, 0}};
  int at;
  for (int which;
       (which = getopt_long(count, words, "", options, &at)) != -1;) {
    if (which == '?')
      exit(64);
    const char *name = options[at].name;
    if (which == 't') {
      if (to_count == MOST_COPIES)
        stop("--to: at most %d", MOST_COPIES);
      to[to_count++] = optarg;
    } else if (which == 'v') {
      if (server_count == MOST_SERVERS)
        stop("--server: at most %d", MOST_SERVERS);
      servers[server_count++] = optarg;
    } else if (which == 'f')
      read_files(optarg);
    else if (which == 's')
      start_time = (uint64_t)number(name, optarg, 1);
    else if (which == 'S')
      seconds = number(name, optarg, 0.001);
    else if (which == 'u')
      updates_wanted = (uint64_t)number(name, optarg, 1);
    else if (which == 'c')
      client_count = (size_t)number(name, optarg, 1);
    else if (which == 'b')
      batch = (size_t)number(name, optarg, 1);
    else if (which == 'r')
      rate = number(name, optarg, 0.001);
    else
      copies = (size_t)number(name, optarg, 1);
  }
  if (optind != count)
    stop("%s: not an option", words[optind]);
  if (!to_count || !start_time || !seconds)
    stop("give --to, --files, --start and --seconds");
  if (client_count > MOST_CLIENTS)
    stop("--clients: at most %d", MOST_CLIENTS);
  if (file_count < client_count)
    stop("%zu clients cannot share %zu files; give each at least one",
         client_count, file_count);
  if (batch && rate > 0)
    stop("--rate: give no --batch with it");
}

int main(int count, char **words) {
  command_line(count, words);
  prctl(PR_SET_TIMERSLACK, 1); // else the timer of --rate is late by 50 us
  client *clients = room(NULL, client_count * sizeof *clients);
  for (size_t at = 0; at < client_count; at++) {
    // a line has two numbers of at most 20 digits, a colon and an end
    size_t space = (batch ? batch : 1) * (longest_file + 42) + 2;
    clients[at] =
        (client){.at = at, .time = start_time, .text = room(NULL, space)};
    for (size_t copy = 0; copy < to_count; copy++)
      clients[at].to[copy] =
          (connection){.fd = connected(to[copy]), .address = to[copy]};
  }
  connection *behind = room(NULL, (server_count + 1) * sizeof *behind);
  for (size_t at = 0; at < server_count; at++)
    behind[at] =
        (connection){.fd = connected(servers[at]), .address = servers[at]};
  struct rusage used_before, used;
  uint64_t before = received(behind);
  getrusage(RUSAGE_SELF, &used_before);
  uint64_t start = now();
  uint64_t until = start + (uint64_t)(seconds * 1e9);
  if (client_count == 1 && rate == 0)
    run_alone(clients, until);
  else
    run_many(clients, start, until);
  uint64_t end = now();
  getrusage(RUSAGE_SELF, &used);
  double user = in_seconds(used.ru_utime) - in_seconds(used_before.ru_utime);
  double kernel = in_seconds(used.ru_stime) - in_seconds(used_before.ru_stime);
  uint64_t lacked = 0, delivered = end;
  if (server_count) {
    lacked = deliver(behind, before + answered * copies);
    delivered = now();
  }
  uint64_t newest = start_time;
  for (size_t at = 0; at < client_count; at++)
    if (clients[at].time > newest)
      newest = clients[at].time;
  qsort(latencies.all, latencies.count, sizeof *latencies.all, by_size);
  qsort(late.all, late.count, sizeof *late.all, by_size);
  printf("{\"updates\": %llu, \"requests\": %llu, \"seconds\": %.6f, "
         "\"delivered_seconds\": %.6f, \"lacked\": %llu, \"newest\": %llu, "
         "\"client_cpu\": %.6f, \"client_user\": %.6f, \"p50_us\": %.1f, "
         "\"p99_us\": %.1f, "
         "\"max_us\": %.1f",
         (unsigned long long)answered, (unsigned long long)requests,
         (double)(end - start) / 1e9, (double)(delivered - start) / 1e9,
         (unsigned long long)lacked, (unsigned long long)newest, user + kernel,
         user, micros(&latencies, 500), micros(&latencies, 990),
         micros(&latencies, 1000));
  if (rate > 0)
    printf(", \"late_p50_us\": %.1f, \"late_p99_us\": %.1f, "
           "\"late_max_us\": %.1f",
           micros(&late, 500), micros(&late, 990), micros(&late, 1000));
  puts("}");
  return 0;
}
