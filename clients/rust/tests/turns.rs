//! Answers are handed over one a turn: a process of its own, so that no other test's threads are seen running.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{json, Value};

// Each thread adds to one list what it got, and does some work first: the list has the order of the answers, though all
// answers are here at once.
#[test]
fn answers_are_handed_over_one_a_turn() {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    let mut child =
        Command::new(program.join("examples/fan_out")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let params = json!({"protocol": 1, "capabilities": {}});
    writeln!(to, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).unwrap();
    next();
    let keys: Vec<String> = (0..8).map(|i| format!("k{i}")).collect();
    for call in 0..5 {
        // What is answered first makes the most work: without turns the others would overtake it.
        let order: Vec<usize> = (0..keys.len()).map(|i| (i * 5 + 3 + call) % keys.len()).collect();
        let work = |key| 16_000_000 / (1 + order.iter().position(|&other| other == key).unwrap());
        let event: Vec<Value> = (0..keys.len()).map(|i| json!([keys[i], work(i)])).collect();
        let params = json!({"call": call, "fn": "handler", "event": event, "seq": call});
        writeln!(to, "{}", json!({"jsonrpc": "2.0", "id": call + 2, "method": "handle", "params": params})).unwrap();
        let asked: Vec<Value> =
            keys.iter().map(|_| next()).inspect(|frame| assert_eq!(frame["method"], "respond")).collect();
        let mut expected = Vec::new();
        let mut all = String::new();
        for &i in &order {
            let one = &asked[i];
            expected.push(one["params"]["key"].clone());
            let result = json!({"value": one["params"]["key"]});
            all += &format!("{}\n", json!({"jsonrpc": "2.0", "id": one["id"], "result": result}));
        }
        to.write_all(all.as_bytes()).unwrap();
        for key in &expected {
            let second = next();
            assert_eq!(&second["params"]["args"][0], key);
        }
        for i in 0..keys.len() as u64 {
            let id = (call as u64 * 16) + 9 + i;
            let result = json!({"value": format!("again {i}")});
            writeln!(to, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result})).unwrap();
        }
        let again = (0..keys.len()).map(|i| json!(format!("again {i}")));
        let output: Vec<Value> = expected.into_iter().chain(again).collect();
        assert_eq!(next()["result"], json!({ "output": output }));
    }
    drop(to);
    assert!(child.wait().unwrap().success());
}
