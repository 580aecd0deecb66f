//! Takes stdin and stdout, and answers `initialize`, `handle`, `cancel`, `reset` and `shutdown`.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::errors::{Error, RecordedError, Revivers};
use crate::framing::Frames;
use crate::message::{self, borrowed, decode, encode, refusal, reply, Frame};
use crate::peer::{Handle, Peer, Request, State, Work};
use crate::turns::{caught, this_thread, Call, CANCELLED, ROOM};

const PROTOCOL_VERSION: i64 = 1;
// Why a frame is no message, as the daemon is told.
const UNREADABLE: i64 = -32700;
const NO_MESSAGE: i64 = -32600;
const STACK_BYTES: usize = 64 << 20; // For values of 1000 levels; it is taken only as far as it is used.

type Function = Box<dyn Fn(&Context, &str) -> Result<String, Error> + Send + Sync>;
type Reset = Box<dyn Fn() -> Result<(), Error> + Send + Sync>;

/// What is served. `Server::new().function("handler", handler).serve()`.
pub struct Server {
    name: String,
    functions: BTreeMap<String, Function>,
    revivers: Revivers,
    constants: BTreeMap<String, Value>,
    reset: Option<Reset>,
}

impl Default for Server {
    fn default() -> Self {
        Server::new()
    }
}

impl Server {
    pub fn new() -> Server {
        let program = std::env::args().next().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default().to_string();
        Server { name, functions: BTreeMap::new(), revivers: HashMap::new(), constants: BTreeMap::new(), reset: None }
    }

    /// The handler's name, where it is not the program's.
    pub fn name(mut self, name: &str) -> Server {
        self.name = name.to_string();
        self
    }

    /// Serve a function under a name; one alone is called `handler` by custom. An event that does not fit `E` is an
    /// error of the call.
    pub fn function<E, O, X, F>(mut self, name: &str, handler: F) -> Server
    where
        E: DeserializeOwned,
        O: Serialize,
        X: Into<Error>,
        F: Fn(&Context, E) -> Result<O, X> + Send + Sync + 'static,
    {
        let function = move |context: &Context, event: &str| {
            let output = handler(context, decode(event)?).map_err(Into::into)?;
            encode(&output)
        };
        self.functions.insert(name.to_string(), Box::new(function));
        self
    }

    /// Make errors of the type `kind` on the tape the handler's own again; `None` leaves one as it is.
    pub fn reviver<X: Into<Error>>(
        mut self,
        kind: &str,
        revive: impl Fn(&RecordedError) -> Option<X> + Send + Sync + 'static,
    ) -> Server {
        self.revivers.insert(kind.to_string(), Arc::new(move |recorded| revive(recorded).map(Into::into)));
        self
    }

    /// A constant that is told to the daemon and goes to the tape.
    pub fn constant(mut self, name: &str, value: impl Into<Value>) -> Server {
        self.constants.insert(name.to_string(), value.into());
        self
    }

    /// `reset` drops all that the handlers hold in memory, so that this process is as good as a fresh one. With it one
    /// process may be given many tapes; without it that is not offered.
    pub fn reset(mut self, reset: impl Fn() -> Result<(), Error> + Send + Sync + 'static) -> Server {
        self.reset = Some(Box::new(reset));
        self
    }

    /// Answer the daemon until it closes this process's stdin. The process ends then, with status 0, whatever it is
    /// doing. From here on the real stdin and stdout are the protocol's: what is printed goes to stderr, what is read is
    /// empty. Panics without a function.
    pub fn serve(self) -> ! {
        assert!(!self.functions.is_empty(), "playhead: no functions to serve");
        match crate::stdio::take() {
            Ok((input, output)) => self.serve_over(input, output, crate::stdio::exit),
            Err(error) => {
                eprintln!("playhead: stdin and stdout cannot be taken: {error}");
                crate::stdio::exit(1)
            }
        }
    }

