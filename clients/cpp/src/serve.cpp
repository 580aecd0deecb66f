#include <playhead/serve.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <thread>
#include <unistd.h>

#include "framing.hpp"
#include "message.hpp"
#include "peer.hpp"

namespace playhead {

namespace {

constexpr std::int64_t protocol_version = 1;
constexpr const char* client_version = "0.1.0";

#define PLAYHEAD_TEXT_(x) #x
#define PLAYHEAD_TEXT(x) PLAYHEAD_TEXT_(x)
#if defined(__clang__)
constexpr const char* runtime = "Clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* runtime =
    "GCC " PLAYHEAD_TEXT(__GNUC__) "." PLAYHEAD_TEXT(__GNUC_MINOR__) "." PLAYHEAD_TEXT(__GNUC_PATCHLEVEL__);
#else
constexpr const char* runtime = "C++17";
#endif

// At once: no destructor, no thread and no producer is waited for. What was printed has gone out line by line.
[[noreturn]] void leave() {
    ::_exit(0);
}

int kept(int descriptor) {
    const int duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (duplicate >= 0) return duplicate;
    std::fprintf(stderr, "playhead: descriptor %d cannot be duplicated\n", descriptor);
    std::exit(1);
}

bool is_number_from_0(const json& params, const char* member) {
    const auto found = params.find(member);
    return found != params.end()
        && (found->is_number_unsigned() || (found->is_number_integer() && found->get<std::int64_t>() >= 0));
}

json object_of(const json& object, const char* member) {
    const auto found = object.find(member);
    return found != object.end() && found->is_object() ? *found : json::object();
}

bool offers(const json& offered, const char* capability) {
    const auto found = offered.find(capability);
    return found != offered.end() && *found == true;
}

}  // namespace

struct Serve::Parts {
    std::string name;
    std::map<std::string, Handler> functions;
    std::function<void()> reset;
    int in = -1;
    std::shared_ptr<detail::Peer> peer;
    bool is_initialized = false;
    bool has_windows = false;

    void read();
    void accept(const std::string& frame);
    void notified(const std::string& method, const json& params);
    void requested(const json& id, const std::string& method, json& params);
    void initialize(const json& id, const json& params);
    void handle(const json& id, json& params);
    [[noreturn]] void give_up(int code, const std::string& message, const std::string& why);
    void refuse(const json& id, int code, const std::string& message, const json& data = nullptr);
    void serve(std::uint64_t generation);
    void call(const detail::Work& work);
    void make_new(const detail::Work& work);
};

Serve::Serve(std::string name) : parts_(std::make_unique<Parts>()) {
    parts_->name = std::move(name);
    parts_->in = kept(0);
    const int out = kept(1);
    std::fflush(stdout);
    std::cout.flush();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        ::dup2(nothing, 0);
        if (::dup2(2, 1) < 0) ::dup2(nothing, 1);
        ::close(nothing);
    }
    // Line by line, since the end of input flushes nothing.
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    std::cout << std::unitbuf;
    // A daemon that is gone is seen where the write fails. Children get the default back, which they would not after
    // SIG_IGN.
    struct sigaction before {};
    ::sigaction(SIGPIPE, nullptr, &before);
    if (before.sa_handler == SIG_DFL) std::signal(SIGPIPE, [](int) {});
    parts_->peer = std::make_shared<detail::Peer>(out, leave);
}

Serve::~Serve() = default;

Serve& Serve::function(const std::string& name, Handler handler) {
    if (name.empty()) throw std::invalid_argument("a function has a name");
    parts_->functions[name] = std::move(handler);
    return *this;
}

Serve& Serve::reviver(const std::string& type, Reviver reviver) {
    parts_->peer->revivers[type] = std::move(reviver);
    return *this;
}

Serve& Serve::reset(std::function<void()> reset) {
    parts_->reset = std::move(reset);
    return *this;
}

void Serve::run() {
    if (parts_->functions.empty()) throw std::logic_error("there is no function to serve");
    Parts* parts = parts_.get();
    parts->peer->serve_on = [parts](std::uint64_t generation) {
        std::thread([parts, generation] { parts->serve(generation); }).detach();
    };
    std::thread([parts] { parts->read(); }).detach();
    parts->serve(0);
    // Another thread serves now. The end of input ends them all.
    while (true) ::pause();
}

void Serve::Parts::read() {
    detail::Framing framing(in);
    try {
        while (const auto frame = framing.next()) {
            if (!frame->empty()) accept(*frame);
        }
    } catch (const std::exception& broken) {
        give_up(-32700, "the frame is not one JSON text", broken.what());
    }
    leave();
}

void Serve::Parts::accept(const std::string& frame) {
    json message;
    try {
        message = playhead::read(frame);
    } catch (const std::invalid_argument& refused) {
        give_up(-32700, "the frame is not one JSON text", refused.what());
    }
    if (!message.is_object()) give_up(-32600, "the frame is not a JSON-RPC 2.0 message", "it is no object");
    const auto method = message.find("method");
    const auto id = message.find("id");
    if (method == message.end()) {
        peer->answered(message);
    } else if (!method->is_string() || (id != message.end() && !id->is_string() && !id->is_number_integer())) {
        give_up(-32600, "the frame is not a JSON-RPC 2.0 message",
                method->is_string() ? "an id is an integer or a string" : "the method is not a string");
    } else {
        json params = object_of(message, "params");
        if (id == message.end()) notified(method->get<std::string>(), params);
        else requested(*id, method->get<std::string>(), params);
    }
}

