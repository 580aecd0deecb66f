#include "message.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <vector>

namespace playhead {

namespace {

// A frame puts two levels around a value, a window six.
constexpr int read_depth = max_depth + 16;

// The kind of binary value that stands for an integer of more than 64 bits: its bytes are the digits.
constexpr std::uint64_t big_integer = 0x696e7465676572;

bool is_big(const json& value) {
    return value.is_binary() && value.get_binary().has_subtype() && value.get_binary().subtype() == big_integer;
}

std::string_view big_digits(const json& value) {
    const auto& bytes = value.get_binary();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Whether the number that std::from_chars cannot hold is too large for it, not too small.
bool overflows(std::string_view token) {
    long long magnitude = 0;  // of the first digit that counts: 10^(magnitude - 1)
    long long exponent = 0;
    bool begun = false;
    bool fraction = false;
    for (std::size_t i = 0; i < token.size(); ++i) {
        const char c = token[i];
        if (c == '.') {
            fraction = true;
        } else if (c == 'e' || c == 'E') {
            const bool negative = token[i + 1] == '-';
            for (std::size_t j = i + 1; j < token.size(); ++j) {
                if (is_digit(token[j]) && exponent < 1'000'000'000'000) exponent = exponent * 10 + (token[j] - '0');
            }
            if (negative) exponent = -exponent;
            break;
        } else if (is_digit(c)) {
            begun = begun || c != '0';
            if (begun && !fraction) ++magnitude;
            if (!begun && fraction) --magnitude;
        }
    }
    return begun && magnitude + exponent > 0;
}

// Reads what is exact and refuses the rest, with the byte where it stands.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    json whole() {
        json value = this->value(0);
        space();
        if (at_ != text_.size()) refuse("text behind the value");
        return value;
    }

private:
    json value(int depth) {
        if (depth > read_depth) refuse("nested deeper than 1000");
        space();
        if (at_ == text_.size()) refuse("the text ends where a value should be");
        switch (text_[at_]) {
            case '{':
                return object(depth + 1);
            case '[':
                return array(depth + 1);
            case '"':
                return string();
            case 't':
                word("true");
                return true;
            case 'f':
                word("false");
                return false;
            case 'n':
                word("null");
                return nullptr;
            default:
                if (text_[at_] == '-' || is_digit(text_[at_])) return number();
                refuse("no value");
        }
    }

    json object(int depth) {
        json object = json::object();
        ++at_;
        space();
        if (taken('}')) return object;
        auto& members = object.get_ref<json::object_t&>();
        do {
            space();
            if (at_ == text_.size() || text_[at_] != '"') refuse("a key should be here");
            const std::size_t place = at_;
            std::string key = string();
            space();
            if (!taken(':')) refuse("a colon should be here");
            const auto [member, is_new] = members.try_emplace(std::move(key));
            if (!is_new) {
                at_ = place;
                refuse("the key comes twice");
            }
            member->second = value(depth);
            space();
        } while (taken(','));
        if (!taken('}')) refuse("a comma or } should be here");
        return object;
    }

    json array(int depth) {
        json array = json::array();
        ++at_;
        space();
        if (taken(']')) return array;
        auto& items = array.get_ref<json::array_t&>();
        do {
            items.push_back(value(depth));
            space();
        } while (taken(','));
        if (!taken(']')) refuse("a comma or ] should be here");
        return array;
    }

    json number() {
        const std::size_t start = at_;
        bool is_integer = true;
        taken('-');
        if (!taken('0')) digits();
        if (taken('.')) {
            is_integer = false;
            digits();
        }
        if (taken('e') || taken('E')) {
            is_integer = false;
            if (!taken('+')) taken('-');
            digits();
        }
        const std::string_view token = text_.substr(start, at_ - start);
        const char* first = token.data();
        const char* last = first + token.size();
        if (is_integer) {
            std::int64_t small = 0;
            if (std::from_chars(first, last, small).ec == std::errc()) return small;
            std::uint64_t large = 0;
            if (*first != '-' && std::from_chars(first, last, large).ec == std::errc()) return large;
        }
        double value = 0;
        if (std::from_chars(first, last, value).ec != std::errc()) {
            if (overflows(token)) {
                at_ = start;
                refuse("the number overflows");
            }
            value = *first == '-' ? -0.0 : 0.0;
        }
        if (!is_integer) return value;
        return json::binary(std::vector<std::uint8_t>(token.begin(), token.end()), big_integer);
    }

    void digits() {
        if (at_ == text_.size() || !is_digit(text_[at_])) refuse("a digit should be here");
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    }

    std::string string() {
        std::size_t start = ++at_;
        std::string built;
        while (true) {
            if (at_ == text_.size()) refuse("the text ends in a string");
            const auto c = static_cast<unsigned char>(text_[at_]);
            if (c == '"') {
                built.append(text_, start, at_++ - start);
                return built;
            }
            if (c == '\\') {
                built.append(text_, start, at_ - start);
                escape(built);
                start = at_;
            } else if (c >= 0x80) {
                character();
            } else if (c < 0x20) {
                refuse("a control character in a string");
            } else {
                ++at_;
            }
        }
    }

