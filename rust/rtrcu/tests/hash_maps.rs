// SPDX-License-Identifier: MIT OR Apache-2.0
//! `HashMap`: the results of its calls, in one thread and in several, and with hashes, comparisons and drops that
//! panic, are inconsistent, or change the map.

#![cfg(feature = "map")]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use rtrcu::{Cursor, HashMap, Rcu, barrier, is_reading, read, section};
use support::{Probe, Random, block_on, counter, pause};

const fn few_or(many: u64) -> u64 {
    if cfg!(miri) { 24 } else { many }
}

/// A hasher that gives all keys the same hash.
#[derive(Clone, Default)]
struct OneHash;

impl Hasher for OneHash {
    fn finish(&self) -> u64 {
        7
    }
    fn write(&mut self, _: &[u8]) {}
}
type Colliding<K, V> = HashMap<K, V, BuildHasherDefault<OneHash>>;

/// Checks that `run` panics, leaves no section open, and leaves no lock of the map held: another thread can change it.
#[track_caller]
fn panics_harmlessly<S: BuildHasher + Sync>(map: &HashMap<u64, u64, S>, run: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert!(!is_reading());
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in 1000..1064 {
                assert!(map.insert(key, key));
                assert!(map.remove(&key));
            }
        });
    });
}

#[test]
fn map_returns_the_last_value_of_a_key() {
    let map = HashMap::new();
    assert!(map.is_empty());
    assert!(map.insert(1, "one"));
    assert!(!map.insert(1, "uno"));
    assert_eq!(map.try_insert(1, "ein"), Err((1, "ein")));
    assert_eq!(map.try_insert(2, "two"), Ok(()));

    let guard = read();
    assert_eq!(map.get(&1, &guard), Some(&"uno"));
    assert_eq!(map.get_key_value(&2, &guard), Some((&2, &"two")));
    assert_eq!(map.get(&3, &guard), None);
    assert_eq!(map.get_or_insert_with(2, || "zwei", &guard), &"two");
    assert_eq!(map.get_or_insert_with(3, || "three", &guard), &"three");
    assert!(map.contains_key(&3) && map.find(&4).is_none());
    assert_eq!(map.len(), 3);

    assert!(map.remove(&1) && !map.remove(&1));
    assert_eq!(map.take(&2, &guard), Some((&2, &"two")));
    assert_eq!(map.take(&2, &guard), None);
    assert_eq!(map.len(), 1);
}

#[test]
fn keys_are_looked_up_by_their_borrowed_form() {
    let map: HashMap<String, Vec<u8>> = HashMap::new();
    map.insert("one".into(), vec![1]);
    assert!(map.update("one", |old| [&old[..], &[2]].concat()));
    assert_eq!(*map.find("one").unwrap(), [1, 2]);
    assert!(map.remove("one"));
}

#[test]
fn removed_values_are_dropped_after_the_sections_that_read_them() {
    let dropped = counter();
    let map = HashMap::new();
    map.insert(1, Probe::new(10, &dropped));
    map.insert(2, Probe::new(20, &dropped));
    {
        let guard = read();
        let (one, two) = (map.get(&1, &guard).unwrap(), map.get(&2, &guard).unwrap());
        assert!(!map.insert(1, Probe::new(11, &dropped)));
        assert!(map.update(&2, |old| Probe::new(old.number + 1, &dropped)));
        let (_, removed) = map.take(&2, &guard).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| rtrcu::Cookie::start().is_reached());
        });
        for probe in [one, two, removed] {
            probe.check();
        }
        assert_eq!([one.number, two.number, removed.number], [10, 20, 21]);
        assert_eq!(dropped.load(SeqCst), 0);
    }
    barrier();
    assert_eq!(dropped.load(SeqCst), 3);
    drop(map);
    assert_eq!(dropped.load(SeqCst), 4);
}

