#include "framing.hpp"

#include <cerrno>
#include <poll.h>
#include <unistd.h>

#include <playhead/errors.hpp>

namespace playhead::detail {

namespace {

constexpr std::size_t read_bytes = 1u << 16;

// Only where somebody else made the descriptor so: its setting is shared.
bool waited(int descriptor, short events) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd waits{descriptor, events, 0};
    return ::poll(&waits, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

std::optional<std::string> Framing::next() {
    std::size_t searched = start_;
    while (true) {
        const std::size_t end = buffer_.find('\n', searched);
        if (end != std::string::npos) {
            const std::size_t last = end > start_ && buffer_[end - 1] == '\r' ? end - 1 : end;
            std::string frame = buffer_.substr(start_, last - start_);
            start_ = end + 1;
            return frame;
        }
        // One more: a frame may have the CR behind it.
        if (buffer_.size() - start_ > max_frame_bytes + 1) {
            throw LimitExceeded("a frame of more than " + std::to_string(max_frame_bytes) + " bytes");
        }
        const std::size_t held = buffer_.size() - start_;
        if (!fill()) return std::nullopt;
        searched = start_ + held;
    }
}

bool Framing::fill() {
    buffer_.erase(0, start_);
    start_ = 0;
    const std::size_t held = buffer_.size();
    if (held == 0 && buffer_.capacity() > 16 * read_bytes) std::string().swap(buffer_);
    buffer_.resize(held + read_bytes);
    ssize_t size = 0;
    do {
        size = ::read(descriptor_, buffer_.data() + held, read_bytes);
    } while (size < 0 && waited(descriptor_, POLLIN));
    buffer_.resize(held + static_cast<std::size_t>(size > 0 ? size : 0));
    return size > 0;
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
        if (size >= 0) bytes.remove_prefix(static_cast<std::size_t>(size));
        else if (!waited(descriptor, POLLOUT)) return false;
    }
    return true;
}

}  // namespace playhead::detail
