//! What a handler is given: the clock, randomness, answers from outside, and a way to say what it is doing.
//!
//! Everything that could differ between two runs comes from here and goes to the tape. Inside a producer the context
//! answers live and says nothing: the producer's result is the boundary.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::errors::Error;
use crate::message::{decode, encode, push_text};
use crate::turns::{caught, inside_producer, Call, Question};

/// One call's context. It may be used by several threads, and cloned into them.
#[derive(Clone)]
pub struct Context {
    pub(crate) call: Arc<Call>,
    lane: String,
}

impl Context {
    pub(crate) fn new(call: &Arc<Call>) -> Context {
        Context { call: Arc::clone(call), lane: String::new() }
    }

    /// The event's number, from 0.
    pub fn seq(&self) -> i64 {
        self.call.seq
    }

    /// The call's number.
    pub fn call(&self) -> i64 {
        self.call.number
    }

    /// The name of the function that was called.
    pub fn function(&self) -> &str {
        &self.call.function
    }

    /// Milliseconds since the Unix epoch: a whole number, unless the tape says otherwise.
    pub fn now(&self) -> Result<f64, Error> {
        if inside_producer() {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            return Ok(since.as_millis() as f64);
        }
        usable(self.call.read("now", &self.lane, true)?)
    }

    /// Milliseconds of a clock that never goes back. Only differences mean anything.
    pub fn monotonic(&self) -> Result<f64, Error> {
        if inside_producer() {
            static BEGUN: OnceLock<Instant> = OnceLock::new();
            return Ok(BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64() * 1000.0);
        }
        usable(self.call.read("now", &format!(",\"clock\":\"monotonic\"{}", self.lane), false)?)
    }

    /// A float in [0, 1).
    pub fn random(&self) -> Result<f64, Error> {
        if inside_producer() {
            return Ok((live_random() >> 11) as f64 / (1u64 << 53) as f64);
        }
        usable(self.call.read("random", &self.lane, true)?)
    }

    /// An integer from `low` to `high`, both included.
    pub fn randint(&self, low: i64, high: i64) -> Result<i64, Error> {
        if low > high {
            return Err(wrong(format!("no integer is at least {low} and at most {high}")));
        }
        if inside_producer() {
            let width = (high as i128 - low as i128 + 1) as u128;
            return Ok((low as i128 + ((live_random() as u128 * width) >> 64) as i128) as i64);
        }
        let tail = format!(",\"draw\":\"int\",\"low\":{low},\"high\":{high}{}", self.lane);
        let text = self.call.read("random", &tail, false)?;
        match decode::<i64>(&text) {
            Ok(drawn) => Ok(drawn),
            Err(_) => Ok(usable::<f64>(text)? as i64), // 4.0 and 1e2 are integers too.
        }
    }

    /// `n` bytes.
    pub fn randbytes(&self, n: usize) -> Result<Vec<u8>, Error> {
        if inside_producer() {
            return Ok((0..n).map(|_| (live_random() >> 56) as u8).collect());
        }
        let text = self.call.read("random", &format!(",\"draw\":\"bytes\",\"n\":{n}{}", self.lane), false)?;
        let hex: String = usable(text)?;
        let byte = |at: usize| hex.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
        bytes.ok_or_else(|| Error::Protocol(format!("bytes that are none: {hex:.200}")))
    }

    /// `k` different positions below `n`, in the order drawn.
    pub fn sample_positions(&self, n: usize, k: usize) -> Result<Vec<usize>, Error> {
        if k > n {
            return Err(wrong(format!("cannot draw {k} of {n}")));
        }
        if inside_producer() {
            let mut all: Vec<usize> = (0..n).collect();
            for i in 0..k {
                all.swap(i, i + ((live_random() as u128 * (n - i) as u128) >> 64) as usize);
            }
            all.truncate(k);
            return Ok(all);
        }
        let text =
            self.call.read("random", &format!(",\"draw\":\"sample\",\"n\":{n},\"k\":{k}{}", self.lane), false)?;
        usable(text)
    }

