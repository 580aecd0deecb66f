//! One end of the conversation: questions go out, answers find whoever asked, whichever thread that is.
//!
//! One thread reads at all times, so the end of input and a cancel are seen whatever the handler does. Everything is
//! guarded by one lock: numbering a question and sending it are one step under it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::errors::{of_reply, Error};
use crate::framing::MAX_FRAME_BYTES;
use crate::message::{self, Answer};
use crate::turns::{Call, Open, Reply};

pub(crate) struct Peer {
    state: Mutex<State>,
    pub more: Condvar,
}

/// A request of ours that is open.
pub(crate) enum Waiting {
    Plain(Arc<Open>),
    Respond(Arc<Open>),
    Settled(Arc<Call>),
}

/// What the daemon wants done in its turn.
pub(crate) struct Request {
    pub id: String,
    pub work: Work,
}

pub(crate) enum Work {
    Reset,
    Handle(Handle),
}

pub(crate) struct Handle {
    pub call: i64,
    pub function: String,
    pub event: String,
    pub seq: i64,
    pub window: Option<String>,
    pub withdrawn: bool, // Of the window only `produce` holds.
    pub given_up: bool,  // Cancelled before it began.
}

/// The answers that were given ahead, as text.
#[derive(Default)]
pub(crate) struct Feed {
    pub now: VecDeque<String>,
    pub random: VecDeque<String>,
    pub respond: HashMap<String, VecDeque<String>>,
    /// Questions after a time or a float that are open: nothing is taken from these two lanes then.
    pub asking: usize,
}

impl Feed {
    pub fn clear(&mut self) {
        self.now.clear();
        self.random.clear();
        self.respond.clear();
    }
}

pub(crate) struct State {
    out: Box<dyn Write + Send>,
    pub ended: fn(i32) -> !,
    pub limit: usize,
    pub ids: u64,
    pub waiting: HashMap<u64, Waiting>,
    pub inbox: VecDeque<Request>,
    pub feed: Feed,
    pub current: Option<Arc<Call>>,
    pub initialized: bool,
    pub windows: bool,
    pub resets: bool,
    /// Which of the threads that ran handlers is the one that does now.
    pub worker: u64,
    /// Threads whose work is not the handler's: the one that reads, and those that run a producer.
    pub apart: HashSet<i32>,
}

impl Peer {
    pub fn new(out: Box<dyn Write + Send>, ended: fn(i32) -> !) -> Peer {
        let state = State {
            out,
            ended,
            limit: MAX_FRAME_BYTES,
            ids: 0,
            waiting: HashMap::new(),
            inbox: VecDeque::new(),
            feed: Feed::default(),
            current: None,
            initialized: false,
            windows: false,
            resets: false,
            worker: 0,
            apart: HashSet::new(),
        };
        Peer { state: Mutex::new(state), more: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn wait<'a>(&self, bell: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        bell.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// Write whole frames.
    pub fn send(&mut self, frames: &str) {
        if self.out.write_all(frames.as_bytes()).and_then(|()| self.out.flush()).is_err() {
            (self.ended)(0); // The daemon is gone.
        }
    }

    pub fn queue(&mut self, request: Request) {
        self.inbox.push_back(request);
    }

    /// Send a request with the next id, behind `before`.
    pub fn ask(
        &mut self,
        method: &str,
        call: i64,
        ask: i64,
        tail: &str,
        before: String,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let mut frames = before;
        let start = frames.len();
        message::request(&mut frames, self.ids + 1, method, call, ask, tail);
        let size = frames.len() - start - 1;
        if size > self.limit {
            frames.truncate(start);
            if !frames.is_empty() {
                self.send(&frames);
            }
            return Err(Error::too_long(size, self.limit));
        }
        self.ids += 1;
        self.waiting.insert(self.ids, waiting);
        self.send(&frames);
        Ok(())
    }

    /// A reply has come.
    pub fn arrive(&mut self, id: u64, result: Option<&str>, failure: Option<&str>) {
        let failure = failure.unwrap_or("{}");
        match self.waiting.remove(&id) {
            Some(Waiting::Plain(open)) => {
                self.feed.asking -= 1;
                open.call.state().plain -= 1;
                open.arrive(match result {
                    Some(text) => Reply::Answer(Answer::Value(text.to_string())),
                    None => Reply::Failure(failure.to_string()),
                });
            }
            Some(Waiting::Respond(open)) => {
                let reply = match result {
                    Some(text) => Reply::Answer(message::answer(text)),
                    None => Reply::Failure(failure.to_string()),
                };
                if !matches!(reply, Reply::Answer(Answer::Produce)) {
                    open.call.state().arrivals.push(Arc::clone(&open));
                }
                open.arrive(reply);
            }
            Some(Waiting::Settled(call)) if result.is_none() => {
                let mut state = call.state();
                if state.trouble.is_none() && !state.over {
                    state.trouble = Some(of_reply(failure));
                }
            }
            _ => {} // Of a call that was cancelled or is over: for nobody.
        }
    }
}
