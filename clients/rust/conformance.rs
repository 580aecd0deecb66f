//! The conformance program of the Rust client: the functions of protocol/conformance.md, and nothing else.
//!
//!     playhead conformance --command target/release/examples/conformance

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;
use std::time::Duration;

use playhead::{Context, Error, HandlerError, RawValue, Server};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

#[derive(Deserialize, Serialize)]
struct Charge {
    amount: i64,
}

#[derive(Deserialize)]
struct Item {
    sku: String,
}

static KEPT: Mutex<Option<Context>> = Mutex::new(None);
static COUNTED: Mutex<i64> = Mutex::new(0);

/// An integer of up to 128 bits stays exact; any other number is a float.
#[allow(clippy::boxed_local)] // It is how the event comes.
fn plus_one(_: &Context, event: Box<RawValue>) -> Result<Box<RawValue>, Error> {
    let text = match event.get().parse::<i128>() {
        Ok(whole) => (whole + 1).to_string(),
        Err(_) => (event.get().parse::<f64>()? + 1.0).to_string(),
    };
    Ok(RawValue::from_string(text)?)
}

fn draws(ctx: &Context, _: Value) -> Result<Value, Error> {
    let first = ctx.random()?;
    let die = ctx.randint(1, 6)?;
    let hex: String = ctx.randbytes(5)?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(json!([first, die, hex, ctx.sample_positions(10, 3)?, ctx.random()?]))
}

fn charge(ctx: &Context, event: Charge) -> Result<Value, Error> {
    let at = ctx.now()?;
    let sampled = ctx.random()? < 0.2;
    let balance = ctx.respond::<i64>("account.balance", || Ok(1000 - event.amount))?;
    Ok(json!({"receivedAt": at, "sampled": sampled, "approved": balance >= 0, "balance": balance}))
}

fn made() -> Result<Value, Error> {
    Ok(json!({"price": 990}))
}

fn quote(ctx: &Context, event: Item) -> Result<Value, Error> {
    ctx.ask("quote").arg(&event.sku).respond(made)
}

fn quote_in_eur(ctx: &Context, event: Item) -> Result<Value, Error> {
    ctx.ask("quote").arg(&event.sku).kwarg("currency", "EUR").respond(made)
}

fn quote_failing(ctx: &Context, event: Item) -> Result<Value, Error> {
    ctx.ask("quote").arg(&event.sku).respond(|| Err(HandlerError::new("TimeoutError", "no quote").into()))
}

fn quote_or_null(ctx: &Context, event: Item) -> Result<Value, Error> {
    match quote_failing(ctx, event) {
        Ok(price) => Ok(json!({"price": price})),
        Err(error) if error.kind() == "TimeoutError" => Ok(json!({"price": null})),
        Err(error) => Err(error),
    }
}

fn hour() -> Result<Value, Error> {
    std::thread::sleep(Duration::from_secs(3600));
    Ok(Value::Null)
}

fn testify(ctx: &Context, event: Charge) -> Result<bool, Error> {
    let span = ctx.span("charge", &event)?;
    ctx.observe("queue.depth", &17)?;
    ctx.note("retry", &json!({"attempt": 2}))?;
    span.end("approved")?;
    Ok(true)
}

fn caught(ctx: &Context, _: Value) -> Result<Value, Error> {
    let at = ctx.now()?;
    let _ = ctx.now();
    let _ = ctx.random();
    Ok(json!({"at": at}))
}

fn prints(ctx: &Context, _: Value) -> Result<f64, Error> {
    println!("one");
    let at = ctx.now()?;
    print!(r#"{{"jsonrpc":"2.0","method":"two"}}"#);
    #[cfg(unix)]
    // SAFETY: the text is as long as is said.
    unsafe {
        libc::write(1, "three\n".as_ptr().cast(), 6);
    }
    Ok(at)
}

fn reads(_: &Context, _: Value) -> Result<String, Error> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

fn order(ctx: &Context, event: Item) -> Result<Value, Error> {
    Ok(json!([ctx.now()?, ctx.random()?, quote(ctx, event)?["price"]]))
}

fn noted(ctx: &Context, _: Value) -> Result<[f64; 2], Error> {
    let first = ctx.now()?;
    ctx.note("retry", &json!({"attempt": 2}))?;
    Ok([first, ctx.now()?])
}

fn race(ctx: &Context, _: Value) -> Result<Value, Error> {
    let near = ctx.ask("near").start()?;
    let far = ctx.ask("far").start()?;
    let t = ctx.now()?;
    let first: String = far.wait(|| Ok("far".to_string()))?;
    let u = ctx.now()?;
    let last: String = near.wait(|| Ok("near".to_string()))?;
    Ok(json!({"first": first, "at": [t, u], "last": last}))
}

fn abandon(ctx: &Context, _: Value) -> Result<&'static str, Error> {
    let _ = ctx.ask("slow").start()?;
    Ok("done")
}

