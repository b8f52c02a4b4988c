// The server that `make bench-rrd` measures its own client with. It answers
// each line as an rrdcached that is content does, looks at nothing else, and
// keeps nothing. The client's time with it is the client's own.
//
//     echo    (prints its address; ends when its standard input is closed)

#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void stop(const char *why) {
  perror(why);
  exit(1);
}

static void answer(int fd, const char *text) {
  if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
    pthread_exit(NULL);
}

// Serves one client, which sends nothing before it has the answer to the last.
static void *serve(void *given) {
  int fd = (int)(intptr_t)given;
  char text[1 << 16];
  bool batch = false;
  char last = 0;
  for (ssize_t got; (got = recv(fd, text, sizeof text, 0)) > 0;) {
    if (!batch && got == 6 && !memcmp(text, "BATCH\n", 6)) {
      batch = true;
      answer(fd, "0 Go ahead.  End with dot '.' on its own line.\n");
    } else if (batch) {
      // no update ends with a dot
      char before = got > 1 ? text[got - 2] : last;
      last = text[got - 1];
      if (before == '.' && last == '\n') {
        batch = false;
        answer(fd, "0 errors\n");
      }
    } else if (text[got - 1] == '\n') {
      answer(fd, "0 errors, enqueued 1 value(s).\n");
    }
  }
  close(fd);
  return NULL;
}

static void *accept_all(void *given) {
  int listener = (int)(intptr_t)given;
  for (;;) {
    int fd = accept(listener, NULL, NULL), on = 1;
    if (fd < 0)
      stop("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
      stop("a thread for a client");
    pthread_detach(thread);
  }
  return NULL;
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 ||
      bind(listener, (struct sockaddr *)&address, sizeof address) ||
      listen(listener, 128) ||
      getsockname(listener, (struct sockaddr *)&address, &length))
    stop("cannot listen on 127.0.0.1");
  printf("127.0.0.1:%d\n", ntohs(address.sin_port));
  fflush(stdout);
  pthread_t thread;
  if (pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener))
    stop("a thread");
  char byte;
  while (read(0, &byte, 1) > 0)
    ;
  return 0;
}
