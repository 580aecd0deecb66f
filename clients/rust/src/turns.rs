//! One call: its questions in the order asked, its answers handed over one at a time.
//!
//! Where several questions are open, a thread takes its answer when it is its turn and the other threads of the process
//! have come to rest: they wait for something, or have ended. So what the last answer woke has run. On Linux the kernel
//! is asked: no thread could run at two looks, and none ran in between. Elsewhere only the order of the turns is kept.
//! A thread that computes is waited for only so long, and behind that the order is open. A call that asks one question
//! after another pays nothing for this.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::errors::{of_reply, revive, Error, Revivers};
use crate::message::{self, item, Answer};
use crate::peer::{Peer, State, Waiting};

const REST_LIMIT: Duration = Duration::from_millis(200);
const LOOK_AGAIN: Duration = Duration::from_micros(50);
pub(crate) const ROOM: usize = 200; // Bytes for what stands around the members of a question.

thread_local! {
    static PRODUCERS: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread runs a producer: what it asks of the context is then its own affair, answered live.
pub(crate) fn inside_producer() -> bool {
    PRODUCERS.with(|count| count.get() > 0)
}

/// What is known of a call that runs, or ran. Its state is looked at under the peer's lock only.
pub(crate) struct Call {
    pub peer: Arc<Peer>,
    pub number: i64,
    pub function: String,
    pub seq: i64,
    pub id: String,
    pub revivers: Arc<Revivers>,
    pub gone: Condvar,
    pub thread: ThreadId,
    state: Mutex<CallState>,
}

#[derive(Default)]
pub(crate) struct CallState {
    pub asks: i64,
    pub spans: i64,
    pub taken: Vec<String>, // Items of `asked` that have not been sent.
    pub produces: bool,     // What nobody answers is produced here, and nothing about it is waited for.
    pub producing: bool,    // The call's own thread runs a producer.
    pub over: bool,
    pub cancelled: bool,
    pub trouble: Option<Error>, // The next question, or the return of the handler, fails with it.
    pub plain: usize,           // Questions after a time or a draw that are open.
    pub open: usize,            // Of `respond`, those whose answer has not been handed over.
    pub many: bool,             // Several questions were open at once, or another thread asked.
    pub arrivals: Vec<Arc<Open>>,
}

pub(crate) enum Reply {
    Answer(Answer),
    Failure(String),
    Gone(&'static str),
}

/// A question that is open.
pub(crate) struct Open {
    pub call: Arc<Call>,
    bell: Condvar,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    reply: Option<Reply>,
    waited: bool, // Its thread is here to take it.
}

impl Open {
    fn new(call: &Arc<Call>, reply: Option<Reply>) -> Arc<Open> {
        let inner = Mutex::new(Inner { reply, waited: false });
        Arc::new(Open { call: Arc::clone(call), bell: Condvar::new(), inner })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn arrive(&self, reply: Reply) {
        self.inner().reply = Some(reply);
        self.bell.notify_all();
    }
}

/// A `respond` that was asked. Its answer is taken by `Call::wait`.
pub(crate) struct Question {
    open: Arc<Open>,
    ask: i64,
    unasked: bool, // Reported, and so is its settlement: the daemon answers neither.
}

impl Call {
    pub fn new(
        peer: &Arc<Peer>,
        number: i64,
        function: &str,
        seq: i64,
        id: &str,
        revivers: &Arc<Revivers>,
        produces: bool,
    ) -> Arc<Call> {
        Arc::new(Call {
            peer: Arc::clone(peer),
            number,
            function: function.to_string(),
            seq,
            id: id.to_string(),
            revivers: Arc::clone(revivers),
            gone: Condvar::new(),
            thread: thread::current().id(),
            state: Mutex::new(CallState { produces, ..CallState::default() }),
        })
    }

    pub fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Ask `now` or `random`, and wait. `fed` says that the feed may have the answer.
    pub fn read(self: &Arc<Self>, method: &str, tail: &str, fed: bool) -> Result<String, Error> {
        let mut peer = self.peer.lock();
        let mut state = self.state();
        state.check()?;
        self.seen(&mut state);
        if fed && !state.over && peer.feed.asking == 0 {
            let lane = if method == "now" { &mut peer.feed.now } else { &mut peer.feed.random };
            if let Some(value) = lane.pop_front() {
                state.asks += 1;
                state.taken.push(item(method, tail));
                return Ok(value);
            }
        }
        let open = Open::new(self, None);
        let before = self.report(&mut state, peer.limit);
        peer.ask(method, self.number, state.asks, tail, before, Waiting::Plain(Arc::clone(&open)))?;
        state.asks += 1;
        state.plain += 1;
        peer.feed.asking += 1;
        drop(state);
        while open.inner().reply.is_none() {
            peer = self.peer.wait(&open.bell, peer);
        }
        self.state().check()?;
        let reply = open.inner().reply.take();
        match reply {
            Some(Reply::Answer(Answer::Value(text))) => Ok(text),
            Some(Reply::Failure(text)) => Err(of_reply(&text)),
            Some(Reply::Gone(text)) => Err(Error::Cancelled(text.to_string())),
            _ => Err(Error::Protocol("an answer that cannot be read".to_string())),
        }
    }

    /// Ask `respond`.
    pub fn start(self: &Arc<Self>, key: &str, tail: &str) -> Result<Question, Error> {
        let mut peer = self.peer.lock();
        let mut state = self.state();
        state.check()?;
        self.seen(&mut state);
        let ask = state.asks;
        let fits = !state.over && tail.len() + ROOM <= peer.limit; // Asking says what is wrong.
        let given = if fits { peer.feed.respond.get_mut(key).and_then(|lane| lane.pop_front()) } else { None };
        let unasked = given.is_none() && fits && state.produces;
        let open = if let Some(text) = given {
            state.taken.push(item("respond", tail));
            let open = Open::new(self, Some(Reply::Answer(message::answer(&text))));
            state.arrivals.push(Arc::clone(&open));
            open
        } else if unasked {
            state.taken.push(item("respond", tail));
            let report = self.report(&mut state, peer.limit);
            peer.send(&report);
            Open::new(self, Some(Reply::Answer(Answer::Produce)))
        } else {
            let open = Open::new(self, None);
            let before = self.report(&mut state, peer.limit);
            peer.ask("respond", self.number, ask, tail, before, Waiting::Respond(Arc::clone(&open)))?;
            open
        };
        state.asks += 1;
        state.open += 1;
        state.many |= state.open > 1;
        Ok(Question { open, ask, unasked })
    }

    /// Wait until it is this answer's turn, and take it. Where it is to be produced here, `produce` makes its text.
    pub fn wait(
        self: &Arc<Self>,
        question: &Question,
        produce: impl FnOnce() -> Result<String, Error>,
    ) -> Result<String, Error> {
        let open = &question.open;
        let mut peer = self.peer.lock();
        open.inner().waited = true;
        while open.inner().reply.is_none() {
            peer = self.peer.wait(&open.bell, peer);
        }
        let offered = matches!(open.inner().reply, Some(Reply::Answer(Answer::Produce)));
        let mut made = None;
        if offered {
            let state = self.state();
            if state.over || state.cancelled {
                drop(state);
                return Err(self.given_up());
            }
            drop(state);
            self.begin_producer(&mut peer);
            drop(peer);
            let result = produce();
            peer = self.peer.lock();
            self.end_producer(&mut peer);
            made = Some(self.settlement(result, peer.limit));
            self.state().arrivals.push(Arc::clone(open));
        }
        if self.state().many {
            peer = self.take_turn(open, peer);
        }
        let mut state = self.state();
        state.arrivals.retain(|other| !Arc::ptr_eq(other, open));
        state.open = state.open.saturating_sub(1);
        if let Some(next) = state.first_waited() {
            next.bell.notify_all();
        }
        let alive = !state.over && !state.cancelled;
        let (Some((member, result)), true) = (made, alive) else {
            drop(state);
            return if offered { Err(self.given_up()) } else { self.outcome(open) };
        };
        // Settled and handed over at once: the lock is held, so no other ask comes in between.
        if question.unasked {
            state.taken.push(item("respond.settle", &format!(",\"ask\":{}{member}", question.ask)));
            if state.many {
                let report = self.report(&mut state, peer.limit);
                peer.send(&report);
            } // Else it goes with what is sent next.
        } else {
            let before = self.report(&mut state, peer.limit);
            let settled = Waiting::Settled(Arc::clone(self));
            peer.ask("respond.settle", self.number, question.ask, &member, before, settled)?;
        }
        result
    }

    /// What the producer made: the member of `respond.settle`, and what the handler is given.
    fn settlement(&self, result: Result<String, Error>, limit: usize) -> (String, Result<String, Error>) {
        let result = match result {
            Ok(text) if text.len() + ROOM > limit => Err(Error::too_long(text.len(), limit)),
            other => other,
        };
        match result {
            Ok(text) => (format!(",\"value\":{text}"), Ok(text)),
            Err(error) => {
                let told = error.describe(limit.saturating_sub(ROOM));
                (format!(",\"error\":{told}"), Err(revive(&told, &self.revivers)))
            }
        }
    }

    fn outcome(&self, open: &Open) -> Result<String, Error> {
        let reply = open.inner().reply.take();
        match reply {
            Some(Reply::Answer(Answer::Value(text))) => Ok(text),
            Some(Reply::Answer(Answer::Error(text))) => Err(revive(&text, &self.revivers)),
            Some(Reply::Failure(text)) => Err(of_reply(&text)),
            Some(Reply::Gone(text)) => Err(Error::Cancelled(text.to_string())),
            _ => Err(Error::Protocol("an answer that cannot be read".to_string())),
        }
    }

    fn given_up(&self) -> Error {
        let cancelled = self.state().cancelled;
        Error::Cancelled(if cancelled { CANCELLED } else { OVER }.to_string())
    }

    fn take_turn<'a>(&'a self, open: &Arc<Open>, mut peer: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        loop {
            if self.may_take(open) {
                drop(peer);
                self.await_rest();
                peer = self.peer.lock();
                // One that came before may have had nobody to take it until now.
                if self.may_take(open) {
                    return peer;
                }
            }
            peer = self.peer.wait(&open.bell, peer);
        }
    }

    fn may_take(&self, open: &Arc<Open>) -> bool {
        let state = self.state();
        let first = state.first_waited();
        state.over || state.cancelled || first.map_or(true, |first| Arc::ptr_eq(&first, open))
    }

    /// Return when no thread of the handler runs or could run.
    fn await_rest(&self) {
        let mut started = Instant::now();
        let mut before = None;
        while started.elapsed() < REST_LIMIT {
            let peer = self.peer.lock();
            let state = self.state();
            let asking = state.plain > 0; // It is answered at once: whoever asked is about to go on.
            if state.over || state.cancelled {
                return;
            }
            drop(state);
            let apart = peer.apart.clone();
            drop(peer);
            let now = look(|thread| apart.contains(&thread));
            if asking {
                started = Instant::now();
                before = None;
            } else {
                let Some(now) = now else { return };
                let rests = now.values().all(Option::is_some);
                if rests && before.as_ref() == Some(&now) {
                    return;
                }
                before = Some(now);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn begin_producer(&self, peer: &mut State) {
        PRODUCERS.with(|count| count.set(count.get() + 1));
        peer.apart.insert(this_thread());
        if thread::current().id() == self.thread {
            self.state().producing = true;
        }
    }

    fn end_producer(&self, peer: &mut State) {
        PRODUCERS.with(|count| count.set(count.get() - 1));
        peer.apart.remove(&this_thread());
        if thread::current().id() == self.thread {
            self.state().producing = false;
        }
    }

    /// Another thread than the call's own asks: there is somebody to take turns with.
    fn seen(&self, state: &mut CallState) {
        if !state.many && thread::current().id() != self.thread {
            state.many = true;
        }
    }

    /// What was taken and not told yet, as whole frames.
    pub fn report(&self, state: &mut CallState, limit: usize) -> String {
        let mut out = String::new();
        let items = std::mem::take(&mut state.taken);
        let mut items = items.into_iter().peekable();
        while let Some(first) = items.next() {
            let mut tail = format!(",\"asks\":[{first}");
            while items.peek().is_some_and(|next| tail.len() + next.len() + ROOM <= limit) {
                tail.push(',');
                tail.push_str(&items.next().unwrap_or_default());
            }
            tail.push(']');
            message::notification(&mut out, "asked", self.number, &tail);
        }
        out
    }

    /// Send a notification of this call.
    pub fn tell(&self, method: &str, tail: &str) -> Result<(), Error> {
        let mut peer = self.peer.lock();
        let mut state = self.state();
        if state.over {
            return Ok(());
        }
        let mut frames = self.report(&mut state, peer.limit);
        let start = frames.len();
        message::notification(&mut frames, method, self.number, tail);
        let size = frames.len() - start - 1;
        if size > peer.limit {
            frames.truncate(start);
            peer.send(&frames);
            return Err(Error::too_long(size, peer.limit));
        }
        peer.send(&frames);
        Ok(())
    }

    /// The daemon gives the call up: what is open fails. It says whether the call's thread cannot hear of it.
    pub fn cancel(self: &Arc<Self>, peer: &mut State) -> bool {
        let mut state = self.state();
        if state.over || state.cancelled {
            return false;
        }
        state.cancelled = true;
        self.drop_open(peer, &mut state, CANCELLED);
        state.producing
    }

    /// Send the call's answer. After it nothing of the call is settled or handed over, and nothing taken.
    pub fn end(self: &Arc<Self>, peer: &mut State, result: &str) {
        let mut state = self.state();
        if state.over {
            return;
        }
        let mut frames = self.report(&mut state, peer.limit);
        frames.push_str(&message::reply(&self.id, result));
        state.over = true;
        state.produces = false;
        state.trouble = None;
        peer.send(&frames);
        self.drop_open(peer, &mut state, OVER);
    }

    /// Fail every question that is open. Their replies, when they come, are for nobody.
    fn drop_open(self: &Arc<Self>, peer: &mut State, state: &mut CallState, why: &'static str) {
        let mut plain = 0;
        peer.waiting.retain(|_, waiting| match waiting {
            Waiting::Plain(open) if Arc::ptr_eq(&open.call, self) => {
                plain += 1;
                open.arrive(Reply::Gone(why));
                false
            }
            Waiting::Respond(open) if Arc::ptr_eq(&open.call, self) => {
                open.arrive(Reply::Gone(why));
                false
            }
            Waiting::Settled(call) => !Arc::ptr_eq(call, self),
            _ => true,
        });
        peer.feed.asking -= plain;
        state.plain = 0;
        for open in state.arrivals.drain(..) {
            open.arrive(Reply::Gone(why));
        }
        state.open = 0;
        self.gone.notify_all();
    }
}

pub(crate) const CANCELLED: &str = "the call was cancelled";
const OVER: &str = "the call is over";

impl CallState {
    /// What the next question fails with.
    pub fn check(&mut self) -> Result<(), Error> {
        if self.cancelled && !self.over {
            return Err(Error::Cancelled(CANCELLED.to_string()));
        }
        self.trouble.take().map_or(Ok(()), Err)
    }

    fn first_waited(&self) -> Option<Arc<Open>> {
        self.arrivals.iter().find(|open| open.inner().waited).cloned()
    }
}

/// Run a producer or a handler; a panic is an error of it.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|thrown| {
        let text = thrown.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| thrown.downcast_ref::<String>().cloned());
        Err(Error::Panic(text.unwrap_or_else(|| "a panic without a text".to_string())))
    })
}

type Look = HashMap<i32, Option<String>>;

/// How often and how long each of the other threads ran; `None` for one that could run now. Nothing where it cannot
/// be told.
#[cfg(target_os = "linux")]
fn look(left_out: impl Fn(i32) -> bool) -> Option<Look> {
    let me = this_thread();
    let mut found = Look::new();
    for entry in std::fs::read_dir("/proc/self/task").ok()? {
        let thread: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        if thread == me || left_out(thread) {
            continue;
        }
        let folder = format!("/proc/self/task/{thread}");
        let Ok(stat) = std::fs::read_to_string(format!("{folder}/stat")) else { continue }; // It has ended.
                                                                                            // The name stands in parentheses and may hold anything, so the state is what follows the last one.
        let runs = stat.rsplit(") ").next().map_or(true, |rest| rest.starts_with('R'));
        let schedule = std::fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
        found.insert(thread, if runs { None } else { Some(schedule) });
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
fn look(_: impl Fn(i32) -> bool) -> Option<Look> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) fn this_thread() -> i32 {
    thread_local! {
        // SAFETY: the call takes nothing and cannot fail.
        static ME: i32 = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    }
    ME.with(|me| *me)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn this_thread() -> i32 {
    0
}