    pub(crate) fn serve_over(self, input: impl Read, output: impl Write + Send + 'static, ended: fn(i32) -> !) -> ! {
        let peer = Arc::new(Peer::new(Box::new(output), ended));
        let serving = Arc::new(Serving { revivers: Arc::new(self.revivers.clone()), server: self, peer });
        serving.peer.lock().apart.insert(this_thread());
        serving.hire();
        let mut frames = Frames::new(input);
        loop {
            let (code, fault) = match frames.next_frame() {
                Ok(None) => ended(0),
                Ok(Some("")) => continue,
                Ok(Some(frame)) => match serving.take(frame) {
                    Ok(()) => continue,
                    Err((code, error)) => (code, format!("not a message: {frame:.200}: {error}")),
                },
                Err(error) => (UNREADABLE, error.to_string()),
            };
            // Nothing can be said about a conversation that is no longer one.
            let said = match code {
                UNREADABLE => "the frame is not one JSON text",
                _ => "the frame is not a JSON-RPC 2.0 message",
            };
            serving.peer.lock().send(&refusal("null", code, said, ""));
            eprintln!("playhead: the daemon broke the protocol: {fault}");
            ended(1)
        }
    }
}

struct Serving {
    server: Server,
    revivers: Arc<Revivers>,
    peer: Arc<Peer>,
}

impl Serving {
    /// Let another thread run the handlers from now on.
    fn hire(self: &Arc<Self>) {
        let mine = {
            let mut peer = self.peer.lock();
            peer.worker += 1;
            peer.worker
        };
        let serving = Arc::clone(self);
        let hired = thread::Builder::new().name("handler".to_string()).stack_size(STACK_BYTES);
        if let Err(error) = hired.spawn(move || serving.work(mine)) {
            eprintln!("playhead: no thread for the handler: {error}");
            (self.peer.lock().ended)(1)
        }
    }

    fn work(&self, mine: u64) {
        loop {
            let mut peer = self.peer.lock();
            let request = loop {
                if peer.worker != mine {
                    return; // The call that this thread was in was given up, and another has gone on.
                }
                match peer.inbox.pop_front() {
                    Some(request) => break request,
                    None => peer = self.peer.wait(&self.peer.more, peer),
                }
            };
            match request.work {
                Work::Reset => {
                    drop(peer);
                    self.renew(&request.id);
                }
                Work::Handle(handle) => {
                    let call = self.begin(&mut peer, &request.id, &handle);
                    drop(peer);
                    self.handle(&call, &handle);
                }
            }
        }
    }

    fn begin(&self, peer: &mut State, id: &str, handle: &Handle) -> Arc<Call> {
        let mut produces = false;
        if let (Some(text), true) = (&handle.window, peer.windows) {
            // One that cannot be read is none: what it would have given is asked for.
            let window: message::Window = borrowed(text).unwrap_or_default();
            produces = window.produce;
            if !handle.withdrawn {
                peer.feed.now.extend(window.now.iter().map(|value| value.get().to_string()));
                peer.feed.random.extend(window.random.iter().map(|value| value.get().to_string()));
                for (key, answers) in window.respond {
                    let lane = peer.feed.respond.entry(key).or_default();
                    lane.extend(answers.iter().map(|answer| answer.get().to_string()));
                }
            }
        }
        let call = Call::new(&self.peer, handle.call, &handle.function, handle.seq, id, &self.revivers, produces);
        peer.current = Some(Arc::clone(&call));
        if handle.given_up {
            call.cancel(peer);
        }
        call
    }

    fn handle(&self, call: &Arc<Call>, handle: &Handle) {
        let outcome = caught(|| {
            {
                let _peer = self.peer.lock();
                call.state().check()?;
            }
            match self.server.functions.get(&handle.function) {
                Some(function) => function(&Context::new(call), &handle.event),
                None => Err(Error::Protocol("no such function".to_string())), // It was looked at before.
            }
        });
        let mut peer = self.peer.lock();
        let room = peer.limit.saturating_sub(ROOM);
        // Cancelled, whatever the handler made of it: the daemon has given this call up.
        let trouble = call.state().check();
        let outcome = match (trouble, outcome) {
            (Err(trouble), _) => Err(trouble),
            (Ok(()), Ok(text)) if text.len() > room => Err(Error::too_long(text.len(), peer.limit)),
            (Ok(()), other) => other,
        };
        let result = match outcome {
            Ok(text) => format!("{{\"output\":{text}}}"),
            Err(error) => format!("{{\"raised\":{}}}", error.describe(room)),
        };
        call.end(&mut peer, &result);
    }

