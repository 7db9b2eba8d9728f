/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Name services. The calls wait, but not for a thread of the program; results point into the caller's buffer. The
 * wrappers are in a separate file, so that the linker warns of shared libraries only in static programs that use them.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <aliases.h>
#include <grp.h>
#include <gshadow.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <rpc/netdb.h>
#include <shadow.h>
#include <stdio.h>

#include "bounce.h"

WRAPPER(int, getaddrinfo, (const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **to),
        (host, port, hints, to), OUT(to))
WRAPPER(int, ether_hostton, (const char *hostname, struct ether_addr *addr), (hostname, addr), OUT(addr))
WRAPPER(int, ether_line, (const char *line, struct ether_addr *addr, char *hostname), (line, addr, hostname), OUT(addr);
        writes(hostname, 256))
WRAPPER(int, ether_ntohost, (char *hostname, const struct ether_addr *addr), (hostname, addr), writes(hostname, 256))
WRAPPER(int, fgetgrent_r, (FILE * stream, struct group *resultbuf, char *buffer, size_t buflen, struct group **result),
        (stream, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, fgetpwent_r,
        (FILE * stream, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result),
        (stream, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, fgetsgent_r, (FILE * stream, struct sgrp *result_buf, char *buffer, size_t buflen, struct sgrp **result),
        (stream, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, fgetspent_r, (FILE * stream, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result),
        (stream, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getaliasbyname_r,
        (const char *name, struct aliasent *result_buf, char *buffer, size_t buflen, struct aliasent **result),
        (name, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getaliasent_r, (struct aliasent * result_buf, char *buffer, size_t buflen, struct aliasent **result),
        (result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getgrent_r, (struct group * resultbuf, char *buffer, size_t buflen, struct group **result),
        (resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getgrgid_r, (__gid_t gid, struct group *resultbuf, char *buffer, size_t buflen, struct group **result),
        (gid, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getgrnam_r,
        (const char *name, struct group *resultbuf, char *buffer, size_t buflen, struct group **result),
        (name, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getgrouplist, (const char *user, __gid_t group, __gid_t *groups, int *ngroups),
        (user, group, groups, ngroups), writes(groups, *ngroups > 0 ? (size_t)*ngroups * sizeof(*groups) : 0);
        OUT(ngroups))
WRAPPER(int, gethostbyaddr_r,
        (const void *addr, __socklen_t len, int type, struct hostent *result_buf, char *buf, size_t buflen,
         struct hostent **result, int *h_errnop),
        (addr, len, type, result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, gethostbyname2_r,
        (const char *name, int af, struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result,
         int *h_errnop),
        (name, af, result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, gethostbyname_r,
        (const char *name, struct hostent *result_buf, char *buf, size_t buflen, struct hostent **result,
         int *h_errnop),
        (name, result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, gethostent_r,
        (struct hostent * result_buf, char *buf, size_t buflen, struct hostent **result, int *h_errnop),
        (result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, getnameinfo,
        (const struct sockaddr *sa, socklen_t salen, char *host, socklen_t hostlen, char *serv, socklen_t servlen,
         int flags),
        (sa, salen, host, hostlen, serv, servlen, flags), writes(host, hostlen);
        writes(serv, servlen))
WRAPPER(int, getnetbyaddr_r,
        (uint32_t net, int type, struct netent *result_buf, char *buf, size_t buflen, struct netent **result,
         int *h_errnop),
        (net, type, result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, getnetbyname_r,
        (const char *name, struct netent *result_buf, char *buf, size_t buflen, struct netent **result, int *h_errnop),
        (name, result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, getnetent_r, (struct netent * result_buf, char *buf, size_t buflen, struct netent **result, int *h_errnop),
        (result_buf, buf, buflen, result, h_errnop), OUT(result_buf);
        writes(buf, buflen); OUT(result); OUT(h_errnop))
WRAPPER(int, getnetgrent_r, (char **hostp, char **userp, char **domainp, char *buffer, size_t buflen),
        (hostp, userp, domainp, buffer, buflen), OUT(hostp);
        OUT(userp); OUT(domainp); writes(buffer, buflen))
WRAPPER(int, getprotobyname_r,
        (const char *name, struct protoent *result_buf, char *buf, size_t buflen, struct protoent **result),
        (name, result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getprotobynumber_r,
        (int proto, struct protoent *result_buf, char *buf, size_t buflen, struct protoent **result),
        (proto, result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getprotoent_r, (struct protoent * result_buf, char *buf, size_t buflen, struct protoent **result),
        (result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getpwent_r, (struct passwd * resultbuf, char *buffer, size_t buflen, struct passwd **result),
        (resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getpwnam_r,
        (const char *name, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result),
        (name, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getpwuid_r, (__uid_t uid, struct passwd *resultbuf, char *buffer, size_t buflen, struct passwd **result),
        (uid, resultbuf, buffer, buflen, result), OUT(resultbuf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getrpcbyname_r,
        (const char *name, struct rpcent *result_buf, char *buffer, size_t buflen, struct rpcent **result),
        (name, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getrpcbynumber_r,
        (int number, struct rpcent *result_buf, char *buffer, size_t buflen, struct rpcent **result),
        (number, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getrpcent_r, (struct rpcent * result_buf, char *buffer, size_t buflen, struct rpcent **result),
        (result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getservbyname_r,
        (const char *name, const char *proto, struct servent *result_buf, char *buf, size_t buflen,
         struct servent **result),
        (name, proto, result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getservbyport_r,
        (int port, const char *proto, struct servent *result_buf, char *buf, size_t buflen, struct servent **result),
        (port, proto, result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getservent_r, (struct servent * result_buf, char *buf, size_t buflen, struct servent **result),
        (result_buf, buf, buflen, result), OUT(result_buf);
        writes(buf, buflen); OUT(result))
WRAPPER(int, getsgent_r, (struct sgrp * result_buf, char *buffer, size_t buflen, struct sgrp **result),
        (result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getsgnam_r, (const char *name, struct sgrp *result_buf, char *buffer, size_t buflen, struct sgrp **result),
        (name, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getspent_r, (struct spwd * result_buf, char *buffer, size_t buflen, struct spwd **result),
        (result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, getspnam_r, (const char *name, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result),
        (name, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, sgetsgent_r,
        (const char *string, struct sgrp *result_buf, char *buffer, size_t buflen, struct sgrp **result),
        (string, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
WRAPPER(int, sgetspent_r,
        (const char *string, struct spwd *result_buf, char *buffer, size_t buflen, struct spwd **result),
        (string, result_buf, buffer, buflen, result), OUT(result_buf);
        writes(buffer, buflen); OUT(result))
