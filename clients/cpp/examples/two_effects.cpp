// Two questions to the outside, one after the other: what is the price, and is there enough?
#include <playhead/client.hpp>

using playhead::json;

json handle(const json& event, playhead::Context& ctx) {
    const auto at = ctx.now();
    const auto sku = json::array({event.at("sku")});
    const auto price = ctx.respond<std::int64_t>("quote", sku, [] { return 990; });
    const auto stock = ctx.respond<std::int64_t>("stock", sku, [] { return 7; });
    const bool ok = stock >= playhead::to<std::int64_t>(event.at("amount"));
    return {{"at", at}, {"price", price}, {"stock", stock}, {"ok", ok}};
}

int main() {
    playhead::Serve("two-effects").function("handler", handle).run();
}
