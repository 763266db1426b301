// SPDX-License-Identifier: MIT
// verdict: kind=none
// A queue of at most 500 messages in Rust: a message is taken for each one that comes, and everything is dropped at the end.
include!("noise.rs");

use noise::Noise;
use std::collections::VecDeque;

const LIMIT: usize = 500;

struct Message {
    id: usize,
    sender: String,
    body: Box<[u8]>,
}

#[inline(never)]
fn sender(id: usize) -> String {
    let mut name = String::with_capacity(200);
    name.push_str("the sender of the message with an even number");
    name.truncate(20 + id % 25);
    name
}

#[inline(never)]
fn body(id: usize) -> Box<[u8]> {
    vec![id as u8; 300 + id % 400].into_boxed_slice()
}

fn receive(queue: &mut VecDeque<Message>, id: usize) {
    queue.push_back(Message { id, sender: sender(id), body: body(id) });
}

fn handle(message: Message) -> usize {
    message.id % 7 + message.sender.len() + message.body.len()
}

fn main() {
    let noise = Noise::start();
    let mut queue = VecDeque::with_capacity(LIMIT);
    let mut sum = 0;
    for i in 0..16000 {
        if queue.len() == LIMIT {
            sum += queue.pop_front().map_or(0, handle);
        }
        receive(&mut queue, i);
        noise.turn(i);
    }
    sum += queue.into_iter().map(handle).sum::<usize>();
    println!("{}", sum);
}
