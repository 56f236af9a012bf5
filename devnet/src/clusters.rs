//! Which transactions touch the same entries, and whether their groups can run side by side.

use std::collections::{BTreeSet, HashMap};

use crate::transaction::Frame;
use crate::xdr::LedgerKey;

/// Who uses one entry; readers are remembered only until somebody writes it.
#[derive(Default)]
struct Users {
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// Transactions in groups: two that share an entry which one of them writes are in the same group.
pub struct Dependencies<'a> {
    limit: u64,
    clusters: usize,
    users: HashMap<&'a LedgerKey, Users>,
    /// For each transaction another one of its group, itself at the group's head.
    parents: Vec<usize>,
    /// Instructions of each group, by its head.
    groups: HashMap<usize, u64>,
    total: u64,
}

impl<'a> Dependencies<'a> {
    /// No transactions yet, for `clusters` that run at once with `limit` instructions each.
    pub fn new(limit: u64, clusters: usize) -> Dependencies<'a> {
        let (users, groups) = (HashMap::new(), HashMap::new());
        Dependencies { limit, clusters, users, parents: Vec::new(), groups, total: 0 }
    }

    /// Takes the transaction in when all groups still fit into the clusters.
    pub fn add(&mut self, frame: &'a Frame) -> bool {
        let Some(data) = frame.soroban_data() else { return true };
        let instructions = u64::from(data.resources.instructions);
        let footprint = &data.resources.footprint;
        let mut touched = BTreeSet::new();
        for key in footprint.read_write.iter() {
            if let Some(users) = self.users.get(key) {
                touched.extend(users.writer.iter().chain(&users.readers).map(|user| self.head(*user)));
            }
        }
        for key in footprint.read_only.iter() {
            touched.extend(self.users.get(key).and_then(|users| users.writer).map(|user| self.head(user)));
        }
        if !self.would_fit(instructions, &touched) {
            return false;
        }
        self.join(instructions, &touched);
        let index = self.parents.len() - 1;
        for key in footprint.read_write.iter() {
            self.users.insert(key, Users { writer: Some(index), readers: Vec::new() });
        }
        for key in footprint.read_only.iter() {
            let users = self.users.entry(key).or_default();
            if users.writer.is_none() {
                users.readers.push(index);
            }
        }
        true
    }

    fn would_fit(&self, instructions: u64, touched: &BTreeSet<usize>) -> bool {
        if self.total.saturating_add(instructions) <= self.limit {
            return true;
        }
        let of = |head: &usize| self.groups.get(head).copied().unwrap_or(0);
        let joined = touched.iter().map(of).fold(instructions, u64::saturating_add);
        let apart = self.groups.iter().filter(|(head, _)| !touched.contains(head));
        let sizes = apart.map(|(_, size)| *size).chain([joined]).collect();
        fill(sizes, self.limit, self.clusters).is_some()
    }

    fn join(&mut self, instructions: u64, touched: &BTreeSet<usize>) {
        let index = self.parents.len();
        self.parents.push(index);
        let mut size = instructions;
        for head in touched {
            self.parents[*head] = index;
            size = size.saturating_add(self.groups.remove(head).unwrap_or(0));
        }
        self.groups.insert(index, size);
        self.total = self.total.saturating_add(instructions);
    }

    fn head(&self, mut index: usize) -> usize {
        while self.parents[index] != index {
            index = self.parents[index];
        }
        index
    }

    /// The transactions of each cluster, by the order in which they were added.
    pub fn clusters(&self) -> Vec<Vec<usize>> {
        let mut heads: Vec<(usize, u64)> = self.groups.iter().map(|(head, size)| (*head, *size)).collect();
        heads.sort_unstable();
        let bins = match fill(heads.iter().map(|(_, size)| *size).collect(), self.limit, self.clusters) {
            Some(bins) if self.total > self.limit => bins,
            _ => vec![0; heads.len()],
        };
        let bin_of: HashMap<usize, usize> = heads.iter().map(|(head, _)| *head).zip(bins).collect();
        let mut clusters = vec![Vec::new(); self.clusters.max(1)];
        for index in 0..self.parents.len() {
            let bin = bin_of.get(&self.head(index)).copied().unwrap_or(0);
            clusters[bin].push(index);
        }
        clusters.retain(|cluster| !cluster.is_empty());
        clusters
    }
}

/// The bin of each size, largest sizes first into the first bin that has room; `None` when they do not fit.
fn fill(sizes: Vec<u64>, limit: u64, bins: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|index| (std::cmp::Reverse(sizes[*index]), *index));
    let mut filled = vec![0u64; bins.clamp(1, sizes.len().max(1))];
    let mut placed = vec![0; sizes.len()];
    for index in order {
        let bin = filled.iter().position(|used| used.saturating_add(sizes[index]) <= limit)?;
        filled[bin] += sizes[index];
        placed[index] = bin;
    }
    Some(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fill_the_first_bin_with_room() {
        assert_eq!(fill(vec![3, 7, 5], 10, 2), Some(vec![0, 0, 1]));
        assert_eq!(fill(vec![6, 6, 6], 10, 2), None);
        assert_eq!(fill(vec![11], 10, 2), None);
        assert_eq!(fill(Vec::new(), 10, 2), Some(Vec::new()));
    }
}