// Nothing can be said about a conversation that is no longer one.
void Serve::Parts::give_up(int code, const std::string& message, const std::string& why) {
    refuse(nullptr, code, message);
    std::fprintf(stderr, "playhead: a frame cannot be read: %s\n", why.c_str());
    ::_exit(1);
}

void Serve::Parts::refuse(const json& id, int code, const std::string& message, const json& data) {
    peer->reply(detail::error_frame(id, code, message, data));
}

void Serve::Parts::notified(const std::string& method, const json& params) {
    if (!is_initialized) return;
    if (method == "withdraw") peer->withdraw();
    else if (method == "cancel" && is_number_from_0(params, "call")) peer->cancel(params["call"].get<std::uint64_t>());
}

void Serve::Parts::requested(const json& id, const std::string& method, json& params) {
    if (method == "initialize") {
        initialize(id, params);
    } else if (!is_initialized) {
        refuse(id, -32002, "initialize has not been answered");
    } else if (method == "handle") {
        handle(id, params);
    } else if (method == "shutdown") {
        peer->reply(detail::result_frame(id, "{}"));
    } else if (method == "reset" && reset) {
        if (!peer->queue_reset(id)) refuse(id, -32600, "a call is open");
    } else {
        refuse(id, -32601, "no such method");
    }
}

void Serve::Parts::initialize(const json& id, const json& params) {
    if (is_initialized) {
        refuse(id, -32600, "initialize has been answered already");
        return;
    }
    const auto offered = params.find("protocol");
    if (offered == params.end() || !offered->is_number_integer()) {
        refuse(id, -32602, "protocol is not an integer");
        return;
    }
    if (offered->get<std::int64_t>() < protocol_version) {
        refuse(id, -32001, "no common protocol version", {{"supported", json::array({protocol_version})}});
        return;
    }
    const json capabilities = object_of(params, "capabilities");
    const json limits = object_of(params, "limits");
    if (is_number_from_0(limits, "frameBytes")) peer->limit(limits["frameBytes"].get<std::size_t>());
    is_initialized = true;
    has_windows = offers(capabilities, "window");
    json both = json::object();
    if (has_windows) both["window"] = true;
    if (reset && offers(capabilities, "reset")) both["reset"] = true;
    json names = json::array();
    for (const auto& function : functions) names.push_back(function.first);
    const json answer{
        {"protocol", protocol_version},
        {"handler", {{"name", name}, {"version", client_version}, {"language", "cpp"}, {"runtime", runtime}}},
        {"functions", names},
        {"capabilities", both},
        {"constants", json::object()},
    };
    peer->reply(detail::result_frame(id, playhead::write(answer)));
}

void Serve::Parts::handle(const json& id, json& params) {
    const auto fn = params.find("fn");
    json window = has_windows && params.contains("window") ? params["window"] : json();
    if (!is_number_from_0(params, "call")) {
        refuse(id, -32602, "call is not a number from 0");
    } else if (!is_number_from_0(params, "seq")) {
        refuse(id, -32602, "seq is not a number from 0");
    } else if (!params.contains("event")) {
        refuse(id, -32602, "there is no event");
    } else if (fn == params.end() || !fn->is_string() || functions.count(fn->get<std::string>()) == 0) {
        refuse(id, -32602, "no function named " + (fn == params.end() ? "null" : playhead::write(*fn)));
    } else if (!window.is_null() && !detail::Feed::is_window(window)) {
        refuse(id, -32602, "the window is not one");
    } else {
        peer->queue({id, params["call"].get<std::uint64_t>(), params["seq"].get<std::uint64_t>(),
                     fn->get<std::string>(), std::move(params["event"]), std::move(window)});
    }
}

void Serve::Parts::serve(std::uint64_t generation) {
    while (const auto work = peer->next(generation)) {
        if (work->fn.empty()) make_new(*work);
        else call(*work);
    }
}

void Serve::Parts::call(const detail::Work& work) {
    const auto call = peer->begin();
    std::string result;
    try {
        if (work.cancelled) throw Cancelled("the call was cancelled");
        Context context(peer, call);
        const std::string text = playhead::write(functions.at(work.fn)(work.event, context));
        peer->check_size(text.size());
        result = "{\"output\":" + text + "}";
    } catch (...) {
        result = peer->raised(std::current_exception());
    }
    peer->end(*call, result);
}

void Serve::Parts::make_new(const detail::Work& work) {
    std::string frame;
    try {
        reset();
        frame = detail::result_frame(work.id, "{}");
    } catch (...) {
        // What went wrong in there is for people.
        const ErrorData error = detail::describe(std::current_exception());
        std::fprintf(stderr, "playhead: reset: %s: %s\n", error.type.c_str(), error.message.c_str());
        frame = detail::error_frame(work.id, -32603, "the handlers could not be made new", {{"reference", "stderr"}});
    }
    peer->reset_done(frame);
}

}  // namespace playhead
