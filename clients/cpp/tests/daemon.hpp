// The daemon's side of a conversation with a program of its own process, line by line.
#pragma once

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <playhead/client.hpp>

class Daemon {
public:
    /// Initialized, with all capabilities offered and frames of this size.
    explicit Daemon(const char* program, std::size_t frame_bytes = 64u << 20) {
        std::signal(SIGPIPE, SIG_IGN);
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(100);  // a program that says nothing fails the tests, and does not hang them
        int in[2];
        int out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        errors_ = "/tmp/playhead-stderr-XXXXXX";
        const int errors = ::mkstemp(errors_.data());
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in[0], 0);
            ::dup2(out[1], 1);
            ::dup2(errors, 2);
            ::execl(program, program, nullptr);
            ::_exit(127);
        }
        ::close(errors);
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = out[0];
        say(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"daemon":{"name":"t","version":"0"},)"
            R"("capabilities":{"window":true,"reset":true},"limits":{"frameBytes":)" + std::to_string(frame_bytes)
            + R"(,"depth":1000},"constants":{}}})");
        frame();
    }

    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    ~Daemon() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        if (to_ >= 0) ::close(to_);
        ::close(from_);
        ::unlink(errors_.c_str());
    }

    void say(const std::string& frame) {
        const std::string line = frame + "\n";
        if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::runtime_error("not written");
    }

    void handle(int id, const std::string& fn, const std::string& event, const std::string& window = "") {
        say(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"handle","params":{"call":)"
            + std::to_string(id)
            + R"(,"fn":")" + fn + R"(","event":)" + event + R"(,"seq":0)"
                + (window.empty() ? "" : ",\"window\":" + window) + "}}");
    }

    void answer(const playhead::json& id, const std::string& result) {
        say(R"({"jsonrpc":"2.0","id":)" + playhead::write(id) + R"(,"result":)" + result + "}");
    }

    std::string line() {
        std::size_t end = std::string::npos;
        while ((end = read_.find('\n')) == std::string::npos) {
            char bytes[4096];
            const ssize_t size = ::read(from_, bytes, sizeof bytes);
            if (size <= 0) throw std::runtime_error("the program has ended");
            read_.append(bytes, static_cast<std::size_t>(size));
        }
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
    }

    playhead::json frame() { return playhead::read(line()); }

    std::string output() { return playhead::write(frame().at("result")); }

    std::string printed() const {
        std::string text;
        const int errors = ::open(errors_.c_str(), O_RDONLY);
        char bytes[4096];
        for (ssize_t size = 0; (size = ::read(errors, bytes, sizeof bytes)) > 0;)
            text.append(bytes, static_cast<std::size_t>(size));
        ::close(errors);
        return text;
    }

    /// Ends the input; the exit status, or 128 and the number of the signal.
    int end() {
        ::close(to_);
        to_ = -1;
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    int to_ = -1;
    int from_ = -1;
    pid_t pid_ = -1;
    std::string errors_;
    std::string read_;
};
