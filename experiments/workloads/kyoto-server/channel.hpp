// SPDX-License-Identifier: BSD-3-Clause
//
// Requests and replies of one size over a Unix socket, and the loop that answers them one after the other.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

namespace server {

enum class Operation : uint32_t { Insert, Replace, Delete, Get };

struct Request {
    Operation operation;
    uint32_t key_bytes;
    char key[24]; // "user" and up to 20 digits
    uint64_t value;
};
struct Reply {
    uint64_t done, value;
};

[[noreturn]] inline void failed(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

// False at the end of the stream.
template <class Message> bool receive(int socket, Message &message) {
    ssize_t bytes = recv(socket, &message, sizeof(message), MSG_WAITALL);
    if (bytes < 0 && errno != ECONNRESET)
        failed("cannot receive");
    return bytes == sizeof(message);
}
// False if nobody is there.
template <class Message> bool transmit(int socket, const Message &message) {
    if (send(socket, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message))
        return true;
    if (errno != EPIPE && errno != ECONNRESET)
        failed("cannot send");
    return false;
}

// An address without a file: nothing is left behind, and nothing of it is on the file system under test.
class Address {
  public:
    explicit Address(const std::string &name) {
        address.sun_family = AF_UNIX;
        memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof(address.sun_path) - 1));
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }
    int listening() const {
        int found = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (found < 0 || bind(found, reinterpret_cast<const sockaddr *>(&address), bytes) < 0 ||
            listen(found, SOMAXCONN) < 0)
            failed("cannot listen on a Unix socket");
        return found;
    }
    int connected() const {
        int found = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (found < 0 || connect(found, reinterpret_cast<const sockaddr *>(&address), bytes) < 0)
            failed("cannot connect to the server");
        return found;
    }

  private:
    sockaddr_un address{};
    socklen_t bytes;
};

// Accepts so many clients, then answers until all are gone.
template <class Answer> void serve(int listening, size_t clients, Answer &&answer) {
    std::vector<pollfd> open;
    while (open.size() < clients) {
        int client = accept(listening, nullptr, nullptr);
        if (client < 0)
            failed("cannot accept a client");
        open.push_back({client, POLLIN, 0});
    }
    while (!open.empty()) {
        if (poll(open.data(), open.size(), -1) < 0)
            failed("cannot wait for requests");
        for (pollfd &client : open) {
            if (client.revents == 0)
                continue;
            Request request;
            if (!receive(client.fd, request) || !transmit(client.fd, answer(request))) {
                close(client.fd);
                client.fd = -1;
            }
        }
        std::erase_if(open, [](const pollfd &client) { return client.fd < 0; });
    }
}

} // namespace server
