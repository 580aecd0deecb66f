// Bytes into lines, and whole frames out. Raw descriptors: no stream buffers and no locale on the wire.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace playhead::detail {

constexpr std::size_t max_frame_bytes = 64u << 20;

class Framing {
public:
    explicit Framing(int descriptor) : descriptor_(descriptor) {}

    /// The next frame without its line end; nothing at the end of input. Throws LimitExceeded for one that is too
    /// large.
    std::optional<std::string> next();

private:
    bool fill();

    int descriptor_;
    std::string buffer_;
    std::size_t start_ = 0;
};

/// Writes all of it; false where nobody reads any more.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace playhead::detail
