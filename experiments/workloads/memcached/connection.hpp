// SPDX-License-Identifier: BSD-3-Clause
//
// A client's end of Memcached's text protocol over a Unix socket. Requests are gathered and sent together.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace workloads {

// The server has closed the connection, or died.
struct ServerGone : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Found {
    std::string_view value; // until the next answer is read
    uint64_t cas;           // 0 if it was not asked for
    bool there;
};

class Connection {
  public:
    Connection() = default;
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;
    ~Connection() { close(); }

    // False: nobody listens there yet.
    bool open(const std::string &path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        memcpy(address.sun_path, path.c_str(), path.size() + 1); // Server has looked at its length
        socket_fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(socket_fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0)
            return true;
        close();
        return false;
    }

    void close() {
        if (socket_fd >= 0)
            ::close(socket_fd);
        socket_fd = -1;
        begin = end = 0;
        out.clear();
    }

    void askToStore(std::string_view key, std::string_view value) {
        out.append("set ").append(key).append(" 0 0 ").append(std::to_string(value.size())).append("\r\n");
        out.append(value).append("\r\n");
    }
    void askFor(std::string_view key, const char *how = "get ") { out.append(how).append(key).append("\r\n"); }
    void ask(const char *words) { out.append(words).append("\r\n"); }

    void send() {
        for (size_t sent = 0; sent < out.size();) {
            ssize_t now = ::send(socket_fd, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
            if (now <= 0)
                throw ServerGone("the server has closed the connection");
            sent += static_cast<size_t>(now);
        }
        out.clear();
    }

    void stored() {
        std::string_view said = line();
        if (said != "STORED")
            throw std::runtime_error("the server did not store a value: " + std::string(said));
    }

    Found found() {
        std::string_view said = line();
        if (said == "END")
            return {{}, 0, false};
        if (!said.starts_with("VALUE "))
            throw std::runtime_error("the server did not answer a get: " + std::string(said));
        said.remove_prefix(said.find(' ', 6) + 1); // of the key
        said.remove_prefix(said.find(' ') + 1);    // of the flags
        uint64_t bytes = numberOf(said), cas = 0;
        if (size_t space = said.find(' '); space != said.npos)
            cas = numberOf(said.substr(space + 1));
        need(bytes + 7); // \r\nEND\r\n
        std::string_view value(buffer.data() + begin, bytes);
        begin += bytes + 7;
        return {value, cas, true};
    }

    void words(std::string_view wanted) {
        std::string_view said = line();
        if (said != wanted)
            throw std::runtime_error("the server said '" + std::string(said) + "' and not " + std::string(wanted));
    }

    // A number of the answer to `stats`; the rest of the answer is read and forgotten.
    uint64_t statistic(std::string_view name) {
        ask("stats");
        send();
        uint64_t number = 0;
        for (std::string_view said; (said = line()) != "END";)
            if (said.starts_with("STAT ") && said.substr(5).starts_with(name) && said[5 + name.size()] == ' ')
                number = numberOf(said.substr(6 + name.size()));
        return number;
    }

  private:
    static uint64_t numberOf(std::string_view text) {
        uint64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }

    void need(size_t bytes) {
        while (end - begin < bytes)
            receive();
    }

    std::string_view line() {
        for (size_t looked = 0;;) {
            std::string_view there(buffer.data() + begin, end - begin);
            size_t found = there.find("\r\n", looked);
            if (found != there.npos) {
                begin += found + 2;
                return there.substr(0, found);
            }
            looked = there.empty() ? 0 : there.size() - 1;
            receive();
        }
    }

    void receive() {
        if (begin == end)
            begin = end = 0;
        if (buffer.size() - end < Room) { // unread bytes move to the front
            memmove(buffer.data(), buffer.data() + begin, end - begin);
            end -= begin;
            begin = 0;
            if (buffer.size() - end < Room)
                buffer.resize(end + 2 * Room);
        }
        ssize_t now = recv(socket_fd, buffer.data() + end, buffer.size() - end, 0);
        if (now <= 0)
            throw ServerGone("the server has closed the connection");
        end += static_cast<size_t>(now);
    }

    static constexpr size_t Room = 1 << 16;
    int socket_fd = -1;
    std::string out, buffer;
    size_t begin = 0, end = 0; // of the received bytes that are not read yet
};

} // namespace workloads
