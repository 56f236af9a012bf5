//! Compiled contracts, kept from ledger to ledger as a validator keeps them.

use soroban_env_host::budget::{AsBudget, Budget};
use soroban_env_host::{CompilationContext, Error, ErrorHandler, HostError, ModuleCache, Val};
use soroban_simulation::NetworkConfig;

use crate::host::PROTOCOL_VERSION;

#[derive(Clone)]
struct Compiler(Budget);

impl AsBudget for Compiler {
    fn as_budget(&self) -> &Budget {
        &self.0
    }
}

impl ErrorHandler for Compiler {
    fn map_err<T, E>(&self, result: Result<T, E>) -> Result<T, HostError>
    where
        Error: From<E>,
        E: std::fmt::Debug,
    {
        result.map_err(|error| HostError::from(Error::from(error)))
    }

    fn error(&self, error: Error, _message: &str, _arguments: &[Val]) -> HostError {
        HostError::from(error)
    }
}

impl CompilationContext for Compiler {}

/// The module cache of the thread that applies ledgers.
pub struct Modules {
    cache: ModuleCache,
    compiler: Compiler,
}

impl Modules {
    pub fn new(config: &NetworkConfig) -> Result<Modules, HostError> {
        let budget = Budget::try_from_configs(
            u64::MAX,
            u64::MAX,
            config.cpu_cost_params.clone(),
            config.memory_cost_params.clone(),
        )?;
        let compiler = Compiler(budget);
        Ok(Modules { cache: ModuleCache::new(&compiler)?, compiler })
    }

    /// Compiles code that a ledger stored; code that does not compile was refused at its upload.
    pub fn add(&self, wasm: &[u8]) -> Result<(), HostError> {
        self.cache.parse_and_cache_module_simple(&self.compiler, PROTOCOL_VERSION, wasm)
    }

    pub(super) fn cache(&self) -> ModuleCache {
        self.cache.clone()
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.compiler.0
    }
}