    void escape(std::string& built) {
        const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        const char* plain = c != '\0' ? std::strchr("\"\\/bfnrt", c) : nullptr;
        if (plain != nullptr) {
            built += "\"\\/\b\f\n\r\t"[plain - "\"\\/bfnrt"];
            at_ += 2;
            return;
        }
        if (c != 'u') refuse("no escape");
        unsigned point = unit();
        if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
            const std::size_t place = at_;
            const unsigned low = unit();
            if (low >= 0xdc00 && low < 0xe000) point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
            else at_ = place;
        }
        append(built, point);
    }

    // The four digits of an escape that begins here.
    unsigned unit() {
        unsigned unit = 0;
        const char* first = text_.data() + at_ + 2;
        if (text_.size() - at_ < 6 || std::from_chars(first, first + 4, unit, 16).ptr != first + 4) {
            refuse("four hex digits should be here");
        }
        at_ += 6;
        return unit;
    }

    // A lone surrogate gets the three bytes that UTF-8 would have for it if it were a character. They are written as an
    // escape.
    static void append(std::string& built, unsigned point) {
        if (point < 0x80) {
            built += static_cast<char>(point);
            return;
        }
        const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
        const unsigned lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
        built += static_cast<char>(lead | point >> (6 * more));
        for (int i = more - 1; i >= 0; --i) built += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
    }

    void character();

    void word(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) refuse("no value");
        at_ += word.size();
    }

    bool taken(char c) {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    void space() {
        at_ = std::min(text_.find_first_not_of(" \n\r\t", at_), text_.size());
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw std::invalid_argument("not exact JSON at byte " + std::to_string(at_) + ": " + what);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// The length of the character of more than one byte that begins here, and the character; 0 where there is none, since
// it is overlong, cut off or beyond the last plane. Surrogates are told as what they are.
std::size_t decode(std::string_view text, unsigned& point) {
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    point = lead & (0x3fu >> more);
    if (text.size() <= more) return 0;
    for (std::size_t i = 1; i <= more; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) return 0;
        point = point << 6 | (next & 0x3f);
    }
    const unsigned smallest = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    return point < smallest || point > 0x10ffff ? 0 : more + 1;
}

bool is_surrogate(unsigned point) {
    return point >= 0xd800 && point < 0xe000;
}

void Reader::character() {
    unsigned point = 0;
    const std::size_t size = decode(text_.substr(at_), point);
    if (size == 0 || is_surrogate(point)) refuse("invalid UTF-8");
    at_ += size;
}

class Writer {
public:
    std::string text;

    void value(const json& value, int depth) {
        switch (value.type()) {
            case json::value_t::null:
                text += "null";
                break;
            case json::value_t::boolean:
                text += value.get<bool>() ? "true" : "false";
                break;
            case json::value_t::number_integer:
                number(value.get<std::int64_t>());
                break;
            case json::value_t::number_unsigned:
                number(value.get<std::uint64_t>());
                break;
            case json::value_t::number_float:
                real(value.get<double>());
                break;
            case json::value_t::string:
                string(value.get_ref<const std::string&>());
                break;
            case json::value_t::array:
                array(value, depth + 1);
                break;
            case json::value_t::object:
                object(value, depth + 1);
                break;
            case json::value_t::binary:
                if (!is_big(value)) refuse("bytes");
                text += big_digits(value);
                break;
            default:
                refuse("a value that was discarded");
        }
    }

    void string(std::string_view string) {
        text += '"';
        std::size_t start = 0;
        std::size_t i = 0;
        while (i < string.size()) {
            const auto c = static_cast<unsigned char>(string[i]);
            if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
                ++i;
                continue;
            }
            text.append(string, start, i - start);
            if (c >= 0x80) {
                unsigned point = 0;
                const std::size_t size = decode(string.substr(i), point);
                if (size == 0) refuse("a text that is not UTF-8");
                if (is_surrogate(point)) unit(point);
                else text.append(string, i, size);
                i += size;
            } else {
                control(c);
                ++i;
            }
            start = i;
        }
        text.append(string, start, string.size() - start);
        text += '"';
    }

    template <class N>
    void number(N number) {
        char digits[32];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    }

private:
    // The shortest text that reads back, and one that is still a float.
    void real(double real) {
        if (!std::isfinite(real)) refuse(std::isnan(real) ? "the number NaN" : "an infinity");
        const std::size_t start = text.size();
        number(real);
        if (text.find_first_of(".e", start) == std::string::npos) text += ".0";
    }

    void array(const json& array, int depth) {
        check(depth);
        text += '[';
        std::size_t index = 0;
        for (const json& item : array) {
            if (index > 0) text += ',';
            place_.push_back(std::to_string(index++));
            value(item, depth);
            place_.pop_back();
        }
        text += ']';
    }

    void object(const json& object, int depth) {
        check(depth);
        text += '{';
        bool is_first = true;
        for (const auto& member : object.get_ref<const json::object_t&>()) {
            if (!is_first) text += ',';
            is_first = false;
            place_.push_back(member.first);
            string(member.first);
            text += ':';
            value(member.second, depth);
            place_.pop_back();
        }
        text += '}';
    }

    void control(unsigned char c) {
        const char* plain = c != 0 ? std::strchr("\"\\\b\f\n\r\t", c) : nullptr;
        if (plain == nullptr) {
            unit(c);
        } else {
            text += '\\';
            text += "\"\\bfnrt"[plain - "\"\\\b\f\n\r\t"];
        }
    }

    void unit(unsigned unit) {
        text += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) text += "0123456789abcdef"[unit >> shift & 0xf];
    }

    void check(int depth) const {
        if (depth > max_depth) refuse("a value nested deeper than 1000");
    }

    [[noreturn]] void refuse(const std::string& what) const {
        std::string pointer;
        for (const std::string& key : place_) {
            pointer += '/';
            for (const char c : key) {
                if (c == '~') pointer += "~0";
                else if (c == '/') pointer += "~1";
                else pointer += static_cast<unsigned char>(c) < 0x80 ? c : '?';
            }
        }
        throw NotJSON(what, pointer);
    }

    std::vector<std::string> place_;
};

}  // namespace

