// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TCP service whose routing table is replaced while it serves: each request sees one table from beginning to end,
//! across its awaits, and no request waits for a reload.
//!
//! `cargo run --example routing` serves a few clients of its own, checks each answer, and ends. `cargo test` runs it
//! too.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rtrcu::{Rcu, section};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
const CLIENTS: u64 = 4;
const REQUESTS: usize = 100;

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Table {
    generation: u64,
    ports: HashMap<String, u64>,
    dropped: AtomicBool,
}

impl Drop for Table {
    fn drop(&mut self) {
        self.dropped.store(true, Relaxed);
        DROPPED.fetch_add(1, Relaxed);
    }
}

type Routes = Arc<Rcu<Table>>;

/// The port of a name in the table of the given generation; 0 for "delta", which has no port.
fn port(name: &str, generation: u64) -> u64 {
    match NAMES[..3].iter().zip(0..).find(|(known, _)| **known == name) {
        Some((_, n)) => 8000 + n + 3 * (generation % 1000),
        None => 0,
    }
}

fn table(generation: u64) -> Table {
    let ports = NAMES[..3].iter().map(|name| (name.to_string(), port(name, generation))).collect();
    Table { generation, ports, dropped: AtomicBool::new(false) }
}

/// Serves one connection: answers each line, which is a name, by the name's port and the generation of the table used.
async fn serve(stream: TcpStream, routes: Routes) -> std::io::Result<()> {
    let (input, mut output) = stream.into_split();
    let mut lines = BufReader::new(input).lines();
    while let Some(name) = lines.next_line().await? {
        section(async |s| {
            let table = routes.load(s);
            let port = table.ports.get(&name).copied().unwrap_or(0);
            output.write_all(format!("{port} ").as_bytes()).await?;
            // The table does not change while this task waits, even if the task continues on another thread.
            tokio::time::sleep(Duration::from_millis(2)).await;
            assert!(!table.dropped.load(Relaxed), "a table was dropped under a section");
            output.write_all(format!("{}\n", table.generation).as_bytes()).await
        })
        .await?;
    }
    Ok(())
}

/// Sends requests, and checks that both numbers of each answer are from the same table.
async fn ask(address: std::net::SocketAddr) -> std::io::Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    for name in NAMES.iter().cycle().take(REQUESTS) {
        stream.write_all(format!("{name}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        let numbers: Vec<u64> = answer.split_whitespace().flat_map(str::parse).collect();
        assert!(numbers.len() == 2 && numbers[0] == port(name, numbers[1]), "{name}: wrong answer '{answer}'");
    }
    Ok(())
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let routes: Routes = Arc::new(Rcu::new(table(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;

    let serving = Arc::clone(&routes);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&serving)));
        }
    });
    let reloading = Arc::clone(&routes);
    let reloader = tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(1));
        loop {
            tick.tick().await;
            reloading.update(|old| table(old.generation + 1));
        }
    });

    let clients: Vec<_> = (0..CLIENTS).map(|_| tokio::spawn(ask(address))).collect();
    for client in clients {
        client.await??;
    }
    reloader.abort();
    let _ = reloader.await; // the abort's error

    rtrcu::async_barrier().await;
    let (tables, dropped) = (routes.get().generation, DROPPED.load(Relaxed));
    assert!(tables > 1, "no table was replaced");
    assert_eq!(dropped, tables, "each table that was replaced is dropped");
    println!("{} requests; {tables} tables replaced and dropped", CLIENTS * REQUESTS as u64);
    Ok(())
}

#[test]
fn every_answer_is_of_one_table_and_every_replaced_table_is_dropped() {
    main().unwrap();
}
