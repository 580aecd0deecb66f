#include "peer.hpp"

#include <algorithm>
#include <thread>

#include "framing.hpp"
#include "message.hpp"

namespace playhead::detail {

namespace {

// What a message adds around a value is far below this.
constexpr std::size_t margin = 4096;

// What was taken is reported before it grows beyond this, so that no frame of it is larger than one question.
constexpr std::size_t full = 256 * 1024;

constexpr std::size_t longest_message = 4096;

thread_local int producers_here = 0;
thread_local const Call* served_here = nullptr;

struct Producing {
    Producing() noexcept { ++producers_here; }
    ~Producing() { --producers_here; }
};

[[noreturn]] void raise_cancelled() {
    throw Cancelled("the call was cancelled");
}

bool is_true(const json& object, const char* member) {
    const auto found = object.is_object() ? object.find(member) : object.end();
    return found != object.end() && *found == true;
}

}  // namespace

bool is_live() noexcept {
    return producers_here > 0;
}

json wait(const std::shared_ptr<Question>& question) {
    {
        Lock lock(question->peer->mutex);
        while (question->arrival == 0) question->await(lock, true);
        question->hand_over();
    }
    if (question->refusal) std::rethrow_exception(question->refusal);
    if (question->error) revive(*question->error, question->peer->revivers);
    return question->value;
}

std::size_t first(const std::vector<std::shared_ptr<Question>>& questions) {
    if (questions.empty()) throw std::invalid_argument("first() of no answers");
    Lock lock(questions[0]->peer->mutex);
    while (true) {
        std::size_t found = questions.size();
        bool all_offered = true;
        for (std::size_t i = 0; i < questions.size(); ++i) {
            const std::uint64_t arrival = questions[i]->arrival;
            if (arrival != 0 && (found == questions.size() || arrival < questions[found]->arrival)) found = i;
            all_offered = all_offered && questions[i]->is_offered;
        }
        if (found < questions.size()) {
            questions[found]->hand_over();
            return found;
        }
        // On record each of them is offered. Which is made does not depend on which offer was the first to come.
        questions[0]->await(lock, all_offered);
    }
}

void Call::raise_trouble() {
    if (over) return;
    if (cancelled) raise_cancelled();
    if (trouble) std::rethrow_exception(std::exchange(trouble, nullptr));
}

void Question::arrive(const json& message) {
    if (message.contains("error")) {
        refusal = of_answer(message["error"]);
        arrived();
    } else {
        given(message.value("result", json()));
    }
}

void Question::given(const json& result) {
    if (is_true(result, "produce")) {
        offer();
        return;
    }
    try {
        if (result.is_object() && result.contains("error")) error = error_data(result["error"]);
        else if (result.is_object() && result.contains("value")) value = result["value"];
        else throw ProtocolError("an answer to respond has value, error or produce");
    } catch (const ProtocolError&) {
        refusal = std::current_exception();
    }
    arrived();
}

void Question::arrived() {
    arrival = ++call->arrivals;
    call->changed.notify_all();
}

void Question::offer() {
    is_offered = true;
    call->changed.notify_all();
}

void Question::await(Lock& lock, bool may_produce) {
    if (!call->over && call->cancelled) raise_cancelled();
    if (call->over && is_offered) throw CallEnded("the call has ended");
    if (may_produce && is_offered && !is_started) produce(lock);
    else call->changed.wait(lock);
}

void Question::hand_over() {
    if (is_handed_over) return;
    if (!made.empty()) {
        if (call->over) throw CallEnded("the call has ended");
        if (call->cancelled) raise_cancelled();
        peer->settle(call, *this);
    }
    is_handed_over = true;
}

void Question::produce(Lock& lock) {
    is_started = true;
    const bool serves = served_here == call.get();
    if (serves) ++call->producing;
    lock.unlock();
    std::string settled;
    json through;
    std::optional<ErrorData> failed;
    try {
        const Producing producing;
        const std::string text = write(producer());
        peer->check_size(text.size());
        // Record and replay hand over the very same: what has been through JSON.
        through = read(text);
        settled = ",\"value\":" + text;
    } catch (...) {
        failed = describe(std::current_exception());
        settled = ",\"error\":" + peer->text(*failed);
    }
    producer = nullptr;
    lock.lock();
    if (serves) --call->producing;
    made = std::move(settled);
    value = std::move(through);
    error = std::move(failed);
    arrived();
}

bool Feed::is_window(const json& window) {
    if (!window.is_object()) return false;
    for (const char* lane : {"now", "random"}) {
        if (!window.contains(lane)) continue;
        const json& values = window[lane];
        if (!values.is_array()) return false;
        const auto is_number = [](const json& value) { return value.is_number(); };
        if (!std::all_of(values.begin(), values.end(), is_number)) return false;
    }
    if (!window.contains("respond")) return true;
    const json& keys = window["respond"];
    return keys.is_object() && std::all_of(keys.begin(), keys.end(), [](const json& lane) {
        return lane.is_array()
            && std::all_of(lane.begin(), lane.end(), [](const json& answer) { return answer.is_object(); });
    });
}

void Feed::add(json& window) {
    if (window.contains("now")) {
        for (json& value : window["now"]) now.push_back(std::move(value));
    }
    if (window.contains("random")) {
        for (json& value : window["random"]) random.push_back(std::move(value));
    }
    if (!window.contains("respond")) return;
    for (auto& [key, answers] : window["respond"].get_ref<json::object_t&>()) {
        for (json& answer : answers) respond[key].push_back(std::move(answer));
    }
}

json Peer::ask(const std::shared_ptr<Call>& call, const std::string& method, const std::string& rest, bool is_plain) {
    json message;
    {
        Lock lock(mutex);
        call->raise_trouble();
        check_size(rest.size());
        auto& lane = method == "now" ? feed_.now : feed_.random;
        if (is_plain && asking_ == 0 && !call->over && !lane.empty()) {
            json given = std::move(lane.front());
            lane.pop_front();
            ++call->asks;
            took(*call, item(method, rest));
            return given;
        }
        const auto answer = std::make_shared<json>();
        ++asking_;
        send(*call, method, call->asks++, rest, [call, answer](const json& frame) {
            *answer = frame;
            call->changed.notify_all();
        });
        while (answer->is_null() && !(call->cancelled && !call->over)) call->changed.wait(lock);
        --asking_;
        if (answer->is_null()) raise_cancelled();
        message = std::move(*answer);
    }
    if (message.contains("error")) std::rethrow_exception(of_answer(message["error"]));
    return message.value("result", json());
}

void Peer::ask(const std::shared_ptr<Question>& question, const std::string& rest) {
    Call& call = *question->call;
    const Lock lock(mutex);
    call.raise_trouble();
    check_size(rest.size());
    question->ask = call.asks++;
    const auto lane = call.over ? feed_.respond.end() : feed_.respond.find(question->key);
    if (lane != feed_.respond.end() && !lane->second.empty()) {
        const json given = std::move(lane->second.front());
        lane->second.pop_front();
        took(call, item("respond", rest));
        question->given(given);
    } else if (call.produces && !call.over) {
        question->is_unasked = true;
        took(call, item("respond", rest));
        write(call, "");
        question->offer();
    } else {
        send(call, "respond", question->ask, rest, [question](const json& message) { question->arrive(message); });
    }
}

void Peer::settle(const std::shared_ptr<Call>& call, Question& question) {
    if (question.is_unasked) {
        took(*call, item("respond.settle", ",\"ask\":" + std::to_string(question.ask) + question.made));
        return;
    }
    send(*call, "respond.settle", question.ask, question.made, [call](const json& message) {
        if (message.contains("error") && !call->trouble) call->trouble = of_answer(message["error"]);
    });
}

void Peer::tell(Call& call, const std::string& method, const std::string& rest) {
    check_size(rest.size());
    const Lock lock(mutex);
    if (!call.over) write(call, notification(method, call.number, rest));
}

void Peer::check_size(std::size_t size) const {
    if (size <= largest_) return;
    throw LimitExceeded("a value of " + std::to_string(size) + " bytes; the largest that is sure to fit a frame has "
                        + std::to_string(largest_));
}

void Peer::limit(std::size_t frame_bytes) {
    largest_ = std::max(frame_bytes > margin ? frame_bytes - margin : 0, frame_bytes / 2);
}

std::string Peer::text(const ErrorData& error) const {
    std::string whole = playhead::write(to_json(error));
    if (whole.size() <= largest_) return whole;
    std::string message = error.message.substr(0, longest_message);
    // Not in the middle of a character.
    const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(error.message[at]) & 0xc0) == 0x80; };
    while (!message.empty() && is_inside(message.size())) message.pop_back();
    return playhead::write(to_json({error.type, message}));
}

