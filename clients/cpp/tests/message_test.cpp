// Values into text and back, also against the project's vectors where they are beside this folder.
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <playhead/client.hpp>

using namespace playhead;

namespace {

std::string file(const std::string& name) {
    std::ifstream in(std::string(VECTORS) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string bytes_of(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
}

std::string place(const json& value) {
    try {
        write(value);
    } catch (const NotJSON& error) {
        return error.pointer();
    }
    return "it was taken";
}

}  // namespace

TEST_SUITE("message") {
    TEST_CASE("a text comes back as it was") {
        for (const char* text : {R"({"a":[1,2.5,true,null,""],"b":{}})", "[]", R"("\ud800")", R"({"\udfff":1})",
                                 R"("\u0000\u001f\n")",
                                 "\"\u00e9\u2028\U0001f600<>&\"", "1234567890123456789012345678901",
                                 "-18446744073709551617", "5e-324",
                                 "-0.0", "18446744073709551615", "-9223372036854775808", "9007199254740993", "1e+22",
                                 "4.0"}) {
            CHECK(write(read(text)) == text);
        }
    }

    TEST_CASE("an escaped pair is one character") {
        CHECK(read(R"("\ud83d\ude00")") == "\U0001f600");
        CHECK(write(read(R"("\ud83d\ud83d\ude00")")) == "\"\\ud83d\U0001f600\"");
    }

    TEST_CASE("an integer of more than 64 bits keeps its digits, and nothing rounds it") {
        const json big = read("18446744073709551616");
        CHECK(digits(big) == "18446744073709551616");
        CHECK(integer("18446744073709551616") == big);
        CHECK(digits(integer("12")) == "12");
        CHECK_THROWS_AS(to<double>(big), std::invalid_argument);
        CHECK_THROWS_AS(to<std::uint64_t>(big), std::invalid_argument);
        CHECK_THROWS_AS(big.get<double>(), json::type_error);
        CHECK_THROWS_AS(integer("1.5"), std::invalid_argument);
        CHECK_THROWS_AS(digits(json("12")), std::invalid_argument);
    }

    TEST_CASE("a number that does not fit its type is refused") {
        CHECK(to<int>(read("4.0")) == 4);
        CHECK(to<std::uint64_t>(read("18446744073709551615")) == std::numeric_limits<std::uint64_t>::max());
        CHECK(to<double>(read("9007199254740992")) == 9007199254740992.0);
        CHECK_THROWS_AS(to<double>(read("9007199254740993")), std::invalid_argument);
        CHECK_THROWS_AS(to<double>(read("18446744073709551615")), std::invalid_argument);
        CHECK_THROWS_AS(to<int>(read("2147483648")), std::invalid_argument);
        CHECK_THROWS_AS(to<int>(read("4.5")), std::invalid_argument);
        CHECK_THROWS_AS(to<std::int64_t>(read("1e19")), std::invalid_argument);
        CHECK_THROWS_AS(to<unsigned>(read("-1")), std::invalid_argument);
        CHECK_THROWS_AS(to<std::uint8_t>(read("256")), std::invalid_argument);
        CHECK_THROWS_AS(to<bool>(read("1")), std::invalid_argument);
        CHECK_THROWS_AS(to<std::string>(read("1")), json::type_error);
    }

    TEST_CASE("what JSON cannot carry is refused with its place") {
        CHECK(place(std::numeric_limits<double>::quiet_NaN()) == "");
        CHECK(place({{"items", {1, std::numeric_limits<double>::infinity()}}}) == "/items/1");
        CHECK(place({{"a/b~", json::binary({1})}}) == "/a~1b~0");
        CHECK(place(json::array({"\xff"})) == "/0");
        CHECK(place({{"\xc0\x80", 1}}) == "/??");
        json deep = 1;
        for (int i = 0; i < 1001; ++i) deep = json::array({deep});
        CHECK_THROWS_AS(write(deep), NotJSON);
        CHECK(write(deep[0]).size() == 2001);
    }

    TEST_CASE("what is not exact is refused") {
        for (const char* text : {"", " ", "{", "[1,]", R"({"a":1,"a":2})", R"({"a":1,"\u0061":2})", "01", "1.", ".5",
                                 "+1", "NaN", "1e999",
                                 "-", "tru", "\"\t\"", R"("\x")", R"("\u12g4")", R"("\u-123")", "[1] 2",
                                 "\xef\xbb\xbf" "1", "1e", "'a'",
                                 "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "\"\xf4\x90\x80\x80\""}) {
            CAPTURE(text);
            CHECK_THROWS_AS(read(text), std::invalid_argument);
        }
        CHECK(read("1e-999") == 0.0);
        CHECK(read("0.0000e999") == 0.0);
        CHECK_THROWS_AS(read("0.001e312"), std::invalid_argument);
        CHECK_THROWS_AS(read(std::string(400, '9')), std::invalid_argument);
    }

    TEST_CASE("texts of the vectors are taken or refused") {
        const std::string vectors = file("canonical/reject.json");
        if (vectors.empty()) return;
        int seen = 0;
        const json all = read(vectors);
        for (const json& one : all["cases"]) {
            const auto name = one["name"].get<std::string>();
            CAPTURE(name);
            const std::string text = bytes_of(one["hex"]);
            ++seen;
            if (name[0] == 'n') CHECK_THROWS_AS(read(text), std::invalid_argument);
            // A key that comes twice is refused: rule X3 of the protocol.
            if (name[0] == 'y' && name.find("duplicate") == std::string::npos) CHECK_NOTHROW(write(read(text)));
        }
        CHECK(seen > 400);
    }

    TEST_CASE("every float of the vectors survives") {
        const std::string vectors = file("numbers/numbers.json");
        if (vectors.empty()) return;
        int seen = 0;
        const json all = read(vectors);
        for (const json& one : all["numbers"]) {
            const std::uint64_t bits = std::stoull(one["bits"].get<std::string>(), nullptr, 16);
            double value = 0;
            std::memcpy(&value, &bits, sizeof value);
            const json again = read(write(value));
            CHECK(again.is_number_float());
            CHECK(again.get<double>() == value);
            ++seen;
        }
        CHECK(seen > 8000);
    }
}