    /// `k` different items, in the order drawn.
    pub fn sample<T: Clone>(&self, items: &[T], k: usize) -> Result<Vec<T>, Error> {
        let positions = self.sample_positions(items.len(), k)?;
        let drawn: Option<Vec<T>> = positions.into_iter().map(|position| items.get(position).cloned()).collect();
        drawn.ok_or_else(|| Error::Protocol("a position that is none".to_string()))
    }

    /// A UUID of version 4, made of 16 drawn bytes.
    pub fn uuid(&self) -> Result<String, Error> {
        let mut drawn = self.randbytes(16)?;
        if drawn.len() != 16 {
            return Err(Error::Protocol("not as many bytes as were asked for".to_string()));
        }
        drawn[6] = drawn[6] & 0x0f | 0x40;
        drawn[8] = drawn[8] & 0x3f | 0x80;
        let hex: String = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// The answer to `key`: on record what `produce` returns, on replay what the tape holds, either way after a trip
    /// through JSON. An error of `produce` comes back as `Error::Recorded`, or as what a reviver makes of it.
    pub fn respond<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        produce: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.ask(key).respond(produce)
    }

    /// The question `key`, to give arguments to.
    pub fn ask(&self, key: &str) -> Ask<'_> {
        Ask { context: self, key: key.to_string(), args: String::new(), kwargs: String::new(), wrong: None }
    }

    /// This call's context for one thread: its questions have an order among themselves only.
    pub fn lane(&self, name: &str) -> Context {
        let mut lane = String::from(",\"lane\":");
        push_text(&mut lane, name);
        Context { call: Arc::clone(&self.call), lane }
    }

    /// Say that something happened. It is never fed back. `&()` is no data.
    pub fn note<T: Serialize + ?Sized>(&self, name: &str, data: &T) -> Result<(), Error> {
        self.say("note", tail_of("name", name), "data", data)
    }

    /// Say what the handler believes `name` to be.
    pub fn observe<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), Error> {
        let text = encode(value)?;
        self.tell("observe", format!("{},\"value\":{text}", tail_of("name", name)))
    }

    /// Say that something outside the tape was reached: on replay the call has then diverged. `at` may be empty.
    pub fn escaped(&self, key: &str, at: &str) -> Result<(), Error> {
        let place = if at.is_empty() { String::new() } else { tail_of("where", at) };
        self.tell("escaped", tail_of("key", key) + &place)
    }

    /// Say that a piece of work begins; `end` of what this gives says when it has ended. `&()` is no data.
    pub fn span<T: Serialize + ?Sized>(&self, name: &str, data: &T) -> Result<Span<'_>, Error> {
        let sid = {
            let _peer = self.call.peer.lock();
            let mut state = self.call.state();
            state.spans += 1;
            state.spans
        };
        let span = Span { context: self, sid, name: name.to_string() };
        self.say("span", span.tail("begin"), "data", data)?;
        Ok(span)
    }

    /// Whether the call has been cancelled, or answered: code that takes long may look.
    pub fn is_over(&self) -> bool {
        let _peer = self.call.peer.lock();
        let state = self.call.state();
        state.over || state.cancelled
    }

    /// Wait until the call has been cancelled or answered: for threads that outlive it.
    pub fn wait_until_over(&self) {
        let mut peer = self.call.peer.lock();
        loop {
            let state = self.call.state();
            if state.over || state.cancelled {
                return;
            }
            drop(state);
            peer = self.call.peer.wait(&self.call.gone, peer);
        }
    }

    fn say<T: Serialize + ?Sized>(&self, method: &str, tail: String, name: &str, data: &T) -> Result<(), Error> {
        let text = encode(data)?;
        let data = if text == "null" { String::new() } else { format!(",\"{name}\":{text}") };
        self.tell(method, tail + &data)
    }

    fn tell(&self, method: &str, tail: String) -> Result<(), Error> {
        if inside_producer() {
            return Ok(());
        }
        self.call.tell(method, &(tail + &self.lane))
    }
}

