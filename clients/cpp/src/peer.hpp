// One end of the conversation: questions go out, answers find whoever waits. One thread reads all the time, so the end
// of input and a cancel are heard whatever the handler does; handlers run on the thread that serves. Numbering a
// question and sending it are one step, under the one mutex.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <playhead/context.hpp>

namespace playhead::detail {

using Lock = std::unique_lock<std::mutex>;

/// What is known of one call. Guarded by the peer's mutex.
struct Call {
    json id;
    std::uint64_t number = 0;
    std::uint64_t seq = 0;
    std::string fn;
    std::condition_variable changed;
    bool produces = false;
    bool over = false;
    bool cancelled = false;
    int producing = 0;  // producers that run on the thread that serves
    std::uint64_t asks = 0;
    std::uint64_t arrivals = 0;
    std::uint64_t spans = 0;
    std::exception_ptr trouble;
    std::string taken;  // items of `asked` that were not told yet, joined

    /// The next question, or the return of the handler, fails with what went wrong.
    void raise_trouble();
};

/// An open `respond`. Guarded by the peer's mutex, but for the producer.
struct Question {
    std::shared_ptr<Peer> peer;
    std::shared_ptr<Call> call;
    std::string key;
    Produce producer;
    std::uint64_t ask = 0;
    std::uint64_t arrival = 0;
    bool is_unasked = false;  // reported; the daemon answers neither it nor its settlement
    bool is_offered = false;
    bool is_started = false;
    bool is_handed_over = false;
    std::string made;  // what the producer made, as a member of respond.settle
    json value;
    std::optional<ErrorData> error;
    std::exception_ptr refusal;

    void arrive(const json& message);
    void given(const json& result);
    void arrived();
    void offer();
    /// Waits for something to happen, or runs the producer. The mutex is given up meanwhile.
    void await(Lock& lock, bool may_produce);
    void hand_over();
    void produce(Lock& lock);
};

/// A call that waits for its turn, or, where it has no function, a reset.
struct Work {
    json id;
    std::uint64_t call = 0;
    std::uint64_t seq = 0;
    std::string fn;
    json event;
    json window;
    bool cancelled = false;
};

/// Answers that came ahead, in lanes.
struct Feed {
    std::deque<json> now;
    std::deque<json> random;
    std::map<std::string, std::deque<json>> respond;

    static bool is_window(const json& window);
    void add(json& window);
};

class Peer {
public:
    Peer(int out, std::function<void()> on_end) : out_(out), on_end_(std::move(on_end)) {}

    std::mutex mutex;
    Revivers revivers;

    // What a context asks.

    /// `now` or `random`, waited for. `is_plain`: the wall clock or a float, which windows may hold.
    json ask(const std::shared_ptr<Call>& call, const std::string& method, const std::string& rest, bool is_plain);
    /// Asks `respond`, and does not wait.
    void ask(const std::shared_ptr<Question>& question, const std::string& rest);
    /// What a producer made, when it is handed over. Under the mutex.
    void settle(const std::shared_ptr<Call>& call, Question& question);
    /// Sends a notification of a call, unless it is over.
    void tell(Call& call, const std::string& method, const std::string& rest);
    void check_size(std::size_t size) const;
    void limit(std::size_t frame_bytes);
    /// An error's text; where that is larger than a frame, without its evidence and with the beginning of its message.
    std::string text(const ErrorData& error) const;

    // What the daemon says.

    void reply(const std::string& frame);
    void answered(const json& message);
    void queue(Work work);
    /// False while a call is open or waits, or another reset does.
    bool queue_reset(const json& id);
    void cancel(std::uint64_t number);
    void withdraw();

    // What the thread that serves does.

    /// The next call or reset. Nothing where another thread serves in the place of this one.
    std::optional<Work> next(std::uint64_t generation);
    void reset_done(const std::string& frame);
    /// The call that `next` has opened.
    std::shared_ptr<Call> begin();
    /// Sends a call's answer. After it nothing of the call is settled or handed over, and nothing taken.
    void end(Call& call, const std::string& result);
    std::string raised(const std::exception_ptr& error) const;

    /// Starts another thread that serves, where this one is stuck in a producer of a call that was cancelled.
    std::function<void(std::uint64_t generation)> serve_on;

private:
    void send(Call& call, std::string_view method, std::uint64_t ask, std::string_view rest,
              std::function<void(const json&)> waiter);
    void took(Call& call, const std::string& item);
    std::string report(Call& call);
    void write(Call& call, std::string_view frame);
    void write(std::string_view frames);
    void close(Call& call);

    int out_;
    std::function<void()> on_end_;
    std::condition_variable work_;
    std::deque<Work> queue_;
    std::unordered_map<std::uint64_t, std::function<void(const json&)>> waiting_;
    Feed feed_;
    std::shared_ptr<Call> current_;
    bool is_resetting_ = false;
    std::uint64_t generation_ = 0;
    std::uint64_t ids_ = 0;
    int asking_ = 0;  // answers to now and random that are waited for
    std::size_t largest_ = (64u << 20) - 4096;
};

}  // namespace playhead::detail
