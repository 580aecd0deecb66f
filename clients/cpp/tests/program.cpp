// What the tests ask of a process that the conformance program does not have.
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <locale>
#include <thread>
#include <vector>

#include <playhead/client.hpp>

using playhead::Context;
using playhead::json;

namespace {

struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
    char do_thousands_sep() const override { return '.'; }
};

json several_threads(const json&, Context& ctx) {
    std::vector<std::future<std::int64_t>> readings;
    for (int i = 0; i < 40; ++i)
        readings.push_back(std::async(std::launch::async, [ctx]() mutable { return ctx.now(); }));
    std::int64_t sum = 0;
    for (auto& reading : readings) sum += reading.get();
    return sum;
}

json in_two_threads(const json&, Context& ctx) {
    auto other = std::async(std::launch::async, [ctx]() mutable {
        return ctx.respond<std::string>("b", [&] { return "b" + std::to_string(ctx.now() > 0); });
    });
    const auto other_answer = other.get();
    return json::array({ctx.respond<std::string>("a", [] { return "a"; }), other_answer});
}

json child(const json&, Context&) {
    return std::system("echo from the child; cat");
}

json own_error(const json&, Context& ctx) {
    try {
        return ctx.respond("k", []() -> json { throw std::out_of_range("too far"); });
    } catch (const std::out_of_range& error) {
        return std::string("caught ") + error.what();
    }
}

json thrown_number(const json&, Context&) {
    throw 42;
}

json stuck(const json&, Context& ctx) {
    return ctx.respond("k", []() -> json {
        std::this_thread::sleep_for(std::chrono::hours(1));
        return nullptr;
    });
}

json locale(const json&, Context&) {
    std::locale::global(std::locale(std::locale::classic(), new Comma));
    std::setlocale(LC_ALL, "de_DE.UTF-8");
    std::cout.imbue(std::locale());
    std::cout << 1234.5 << std::endl;
    return json::array({1234567, 0.5});
}

}  // namespace

int main() {
    playhead::Serve serve("program");
    serve.function("several_threads", several_threads)
        .function("in_two_threads", in_two_threads)
        .function("child", child)
        .function("own_error", own_error)
        .function("thrown_number", thrown_number)
        .function("stuck", stuck)
        .function("locale", locale)
        .function("too_large", [](const json&, Context&) { return std::string(1 << 16, 'x'); })
        .function("now_twice", [](const json&, Context& ctx) { return json::array({ctx.now(), ctx.now()}); })
        .function("ask_then_now", [](const json&, Context& ctx) {
            return json::array({ctx.respond("k", [] { return "v"; }), ctx.now()});
        })
        .function("argument", [](const json&, Context& ctx) {
            return ctx.respond("k", json::array({1, {{"a", std::numeric_limits<double>::quiet_NaN()}}}),
                [] { return 1; });
        })
        .function("fraction", [](const json&, Context& ctx) { return json(ctx.respond<int>("k", [] { return 1; })); })
        .reset([] { throw std::out_of_range("still busy"); })
        .run();
}