fn tail_of(name: &str, text: &str) -> String {
    let mut tail = format!(",\"{name}\":");
    push_text(&mut tail, text);
    tail
}

fn usable<T: DeserializeOwned>(text: String) -> Result<T, Error> {
    decode(&text).map_err(|_| Error::Protocol(format!("an answer that is none: {text:.200}")))
}

fn wrong(text: String) -> Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, text).into()
}

/// A piece of work that has begun.
pub struct Span<'a> {
    context: &'a Context,
    sid: i64,
    name: String,
}

impl Span<'_> {
    /// Say that it has ended, and how.
    pub fn end<T: Serialize + ?Sized>(self, outcome: &T) -> Result<(), Error> {
        self.context.say("span", self.tail("end"), "outcome", outcome)
    }

    fn tail(&self, phase: &str) -> String {
        format!(",\"sid\":{},\"phase\":\"{phase}\"{}", self.sid, tail_of("name", &self.name))
    }
}

/// A question that is being put together. Its arguments are taped and compared: a replay that asks with others has
/// diverged.
pub struct Ask<'a> {
    context: &'a Context,
    key: String,
    args: String,
    kwargs: String,
    wrong: Option<Error>,
}

impl<'a> Ask<'a> {
    /// One more argument.
    pub fn arg<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        match encode(value) {
            Ok(text) => {
                if !self.args.is_empty() {
                    self.args.push(',');
                }
                self.args.push_str(&text);
            }
            Err(error) => self.wrong = self.wrong.or(Some(error)),
        }
        self
    }

    /// One more named argument.
    pub fn kwarg<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        match encode(value) {
            Ok(text) => {
                if !self.kwargs.is_empty() {
                    self.kwargs.push(',');
                }
                push_text(&mut self.kwargs, name);
                self.kwargs.push(':');
                self.kwargs.push_str(&text);
            }
            Err(error) => self.wrong = self.wrong.or(Some(error)),
        }
        self
    }

    /// As `Context::respond`.
    pub fn respond<T: Serialize + DeserializeOwned>(
        self,
        produce: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if inside_producer() {
            return produce();
        }
        self.start()?.wait(produce)
    }

    /// Ask without waiting. What this gives waits, and runs the producer if there is need of one.
    pub fn start(self) -> Result<Pending, Error> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let call = Arc::clone(&self.context.call);
        if inside_producer() {
            return Ok(Pending { call, question: None });
        }
        let mut tail = tail_of("key", &self.key);
        if !self.args.is_empty() {
            tail = tail + ",\"args\":[" + &self.args + "]";
        }
        if !self.kwargs.is_empty() {
            tail = tail + ",\"kwargs\":{" + &self.kwargs + "}";
        }
        let question = Some(call.start(&self.key, &(tail + &self.context.lane))?);
        Ok(Pending { call, question })
    }
}

/// An answer that may not be here yet. One that nobody waits for is abandoned when its call is over.
#[must_use = "an answer that nobody waits for is abandoned"]
pub struct Pending {
    call: Arc<Call>,
    question: Option<Question>,
}

impl Pending {
    /// Wait for the answer; on record `produce` is run now, by this thread.
    pub fn wait<T: Serialize + DeserializeOwned>(self, produce: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Some(question) = &self.question else { return produce() };
        let text = self.call.wait(question, || caught(|| encode(&produce()?)))?;
        decode(&text).map_err(Error::from)
    }
}

// Inside producers alone: it says nothing about what is taped.
fn live_random() -> u64 {
    thread_local! {
        static SEED: Cell<u64> = Cell::new(std::collections::hash_map::RandomState::new().build_hasher().finish());
    }
    SEED.with(|seed| {
        let next = seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        seed.set(next);
        let mixed = (next ^ next >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}