json read(std::string_view text) {
    return Reader(text).whole();
}

std::string write(const json& value) {
    Writer writer;
    writer.value(value, 0);
    return std::move(writer.text);
}

json integer(std::string_view digits) {
    const json value = read(digits);
    if (!value.is_number_integer() && !is_big(value)) detail::refuse_type("an integer", value);
    return value;
}

std::string digits(const json& value) {
    if (!value.is_number_integer() && !is_big(value)) detail::refuse_type("an integer", value);
    return write(value);
}

namespace detail {

void refuse_type(const char* expected, const json& value) {
    std::string text = write(value);
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    throw std::invalid_argument(std::string(expected) + " was expected, and there is " + text);
}

std::int64_t to_signed(const json& value, std::int64_t lowest, std::int64_t highest) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number <= static_cast<std::uint64_t>(highest)) return static_cast<std::int64_t>(number);
    } else if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        if (number >= lowest && number <= highest) return number;
    } else if (value.is_number_float()) {
        const double number = value.get<double>();
        if (number == std::floor(number) && number >= -0x1p63 && number < 0x1p63) {
            const auto whole = static_cast<std::int64_t>(number);
            if (whole >= lowest && whole <= highest) return whole;
        }
    }
    refuse_type("an integer that fits", value);
}

std::uint64_t to_unsigned(const json& value, std::uint64_t highest) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= highest) return value.get<std::uint64_t>();
    if (value.is_number_unsigned()) refuse_type("an integer that fits", value);
    const std::int64_t number = to_signed(value, 0, std::numeric_limits<std::int64_t>::max());
    if (number < 0 || static_cast<std::uint64_t>(number) > highest) refuse_type("an integer from 0 that fits", value);
    return static_cast<std::uint64_t>(number);
}

double to_double(const json& value) {
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        const auto rounded = static_cast<double>(number);
        if (rounded < 0x1p64 && static_cast<std::uint64_t>(rounded) == number) return rounded;
    } else if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        const auto rounded = static_cast<double>(number);
        if (rounded < 0x1p63 && static_cast<std::int64_t>(rounded) == number) return rounded;
    }
    refuse_type("a double", value);
}

std::string quoted(std::string_view text) {
    Writer writer;
    writer.string(text);
    return std::move(writer.text);
}

namespace {

std::string begin() {
    return "{\"jsonrpc\":\"2.0\"";
}

}  // namespace

std::string ask_frame(std::uint64_t id, std::string_view method, std::uint64_t call, std::uint64_t ask,
    std::string_view rest) {
    return begin() + ",\"id\":" + std::to_string(id) + ",\"method\":\"" + std::string(method)
        + "\",\"params\":{\"call\":"
        + std::to_string(call) + ",\"ask\":" + std::to_string(ask) + std::string(rest) + "}}\n";
}

std::string notification(std::string_view method, std::uint64_t call, std::string_view rest) {
    return begin() + ",\"method\":\"" + std::string(method) + "\",\"params\":{\"call\":" + std::to_string(call)
        + std::string(rest) + "}}\n";
}

std::string item(std::string_view method, std::string_view rest) {
    std::string item = "{\"m\":\"" + std::string(method) + "\"";
    // Without the comma that stands before the first.
    if (!rest.empty()) item += ",\"p\":{" + std::string(rest.substr(1)) + "}";
    return item + "}";
}

std::string result_frame(const json& id, std::string_view result) {
    return begin() + ",\"id\":" + write(id) + ",\"result\":" + std::string(result) + "}\n";
}

std::string error_frame(const json& id, int code, std::string_view message, const json& data) {
    std::string frame = begin() + ",\"id\":" + write(id) + ",\"error\":{\"code\":" + std::to_string(code)
        + ",\"message\":"
        + quoted(message);
    if (!data.is_null()) frame += ",\"data\":" + write(data);
    return frame + "}}\n";
}

}  // namespace detail
}  // namespace playhead
