// An error that is the same in every language.
#include <playhead/client.hpp>

using playhead::json;

json handle(const json&, playhead::Context&) {
    throw playhead::HandlerError("Declined", "no funds");
}

int main() {
    playhead::Serve("declined").function("handler", handle).run();
}
