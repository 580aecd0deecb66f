// Real processes over real pipes. The conversations of the protocol are played by `playhead conformance`.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "daemon.hpp"

using playhead::json;

TEST_SUITE("serve") {
    TEST_CASE("what is taken from a window is reported byte for byte") {
        Daemon daemon(CONFORMANCE);
        daemon.handle(2, "order", R"({"sku":"A1"})",
            R"({"now":[5],"random":[0.25],"respond":{"quote":[{"value":{"price":990}}]}})");
        CHECK(daemon.line() == R"({"jsonrpc":"2.0","method":"asked","params":{"call":2,"asks":[{"m":"now"},{"m":"random"},)"
                               R"({"m":"respond","p":{"key":"quote","args":["A1"]}}]}})");
        CHECK(daemon.line() == R"({"jsonrpc":"2.0","id":2,"result":{"output":[5,0.25,990]}})");
        CHECK(daemon.end() == 0);
    }

    TEST_CASE("asks of several threads are numbered and sent as one step") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "several_threads", "null");
        std::set<int> open;
        for (int ask = 0; ask < 40; ++ask) {
            const json frame = daemon.frame();
            CHECK(frame.at("params").at("ask") == ask);
            open.insert(frame.at("id").get<int>());
            // Two are answered at a time, the later one first.
            if (open.size() == 2) {
                for (auto id = open.rbegin(); id != open.rend(); ++id) daemon.answer(*id, "1");
                open.clear();
            }
        }
        CHECK(daemon.output() == R"({"output":40})");
    }

    TEST_CASE("a producer of another thread is live there alone") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "in_two_threads", "null");
        daemon.answer(daemon.frame().at("id"), R"({"produce":true})");
        CHECK(daemon.frame().at("params").at("value") == "b1");
        daemon.answer(daemon.frame().at("id"), R"({"value":"x"})");
        CHECK(daemon.output() == R"({"output":["x","b1"]})");
    }

    TEST_CASE("a child that inherits stdin and stdout does not reach the protocol") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "child", "null");
        CHECK(daemon.output() == R"({"output":0})");
        CHECK(daemon.printed() == "from the child\n");
    }

    TEST_CASE("what is printed goes to stderr, in whatever locale") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "locale", "null");
        CHECK(daemon.output() == R"({"output":[1234567,0.5]})");
        daemon.handle(3, "now_twice", "null", R"({"now":[1.5,2]})");
        CHECK(daemon.frame().at("method") == "asked");
        CHECK(daemon.output().find("and there is 1.5") != std::string::npos);
        daemon.handle(4, "now_twice", "null", R"({"now":[1783036800000.5]})");
        CHECK(daemon.frame().at("method") == "asked");
        const std::string refused = daemon.output();
        CHECK(refused.find("now() gives whole milliseconds, and there is 1783036800000.5\"") != std::string::npos);
        CHECK(refused.find("\"ProtocolError\"") != std::string::npos);
        CHECK(daemon.end() == 0);
        CHECK(daemon.printed() == "1.234,5\n");
    }

    TEST_CASE("an error of the standard library is revived as itself") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "own_error", "null");
        daemon.answer(daemon.frame().at("id"), R"({"produce":true})");
        CHECK(daemon.frame().at("params").at("error") == json{{"type", "out_of_range"}, {"message", "too far"}});
        CHECK(daemon.output() == R"({"output":"caught too far"})");
        daemon.handle(3, "own_error", "null");
        daemon.answer(daemon.frame().at("id"), R"({"error":{"type":"out_of_range","message":"then"}})");
        CHECK(daemon.output() == R"({"output":"caught then"})");
        daemon.handle(4, "own_error", "null");
        daemon.answer(daemon.frame().at("id"), R"({"error":{"type":"Odd","message":"then"}})");
        CHECK(daemon.output() == R"({"raised":{"message":"then","type":"Odd"}})");
    }

    TEST_CASE("what is no exception is raised by its type") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "thrown_number", "null");
        CHECK(daemon.output() == R"({"raised":{"message":"","type":"int"}})");
    }

    TEST_CASE("an error that answers a settlement fails the next question") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "ask_then_now", "null");
        daemon.answer(daemon.frame().at("id"), R"({"produce":true})");
        const json settle = daemon.frame();
        const json now = daemon.frame();
        daemon.say(R"({"jsonrpc":"2.0","id":)" + playhead::write(settle.at("id"))
            + R"(,"error":{"code":-32012,"message":"no"}})");
        daemon.answer(now.at("id"), "1");
        CHECK(daemon.output() == R"({"raised":{"message":"no","type":"Forbidden"}})");
    }

    TEST_CASE("an output that is larger than a frame is raised") {
        Daemon daemon(PROGRAM, 1 << 15);
        daemon.handle(2, "too_large", "null");
        CHECK(daemon.output().find("LimitExceeded") != std::string::npos);
    }

    TEST_CASE("an argument that JSON cannot carry is refused before it is asked") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "argument", "null");
        const std::string output = daemon.output();
        CHECK(output.find("\"NotJSON\"") != std::string::npos);
        CHECK(output.find("/1/a") != std::string::npos);
    }

    TEST_CASE("an answer that does not fit its type is refused") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "fraction", "null", R"({"respond":{"k":[{"value":1.5}]}})");
        CHECK(daemon.frame().at("method") == "asked");
        CHECK(daemon.output().find("an integer that fits was expected, and there is 1.5") != std::string::npos);
    }

    TEST_CASE("a cancelled call whose producer is stuck is answered, and the next call runs") {
        Daemon daemon(PROGRAM);
        for (int call = 2; call < 4; ++call) {
            daemon.handle(call, "stuck", "null");
            daemon.answer(daemon.frame().at("id"), R"({"produce":true})");
            daemon.say(R"({"jsonrpc":"2.0","method":"cancel","params":{"call":)" + std::to_string(call) + "}}");
            CHECK(daemon.output().find("\"Cancelled\"") != std::string::npos);
        }
        daemon.handle(4, "now_twice", "null", R"({"now":[1,2]})");
        CHECK(daemon.frame().at("method") == "asked");
        CHECK(daemon.output() == R"({"output":[1,2]})");
        CHECK(daemon.end() == 0);
    }

    TEST_CASE("what waits with a handle is withdrawn") {
        Daemon daemon(PROGRAM);
        daemon.handle(2, "now_twice", "null", R"({"now":[1]})");
        CHECK(daemon.frame().at("method") == "asked");
        const json second = daemon.frame();
        CHECK(second.at("params").at("ask") == 1);
        daemon.handle(3, "now_twice", "null", R"({"now":[8,9]})");
        daemon.say(R"({"jsonrpc":"2.0","method":"withdraw","params":{}})");
        daemon.answer(second.at("id"), "2");
        CHECK(daemon.output() == R"({"output":[1,2]})");
        CHECK(daemon.frame().at("method") == "now");
    }

    TEST_CASE("a frame that cannot be read is told on both sides and ends the process") {
        const std::pair<const char*, int> frames[] = {
            {R"({"jsonrpc":"2.0",)", -32700},
            {"\xff", -32700},
            {"[1]", -32600},
            {R"({"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}})", -32600},
        };
        for (const auto& [line, code] : frames) {
            Daemon daemon(PROGRAM);
            daemon.handle(2, "now_twice", "null");
            daemon.frame();
            daemon.say(line);
            const json frame = daemon.frame();
            CHECK(frame.at("id").is_null());
            CHECK(frame.at("error").at("code") == code);
            CHECK_THROWS(daemon.line());
            CHECK(daemon.printed().find("a frame cannot be read") != std::string::npos);
            CHECK(daemon.end() == 1);
        }
    }

    TEST_CASE("answers that nobody waits for are dropped") {
        Daemon daemon(PROGRAM);
        for (const char* id : {"77", "\"1\"", "null", "-1", "1000000000000000000000000000000"})
            daemon.say(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":1})");
        daemon.handle(2, "now_twice", "null", R"({"now":[1,2]})");
        daemon.frame();
        CHECK(daemon.output() == R"({"output":[1,2]})");
        CHECK(daemon.end() == 0);
    }

    TEST_CASE("why a reset failed is told on stderr alone") {
        Daemon daemon(PROGRAM);
        daemon.say(R"({"jsonrpc":"2.0","id":2,"method":"reset","params":{"constants":{}}})");
        const json error = daemon.frame().at("error");
        CHECK(error.at("code") == -32603);
        CHECK(error.at("message") == "the handlers could not be made new");
        CHECK(daemon.printed().find("out_of_range: still busy") != std::string::npos);
        CHECK(daemon.end() == 0);
    }

    TEST_CASE("a carriage return before the line end is ignored") {
        Daemon daemon(PROGRAM);
        daemon.say("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"shutdown\",\"params\":{}}\r");
        CHECK(daemon.line() == R"({"jsonrpc":"2.0","id":"a","result":{}})");
        CHECK(daemon.end() == 0);
    }
}