#[test]
fn a_value_that_is_not_inserted_is_dropped_immediately() {
    let dropped = counter();
    let map = HashMap::new();
    map.insert(1, Probe::new(1, &dropped));
    drop(map.try_insert(1, Probe::new(2, &dropped)).unwrap_err());
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn a_dropped_map_drops_its_entries() {
    let dropped = counter();
    let map: HashMap<_, _> = (0..few_or(20_000)).map(|n| (n, Probe::new(n, &dropped))).collect();
    drop(map); // the map may still be growing
    assert_eq!(dropped.load(SeqCst), few_or(20_000));

    let cell = Rcu::new(HashMap::new());
    cell.get().insert(1, Probe::new(1, &dropped));
    cell.replace(HashMap::new()); // the library drops the old map after a grace period
    barrier();
    assert_eq!(dropped.load(SeqCst), few_or(20_000) + 1);
}

#[test]
fn different_keys_of_equal_hash_have_their_own_values() {
    let dropped = counter();
    let map = Colliding::default();
    for key in 0..few_or(300) {
        assert!(map.insert(key, Probe::new(key, &dropped)));
    }
    for key in (0..few_or(300)).step_by(2) {
        assert!(!map.insert(key, Probe::new(key + 1000, &dropped)));
        assert!(map.try_insert(key, Probe::new(0, &dropped)).is_err());
        assert!(map.remove(&(key + 1)));
    }
    for key in 0..few_or(300) {
        assert_eq!(map.find(&key).map(|value| value.number), (key % 2 == 0).then_some(key + 1000));
    }
    assert_eq!(map.len() as u64, few_or(300) / 2);
}

#[test]
fn walks_find_every_entry_once() {
    let count = few_or(3000);
    let map: HashMap<u64, u64> = (0..count).map(|n| (n, n * n)).collect();
    let all: BTreeMap<u64, u64> = (0..count).map(|n| (n, n * n)).collect();

    let guard = read();
    let found: Vec<_> = map.iter(&guard).map(|(key, value)| (*key, *value)).collect();
    assert_eq!(found.len() as u64, count);
    assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), all);
    drop(guard);

    let mut found = Vec::new();
    map.for_each(|key, value| found.push((*key, *value)));
    assert_eq!(found.len() as u64, count);

    let (mut cursor, mut found, mut steps) = (Cursor::default(), Vec::new(), 0);
    assert!(cursor.is_at_start());
    while steps == 0 || !cursor.is_at_start() {
        let guard = read();
        found.extend(map.step(&mut cursor, 8, &guard).map(|(key, _)| *key));
        steps += 1;
    }
    assert!(cfg!(miri) || steps > 5); // in the library's model for Miri, a walk has one step
    assert_eq!(found.len() as u64, count);

    map.retain(|key, _| key % 3 == 0);
    assert_eq!(map.len() as u64, count.div_ceil(3));
    assert_eq!(format!("{:?}", (0..1).map(|n| (n, 'a')).collect::<HashMap<_, _>>()), "{0: 'a'}");
    map.clear();
    assert!(map.is_empty() && map.iter(&read()).next().is_none());
}

#[test]
fn get_mut_changes_a_value_in_place() {
    let mut map = HashMap::new();
    map.insert("a", String::from("b"));
    map.get_mut("a").unwrap().push('c');
    assert!(map.get_mut("b").is_none());
    assert_eq!(*map.find("a").unwrap(), "bc");
}

#[test]
fn concurrent_updates_of_hash_map_values_are_not_lost() {
    let map: HashMap<u64, u64> = (0..4).map(|key| (key, 0)).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 0..few_or(4000) {
                    assert!(map.update(&(n % 4), |value| value + 1));
                }
            });
        }
    });
    let mut sum = 0;
    map.for_each(|_, value| sum += value);
    assert_eq!(sum, 3 * few_or(4000));
    assert!(!map.update(&4, |_| unreachable!()));
    assert!(!map.try_update(&0, |_| None) && map.try_update(&0, |_| Some(1)));
}

#[test]
fn concurrent_insertions_minus_removals_equal_the_map_size() {
    let map = HashMap::new();
    let (inserted, removed) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..3 {
            let (map, inserted, removed) = (&map, &inserted, &removed);
            scope.spawn(move || {
                for key in 0..few_or(3000) {
                    inserted.fetch_add(u64::from(map.try_insert(key, thread).is_ok()), SeqCst);
                }
                for key in 0..few_or(3000) {
                    removed.fetch_add(u64::from(map.remove(&key)), SeqCst);
                }
            });
        }
    });
    // A thread may insert a key again that another thread has removed, so there may be more insertions than keys.
    assert!(inserted.load(SeqCst) >= few_or(3000));
    assert_eq!(inserted.load(SeqCst) - removed.load(SeqCst), map.len() as u64);
}

#[test]
fn an_update_inside_an_update_of_the_same_key_panics() {
    let map: HashMap<u64, u64> = (0..2).map(|key| (key, 0)).collect();
    assert!(map.update(&0, |value| value + u64::from(map.update(&1, |value| value + 1))));
    assert_eq!((*map.find(&0).unwrap(), *map.find(&1).unwrap()), (1, 1));
    panics_harmlessly(&map, || {
        map.update(&0, |value| value + u64::from(map.update(&0, |value| value + 1)));
    });
    assert_eq!(*map.find(&0).unwrap(), 1);
}

#[test]
fn an_update_whose_function_removes_the_key_leaves_it_removed() {
    let map: HashMap<u64, u64> = [(0, 0)].into_iter().collect();
    assert!(!map.update(&0, |value| value + u64::from(map.remove(&0))));
    assert!(map.is_empty());
}

