/* Reads blocks of a file by libnfs's asynchronous interface, so many at once, for a time, and
 * prints how many were answered and the processor seconds of this process for them.
 * Arguments: URL FILE_BYTES BLOCK_BYTES IN_FLIGHT SECONDS */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <nfsc/libnfs.h>

static struct nfsfh *file;
static uint64_t blocks, block, random_state = 88172645463325252ull;
static long answered, flying;
static int ending;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double processor(void)
{
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void fail(struct nfs_context *nfs, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static void answer(int got, struct nfs_context *nfs, void *data, void *unused);

static void ask(struct nfs_context *nfs)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	if (nfs_pread_async(nfs, file, random_state % blocks * block, block, answer, NULL))
		fail(nfs, "read");
	flying++;
}

static void answer(int got, struct nfs_context *nfs, void *data, void *unused)
{
	(void)data;
	(void)unused;
	flying--;
	if (got != (int)block)
		fail(nfs, "answer");
	answered++;
	if (!ending)
		ask(nfs);
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		fprintf(stderr, "usage: URL FILE_BYTES BLOCK_BYTES IN_FLIGHT SECONDS\n");
		return 2;
	}
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *url = nfs ? nfs_parse_url_full(nfs, argv[1]) : NULL;
	if (!url)
		fail(nfs, "address");
	block = strtoull(argv[3], NULL, 10);
	blocks = strtoull(argv[2], NULL, 10) / block;
	if (nfs_mount(nfs, url->server, url->path))
		fail(nfs, "mount");
	if (nfs_open(nfs, url->file, O_RDONLY, &file))
		fail(nfs, "open");
	double wait = 0.2, until = now() + wait, spent = 0; /* the first ones do not count */
	int measuring = 0;
	for (int i = atoi(argv[4]); i > 0; i--)
		ask(nfs);
	while (flying > 0) {
		struct pollfd p = {.fd = nfs_get_fd(nfs), .events = nfs_which_events(nfs)};
		if (poll(&p, 1, 1000) < 0 || nfs_service(nfs, p.revents) < 0)
			fail(nfs, "serve");
		if (ending || now() < until)
			continue;
		if (measuring) {
			printf("%ld %f %f\n", answered, processor() - spent, now() - until + atof(argv[5]));
			ending = 1;
		} else {
			measuring = 1;
			answered = 0;
			spent = processor();
			until = now() + atof(argv[5]);
		}
	}
	return 0;
}
