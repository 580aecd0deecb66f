// The functions of protocol/conformance.md, and nothing else.
#include <chrono>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <playhead/client.hpp>

using playhead::Context;
using playhead::json;
using playhead::to;

namespace {

struct TimeoutError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::optional<Context> kept_context;
int counted = 0;

json nothing(const json&, Context&) {
    return nullptr;
}

json echo(const json& event, Context&) {
    return event;
}

json plus_one(const json& event, Context&) {
    if (event.is_number_float()) return event.get<double>() + 1;
    if (event.is_number_unsigned()) return to<std::uint64_t>(event) + 1;
    return to<std::int64_t>(event) + 1;
}

json now(const json&, Context& ctx) {
    return ctx.now();
}

json clocks(const json&, Context& ctx) {
    const auto wall = ctx.now();
    return json::array({wall, ctx.monotonic()});
}

json seq_and_now(const json&, Context& ctx) {
    return {{"seq", ctx.seq()}, {"at", ctx.now()}};
}

json draws(const json&, Context& ctx) {
    std::vector<int> positions(10);
    std::iota(positions.begin(), positions.end(), 0);
    // In an initializer list the arguments are evaluated from left to right.
    return json::array({ctx.random(), ctx.randint(1, 6), playhead::hex(ctx.randbytes(5)), ctx.sample(positions, 3),
        ctx.random()});
}

json draw_two(const json&, Context& ctx) {
    return json::array({ctx.randint(1, 6), ctx.random()});
}

json uuid(const json&, Context& ctx) {
    return ctx.uuid();
}

json charge(const json& event, Context& ctx) {
    const auto at = ctx.now();
    const bool sampled = ctx.random() < 0.2;
    const auto balance = ctx.respond<std::int64_t>("account.balance",
        [&] { return 1000 - to<std::int64_t>(event.at("amount")); });
    return {{"receivedAt", at}, {"sampled", sampled}, {"approved", balance >= 0}, {"balance", balance}};
}

json price() {
    return {{"price", 990}};
}

json quote(const json& event, Context& ctx) {
    return ctx.respond("quote", json::array({event.at("sku")}), price);
}

json quote_in_eur(const json& event, Context& ctx) {
    return ctx.respond("quote", json::array({event.at("sku")}), json{{"currency", "EUR"}}, price);
}

json quote_failing(const json& event, Context& ctx) {
    return ctx.respond("quote", json::array({event.at("sku")}), []() -> json { throw TimeoutError("no quote"); });
}

json quote_or_null(const json& event, Context& ctx) {
    try {
        return {{"price", quote_failing(event, ctx)}};
    } catch (const TimeoutError&) {
        return {{"price", nullptr}};
    }
}

json an_hour() {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return nullptr;
}

json slow(const json&, Context& ctx) {
    return ctx.respond("slow", an_hour);
}

json declined(const json&, Context&) {
    throw playhead::HandlerError("Declined", "no funds");
}

json testify(const json& event, Context& ctx) {
    auto span = ctx.span("charge", {{"amount", event.at("amount")}});
    ctx.observe("queue.depth", 17);
    ctx.note("retry", {{"attempt", 2}});
    span.outcome("approved");
    return true;
}

json escaped(const json&, Context& ctx) {
    ctx.escaped("socket.connect", "handler.py:12");
    return true;
}

json caught(const json&, Context& ctx) {
    const auto at = ctx.now();
    try {
        ctx.now();
    } catch (const std::exception&) {
        // The call has diverged: the daemon says so.
    }
    try {
        ctx.random();
    } catch (const std::exception&) {
        // Likewise.
    }
    return {{"at", at}};
}

json prints(const json&, Context& ctx) {
    std::cout << "one" << std::endl;
    const auto at = ctx.now();
    std::cout << R"({"jsonrpc":"2.0","method":"two"})";
    if (::write(1, "three\n", 6) != 6) throw std::runtime_error("descriptor 1 is closed");
    return at;
}

json reads(const json&, Context&) {
    return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

json order(const json& event, Context& ctx) {
    return json::array({ctx.now(), ctx.random(), quote(event, ctx).at("price")});
}

json readings(const json&, Context& ctx) {
    return json::array({ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)});
}

json noted(const json&, Context& ctx) {
    const auto first = ctx.now();
    ctx.note("retry", {{"attempt", 2}});
    return json::array({first, ctx.now()});
}

json race(const json&, Context& ctx) {
    const auto near = ctx.start<std::string>("near", [] { return "near"; });
    const auto far = ctx.start<std::string>("far", [] { return "far"; });
    const auto t = ctx.now();
    const bool is_far = ctx.first(far, near) == 0;
    const auto u = ctx.now();
    const auto first = is_far ? far.get() : near.get();
    far.get();
    return {{"first", first}, {"at", {t, u}}, {"last", near.get()}};
}

json abandon(const json&, Context& ctx) {
    ctx.start("slow", an_hour);
    return "done";
}

json kept(const json&, Context& ctx) {
    if (ctx.seq() == 0) {
        kept_context = ctx;
        return nullptr;
    }
    try {
        return kept_context->now();
    } catch (const playhead::CallEnded&) {
        return "CallEnded";
    }
}

json live(const json&, Context& ctx) {
    const auto made = ctx.respond<std::string>("live", [&] {
        ctx.now();
        ctx.random();
        return "made";
    });
    return json::array({made, ctx.now()});
}

json not_json(const json&, Context&) {
    return {{"items", {1, std::numeric_limits<double>::quiet_NaN()}}};
}

json lanes(const json&, Context& ctx) {
    return json::array({ctx.now(), ctx.monotonic(), ctx.lane("worker-1").now()});
}

json left_behind(const json&, Context& ctx) {
    if (ctx.seq() != 0) return nullptr;
    std::thread([ctx]() mutable {
        while (!ctx.is_over()) std::this_thread::yield();
        try {
            ctx.now();
        } catch (const playhead::CallEnded&) {
            // As it should be.
        }
    }).detach();
    return nullptr;
}

json count(const json&, Context&) {
    return ++counted;
}

}  // namespace

int main() {
    playhead::Serve serve("conformance");
    serve.reviver("TimeoutError", [](const playhead::ErrorData& error) { throw TimeoutError(error.message); });
    serve.reset([] {
        kept_context.reset();
        counted = 0;
    });
    const std::vector<std::pair<const char*, playhead::Handler>> functions{
        {"nothing", nothing},           {"echo", echo},
        {"plus_one", plus_one},         {"now", now},
        {"clocks", clocks},             {"seq_and_now", seq_and_now},
        {"draws", draws},               {"draw_two", draw_two},
        {"uuid", uuid},                 {"charge", charge},
        {"quote", quote},               {"quote_in_eur", quote_in_eur},
        {"quote_failing", quote_failing}, {"quote_or_null", quote_or_null},
        {"slow", slow},                 {"declined", declined},
        {"testify", testify},           {"escaped", escaped},
        {"caught", caught},             {"prints", prints},
        {"reads", reads},               {"order", order},
        {"readings", readings},         {"noted", noted},
        {"race", race},                 {"abandon", abandon},
        {"kept", kept},                 {"live", live},
        {"not_json", not_json},         {"lanes", lanes},
        {"left_behind", left_behind},   {"count", count},
    };
    for (const auto& [name, function] : functions) serve.function(name, function);
    serve.run();
}
