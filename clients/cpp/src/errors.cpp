#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>

#include <playhead/message.hpp>

namespace playhead::detail {

namespace {

std::string text_of(const json& object, const char* member, const std::string& otherwise) {
    const auto found = object.is_object() ? object.find(member) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

// Without namespaces and arguments of templates: ns::outer<ns::x>::inner is inner.
std::string bare_name(const std::type_info* type) {
    if (type == nullptr) return "unknown";
    int status = 0;
    char* demangled = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    std::string name = demangled != nullptr ? demangled : type->name();
    std::free(demangled);
    std::string bare;
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (depth == 0) bare += name[i];
        if (name[i] == '>') --depth;
        if (depth == 0 && bare.size() >= 2 && bare.compare(bare.size() - 2, 2, "::") == 0) bare.clear();
    }
    return bare;
}

template <class E>
std::pair<std::string, Reviver> own(const char* name) {
    return {name, [](const ErrorData& error) { throw E(error.message); }};
}

// Those whose text is the message that they were made with.
const Revivers& own_classes() {
    static const Revivers classes{
        own<std::runtime_error>("runtime_error"),   own<std::logic_error>("logic_error"),
        own<std::invalid_argument>("invalid_argument"), own<std::domain_error>("domain_error"),
        own<std::length_error>("length_error"),     own<std::out_of_range>("out_of_range"),
        own<std::range_error>("range_error"),       own<std::overflow_error>("overflow_error"),
        own<std::underflow_error>("underflow_error"), own<CallEnded>("CallEnded"),
        own<Cancelled>("Cancelled"),                own<Forbidden>("Forbidden"),
        own<LimitExceeded>("LimitExceeded"),        own<ProtocolError>("ProtocolError"),
    };
    return classes;
}

}  // namespace

std::exception_ptr of_answer(const json& error) {
    const std::string message = text_of(error, "message", "");
    const auto code = error.is_object() ? error.find("code") : error.end();
    const std::int64_t number = code != error.end() && code->is_number_integer() ? code->get<std::int64_t>() : 0;
    switch (number) {
        case -32003:
            return std::make_exception_ptr(CallEnded(message));
        case -32800:
            return std::make_exception_ptr(Cancelled(message));
        case -32012:
            return std::make_exception_ptr(Forbidden(message));
        case -32013:
            return std::make_exception_ptr(LimitExceeded(message));
        case -32010: {
            const json data = error.value("data", json());
            return std::make_exception_ptr(DeterminismError(text_of(data, "message", message),
                text_of(data, "kind", "question")));
        }
        default:
            return std::make_exception_ptr(ProtocolError(message + " (" + std::to_string(number) + ")"));
    }
}

ErrorData describe(const std::exception_ptr& thrown) {
    ErrorData data;
    try {
        std::rethrow_exception(thrown);
    } catch (const RecordedError& error) {
        data = error.data();
    } catch (const HandlerError& error) {
        data = {error.type(), error.what()};
    } catch (const std::exception& error) {
        data = {bare_name(&typeid(error)), error.what()};
    } catch (...) {
        data = {bare_name(abi::__cxa_current_exception_type()), ""};
    }
    // What `what()` says may be in any encoding.
    for (std::string* text : {&data.type, &data.message}) {
        try {
            write(*text);
        } catch (const NotJSON&) {
            for (char& c : *text) {
                if (static_cast<unsigned char>(c) >= 0x80) c = '?';
            }
        }
    }
    return data;
}

ErrorData error_data(const json& value) {
    if (!value.is_object() || !value.contains("type") || !value["type"].is_string()) {
        throw ProtocolError("an error has a type and a message");
    }
    return {value["type"], text_of(value, "message", ""), value.value("args", json()), value.value("data", json())};
}

json to_json(const ErrorData& error) {
    json value{{"type", error.type}, {"message", error.message}};
    if (!error.args.is_null()) value["args"] = error.args;
    if (!error.data.is_null()) value["data"] = error.data;
    return value;
}

void revive(const ErrorData& error, const Revivers& revivers) {
    for (const Revivers* known : {&revivers, &own_classes()}) {
        const auto found = known->find(error.type);
        if (found != known->end()) found->second(error);
    }
    throw RecordedError(error);
}

}  // namespace playhead::detail
