// An integer plus one, to the last digit.
#include <playhead/client.hpp>

using playhead::json;

json handle(const json& event, playhead::Context&) {
    return playhead::to<std::int64_t>(event) + 1;
}

int main() {
    playhead::Serve("plus-one").function("handler", handle).run();
}
