// What a handler is given: the clock, randomness and the outside world, from the daemon on record as on replay. Inside
// a producer, on its thread, all of it is live and off the tape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <playhead/message.hpp>

namespace playhead {

namespace detail {

class Peer;
struct Call;
struct Question;
using Produce = std::function<json()>;

json wait(const std::shared_ptr<Question>& question);
std::size_t first(const std::vector<std::shared_ptr<Question>>& questions);
bool is_live() noexcept;

template <class F>
json produced(F& producer) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        producer();
        return nullptr;
    } else {
        return json(producer());
    }
}

}  // namespace detail

/// An answer that is on its way. It is handed over when `get` returns it. Its producer, where it is needed, runs in
/// `get`, on the thread that waits, so it may refer to what lives there.
template <class T>
class Answer {
public:
    explicit Answer(std::shared_ptr<detail::Question> question) : question_(std::move(question)) {}
    T get() const { return to<T>(detail::wait(question_)); }
    const std::shared_ptr<detail::Question>& question() const noexcept { return question_; }

private:
    std::shared_ptr<detail::Question> question_;
};

/// A piece of work that a handler says it does; it ends with this object.
class Span {
public:
    Span(std::shared_ptr<detail::Peer> peer, std::shared_ptr<detail::Call> call, std::string lane, std::uint64_t sid,
         std::string name);
    Span(Span&& other) noexcept;
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    Span& operator=(Span&&) = delete;
    ~Span();

    /// What came of it, said when it ends.
    void outcome(json outcome);

private:
    std::shared_ptr<detail::Peer> peer_;
    std::shared_ptr<detail::Call> call_;
    std::string lane_;
    std::uint64_t sid_;
    std::string name_;
    std::string outcome_;
};

/// May be copied: a copy is the same context.
class Context {
public:
    Context(std::shared_ptr<detail::Peer> peer, std::shared_ptr<detail::Call> call, std::string lane = {});

    /// The event's index, from 0.
    std::uint64_t seq() const;
    /// The call's number.
    std::uint64_t call() const;
    /// The function's name.
    const std::string& fn() const;
    /// True once the call has been answered: what is asked from then on is refused with CallEnded.
    bool is_over() const;

    /// The same context for a thread with an order of its own.
    Context lane(std::string name) const;

    /// Milliseconds since the Unix epoch.
    std::int64_t now();
    /// Milliseconds of a clock that never goes back.
    double monotonic();
    /// A float in [0, 1).
    double random();
    /// An integer from low to high, both included.
    std::int64_t randint(std::int64_t low, std::int64_t high);
    std::vector<std::uint8_t> randbytes(std::size_t n);
    /// A UUID of version 4, in lower case, of sixteen drawn bytes.
    std::string uuid();

    /// So many different ones of the items, in the order drawn.
    template <class T>
    std::vector<T> sample(const std::vector<T>& items, std::size_t k) {
        std::vector<T> drawn;
        for (std::size_t position : positions(items.size(), k)) drawn.push_back(items.at(position));
        return drawn;
    }

    /// The outcome of something outside: on record what the producer returns or throws, on replay what the tape holds.
    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    T respond(const std::string& key, F producer) {
        return respond<T>(key, json::array(), json::object(), std::move(producer));
    }

    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    T respond(const std::string& key, const json& args, F producer) {
        return respond<T>(key, args, json::object(), std::move(producer));
    }

    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    T respond(const std::string& key, const json& args, const json& kwargs, F producer) {
        if (detail::is_live()) return to<T>(detail::produced(producer));
        return start<T>(key, args, kwargs, std::move(producer)).get();
    }

    /// The same, not waited for.
    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    Answer<T> start(const std::string& key, F producer) {
        return start<T>(key, json::array(), json::object(), std::move(producer));
    }

    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    Answer<T> start(const std::string& key, const json& args, F producer) {
        return start<T>(key, args, json::object(), std::move(producer));
    }

    template <class T = json, class F, class = std::enable_if_t<std::is_invocable_v<F&>>>
    Answer<T> start(const std::string& key, const json& args, const json& kwargs, F producer) {
        return Answer<T>(ask(key, args, kwargs,
            [producer = std::move(producer)]() mutable { return detail::produced(producer); }));
    }

    /// Waits until one of the answers is there, hands it over, and gives its place: of several, the one that came
    /// first. On record the producer of the first one runs.
    template <class... A>
    std::size_t first(const A&... answers) {
        return detail::first({answers.question()...});
    }

    /// Testimony: something about what the handler does.
    void note(const std::string& name);
    void note(const std::string& name, const json& data);
    /// Testimony: what the handler believes about the world.
    void observe(const std::string& name, const json& value);
    /// Testimony: a piece of work begins, and ends with what is returned.
    Span span(const std::string& name);
    Span span(const std::string& name, const json& data);
    /// Says that something outside the tape was reached.
    void escaped(const std::string& key, const std::string& where);

private:
    std::shared_ptr<detail::Question> ask(const std::string& key, const json& args, const json& kwargs,
        detail::Produce producer);
    std::vector<std::size_t> positions(std::size_t n, std::size_t k);
    json draw(const std::string& rest);
    std::string in_lane(std::string rest) const;
    Span begin(const std::string& name, const std::string& data);

    std::shared_ptr<detail::Peer> peer_;
    std::shared_ptr<detail::Call> call_;
    std::string lane_;
};

/// Bytes in lower-case hex.
std::string hex(const std::vector<std::uint8_t>& bytes);

}  // namespace playhead
