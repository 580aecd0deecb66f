// Serves functions to the daemon on stdin and stdout.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <playhead/context.hpp>

namespace playhead {

using Handler = std::function<json(const json& event, Context& ctx)>;

class Serve {
public:
    /// Takes stdin and stdout: what is printed from then on goes to stderr, whatever way it is printed.
    explicit Serve(std::string name);
    ~Serve();
    Serve(const Serve&) = delete;
    Serve& operator=(const Serve&) = delete;

    Serve& function(const std::string& name, Handler handler);
    /// Throws what an error of this type is revived as, on record and on replay.
    Serve& reviver(const std::string& type, Reviver reviver);
    /// Makes the process as good as new between two calls. Without one it is not offered.
    Serve& reset(std::function<void()> reset);
    /// Serves until the end of input, which ends the process with 0. Handlers run on this thread.
    [[noreturn]] void run();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace playhead