    fn renew(&self, id: &str) {
        let renewed = match &self.server.reset {
            Some(reset) => caught(reset),
            None => Ok(()),
        };
        let mut peer = self.peer.lock();
        peer.feed.clear();
        let answer = match renewed {
            Ok(()) => reply(id, "{}"),
            Err(error) => {
                eprintln!("playhead: the handler could not be made new: {error}");
                refusal(id, -32603, "the handler could not be made new", "")
            }
        };
        peer.send(&answer);
    }

    /// Take in a frame: what can be said at once is said, what has its turn goes to the inbox.
    /// Where it is no message: the code to tell, and why.
    fn take(self: &Arc<Self>, text: &str) -> Result<(), (i64, String)> {
        let frame: Frame = borrowed(text)
            .map_err(|error| (if error.is_data() { NO_MESSAGE } else { UNREADABLE }, error.to_string()))?;
        if text.trim_start().starts_with('[') {
            return Err((NO_MESSAGE, "it is no object".to_string())); // Of the members, in their order, to serde.
        }
        let params = frame.params.map_or("{}", |params| params.get());
        let id = frame.id.map(|id| id.get());
        let mut peer = self.peer.lock();
        let Some(method) = frame.method else {
            if let Some(id) = id.and_then(|id| id.parse().ok()) {
                peer.arrive(id, frame.result.map(|result| result.get()), frame.error.map(|error| error.get()));
            }
            return Ok(());
        };
        let Some(id) = id else {
            match method.as_ref() {
                "cancel" => {
                    let hung = self.cancel(&mut peer, params);
                    drop(peer);
                    if hung {
                        self.hire();
                    }
                }
                "withdraw" => {
                    peer.feed.clear();
                    for request in &mut peer.inbox {
                        if let Work::Handle(handle) = &mut request.work {
                            handle.withdrawn = true;
                        }
                    }
                }
                _ => {}
            }
            return Ok(());
        };
        if !id.starts_with('"') && id.parse::<i64>().is_err() {
            return Err((NO_MESSAGE, "an id is an integer or a string".to_string()));
        }
        let answer = match method.as_ref() {
            "initialize" => self.initialize(&mut peer, id, params),
            _ if !peer.initialized => refusal(id, -32002, "initialize has not been answered", ""),
            "handle" => match self.request(params) {
                Ok(handle) => {
                    peer.queue(Request { id: id.to_string(), work: Work::Handle(handle) });
                    self.peer.more.notify_all();
                    return Ok(());
                }
                Err(fault) => refusal(id, -32602, &fault, ""),
            },
            "reset" if peer.resets => {
                peer.queue(Request { id: id.to_string(), work: Work::Reset });
                self.peer.more.notify_all();
                return Ok(());
            }
            "shutdown" => reply(id, "{}"),
            other => refusal(id, -32601, &format!("no such method: {other}"), ""),
        };
        peer.send(&answer);
        Ok(())
    }

    fn request(&self, params: &str) -> Result<Handle, String> {
        let told: message::Handle = borrowed(params).map_err(|error| format!("handle does not fit: {error}"))?;
        if !self.server.functions.contains_key(&told.function) {
            return Err(format!("no such function: {}", told.function));
        }
        Ok(Handle {
            call: told.call,
            function: told.function,
            event: told.event.get().to_string(),
            seq: told.seq,
            window: told.window.map(|window| window.get().to_string()),
            withdrawn: false,
            given_up: false,
        })
    }

    /// Whether the thread that runs handlers is in a producer, and was left there.
    fn cancel(&self, peer: &mut State, params: &str) -> bool {
        let Ok(message::Cancel { call: number }) = borrowed::<message::Cancel>(params) else { return false };
        for request in &mut peer.inbox {
            if let Work::Handle(handle) = &mut request.work {
                handle.given_up |= handle.call == number;
            }
        }
        let Some(call) = peer.current.clone().filter(|call| call.number == number) else { return false };
        let hung = call.cancel(peer);
        if hung {
            let raised = Error::Cancelled(CANCELLED.to_string()).describe(peer.limit);
            call.end(peer, &format!("{{\"raised\":{raised}}}"));
        }
        hung
    }