#[test]
fn a_panic_in_a_closure_leaves_the_map_unchanged() {
    let map: HashMap<u64, u64> = (0..2).map(|key| (key, 0)).collect();
    panics_harmlessly(&map, || {
        map.update(&0, |_| panic!("in update"));
    });
    panics_harmlessly(&map, || map.for_each(|_, _| panic!("in for_each")));
    panics_harmlessly(&map, || map.retain(|_, _| panic!("in retain")));
    panics_harmlessly(&map, || {
        map.get_or_insert_with(9, || panic!("in get_or_insert_with"), &read());
    });
    assert_eq!(map.len(), 2);
}

/// A key whose hash or comparison panics while a flag is set.
#[derive(Clone)]
struct Moody {
    number: u64,
    mood: Arc<Moods>,
}

#[derive(Default)]
struct Moods {
    hash: AtomicBool,
    eq: AtomicBool,
}

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!self.mood.hash.load(SeqCst), "in hash");
        self.number.hash(state);
    }
}
impl PartialEq for Moody {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.mood.eq.load(SeqCst), "in eq");
        self.number == other.number
    }
}
impl Eq for Moody {}

#[test]
fn a_panic_in_hash_or_comparison_leaves_the_map_unchanged() {
    let (mood, dropped) = (Arc::new(Moods::default()), counter());
    let key = |number| Moody { number, mood: Arc::clone(&mood) };
    let map = Colliding::default();
    for number in 0..20 {
        assert!(map.insert(key(number), Probe::new(number, &dropped)));
    }

    let mut made = 20;
    for flag in [&mood.hash, &mood.eq] {
        flag.store(true, SeqCst);
        for number in [3, 99] {
            let attempts: [&dyn Fn() -> bool; 5] = [
                &|| map.insert(key(number), Probe::new(number, &dropped)),
                &|| map.try_insert(key(number), Probe::new(number, &dropped)).is_ok(),
                &|| map.remove(&key(number)),
                &|| map.find(&key(number)).is_some(),
                &|| map.update(&key(number), |old| Probe::new(old.number, &dropped)),
            ];
            for attempt in attempts {
                assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err());
                assert!(!is_reading());
            }
            made += 2;
        }
        flag.store(false, SeqCst);
    }
    assert_eq!(dropped.load(SeqCst), made - 20);

    // Check that no lock of the map is still held, and that every entry still exists.
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..20 {
                assert!(!map.insert(key(number), Probe::new(number, &dropped)));
            }
        });
    });
    barrier();
    drop(map);
    assert_eq!(dropped.load(SeqCst), made + 20);
}

/// A key whose first comparisons insert into the map.
struct Meddler {
    number: u64,
    map: Arc<std::sync::OnceLock<Colliding<Meddler, u64>>>,
    left: Arc<AtomicU64>,
}

impl Hash for Meddler {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
impl PartialEq for Meddler {
    fn eq(&self, other: &Self) -> bool {
        let left = self.left.load(SeqCst);
        if left > 0 {
            self.left.store(left - 1, SeqCst);
            let another = Self { number: 1000 + left, map: Arc::clone(&self.map), left: Arc::clone(&self.left) };
            self.map.get().unwrap().insert(another, 0);
        }
        self.number == other.number
    }
}
impl Eq for Meddler {}

#[test]
fn a_comparison_may_change_the_map() {
    let (shared, left) = (Arc::new(std::sync::OnceLock::new()), Arc::new(AtomicU64::new(10)));
    let map = shared.get_or_init(Colliding::default);
    let key = |number| Meddler { number, map: Arc::clone(&shared), left: Arc::clone(&left) };
    for number in 0..5 {
        assert!(map.insert(key(number), number));
    }
    assert_eq!(left.load(SeqCst), 0);
    for number in 0..5 {
        assert_eq!(map.find(&key(number)).as_deref(), Some(&number));
    }
    assert_eq!(map.len(), 15);
    map.clear(); // removes the keys, which hold references to the map
}

/// Counts drops; the fourth drop that its counter counts panics.
struct Bomb(Arc<AtomicU64>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.fetch_add(1, SeqCst) == 3 {
            panic!("in a drop");
        }
    }
}

#[test]
fn a_panicking_drop_does_not_prevent_other_drops() {
    let dropped = counter();
    let map: HashMap<_, _> = (0..20).map(|n| (n, Bomb(Arc::clone(&dropped)))).collect();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(map))).is_err());
    assert_eq!(dropped.load(SeqCst), 20);

    let again = counter();
    let map: HashMap<_, _> = (0..20).map(|n| (n, Bomb(Arc::clone(&again)))).collect();
    map.clear();
    barrier(); // the library drops the entries, and catches the panic
    assert_eq!(again.load(SeqCst), 20);
}

/// A key whose comparison is random.
#[derive(Clone)]
struct Liar;

