// The handler of incident-4211 after a change: `balance > 0` where it was `>= 0`.
#include <playhead/client.hpp>

using playhead::json;

json handle(const json& event, playhead::Context& ctx) {
    const auto received_at = ctx.now();
    const bool sampled = ctx.random() < 0.2;
    const auto amount = playhead::to<std::int64_t>(event.at("amount"));
    const auto balance = ctx.respond<std::int64_t>("account.balance", [&] { return 1000 - amount; });
    return {{"receivedAt", received_at}, {"sampled", sampled}, {"approved", balance > 0}, {"balance", balance}};
}

int main() {
    playhead::Serve("incident-4211").function("handler", handle).run();
}
