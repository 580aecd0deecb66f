// Values into JSON text and back, exactly; and values as the types that a handler names. A value is a nlohmann::json;
// its text is read and written here, since that library rounds integers of more than 64 bits and refuses lone
// surrogates.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <playhead/errors.hpp>

namespace playhead {

/// The deepest value: arrays and objects open at once.
constexpr int max_depth = 1000;

/// The value of a JSON text. Throws std::invalid_argument, with the byte where it stands, for what is not exact.
json read(std::string_view text);

/// Compact JSON text in UTF-8. Throws NotJSON for what JSON cannot carry.
std::string write(const json& value);

/// An integer of any size from its digits. Of more than 64 bits it is no number to nlohmann::json but stays what it is,
/// on the way in and out: `get<double>()` and the like refuse it, and nothing rounds it.
json integer(std::string_view digits);

/// The digits of an integer of any size; throws std::invalid_argument where the value is none.
std::string digits(const json& value);

namespace detail {

[[noreturn]] void refuse_type(const char* expected, const json& value);
std::int64_t to_signed(const json& value, std::int64_t lowest, std::int64_t highest);
std::uint64_t to_unsigned(const json& value, std::uint64_t highest);
double to_double(const json& value);

}  // namespace detail

/// A value as a T. A number is never rounded: one that does not fit is refused with std::invalid_argument.
template <class T>
T to(const json& value) {
    if constexpr (std::is_same_v<T, json>) {
        return value;
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!value.is_boolean()) detail::refuse_type("a boolean", value);
        return value.get<bool>();
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        return static_cast<T>(detail::to_signed(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(detail::to_unsigned(value, std::numeric_limits<T>::max()));
    } else if constexpr (std::is_same_v<T, double>) {
        return detail::to_double(value);
    } else {
        return value.get<T>();
    }
}

}  // namespace playhead
