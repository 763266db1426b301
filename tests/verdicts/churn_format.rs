// SPDX-License-Identifier: MIT
// verdict: kind=churn function=label calls=2400000
// Counts of events by a label that is formatted into a new String for each event, only to be compared.
include!("noise.rs");

use noise::Noise;
use std::hint::black_box;

const LABELS: usize = 8;

struct Event {
    kind: u8,
    level: u8,
}

#[inline(never)]
fn label(event: &Event) -> String {
    let mut text = String::with_capacity(24); // the flaw: two bytes could be compared
    text.push_str("kind=");
    text.push((b'a' + event.kind) as char);
    text.push_str(" level=");
    text.push((b'0' + event.level) as char);
    text
}

fn count(labels: &[String], counts: &mut [usize], event: &Event) {
    let text = label(event);
    if let Some(at) = labels.iter().position(|one| *one == text) {
        counts[at] += 1;
    }
}

fn main() {
    let noise = Noise::start();
    let labels: Vec<String> = (0..LABELS as u8).map(|i| label(&Event { kind: i % 4, level: i / 4 })).collect();
    let mut counts = vec![0usize; LABELS];
    for i in 0..2_400_000usize {
        let event = Event { kind: (i % 4) as u8, level: (i / 4 % 3) as u8 };
        count(&labels, &mut counts, black_box(&event));
        if i % 600 == 0 {
            noise.turn(i);
        }
    }
    println!("{:?}", counts);
}
