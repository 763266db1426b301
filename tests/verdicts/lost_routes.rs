// SPDX-License-Identifier: MIT
// verdict: kind=lost function=compile_route bytes=7200000 chunks=6000
// A router that compiles a pattern per request and hands out a 'static reference by Box::leak, which nobody can give back.
include!("noise.rs");

use noise::Noise;
use std::hint::black_box;

struct Route {
    id: u32,
    table: [u8; 1196],
}

#[inline(never)]
fn compile_route(pattern: &str, id: u32) -> &'static Route {
    let mut route = Box::new(Route { id, table: [0; 1196] });
    for (at, byte) in pattern.bytes().enumerate() {
        route.table[(at * 31 + byte as usize) % 1196] = byte;
    }
    Box::leak(route) // the flaw
}

fn matches(route: &Route, path: &str) -> bool {
    path.bytes().filter(|byte| route.table.contains(byte)).count() > path.len() / 2
}

fn path(number: usize) -> String {
    format!("/users/{}/posts/{}", number % 97, number)
}

fn main() {
    let noise = Noise::start();
    let mut found = 0;
    for i in 0..6000 {
        let pattern = format!("/users/{{id}}/posts/{}", i % 10);
        let path = path(i);
        let route = compile_route(&pattern, i as u32);
        if matches(route, &path) {
            found += route.id % 2;
        }
        noise.turn(i);
        noise.turn(i + 1);
    }
    println!("{}", black_box(found));
}