    fn initialize(&self, peer: &mut State, id: &str, params: &str) -> String {
        #[derive(Serialize)]
        struct About<'a> {
            protocol: i64,
            handler: BTreeMap<&'a str, &'a str>,
            functions: Vec<&'a String>,
            capabilities: BTreeMap<&'a str, bool>,
            constants: &'a BTreeMap<String, Value>,
        }
        if peer.initialized {
            return refusal(id, -32600, "initialize has been answered already", "");
        }
        let told = borrowed::<message::Initialize>(params).ok().filter(|told| told.protocol >= PROTOCOL_VERSION);
        let Some(told) = told else {
            let supported = format!("{{\"supported\":[{PROTOCOL_VERSION}]}}");
            return refusal(id, -32001, "no common protocol version", &supported);
        };
        if let Some(limit) = told.limits.get("frameBytes").and_then(|limit| limit.get().parse().ok()) {
            peer.limit = limit;
        }
        let offered = |name: &str| told.capabilities.get(name).is_some_and(|value| value.get() == "true");
        peer.windows = offered("window");
        peer.resets = offered("reset") && self.server.reset.is_some();
        let agreed = [("window", peer.windows), ("reset", peer.resets)];
        let runtime = concat!("rustc ", env!("PLAYHEAD_RUSTC"));
        let about = About {
            protocol: PROTOCOL_VERSION,
            handler: BTreeMap::from([
                ("name", self.server.name.as_str()),
                ("version", env!("CARGO_PKG_VERSION")),
                ("language", "rust"),
                ("runtime", runtime),
            ]),
            functions: self.server.functions.keys().collect(),
            capabilities: agreed.into_iter().filter(|(_, has)| *has).collect(),
            constants: &self.server.constants,
        };
        match encode(&about) {
            Ok(text) => {
                peer.initialized = true;
                reply(id, &text)
            }
            Err(error) => refusal(id, -32603, &format!("the handler cannot say what it is: {error}"), ""),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::errors::HandlerError;
    use serde_json::json;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;
    use std::sync::Mutex;
    use std::time::Duration;

    /// A daemon that is this test.
    struct Daemon {
        to: UnixStream,
        from: BufReader<UnixStream>,
        ids: u64,
    }

    fn stay(_: i32) -> ! {
        loop {
            thread::park();
        }
    }

    fn talk(server: Server) -> Daemon {
        let (to, input) = UnixStream::pair().unwrap();
        let (output, from) = UnixStream::pair().unwrap();
        from.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        thread::spawn(move || server.serve_over(input, output, stay));
        let mut daemon = Daemon { to, from: BufReader::new(from), ids: 0 };
        let limits = json!({"protocol": 7, "capabilities": {"window": true}, "limits": {"frameBytes": 100_000}});
        daemon.request("initialize", limits);
        daemon.next();
        daemon
    }

    impl Daemon {
        fn send(&mut self, frame: Value) {
            writeln!(self.to, "{frame}").unwrap();
        }

        fn request(&mut self, method: &str, params: Value) {
            self.ids += 1;
            self.send(json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}));
        }

        fn handle(&mut self, call: i64, window: Value) {
            self.request("handle", json!({"call": call, "fn": "f", "event": null, "seq": call, "window": window}));
        }

        fn answer(&mut self, asked: &Value, result: Value) {
            self.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
        }

        fn next(&mut self) -> Value {
            let mut line = String::new();
            self.from.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    fn served<O: Serialize>(f: impl Fn(&Context) -> Result<O, Error> + Send + Sync + 'static) -> Server {
        Server::new().function("f", move |ctx: &Context, _: Value| f(ctx))
    }

    #[test]
    fn numbering_and_sending_is_one_step() {
        const MANY: i64 = 64;
        let mut daemon = talk(served(|ctx| {
            thread::scope(|threads| {
                for _ in 0..MANY {
                    threads.spawn(|| ctx.now().unwrap());
                }
            });
            Ok(())
        }));
        daemon.handle(0, json!({}));
        for number in 0..MANY {
            let asked = daemon.next();
            assert_eq!(asked["params"]["ask"], number);
            daemon.answer(&asked, json!(1));
        }
        assert_eq!(daemon.next()["result"], json!({"output": null}));
    }

    #[test]
    fn a_panic_is_an_error_of_the_call() {
        let mut daemon = talk(served(|_| -> Result<(), Error> { panic!("gone {}", "wrong") }));
        daemon.handle(0, json!({}));
        assert_eq!(daemon.next()["result"], json!({"raised": {"type": "Panic", "message": "gone wrong"}}));
    }

    #[derive(Debug, PartialEq)]
    struct NoFunds;

    impl std::fmt::Display for NoFunds {
        fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("no funds")
        }
    }

