// SPDX-License-Identifier: MIT OR Apache-2.0
//! A TCP service whose routing table is replaced while it serves: each request sees one table from beginning to end,
//! across its awaits, and no request waits for a reload.
//!
//! `cargo run --example routing` serves a few requests of its own and ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rtrcu::{Rcu, section};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

struct Table {
    generation: u64,
    ports: HashMap<String, u16>,
}

type Routes = Arc<Rcu<Table>>;

fn table(generation: u64) -> Table {
    let ports = ["alpha", "beta", "gamma"].iter().zip(0..).map(|(name, n)| (name.to_string(), 8000 + n)).collect();
    Table { generation, ports }
}

/// One line in, one line out: the name's port, and the generation of the table that said so.
async fn serve(stream: TcpStream, routes: Routes) -> std::io::Result<()> {
    let (input, mut output) = stream.into_split();
    let mut lines = BufReader::new(input).lines();
    while let Some(name) = lines.next_line().await? {
        section(async |s| {
            let table = routes.load(s);
            let port = table.ports.get(&name).copied().unwrap_or(0);
            // The table stays what it was while this waits, on whichever thread it goes on.
            output.write_all(format!("{port} ").as_bytes()).await?;
            output.write_all(format!("{}\n", table.generation).as_bytes()).await
        })
        .await?;
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
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(1));
        loop {
            tick.tick().await;
            reloading.update(|old| table(old.generation + 1));
        }
    });

    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    for name in ["alpha", "beta", "gamma", "delta"].iter().cycle().take(1000) {
        stream.write_all(format!("{name}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        assert!(answer.starts_with(if *name == "delta" { "0 " } else { "800" }), "{answer}");
    }
    let stats = rtrcu::stats();
    println!(
        "1000 requests; {} tables, {} of them dropped; {} grace periods",
        routes.get().generation,
        stats.callbacks_invoked,
        stats.gp_completed
    );
    Ok(())
}