impl Hash for Liar {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
impl PartialEq for Liar {
    fn eq(&self, _: &Self) -> bool {
        thread_local! {
            static STATE: std::cell::Cell<u64> = const { std::cell::Cell::new(1) };
        }
        STATE.set(STATE.get().wrapping_mul(6364136223846793005).wrapping_add(1));
        STATE.get() >> 60 == 0
    }
}
impl Eq for Liar {}

#[test]
fn an_inconsistent_comparison_leaks_no_value() {
    let dropped = counter();
    let map = Colliding::default();
    let mut made = 0;
    for round in 0..few_or(200) {
        map.insert(Liar, Probe::new(round, &dropped));
        made += 1;
        made += u64::from(map.update(&Liar, |old| Probe::new(old.number, &dropped)));
        if round % 3 == 0 {
            map.remove(&Liar);
        }
    }
    drop(map);
    barrier();
    // No other thread replaces an entry here, so each successful update has made one value.
    assert_eq!(dropped.load(SeqCst), made);
}

#[test]
fn an_async_section_protects_the_map_values_that_it_found() {
    let dropped = counter();
    let map = HashMap::new();
    map.insert(1, Probe::new(1, &dropped));
    block_on(section(async |s| {
        let found = map.get(&1, s).unwrap();
        pause().await;
        assert!(!is_reading()); // the thread may change the map without a section of its own
        assert!(!map.insert(1, Probe::new(2, &dropped)));
        let (_, taken) = map.take(&1, s).unwrap();
        let made = map.get_or_insert_with(3, || Probe::new(3, &dropped), s);
        assert_eq!(map.iter(s).count(), 1);
        pause().await;
        for probe in [found, taken, made] {
            probe.check();
        }
    }));
    barrier();
    assert_eq!(dropped.load(SeqCst), 2);
}

#[test]
#[cfg(not(miri))]
fn a_map_does_not_resize_below_its_capacity_and_too_large_a_capacity_fails() {
    let map: HashMap<u64, u64> = HashMap::with_capacity(10_000);
    let buckets = map.stats().buckets;
    for key in 0..10_000 {
        map.insert(key, key);
    }
    assert_eq!((map.stats().buckets, map.stats().resizes), (buckets, 0));
    assert!(map.stats().longest_chain >= 3 && map.stats().entries == 10_000);

    let too_many = HashMap::<u64, u64>::try_with_capacity_and_hasher(usize::MAX, Default::default());
    assert_eq!(too_many.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

/// One thread makes the map grow and shrink; others find the permanent entries by look-ups and walks.
#[test]
fn permanent_entries_are_found_while_the_map_grows_and_shrinks() {
    let (stays, comes, rounds) = (few_or(500), few_or(40_000), if cfg!(miri) { 1 } else { 6 });
    let dropped = counter();
    let map = HashMap::new();
    for key in 0..stays {
        map.insert(key, Probe::new(key, &dropped));
    }
    let done = AtomicBool::new(false);
    let find = |mut random: Random| {
        let mut times = 0;
        while !done.load(SeqCst) || times == 0 {
            let guard = read();
            for _ in 0..few_or(100) / 10 {
                let key = random.below(stays);
                let found = map.get(&key, &guard).expect("it is never removed");
                found.check();
                assert_eq!(found.number, key);
                if let Some(other) = map.get(&(stays + random.below(comes)), &guard) {
                    other.check();
                }
            }
            times += 1;
        }
    };
    let walk = || {
        let mut times = 0;
        while !done.load(SeqCst) || times == 0 {
            let mut seen = HashSet::new();
            map.for_each(|key, value| {
                value.check();
                assert!(*key >= stays || seen.insert(*key), "{key} is found twice");
            });
            assert_eq!(seen.len() as u64, stays);
            times += 1;
        }
    };
    let change = || {
        for _ in 0..rounds {
            for key in stays..stays + comes {
                map.insert(key, Probe::new(key, &dropped));
                let stayed = key % stays;
                assert!(map.update(&stayed, |old| Probe::new(old.number, &dropped)));
            }
            for key in stays..stays + comes {
                assert!(map.remove(&key));
            }
        }
    };

    let mut random = Random::new();
    let others = [random.split(), random.split()];
    thread::scope(|scope| {
        for random in others {
            scope.spawn(|| find(random));
        }
        scope.spawn(walk);
        change();
        done.store(true, SeqCst);
    });
    assert_eq!(map.len() as u64, stays);
    assert!(map.stats().resizes > 0);
    drop(map);
    barrier();
    assert_eq!(dropped.load(SeqCst), stays + rounds * comes * 2);
}

#[test]
fn a_map_is_send_and_sync_if_its_contents_are() {
    fn shared<T: Send + Sync>() {}
    shared::<HashMap<String, Vec<u8>>>();
}
