# SPDX-License-Identifier: BSD-3-Clause
"""Ways in which libc writes for a C program: each function returns one statement."""

from __future__ import annotations

import random
from collections.abc import Callable

from completeness_c import place


def string(rng: random.Random) -> str:
    text = "".join(rng.choices("abcdefgh", k=rng.randrange(1, 60)))
    target = place(rng, 400)
    return rng.choice(
        [
            f'strcpy((char *){target}, "{text}");',
            f'strncpy((char *){target}, "{text}", {rng.randrange(1, 100)});',
            f'{{ {target}[0] = 0; strcat((char *){target}, "{text}"); strncat((char *){target}, "{text}", 5); }}',
            f'snprintf((char *){target}, {rng.randrange(1, 90)}, "%lu {text}", (unsigned long)r);',
            f'sprintf((char *){target}, "{text}%d", (int)r);',
            f'{{ int *n = (int *){place(rng, 8, 4)}; sprintf((char *){target}, "{text}%g%s%n", 1.5, "x", n); }}',
            f'{{ wchar_t b[99]; swprintf(b, 99, L"%d\\u00e9%ls%hhn", (int)r, L"x", (signed char *){place(rng, 1)}); }}',
            f'{{ FILE *f = fopen("/dev/null", "w"); fwprintf(f, L"{text * 6}%g%n", 1.5, (int *){place(rng, 4, 4)});'
            " fclose(f); }",
            f'{{ FILE *f = stderr; stderr = fopen("/dev/null", "w"); warnx("{text}%n", (int *){place(rng, 4, 4)});'
            f' warn("%d%ln", (int)r, (long *){place(rng, 8, 8)});'
            f' error(0, 0, "%d%hn", (int)r, (short *){place(rng, 2, 2)});'
            f' error_at_line(0, 0, "file", 1, "%s%n", "{text}", (int *){place(rng, 4, 4)});'
            " fclose(stderr); stderr = f; }",
            f'syslog(LOG_DEBUG, "{text}%n", (int *){place(rng, 4, 4)});',
            f'{{ char b[99]; snprintf(b, 99, "%d%ln%c", (int)r, (long *){place(rng, 8, 8)}, 65); }}',
            f'{{ char *(*volatile f)(char *, const char *) = stpcpy; f((char *){target}, "{text}"); }}',
            f'{{ char *p = strcpy((char *){target}, "{text},b;c"); strtok(p, ",;"); commit_here();'
            ' strtok(NULL, ",;"); }',
            f'{{ char **p = (char **){place(rng, 8, 8)}; *p = strcpy((char *){target}, "{text};c"); commit_here();'
            ' if (!strsep(p, ";")) exit(3); }',
            f'strxfrm((char *){target}, "{text}", 50); swab("{text}", {target} + 100, 1); memfrob({target}, 9);',
            f'wcscpy((wchar_t *){place(rng, 400, 4)}, L"{text}"); wmemset((wchar_t *){place(rng, 400, 4)}, 65, 20);',
            f'mbstowcs((wchar_t *){place(rng, 400, 4)}, "{text}", 70);',
            f'swprintf((wchar_t *){place(rng, 400, 4)}, 90, L"%d {text}", (int)r);',
            f'explicit_bzero({target}, {rng.randrange(1, 90)}); memccpy({target} + 100, "{text}", 98, {len(text)});',
        ]
    )


