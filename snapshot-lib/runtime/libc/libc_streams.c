/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading from streams into private memory: it waits, and it calls back if fopencookie() made the stream. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <stdio.h>
#include <wchar.h>

#include "bounce.h"

/* Reads by bytes, because fread() also stores a part of an item. */
#define FREAD(name)                                                                                                    \
    size_t WRAP(name)(void *to, size_t size, size_t count, FILE *stream);                                              \
    size_t WRAP(name)(void *to, size_t size, size_t count, FILE *stream) {                                             \
        BOUNCE(aside);                                                                                                 \
        void *place = bounce_of(&aside, to, size * count, false);                                                      \
        if (place == to)                                                                                               \
            return name(to, size, count, stream);                                                                      \
        aside.written = name(place, 1, size * count, stream);                                                          \
        return aside.written / size;                                                                                   \
    }                                                                                                                  \
    size_t WRAP_CHECKED(name)(void *to, size_t room, size_t size, size_t count, FILE *stream);                         \
    size_t WRAP_CHECKED(name)(void *to, size_t room, size_t size, size_t count, FILE *stream) {                        \
        room_check(size *count, room);                                                                                 \
        return WRAP(name)(to, size, count, stream);                                                                    \
    }
FREAD(fread)
FREAD(fread_unlocked)

/*
 * Reads a line by single characters: no function returns the length of a line that may contain 0. An error ends the
 * line as in glibc, which returns the characters so far if a stream has no data yet (EAGAIN).
 */
#define LINE_READER(name, character, end_of_file, get, lock, unlock)                                                   \
    static character *line_##name(character *to, int n, FILE *stream, size_t *written) {                               \
        int count = 0;                                                                                                 \
        character last = 0;                                                                                            \
        bool failed = false;                                                                                           \
        lock;                                                                                                          \
        while (count + 1 < n && last != '\n' && !failed) {                                                             \
            int saved = errno;                                                                                         \
            errno = 0;                                                                                                 \
            __typeof__(get(stream)) got = get(stream);                                                                 \
            failed = got == (end_of_file);                                                                             \
            if (!failed)                                                                                               \
                to[count++] = last = (character)got;                                                                   \
            else if (errno != 0 && errno != EAGAIN)                                                                    \
                n = 0;                                                                                                 \
            errno = errno ? errno : saved;                                                                             \
        }                                                                                                              \
        unlock;                                                                                                        \
        if (n <= 0 || (count == 0 && failed))                                                                          \
            return NULL;                                                                                               \
        to[count] = 0;                                                                                                 \
        *written = ((size_t)count + 1) * sizeof(character);                                                            \
        return to;                                                                                                     \
    }                                                                                                                  \
    character *WRAP(name)(character * to, int n, FILE *stream);                                                        \
    character *WRAP(name)(character * to, int n, FILE *stream) {                                                       \
        BOUNCE(aside);                                                                                                 \
        character *place = bounce_of(&aside, to, n > 0 ? (size_t)n * sizeof(character) : 0, false);                    \
        if (place == to)                                                                                               \
            return name(to, n, stream);                                                                                \
        return line_##name(place, n, stream, &aside.written) ? to : NULL;                                              \
    }                                                                                                                  \
    character *WRAP_CHECKED(name)(character * to, size_t room, int n, FILE *stream);                                   \
    character *WRAP_CHECKED(name)(character * to, size_t room, int n, FILE *stream) {                                  \
        room_check(n > 0 ? (size_t)n : 0, room);                                                                       \
        return WRAP(name)(to, n, stream);                                                                              \
    }
LINE_READER(fgets, char, EOF, getc_unlocked, flockfile(stream), funlockfile(stream))
LINE_READER(fgets_unlocked, char, EOF, getc_unlocked, , )
LINE_READER(fgetws, wchar_t, WEOF, getwc_unlocked, flockfile(stream), funlockfile(stream))
LINE_READER(fgetws_unlocked, wchar_t, WEOF, getwc_unlocked, , )

/* The line is read to a separate buffer, then stored to the caller's, which grows by realloc() as in libc. */
static ssize_t line_store(char **line, size_t *room, const char *text, size_t bytes) {
    if (!*line || *room < bytes) {
        size_t larger = bytes < 2 * *room ? 2 * *room : bytes < 120 ? 120 : bytes;
        char *moved = realloc(*line, larger);
        if (!moved)
            return -1;
        OUT(line);
        OUT(room);
        *line = moved;
        *room = larger;
    }
    writes(*line, bytes);
    memcpy(*line, text, bytes);
    return (ssize_t)bytes - 1;
}

static void text_free(char **text) { free(*text); }

ssize_t WRAP(getdelim)(char **line, size_t *room, int delimiter, FILE *stream);
ssize_t WRAP(getdelim)(char **line, size_t *room, int delimiter, FILE *stream) {
    if (!line || !room || !(tracked(line) || tracked(room) || tracked(*line)))
        return getdelim(line, room, delimiter, stream);
    __attribute__((cleanup(text_free))) char *text = NULL;
    size_t text_room = 0;
    ssize_t length = getdelim(&text, &text_room, delimiter, stream);
    return length < 0 ? length : line_store(line, room, text, (size_t)length + 1);
}
ssize_t WRAP(__getdelim)(char **line, size_t *room, int delimiter, FILE *stream);
ssize_t WRAP(__getdelim)(char **line, size_t *room, int delimiter, FILE *stream) {
    return WRAP(getdelim)(line, room, delimiter, stream);
}
ssize_t WRAP(getline)(char **line, size_t *room, FILE *stream);
ssize_t WRAP(getline)(char **line, size_t *room, FILE *stream) { return WRAP(getdelim)(line, room, '\n', stream); }
