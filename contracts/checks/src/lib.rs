//! Tests of the built contracts on the Soroban host: `tests/`. Nothing else is here, so that no
//! contract is built with what tests need.
#![no_std]