def number(rng: random.Random) -> str:
    at, other = place(rng, 16, 16), place(rng, 16, 16)
    return rng.choice(
        [
            f'strtol("12x", (char **){at}, 10); strtod("1.5e3y", (char **){other});',
            f"frexp((double)r, (int *){at}); modf((double)r + 0.25, (double *){other});",
            f"sincos((double)r, (double *){at}, (double *){other}); remquo((double)r, 3, (int *){at});",
            f"{{ int (*volatile f)(unsigned *) = rand_r; f((unsigned *){at}); }}",
            f'if (sscanf("7 1.5 word z", "%d %lf %20s %c", (int *){at}, (double *){other}, (char *){place(rng, 30)},'
            f" (char *){place(rng, 1)}) != 4) exit(3);",
            f'if (sscanf("12 34 ab]c", "%2$hhd %1$ld %3$[]abc]", (long *){at}, (signed char *){other},'
            f" (char *){place(rng, 30)}) != 3) exit(3);",
            f'if (sscanf("99 x", "%*d %5c%n", (char *){other}, (int *){at}) > 1) exit(3);',
            '{ FILE *f = fmemopen((void *)"10 text", 7, "r");'
            f' if (fscanf(f, "%d %s", (int *){at}, (char *){other}) != 2)'
            " exit(3); fclose(f); }",
            f"qsort({place(rng, 400)}, {rng.randrange(2, 300)}, 1, compare_bytes);",
            f"qsort({place(rng, 400)}, {rng.randrange(2, 60)}, 1, compare_and_commit);",
            f'strtoimax("12x", (char **){at}, 10); strtof("1.5e3y", (char **){other}); modff(r + 0.5f, (float *){at});',
            f'{{ regex_t e; if (regcomp(&e, "b*c", 0)) exit(3); regexec(&e, "abbc", 1, (regmatch_t *){at}, 0);'
            " regfree(&e); }",
            f"{{ int up = -1; qsort_r({place(rng, 400)}, {rng.randrange(2, 300)}, 1, compare_with, &up); }}",
        ]
    )


def system(rng: random.Random) -> str:
    at, other = place(rng, 400, 16), place(rng, 400, 16)
    return rng.choice(
        [
            f"if (pread(file, {at}, {rng.randrange(1, 300)}, {rng.randrange(8000)}) < 0) exit(3);",
            f"{{ struct iovec v[2] = {{{{{at}, 90}}, {{{other}, 50}}}}; if (preadv(file, v, 2, 100) < 0) exit(3); }}",
            "{ int s[2]; char b[50] = {1, 2, 3}; if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s)) exit(3);"
            " send(s[0], b, 50, 0);"
            f" recvfrom(s[1], {at}, 99, 0, NULL, NULL); close(s[0]); close(s[1]); }}",
            f"{{ int *s = (int *){at}; struct iovec v = {{{other}, 60}}; struct msghdr h = {{0}}; h.msg_iov = &v;"
            " h.msg_iovlen = 1; if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s)) exit(3); send(s[0], s, 8, 0);"
            " recvmsg(s[1], &h, 0); close(s[0]); close(s[1]); }",
            f"{{ int *s = (int *){at}; if (pipe(s)) exit(3); struct pollfd *p = (struct pollfd *){other}; p->fd = s[1];"
            " p->events = POLLOUT; p->revents = 0; commit_here(); poll(p, 1, 0); close(s[0]); close(s[1]); }",
            f"if (fstat(file, (struct stat *){at}) || stat(\".\", (struct stat *){other})) exit(3);",
            f"if (!getcwd((char *){at}, 300)) exit(3);",
            f"sigfillset((sigset_t *){at}); sigaction(SIGUSR2, NULL, (struct sigaction *){other});",
            f"confstr(_CS_PATH, (char *){at}, 60); if (posix_memalign((void **){other}, 64, 9)) exit(3);"
            f" free(*(void **){other});",
            f"{{ struct hsearch_data *h = (struct hsearch_data *){at}; memset(h, 0, sizeof(*h)); commit_here();"
            " hcreate_r(9, h); hdestroy_r(h); }",
            f"{{ struct random_data *d = (struct random_data *){at}; memset(d, 0, sizeof(*d)); commit_here();"
            f" initstate_r((unsigned)r, (char *)(d + 1), 64, d); commit_here(); srandom_r(5, d); }}",
            f"{{ static int key = 3; void **root = (void **){at}; *root = NULL; commit_here();"
            " tsearch(&key, root, compare_bytes); commit_here(); tdelete(&key, root, compare_bytes); }",
            f"time((time_t *){at}); gettimeofday((struct timeval *){other}, NULL);",
            f"clock_gettime(CLOCK_REALTIME, (struct timespec *){at});",
            f'{{ time_t t = (time_t)(r % 99999); gmtime_r(&t, (struct tm *){at}); strftime((char *){other}, 80, "%c",'
            f" localtime_r(&t, (struct tm *){at})); mktime((struct tm *){at});"
            f" asctime_r((struct tm *){at}, (char *){other}); }}",
            f"uname((struct utsname *){at}); gethostname((char *){other}, 90);",
            f"inet_pton(AF_INET, \"1.2.3.4\", {at}); inet_ntop(AF_INET, {at}, (char *){other}, 20);",
            "{ FILE *f = fmemopen((void *)\"line one\\nline two\\n\", 18, \"r\");"
            f" char *line = (char *){at}; size_t n = 300;"
            f" if (getline(&line, &n, f) < 0 || !fgets((char *){other}, 90, f)) exit(3); fclose(f); }}",
            f"{{ char **line = (char **){at}; *line = NULL; *(size_t *){other} = 0;"
            " FILE *f = fmemopen((void *)\"abc\", 3, \"r\");"
            f" commit_here(); if (getdelim(line, (size_t *){other}, 'b', f) < 0) exit(3); free(*line); fclose(f); }}",
            f"{{ FILE *f = fopen(\"/proc/self/stat\", \"r\"); if (!fread({at}, 1, 99, f)) exit(3); fclose(f); }}",
        ]
    )  # fmt: skip


