// Errors as data and back; and what can go wrong between a handler and the daemon, each with its own class.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace playhead {

using json = nlohmann::json;

/// An error as data. `args` and `data` are null where there are none.
struct ErrorData {
    std::string type;
    std::string message;
    json args = nullptr;
    json data = nullptr;
};

/// An error that is the same in every language: its type and its message go to the tape as they are.
class HandlerError : public std::runtime_error {
public:
    HandlerError(std::string type, const std::string& message) : std::runtime_error(message), type_(std::move(type)) {}
    const std::string& type() const noexcept { return type_; }

private:
    std::string type_;
};

/// An error of a tape whose type has no reviver and is no class of the standard library's. It leaves the handler under
/// its own type.
class RecordedError : public HandlerError {
public:
    explicit RecordedError(ErrorData data) : HandlerError(data.type, data.message), data_(std::move(data)) {}
    const ErrorData& data() const noexcept { return data_; }

private:
    ErrorData data_;
};

/// The handler gave away something that JSON cannot carry. `pointer` (RFC 6901) says where in the value.
class NotJSON : public std::invalid_argument {
public:
    NotJSON(const std::string& what, std::string pointer)
        : std::invalid_argument(what + " cannot be JSON, at " + (pointer.empty() ? "the root" : pointer)),
          pointer_(std::move(pointer)) {}
    const std::string& pointer() const noexcept { return pointer_; }

private:
    std::string pointer_;
};

/// The tape has no answer to what was asked. Catching it does not make the call green again. `kind` is that of the
/// verdict.
class DeterminismError : public std::runtime_error {
public:
    DeterminismError(const std::string& message, std::string kind) : std::runtime_error(message),
        kind_(std::move(kind)) {}
    const std::string& kind() const noexcept { return kind_; }

private:
    std::string kind_;
};

/// The context was asked after its call had been answered.
struct CallEnded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The daemon gave the call up while the question was open.
struct Cancelled : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The policy forbids what was asked or answered to be written.
struct Forbidden : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Larger than the largest frame, or than what the daemon keeps.
struct LimitExceeded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The daemon refused a message as such, or sent one that is none.
struct ProtocolError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws what an error of its type is revived as.
using Reviver = std::function<void(const ErrorData&)>;
using Revivers = std::map<std::string, Reviver>;

namespace detail {

/// The exception of the `error` member of an answer.
std::exception_ptr of_answer(const json& error);

/// What left a handler or a producer.
ErrorData describe(const std::exception_ptr& thrown);

/// E as it is read; throws ProtocolError where it is none.
ErrorData error_data(const json& value);

json to_json(const ErrorData& error);

/// Throws the error: by the reviver registered for its type, else of the standard class of that name, else a
/// RecordedError.
[[noreturn]] void revive(const ErrorData& error, const Revivers& revivers);

}  // namespace detail
}  // namespace playhead