    impl std::error::Error for NoFunds {}

    #[test]
    fn a_producers_error_is_revived() {
        let server = served(|ctx| {
            let own = ctx.respond::<i64>("account", || Err(NoFunds.into())).unwrap_err();
            let other = ctx.respond::<i64>("other", || Err(HandlerError::new("Late", "no quote").into())).unwrap_err();
            Ok((own.downcast_ref() == Some(&NoFunds), matches!(other, Error::Recorded(_)), other.kind().to_string()))
        });
        let mut daemon = talk(server.reviver("NoFunds", |_| Some(NoFunds)));
        daemon.handle(0, json!({"produce": true}));
        assert_eq!(daemon.next()["params"]["asks"], json!([{"m": "respond", "p": {"key": "account"}}]));
        let settled = json!({"ask": 0, "error": {"type": "NoFunds", "message": "no funds"}});
        let asks = json!([{"m": "respond.settle", "p": settled}, {"m": "respond", "p": {"key": "other"}}]);
        assert_eq!(daemon.next()["params"]["asks"], asks);
        daemon.next();
        assert_eq!(daemon.next()["result"], json!({"output": [true, true, "Late"]}));
    }

    #[test]
    fn a_settlement_that_is_refused_fails_the_return() {
        let (refused, seen) = channel();
        let seen = Mutex::new(seen);
        let mut daemon = talk(served(move |ctx| {
            let value = ctx.respond::<i64>("k", || Ok(1));
            seen.lock().unwrap().recv().unwrap();
            value
        }));
        daemon.handle(0, json!({}));
        let asked = daemon.next();
        daemon.answer(&asked, json!({"produce": true}));
        let settled = daemon.next();
        daemon.send(json!({"jsonrpc": "2.0", "id": settled["id"], "error": {"code": -32012, "message": "by rule"}}));
        daemon.request("shutdown", json!({})); // Answered behind what came before it.
        daemon.next();
        refused.send(()).unwrap();
        assert_eq!(daemon.next()["result"], json!({"raised": {"type": "Forbidden", "message": "by rule"}}));
    }

    #[test]
    fn a_call_whose_producer_hangs_can_be_given_up() {
        let mut daemon = talk(served(|ctx| match ctx.seq() {
            0 => ctx.respond::<i64>("slow", || stay(0)),
            _ => Ok(7),
        }));
        daemon.handle(0, json!({}));
        let asked = daemon.next();
        daemon.answer(&asked, json!({"produce": true}));
        daemon.send(json!({"jsonrpc": "2.0", "method": "cancel", "params": {"call": 0}}));
        assert_eq!(daemon.next()["result"]["raised"]["type"], "Cancelled");
        daemon.handle(1, json!({}));
        assert_eq!(daemon.next()["result"], json!({"output": 7}));
    }

    #[test]
    fn what_is_larger_than_a_frame_is_an_error() {
        let large = || "v".repeat(200_000);
        let mut daemon = talk(served(move |ctx| {
            let asked = ctx.respond::<String>(&large(), || Ok(String::new())).unwrap_err();
            let made = ctx.respond::<String>("k", || Ok(large())).unwrap_err();
            assert_eq!((asked.kind(), made.kind()), ("LimitExceeded", "LimitExceeded"));
            Ok(large())
        }));
        daemon.handle(0, json!({}));
        let asked = daemon.next();
        assert_eq!(asked["params"]["ask"], 0);
        daemon.answer(&asked, json!({"produce": true}));
        let settled = daemon.next();
        assert_eq!(settled["params"]["error"]["type"], "LimitExceeded");
        daemon.answer(&settled, json!({}));
        assert_eq!(daemon.next()["result"]["raised"]["type"], "LimitExceeded");
    }

    #[test]
    fn an_event_that_does_not_fit_is_an_error_of_the_call() {
        let mut daemon = talk(Server::new().function("f", |_: &Context, event: Vec<String>| Ok::<_, Error>(event)));
        daemon.handle(0, json!({}));
        assert_eq!(daemon.next()["result"]["raised"]["type"], "Error");
    }
}