void Peer::send(Call& call, std::string_view method, std::uint64_t ask, std::string_view rest,
                std::function<void(const json&)> waiter) {
    const std::uint64_t id = ++ids_;
    waiting_.emplace(id, std::move(waiter));
    write(call, ask_frame(id, method, call.number, ask, rest));
}

void Peer::took(Call& call, const std::string& item) {
    if (!call.taken.empty() && call.taken.size() + item.size() > full) write(call, "");
    if (!call.taken.empty()) call.taken += ',';
    call.taken += item;
}

// What was taken and not told yet, as a frame.
std::string Peer::report(Call& call) {
    if (call.taken.empty()) return {};
    return notification("asked", call.number, ",\"asks\":[" + std::exchange(call.taken, {}) + "]");
}

// Under the mutex. What was taken is said before anything else of the call is.
void Peer::write(Call& call, std::string_view frame) {
    if (call.taken.empty()) write(frame);
    else write(report(call).append(frame));
}

void Peer::write(std::string_view frames) {
    if (!write_all(out_, frames)) on_end_();
}

void Peer::reply(const std::string& frame) {
    const Lock lock(mutex);
    write(frame);
}

void Peer::answered(const json& message) {
    const auto id = message.find("id");
    if (id == message.end() || !id->is_number_integer()) return;
    const Lock lock(mutex);
    const auto found = waiting_.find(id->get<std::uint64_t>());
    if (found == waiting_.end()) return;
    const auto waiter = std::move(found->second);
    waiting_.erase(found);
    waiter(message);
}

