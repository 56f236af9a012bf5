//! The releases of Stellar RPC whose answers differ, and in which of them.

/// A release whose answers are copied; a later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    V25,
    V27_0,
    V28,
    #[default]
    V30,
}

impl Release {
    pub const NAMES: [&str; 4] = ["25", "27.0", "28", "30"];

    /// The release with one of `NAMES`.
    pub fn from_name(name: &str) -> Option<Release> {
        let releases = [Release::V25, Release::V27_0, Release::V28, Release::V30];
        Release::NAMES.iter().position(|known| *known == name).map(|index| releases[index])
    }

    /// The version that getVersionInfo reports.
    pub fn version(self) -> &'static str {
        match self {
            Release::V25 => "25.1.1",
            Release::V27_0 => "27.0.0",
            Release::V28 => "28.0.0",
            Release::V30 => "30.0.0",
        }
    }

    /// Whether getHealth states close times: since 27.1.
    pub fn health_has_close_times(self) -> bool {
        self >= Release::V28
    }

    /// Whether simulateTransaction knows `useUpgradedAuth`: since 27.1.
    pub fn reads_upgraded_auth(self) -> bool {
        self >= Release::V28
    }

    /// Whether the events of getEvents have `inSuccessfulContractCall`: before 30.
    pub fn events_have_call_success(self) -> bool {
        self < Release::V30
    }

    /// Whether a page never ends before the request's cursor: the cursor is echoed instead of reset to the
    /// start of its ledger (getTransactions) or refused at the latest ledger (getLedgers).
    pub fn echoes_cursor(self) -> bool {
        self >= Release::V30
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_release_in_rising_order() {
        let releases: Vec<_> = Release::NAMES.iter().map(|name| Release::from_name(name).unwrap()).collect();
        assert!(releases.is_sorted());
        assert!(
            releases.iter().zip(Release::NAMES).all(|(release, name)| release.version().starts_with(name))
        );
        assert_eq!(Release::from_name("29"), None);
        assert_eq!(releases.last(), Some(&Release::default()));
    }

    #[test]
    fn close_times_in_health_came_before_call_success_went() {
        assert!(!Release::V27_0.health_has_close_times() && Release::V28.health_has_close_times());
        assert!(Release::V28.events_have_call_success() && !Release::V30.events_have_call_success());
        assert!(!Release::V28.echoes_cursor() && Release::V30.echoes_cursor());
    }
}
