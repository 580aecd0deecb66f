// The frames that are written, compact and in this order of members, each with its LF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <playhead/message.hpp>

namespace playhead::detail {

/// A text as a JSON string.
std::string quoted(std::string_view text);

/// `rest` are the params behind `call` and `ask`, each with a comma before it.
std::string ask_frame(std::uint64_t id, std::string_view method, std::uint64_t call, std::uint64_t ask,
    std::string_view rest);
std::string notification(std::string_view method, std::uint64_t call, std::string_view rest);
/// One item of `asked`.
std::string item(std::string_view method, std::string_view rest);
std::string result_frame(const json& id, std::string_view result);
std::string error_frame(const json& id, int code, std::string_view message, const json& data = nullptr);

}  // namespace playhead::detail