void Peer::queue(Work work) {
    const Lock lock(mutex);
    queue_.push_back(std::move(work));
    work_.notify_all();
}

bool Peer::queue_reset(const json& id) {
    const Lock lock(mutex);
    if (current_ || is_resetting_ || !queue_.empty()) return false;
    feed_ = {};
    Work work;
    work.id = id;
    queue_.push_back(std::move(work));
    work_.notify_all();
    return true;
}

void Peer::cancel(std::uint64_t number) {
    const Lock lock(mutex);
    for (Work& work : queue_) {
        // It is answered when its turn comes.
        if (!work.fn.empty() && work.call == number) work.cancelled = true;
    }
    if (!current_ || current_->number != number) return;
    current_->cancelled = true;
    current_->changed.notify_all();
    if (current_->producing == 0) return;
    // Nothing stops a thread from outside. It is left with its producer, and the calls that follow run on another one.
    const auto call = current_;
    write(*call, result_frame(call->id, raised(std::make_exception_ptr(Cancelled("the call was cancelled")))));
    close(*call);
    serve_on(++generation_);
}

void Peer::withdraw() {
    const Lock lock(mutex);
    feed_ = {};
    for (Work& work : queue_) {
        if (work.window.is_object()) work.window = {{"produce", is_true(work.window, "produce")}};
    }
}

std::optional<Work> Peer::next(std::uint64_t generation) {
    Lock lock(mutex);
    while (generation == generation_ && queue_.empty()) work_.wait(lock);
    if (generation != generation_) return std::nullopt;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    is_resetting_ = work.fn.empty();
    if (!is_resetting_) {
        // Under the same lock: a cancel finds it in the queue or as the call that is open.
        current_ = std::make_shared<Call>();
        current_->id = work.id;
        current_->number = work.call;
        current_->seq = work.seq;
        current_->fn = work.fn;
        current_->cancelled = work.cancelled;
        if (work.window.is_object()) {
            current_->produces = is_true(work.window, "produce");
            feed_.add(work.window);
        }
    }
    return work;
}

std::shared_ptr<Call> Peer::begin() {
    const Lock lock(mutex);
    served_here = current_.get();
    return current_;
}

void Peer::reset_done(const std::string& frame) {
    const Lock lock(mutex);
    is_resetting_ = false;
    write(frame);
}

void Peer::end(Call& call, const std::string& result) {
    const Lock lock(mutex);
    if (call.over) return;  // answered when it was cancelled
    std::string answer = result;
    if (call.cancelled) answer = raised(std::make_exception_ptr(Cancelled("the call was cancelled")));
    else if (call.trouble) answer = raised(call.trouble);
    write(call, result_frame(call.id, answer));
    close(call);
}

void Peer::close(Call& call) {
    call.over = true;
    call.changed.notify_all();
    current_ = nullptr;
}

std::string Peer::raised(const std::exception_ptr& error) const {
    return "{\"raised\":" + text(describe(error)) + "}";
}

}  // namespace playhead::detail
