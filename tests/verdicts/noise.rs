// SPDX-License-Identifier: MIT
// noise.h for the programs in Rust: tables made at the start, short-lived strings, and work without the heap.
mod noise {
    use std::hint::black_box;

    pub struct Noise {
        words: Vec<String>,
        rows: Vec<Vec<f64>>,
        codes: Vec<u32>,
        spans: Vec<Box<[u8]>>,
        state: u32,
    }

    #[inline(never)]
    fn make_words(noise: &mut Noise) {
        for _ in 0..9000 {
            let size = 8 + noise.random() as usize % 80;
            let word = noise.text(size);
            noise.words.push(word);
        }
    }

    #[inline(never)]
    fn make_rows(noise: &mut Noise) {
        for i in 0..60 {
            noise.rows.push((0..900).map(|k| f64::from(k * i)).collect());
        }
    }

    #[inline(never)]
    fn make_spans(noise: &mut Noise) {
        for i in 0..700 {
            noise.spans.push(vec![i as u8; 300 + i].into_boxed_slice());
        }
    }

    #[inline(never)]
    fn line(noise: &Noise, turn: usize) -> String {
        format!("{} {}", turn, noise.words[turn % noise.words.len()])
    }

    #[inline(never)]
    fn counts(turn: usize) -> Vec<u32> {
        vec![turn as u32; 16 + turn % 48]
    }

    impl Noise {
        #[inline(never)]
        pub fn start() -> Noise {
            let mut noise = Noise {
                words: Vec::with_capacity(9000),
                rows: Vec::with_capacity(60),
                codes: vec![0; 100_000],
                spans: Vec::with_capacity(700),
                state: 12345,
            };
            for i in 0..noise.codes.len() {
                noise.codes[i] = noise.random();
            }
            make_words(&mut noise);
            make_rows(&mut noise);
            make_spans(&mut noise);
            std::mem::forget(black_box(Box::new([1u8; 76])));
            noise
        }

        pub fn random(&mut self) -> u32 {
            self.state = self.state.wrapping_mul(1664525).wrapping_add(1013904223);
            self.state >> 8
        }

        pub fn text(&mut self, size: usize) -> String {
            let mut text = String::with_capacity(size);
            for _ in 0..size {
                text.push((b'a' + (self.random() % 26) as u8) as char);
            }
            text
        }

        #[inline(never)]
        pub fn work(&self, times: u32) {
            let mut sum = 1u32;
            for i in 0..times * 2500 {
                let code = self.codes[(sum >> 7) as usize % self.codes.len()];
                sum = (sum ^ code).wrapping_mul(2654435761).wrapping_add(i);
            }
            black_box(sum);
        }

        #[inline(never)]
        pub fn turn(&self, turn: usize) {
            let line = line(self, turn);
            let counts = counts(turn);
            self.work(1);
            black_box((line.len(), counts[turn % 16], self.rows[turn % 60][9], self.spans[turn % 700][9]));
        }
    }
}
