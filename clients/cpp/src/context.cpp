#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "message.hpp"
#include "peer.hpp"

namespace playhead {

namespace {

std::mt19937_64& chance() {
    thread_local std::mt19937_64 engine{std::random_device{}()};
    return engine;
}

int nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw ProtocolError("bytes are lower-case hex");
}

}  // namespace

Span::Span(std::shared_ptr<detail::Peer> peer, std::shared_ptr<detail::Call> call, std::string lane, std::uint64_t sid,
           std::string name)
    : peer_(std::move(peer)), call_(std::move(call)), lane_(std::move(lane)), sid_(sid), name_(std::move(name)) {}

Span::Span(Span&& other) noexcept
    : peer_(std::move(other.peer_)), call_(std::move(other.call_)), lane_(std::move(other.lane_)), sid_(other.sid_),
      name_(std::move(other.name_)), outcome_(std::move(other.outcome_)) {}

Span::~Span() {
    if (!peer_ || detail::is_live()) return;
    try {
        peer_->tell(*call_, "span", ",\"sid\":" + std::to_string(sid_) + ",\"phase\":\"end\",\"name\":" + name_
            + outcome_ + lane_);
    } catch (...) {
        // Testimony: a destructor has nobody to tell.
    }
}

void Span::outcome(json outcome) {
    outcome_ = ",\"outcome\":" + write(outcome);
}

Context::Context(std::shared_ptr<detail::Peer> peer, std::shared_ptr<detail::Call> call, std::string lane)
    : peer_(std::move(peer)), call_(std::move(call)), lane_(std::move(lane)) {}

std::uint64_t Context::seq() const {
    return call_->seq;
}

std::uint64_t Context::call() const {
    return call_->number;
}

const std::string& Context::fn() const {
    return call_->fn;
}

bool Context::is_over() const {
    const detail::Lock lock(peer_->mutex);
    return call_->over;
}

// A lane is kept as the member that it is in a message.
Context Context::lane(std::string name) const {
    return {peer_, call_, ",\"lane\":" + detail::quoted(name)};
}

std::string Context::in_lane(std::string rest) const {
    return rest + lane_;
}

std::int64_t Context::now() {
    if (detail::is_live()) {
        using namespace std::chrono;
        return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    }
    const json taped = peer_->ask(call_, "now", lane_, true);
    if (taped.is_number_float() && taped.get<double>() != std::floor(taped.get<double>()))
        throw ProtocolError("now() gives whole milliseconds, and there is " + write(taped));
    return to<std::int64_t>(taped);
}

double Context::monotonic() {
    if (detail::is_live()) {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    return to<double>(peer_->ask(call_, "now", in_lane(",\"clock\":\"monotonic\""), false));
}

double Context::random() {
    if (detail::is_live()) return std::generate_canonical<double, 53>(chance());
    return to<double>(peer_->ask(call_, "random", lane_, true));
}

json Context::draw(const std::string& rest) {
    return peer_->ask(call_, "random", in_lane(rest), false);
}

std::int64_t Context::randint(std::int64_t low, std::int64_t high) {
    const std::string least = std::to_string(low);
    const std::string most = std::to_string(high);
    if (low > high) throw std::invalid_argument("low is " + least + " and high is " + most);
    if (detail::is_live()) return std::uniform_int_distribution<std::int64_t>(low, high)(chance());
    return to<std::int64_t>(draw(",\"draw\":\"int\",\"low\":" + least + ",\"high\":" + most));
}

std::vector<std::uint8_t> Context::randbytes(std::size_t n) {
    std::vector<std::uint8_t> bytes(n);
    if (detail::is_live()) {
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(chance()());
        return bytes;
    }
    const auto drawn = to<std::string>(draw(",\"draw\":\"bytes\",\"n\":" + std::to_string(n)));
    if (drawn.size() != 2 * n) throw ProtocolError("there are more or fewer bytes than were asked for");
    for (std::size_t i = 0; i < n; ++i) {
        bytes[i] = static_cast<std::uint8_t>(nibble(drawn[2 * i]) << 4 | nibble(drawn[2 * i + 1]));
    }
    return bytes;
}

std::string Context::uuid() {
    auto bytes = randbytes(16);
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
    std::string text = hex(bytes);
    for (const std::size_t dash : {20, 16, 12, 8}) text.insert(dash, 1, '-');
    return text;
}

std::vector<std::size_t> Context::positions(std::size_t n, std::size_t k) {
    std::vector<std::size_t> drawn;
    if (k > n) throw std::invalid_argument("a sample of " + std::to_string(k) + " of " + std::to_string(n));
    if (detail::is_live()) {
        for (std::size_t i = 0; i < n; ++i) drawn.push_back(i);
        std::shuffle(drawn.begin(), drawn.end(), chance());
        drawn.resize(k);
        return drawn;
    }
    const std::string rest = ",\"draw\":\"sample\",\"n\":" + std::to_string(n) + ",\"k\":" + std::to_string(k);
    for (const json& position : draw(rest)) {
        drawn.push_back(to<std::size_t>(position));
    }
    return drawn;
}

std::shared_ptr<detail::Question> Context::ask(const std::string& key, const json& args, const json& kwargs,
                                               detail::Produce producer) {
    if (detail::is_live()) throw std::logic_error("a producer starts nothing: call what is meant");
    if (!args.is_array()) throw std::invalid_argument("args is an array");
    if (!kwargs.is_object()) throw std::invalid_argument("kwargs is an object");
    std::string rest = ",\"key\":" + detail::quoted(key);
    if (!args.empty()) rest += ",\"args\":" + write(args);
    if (!kwargs.empty()) rest += ",\"kwargs\":" + write(kwargs);
    const auto question = std::make_shared<detail::Question>();
    question->peer = peer_;
    question->call = call_;
    question->key = key;
    question->producer = std::move(producer);
    peer_->ask(question, in_lane(std::move(rest)));
    return question;
}

void Context::note(const std::string& name) {
    if (!detail::is_live()) peer_->tell(*call_, "note", in_lane(",\"name\":" + detail::quoted(name)));
}

void Context::note(const std::string& name, const json& data) {
    if (detail::is_live()) return;
    peer_->tell(*call_, "note", in_lane(",\"name\":" + detail::quoted(name) + ",\"data\":" + write(data)));
}

void Context::observe(const std::string& name, const json& value) {
    if (detail::is_live()) return;
    peer_->tell(*call_, "observe", in_lane(",\"name\":" + detail::quoted(name) + ",\"value\":" + write(value)));
}

Span Context::span(const std::string& name) {
    return begin(name, "");
}

Span Context::span(const std::string& name, const json& data) {
    return begin(name, ",\"data\":" + write(data));
}

Span Context::begin(const std::string& name, const std::string& data) {
    std::uint64_t sid = 0;
    {
        const detail::Lock lock(peer_->mutex);
        sid = ++call_->spans;
    }
    const std::string quoted = detail::quoted(name);
    if (!detail::is_live()) {
        const std::string rest = ",\"sid\":" + std::to_string(sid) + ",\"phase\":\"begin\",\"name\":" + quoted + data;
        peer_->tell(*call_, "span", in_lane(rest));
    }
    return {peer_, call_, lane_, sid, quoted};
}

void Context::escaped(const std::string& key, const std::string& where) {
    if (detail::is_live()) return;
    peer_->tell(*call_, "escaped", ",\"key\":" + detail::quoted(key) + ",\"where\":" + detail::quoted(where));
}

std::string hex(const std::vector<std::uint8_t>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 0xf];
    }
    return text;
}

}  // namespace playhead