def indirect(rng: random.Random) -> str:
    """Through a pointer in a structure that is const, or in an array that is."""
    at, other = place(rng, 400, 16), place(rng, 400, 16)
    pipe_of = "{ int s[2]; if (pipe(s) || write(s[1], &r, 8) != 8) exit(3);"
    local = f"char b[50]; memset(b, (int)r | 1, 50); struct iovec to = {{{at}, 50}}, from = {{b, 50}};"
    return rng.choice(
        [
            f"{{ {local} if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 50) exit(3); }}",
            f"{{ {local} if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 50) exit(3); }}",
            f"{{ {local} m[64] = (unsigned char)(r | 1); (void)from;"
            " if (preadv64v2(file, &to, 1, 64, 0) != 50) exit(3); }",
            f"{pipe_of} struct iovec to = {{{at}, 8}}; if (vmsplice(s[0], &to, 1, 0) != 8) exit(3);"
            " close(s[0]); close(s[1]); }",
            f'{{ struct option o[] = {{{{"on", 0, (int *){at}, (int)r | 1}}, {{0}}}}; optind = 0;'
            f' char *a[] = {{"x", "--on", NULL}}; if (getopt_long(2, a, "", o, (int *){other}) != 0) exit(3); }}',
            f'{{ struct option o[] = {{{{"on", 0, (int *){at}, (int)r | 1}}, {{0}}}}; optind = 0;'
            f' char *a[] = {{"x", "-on", NULL}}; if (getopt_long_only(2, a, "", o, (int *){other}) != 0) exit(3); }}',
            f'{{ char **a = (char **){at}; a[0] = "x"; a[1] = "file"; a[2] = "-v"; a[3] = NULL; commit_here();'
            ' optind = 0; while (getopt(3, a, "v") > 0) ; }',
        ]
    )


def locks(rng: random.Random) -> str:
    at = place(rng, 400, 16)
    return rng.choice(
        [
            f"{{ pthread_mutex_t *l = (pthread_mutex_t *){at}; pthread_mutex_init(l, NULL); commit_here();"
            " pthread_mutex_lock(l); commit_here(); pthread_mutex_unlock(l); }",
            f"{{ sem_t *s = (sem_t *){at}; sem_init(s, 0, 1); commit_here(); sem_post(s); commit_here();"
            " sem_wait(s); }",
            f"{{ pthread_rwlock_t *l = (pthread_rwlock_t *){at}; pthread_rwlock_init(l, NULL); commit_here();"
            " pthread_rwlock_rdlock(l); commit_here(); pthread_rwlock_unlock(l); }",
            f"{{ mtx_t *l = (mtx_t *){at}; mtx_init(l, mtx_plain); commit_here(); mtx_lock(l); commit_here();"
            " mtx_unlock(l); }",
            f"{{ once_flag *o = (once_flag *){at}; memset(o, 0, sizeof(*o)); commit_here();"
            " call_once(o, commit_here); }",
            f"{{ tss_t *k = (tss_t *){at}; if (tss_create(k, NULL)) exit(3); commit_here(); tss_delete(*k); }}",
        ]
    )


WAYS: list[Callable[[random.Random], str]] = [string, string, number, system, indirect, locks]
