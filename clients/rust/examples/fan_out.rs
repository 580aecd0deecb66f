//! A question of each thread, and a second one as soon as the first is answered. The order in which the answers come
//! decides the output, and it is on the tape. An event is a list of keys, each with how much work its answer makes.

use std::sync::Mutex;
use std::time::Duration;

use playhead::{Context, Error, Server};

fn fan_out(ctx: &Context, event: Vec<(String, u64)>) -> Result<Vec<String>, Error> {
    let order = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for (i, (key, steps)) in event.iter().enumerate() {
            let pending = ctx.ask(key).start()?;
            let order = &order;
            threads.spawn(move || {
                let later = || {
                    std::thread::sleep(Duration::from_millis(i as u64 * 7 % 5));
                    Ok(key.clone())
                };
                let first = pending.wait(later).unwrap_or_else(|error| error.to_string());
                let work = (0..*steps).fold(0, |sum, step| std::hint::black_box(sum ^ step));
                order.lock().unwrap().push(if work == u64::MAX { String::new() } else { first });
                let second = ctx.ask("second").arg(key).respond(|| Ok(format!("{key} again")));
                order.lock().unwrap().push(second.unwrap_or_else(|error| error.to_string()));
            });
        }
        Ok::<_, Error>(())
    })?;
    Ok(order.into_inner().unwrap())
}

fn main() {
    Server::new().function("handler", fan_out).serve()
}
