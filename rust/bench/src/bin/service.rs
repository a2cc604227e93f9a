// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tail of a tokio service that reloads its routing table 1,000 times a second: requests over loopback connections,
//! each with a few lookups and an await between them, for each library in turn. Prints one line of JSON for each
//! library and round.
//!
//! usage: service [ROUNDS [SECONDS]]

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use rtrcu::Rcu;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const ROUTES: u32 = 2000;
const CONNECTIONS: usize = 4;
const RELOAD: Duration = Duration::from_millis(1);

/// Number of tables that exist: created and not yet dropped.
static ALIVE: AtomicU64 = AtomicU64::new(0);

struct Table(HashMap<u32, Box<u32>>);

impl Table {
    fn new(generation: u32) -> Self {
        ALIVE.fetch_add(1, Relaxed);
        Self((0..ROUTES).map(|route| (route, Box::new(route ^ generation))).collect())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

/// The table in one library's container, with its way to read, replace and drop tables.
trait Side: Send + Sync + 'static {
    const NAME: &'static str;
    fn new(table: Table) -> Self;
    fn reload(&self, table: Table);
    /// Does two lookups in one table, with a pause between them.
    fn answer(&self, route: u32) -> impl Future<Output = u32> + Send;
    /// Drops the replaced tables that can be dropped.
    fn settle(&self) {}
}

struct Ours(Rcu<Table>);

impl Side for Ours {
    const NAME: &'static str = "rtrcu";
    fn new(table: Table) -> Self {
        Self(Rcu::new(table))
    }
    fn reload(&self, table: Table) {
        self.0.replace(table);
    }
    fn answer(&self, route: u32) -> impl Future<Output = u32> + Send {
        rtrcu::section(async move |s| {
            let table = self.0.load(s);
            let first = *table.0[&(route % ROUTES)];
            tokio::task::yield_now().await;
            first ^ *table.0[&((route + 1) % ROUTES)]
        })
    }
    fn settle(&self) {
        rtrcu::barrier();
    }
}

struct Swap(ArcSwap<Table>);

impl Side for Swap {
    const NAME: &'static str = "arc-swap";
    fn new(table: Table) -> Self {
        Self(ArcSwap::from_pointee(table))
    }
    fn reload(&self, table: Table) {
        self.0.store(Arc::new(table));
    }
    async fn answer(&self, route: u32) -> u32 {
        let table = self.0.load_full();
        let first = *table.0[&(route % ROUTES)];
        tokio::task::yield_now().await;
        first ^ *table.0[&((route + 1) % ROUTES)]
    }
}

/// crossbeam's guards may not be held across an await, so the two lookups may see two tables.
struct Epoch(epoch::Atomic<Table>);

impl Side for Epoch {
    const NAME: &'static str = "crossbeam-epoch";
    fn new(table: Table) -> Self {
        Self(epoch::Atomic::new(table))
    }
    fn reload(&self, table: Table) {
        let guard = epoch::pin();
        let old = self.0.swap(epoch::Owned::new(table), std::sync::atomic::Ordering::AcqRel, &guard);
        // SAFETY: this swap alone removed the table.
        unsafe { guard.defer_destroy(old) }
    }
    async fn answer(&self, route: u32) -> u32 {
        let look = |route: u32| {
            let guard = epoch::pin();
            // SAFETY: never null.
            let table = unsafe { self.0.load(std::sync::atomic::Ordering::Acquire, &guard).deref() };
            *table.0[&(route % ROUTES)]
        };
        let first = look(route);
        tokio::task::yield_now().await;
        first ^ look(route + 1)
    }
    fn settle(&self) {
        for _ in 0..1000 {
            epoch::pin().flush();
        }
    }
}

/// Returns the latencies of requests in nanoseconds, and the largest number of tables that existed at a time.
fn run<S: Side>(seconds: f64) -> (Vec<u64>, u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let side = Arc::new(S::new(Table::new(0)));
    let (done, peak) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let reloader = std::thread::spawn({
        let (side, done, peak) = (Arc::clone(&side), Arc::clone(&done), Arc::clone(&peak));
        move || {
            let (mut generation, mut next) = (0, Instant::now());
            while !done.load(Relaxed) {
                generation += 1;
                side.reload(Table::new(generation));
                peak.fetch_max(ALIVE.load(Relaxed), Relaxed);
                next += RELOAD;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
    });
    let latencies = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its number");
        let serving = Arc::clone(&side);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        let clients: Vec<_> = (0..CONNECTIONS).map(|_| tokio::spawn(client(address, end))).collect();
        let mut all = Vec::new();
        for client in clients {
            all.extend(client.await.expect("a client that ends"));
        }
        all
    });
    done.store(true, Relaxed);
    reloader.join().expect("a reloader that ends");
    drop(runtime);
    side.settle();
    (latencies, peak.load(Relaxed))
}

async fn serve<S: Side>(mut stream: TcpStream, side: Arc<S>) {
    stream.set_nodelay(true).expect("a TCP stream");
    let mut request = [0; 4];
    while stream.read_exact(&mut request).await.is_ok() {
        let answer = side.answer(u32::from_le_bytes(request) % ROUTES).await;
        if stream.write_all(&answer.to_le_bytes()).await.is_err() {
            return;
        }
    }
}

async fn client(address: std::net::SocketAddr, end: Instant) -> Vec<u64> {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a TCP stream");
    let mut latencies = Vec::new();
    for route in 0u32.. {
        let begin = Instant::now();
        if begin >= end {
            break;
        }
        stream.write_all(&route.to_le_bytes()).await.expect("a server that reads");
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.expect("an answer");
        latencies.push(begin.elapsed().as_nanos() as u64);
    }
    latencies
}

fn report<S: Side>(round: usize, seconds: f64) {
    let (mut latencies, peak) = run::<S>(seconds);
    latencies.sort_unstable();
    let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize] as f64 / 1e3;
    println!(
        "{{\"bench\": \"service\", \"side\": \"{}\", \"round\": {round}, \"requests\": {}, \"p50_us\": {:.1}, \
         \"p99_us\": {:.1}, \"p99_9_us\": {:.1}, \"max_us\": {:.1}, \"tables_alive_max\": {peak}}}",
        S::NAME,
        latencies.len(),
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|text| text.parse::<f64>().ok());
    let (rounds, seconds) = (argument(1).unwrap_or(5.0) as usize, argument(2).unwrap_or(4.0));
    for round in 0..rounds {
        report::<Ours>(round, seconds);
        report::<Swap>(round, seconds);
        report::<Epoch>(round, seconds);
    }
}
