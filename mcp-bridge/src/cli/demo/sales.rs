//! The demo's data, and what the pipelines over it must find: computed here, without a sandbox.

use std::collections::BTreeMap;
use std::fmt::Write;

const REGIONS: [&str; 5] = ["north", "south", "east", "west", "centre"];

/// A sale.
#[derive(Clone, Copy, Debug)]
struct Sale {
    id: u32,
    region: &'static str,
    amount: u32,
    paid: bool,
}

/// Some thousand sales, the same in every run.
#[derive(Debug)]
pub(super) struct Sales(Vec<Sale>);

impl Sales {
    /// Makes `count` of them.
    pub(super) fn new(count: u32) -> Self {
        // Numerical Recipes' generator: the numbers only have to look random.
        let mut state: u32 = 2026;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let sales = (1..=count)
            .map(|id| Sale {
                id,
                // Not all regions equally often, so that their order is no accident.
                region: REGIONS
                    .get(random(5).min(random(5)) as usize)
                    .copied()
                    .unwrap_or("north"),
                amount: 1 + random(999),
                paid: random(10) > 0,
            })
            .collect();
        Self(sales)
    }

    /// As CSV with a header.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from("id,region,amount,state\n");
        for sale in &self.0 {
            let state = if sale.paid { "paid" } else { "cancelled" };
            writeln!(text, "{},{},{},{state}", sale.id, sale.region, sale.amount)
                .expect("a string takes everything");
        }
        text
    }

    /// Paid sales of each region, the most first, then by name.
    pub(super) fn paid_by_region(&self) -> Vec<(u32, &'static str)> {
        let mut counts: BTreeMap<&'static str, u32> = BTreeMap::new();
        for sale in self.0.iter().filter(|sale| sale.paid) {
            *counts.entry(sale.region).or_default() += 1;
        }
        let mut counts: Vec<_> = counts
            .into_iter()
            .map(|(region, count)| (count, region))
            .collect();
        counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        counts
    }

    /// What was paid in a region.
    pub(super) fn total(&self, region: &str) -> u32 {
        self.0
            .iter()
            .filter(|sale| sale.paid && sale.region == region)
            .map(|sale| sale.amount)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_agree_with_the_text() {
        let sales = Sales::new(3000);
        let csv = sales.csv();
        assert_eq!(csv.lines().count(), 3001);
        let north = csv
            .lines()
            .filter(|line| line.contains(",north,") && line.ends_with(",paid"));
        let amounts = north
            .clone()
            .filter_map(|line| line.split(',').nth(2)?.parse::<u32>().ok());
        assert_eq!(sales.total("north"), amounts.sum::<u32>());
        let counts = sales.paid_by_region();
        assert_eq!(counts.len(), REGIONS.len());
        assert!(counts.contains(&(u32::try_from(north.count()).expect("few"), "north")));
        assert!(counts.windows(2).all(|pair| pair[0].0 >= pair[1].0));
    }
}