fn kept(ctx: &Context, _: Value) -> Result<Option<String>, Error> {
    if ctx.seq() == 0 {
        *KEPT.lock().unwrap() = Some(ctx.clone());
        return Ok(None);
    }
    let kept = KEPT.lock().unwrap().clone();
    Ok(kept.and_then(|kept| kept.now().err()).map(|error| error.kind().to_string()))
}

fn live(ctx: &Context, _: Value) -> Result<Value, Error> {
    let made: String = ctx.respond("live", || {
        ctx.now()?;
        ctx.random()?;
        Ok("made".to_string())
    })?;
    Ok(json!([made, ctx.now()?]))
}

fn left_behind(ctx: &Context, _: Value) -> Result<(), Error> {
    if ctx.seq() == 0 {
        let ctx = ctx.clone();
        std::thread::spawn(move || {
            ctx.wait_until_over();
            let _ = ctx.now();
        });
    }
    Ok(())
}

fn count(_: &Context, _: Value) -> Result<i64, Error> {
    let mut counted = COUNTED.lock().unwrap();
    *counted += 1;
    Ok(*counted)
}

fn main() {
    type Any = Value;
    Server::new()
        .name("conformance")
        .function("nothing", |_: &Context, _: Any| Ok::<_, Error>(()))
        .function("echo", |_: &Context, event: Any| Ok::<_, Error>(event))
        .function("plus_one", plus_one)
        .function("now", |ctx: &Context, _: Any| ctx.now())
        .function("clocks", |ctx: &Context, _: Any| Ok::<_, Error>([ctx.now()?, ctx.monotonic()?]))
        .function("seq_and_now", |ctx: &Context, _: Any| Ok::<_, Error>(json!({"seq": ctx.seq(), "at": ctx.now()?})))
        .function("draws", draws)
        .function("draw_two", |ctx: &Context, _: Any| Ok::<_, Error>((ctx.randint(1, 6)?, ctx.random()?)))
        .function("uuid", |ctx: &Context, _: Any| ctx.uuid())
        .function("charge", charge)
        .function("quote", quote)
        .function("quote_in_eur", quote_in_eur)
        .function("quote_failing", quote_failing)
        .function("quote_or_null", quote_or_null)
        .function("slow", |ctx: &Context, _: Any| ctx.respond("slow", hour))
        .function("declined", |_: &Context, _: Any| Err::<(), _>(HandlerError::new("Declined", "no funds")))
        .function("testify", testify)
        .function("escaped", |ctx: &Context, _: Any| ctx.escaped("socket.connect", "handler.py:12").map(|()| true))
        .function("caught", caught)
        .function("prints", prints)
        .function("reads", reads)
        .function("order", order)
        .function("readings", |ctx: &Context, _: Any| {
            Ok::<_, Error>((ctx.now()?, ctx.now()?, ctx.monotonic()?, ctx.randint(1, 6)?))
        })
        .function("noted", noted)
        .function("race", race)
        .function("abandon", abandon)
        .function("kept", kept)
        .function("live", live)
        .function("not_json", |_: &Context, _: Any| Ok::<_, Error>(BTreeMap::from([("items", vec![1.0, f64::NAN])])))
        .function("lanes", |ctx: &Context, _: Any| {
            Ok::<_, Error>([ctx.now()?, ctx.monotonic()?, ctx.lane("worker-1").now()?])
        })
        .function("left_behind", left_behind)
        .function("count", count)
        .reset(|| {
            *KEPT.lock().unwrap() = None;
            *COUNTED.lock().unwrap() = 0;
            Ok(())
        })
        .serve()
}
