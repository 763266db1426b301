// SPDX-License-Identifier: MIT
// verdict: kind=growth function=Cache::rendered bytes=12800000 chunks=16000
// A web server that caches rendered pages by URL, with the query in the key: nearly no URL comes twice, and none is ever evicted.
include!("noise.rs");

use noise::Noise;
use std::collections::HashMap;
use std::hint::black_box;

struct Cache {
    pages: HashMap<u64, Box<[u8; 800]>>,
    hits: usize,
}

impl Cache {
    #[inline(never)]
    fn rendered(&mut self, url: u64) -> &[u8; 800] {
        if self.pages.contains_key(&url) {
            self.hits += 1;
        } else {
            let mut page = Box::new([0u8; 800]);
            for (at, byte) in page.iter_mut().enumerate() {
                *byte = (url as usize + at) as u8;
            }
            self.pages.insert(url, page); // the flaw
        }
        &self.pages[&url]
    }
}

fn headers(url: u64) -> String {
    format!("GET /page?id={} HTTP/1.1\r\nHost: example.org\r\n", url)
}

fn main() {
    let noise = Noise::start();
    let mut cache = Cache { pages: HashMap::with_capacity(20000), hits: 0 };
    let mut sum = 0usize;
    for i in 0..16000u64 {
        let url = i.wrapping_mul(0x9e3779b97f4a7c15);
        let head = headers(url);
        sum += head.len() + cache.rendered(url)[7] as usize;
        noise.turn(i as usize);
    }
    println!("{} {}", sum, black_box(cache.hits));
    std::process::exit(0); // nothing is dropped
}
