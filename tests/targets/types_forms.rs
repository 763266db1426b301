// SPDX-License-Identifier: MIT
// Blocks of Rust's library whose types are known. Each line of the output: form, address in the block, size of an element,
// its type as `heapwise types` names it. Nothing is freed.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

pub struct Account {
    id: u64,
    balance: f64,
    flags: [u32; 10],
}

pub struct Point {
    x: f64,
    y: f64,
    z: f64,
}

pub struct Circle {
    radius: f64,
    pad: [u64; 5],
}

pub trait Shape {
    fn area(&self) -> f64;
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        self.radius + self.pad[0] as f64
    }
}

pub struct Node {
    value: u64,
    next: Option<Box<Node>>,
}

pub enum Token {
    Word(String),
    Number(f64, u64),
}

fn say<T, U: ?Sized>(form: &str, at: *const U, kept: T, name: &str) {
    println!("{}\t{:#x}\t{}\t{}", form, at as *const u8 as usize, std::mem::size_of::<T>(), name);
    std::mem::forget(kept);
}

fn point(x: f64) -> Point {
    Point { x, y: x + 1.0, z: x + 2.0 }
}

fn account(id: u64) -> Account {
    Account { id, balance: 1.0, flags: [7; 10] }
}

#[inline(never)]
fn boxes() {
    let one = Box::new(account(1));
    say("box", &*one as *const Account, one, "types_forms::Account");
    let shape: Box<dyn Shape> = Box::new(Circle { radius: 1.0, pad: [0; 5] });
    let at = &*shape as *const dyn Shape as *const u8;
    if shape.area() < 0.0 {
        println!("negative");
    }
    say("box-dyn", at, shape, "types_forms::Circle");
    let mut head: Option<Box<Node>> = None;
    for value in 0..3 {
        head = Some(Box::new(Node { value, next: head }));
    }
    let node = head.unwrap();
    let inner = &**node.next.as_ref().unwrap() as *const Node;
    if node.value == 99 {
        println!("99");
    }
    say("chain", inner, node, "types_forms::Node");
    let slice: Box<[u64]> = (0..55).collect::<Vec<u64>>().into_boxed_slice();
    say("box-slice", slice.as_ptr(), slice, "u64");
    let text: Box<str> = "a text in a box".into();
    say("box-str", text.as_ptr(), text, "u8");
}

#[inline(never)]
fn vectors(n: usize) {
    let mut grown = Vec::new();
    for i in 0..n {
        grown.push(point(i as f64));
    }
    say("vec-push", grown.as_ptr(), &grown, "types_forms::Point");
    let reserved: Vec<Account> = Vec::with_capacity(n);
    say("vec-capacity", reserved.as_ptr(), reserved, "types_forms::Account");
    let zeros = vec![0u32; n * 10];
    say("vec-zeros", zeros.as_ptr(), &zeros, "u32");
    let ones = vec![1u16; n];
    say("vec-elements", ones.as_ptr(), ones, "u16");
    let copy = zeros.clone();
    say("vec-clone", copy.as_ptr(), copy, "u32");
    let mapped: Vec<f64> = grown.iter().map(|p| p.x * p.y + p.z).collect();
    say("vec-collect", mapped.as_ptr(), mapped, "f64");
    let mut tokens = Vec::new();
    tokens.push(Token::Word("one".to_string()));
    tokens.push(Token::Number(1.5, 2));
    for token in &tokens {
        if let Token::Number(a, 77) = token {
            println!("{}", a);
        } else if let Token::Word(w) = token {
            assert!(w.len() == 3);
        }
    }
    say("vec-enum", tokens.as_ptr(), tokens, "types_forms::Token");
    let nested: Vec<Vec<u8>> = (0..n).map(|i| vec![i as u8; 100]).collect();
    say("vec-inner", nested[1].as_ptr(), &nested, "u8");
    say("vec-outer", nested.as_ptr(), &nested, "alloc::vec::Vec<u8>");
    let mut deque = VecDeque::new();
    for i in 0..n {
        deque.push_back(point(i as f64));
    }
    say("vecdeque", &deque[0] as *const Point, &deque, "types_forms::Point");
    let heap: BinaryHeap<u64> = (0..n as u64).map(|i| i * 7 % 13).collect();
    say("binaryheap", heap.peek().unwrap() as *const u64, &heap, "u64");
    std::mem::forget((grown, zeros, nested, deque, heap));
}

#[inline(never)]
fn strings(n: usize) {
    let mut pushed = String::new();
    for _ in 0..n {
        pushed.push_str("hello ");
    }
    say("string-push", pushed.as_ptr(), pushed, "u8");
    let owned = "a text of its own".to_string();
    say("string-owned", owned.as_ptr(), owned, "u8");
    let formatted = format!("number {} of many", n);
    say("string-format", formatted.as_ptr(), formatted, "u8");
    let many: Vec<String> = (0..n).map(|i| i.to_string()).collect();
    say("vec-string", many.as_ptr(), many, "alloc::string::String");
}

#[inline(never)]
fn shared() {
    let one = Rc::new(account(2));
    say("rc", &*one as *const Account, one, "alloc::rc::Rc<types_forms::Account> block");
    let cell = Rc::new(RefCell::new(point(1.0)));
    say("rc-refcell", cell.as_ptr(), &cell, "alloc::rc::Rc<core::cell::RefCell<types_forms::Point>> block");
    let arc = Arc::new(account(3));
    say("arc", &*arc as *const Account, arc, "alloc::sync::Arc<types_forms::Account> block");
    let mutex = Arc::new(Mutex::new(5u64));
    let at = { let guard = mutex.lock().unwrap(); &*guard as *const u64 };
    // where Mutex is differs from release to release
    let name = std::any::type_name::<Mutex<u64>>();
    say("arc-mutex", at, &mutex, &format!("alloc::sync::Arc<{}> block", name));
    std::mem::forget((cell, mutex));
}

#[inline(never)]
fn maps(n: u64) {
    let mut map = HashMap::new();
    for i in 0..n {
        map.insert(i, point(i as f64));
    }
    say("hashmap", &map[&1] as *const Point, &map, "HashMap<u64, types_forms::Point> table");
    let set: HashSet<u32> = (0..n as u32).collect();
    say("hashset", set.get(&1).unwrap() as *const u32, &set, "HashSet<u32> table");
    let mut tree = BTreeMap::new();
    for i in 0..n {
        tree.insert(i, account(i));
    }
    say("btreemap", &tree[&0] as *const Account, &tree, "BTreeMap<u64, types_forms::Account> node");
    let leaves: BTreeSet<u16> = (0..n as u16).collect();
    say("btreeset", leaves.get(&0).unwrap() as *const u16, &leaves, "BTreeSet<u16> node");
    let mut list = LinkedList::new();
    list.push_back(point(1.0));
    say("linkedlist", list.front().unwrap() as *const Point, &list, "LinkedList<types_forms::Point> node");
    for a in tree.values().take(1) {
        if a.balance + a.flags[0] as f64 + a.id as f64 == 0.5 {
            println!("half");
        }
    }
    std::mem::forget((map, set, tree, leaves, list));
}

fn main() {
    let n = std::env::args().count() * 100;
    boxes();
    vectors(n);
    strings(n);
    shared();
    maps(n as u64);
    std::thread::spawn(|| {
        let one = Box::new(account(9));
        say("thread-box", &*one as *const Account, one, "types_forms::Account");
    })
    .join()
    .unwrap();
}
