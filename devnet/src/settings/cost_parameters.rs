//! The host's cost model of protocol 30, frozen as data; a test holds it to what the crate prints.

use crate::xdr::{ContractCostParamEntry, ContractCostParams, ExtensionPoint};

/// One row for each `ContractCostType`: CPU constant and linear term, memory constant and linear term.
#[rustfmt::skip]
pub const COST_PARAMETERS: [[i64; 4]; 95] = [
    [4, 0, 0, 0], // WasmInsnExec
    [434, 16, 16, 128], // MemAlloc
    [42, 16, 0, 0], // MemCpy
    [44, 16, 0, 0], // MemCmp
    [295, 0, 0, 0], // DispatchHostFunction
    [60, 0, 0, 0], // VisitObject
    [221, 26, 242, 384], // ValSer
    [331, 4369, 0, 384], // ValDeser
    [3636, 7013, 0, 0], // ComputeSha256Hash
    [40256, 0, 0, 0], // ComputeEd25519PubKey
    [377551, 4059, 0, 0], // VerifyEd25519Sig
    [417482, 45712, 132773, 4903], // VmInstantiation
    [41142, 634, 69472, 1217], // VmCachedInstantiation
    [1945, 0, 14, 0], // InvokeVmFunction
    [6481, 5943, 0, 0], // ComputeKeccak256Hash
    [711, 0, 0, 0], // DecodeEcdsaCurve256Sig
    [2314804, 0, 181, 0], // RecoverEcdsaSecp256k1Key
    [4176, 0, 99, 0], // Int256AddSub
    [4716, 0, 99, 0], // Int256Mul
    [4680, 0, 99, 0], // Int256Div
    [4256, 0, 99, 0], // Int256Pow
    [884, 0, 99, 0], // Int256Shift
    [1059, 502, 0, 0], // ChaCha20DrawBytes
    [73077, 25410, 17564, 6457], // ParseWasmInstructions
    [0, 540752, 0, 47464], // ParseWasmFunctions
    [0, 176363, 0, 13420], // ParseWasmGlobals
    [0, 29989, 0, 6285], // ParseWasmTableEntries
    [0, 1061449, 0, 64670], // ParseWasmTypes
    [0, 237336, 0, 29074], // ParseWasmDataSegments
    [0, 328476, 0, 48095], // ParseWasmElemSegments
    [0, 701845, 0, 103229], // ParseWasmImports
    [0, 429383, 0, 36394], // ParseWasmExports
    [0, 28, 0, 257], // ParseWasmDataSegmentBytes
    [43030, 0, 70704, 0], // InstantiateWasmInstructions
    [0, 7556, 0, 14613], // InstantiateWasmFunctions
    [0, 10711, 0, 6833], // InstantiateWasmGlobals
    [0, 3300, 0, 1025], // InstantiateWasmTableEntries
    [0, 0, 0, 0], // InstantiateWasmTypes
    [0, 23038, 0, 129632], // InstantiateWasmDataSegments
    [0, 42488, 0, 13665], // InstantiateWasmElemSegments
    [0, 828974, 0, 97637], // InstantiateWasmImports
    [0, 297100, 0, 9176], // InstantiateWasmExports
    [0, 14, 0, 126], // InstantiateWasmDataSegmentBytes
    [1882, 0, 0, 0], // Sec1DecodePointUncompressed
    [3000906, 0, 0, 0], // VerifyEcdsaSecp256r1Sig
    [661, 0, 0, 0], // Bls12381EncodeFp
    [985, 0, 0, 0], // Bls12381DecodeFp
    [1934, 0, 0, 0], // Bls12381G1CheckPointOnCurve
    [730510, 0, 0, 0], // Bls12381G1CheckPointInSubgroup
    [5921, 0, 0, 0], // Bls12381G2CheckPointOnCurve
    [1057822, 0, 0, 0], // Bls12381G2CheckPointInSubgroup
    [92642, 0, 0, 0], // Bls12381G1ProjectiveToAffine
    [100742, 0, 0, 0], // Bls12381G2ProjectiveToAffine
    [7689, 0, 0, 0], // Bls12381G1Add
    [2458985, 0, 0, 0], // Bls12381G1Mul
    [2347584, 94135478, 109494, 266603], // Bls12381G1Msm
    [1020885, 0, 2776, 0], // Bls12381MapFpToG1
    [2638451, 6803, 5896, 0], // Bls12381HashToG1
    [25207, 0, 0, 0], // Bls12381G2Add
    [7873219, 0, 0, 0], // Bls12381G2Mul
    [7663880, 298580871, 219654, 266603], // Bls12381G2Msm
    [1856539, 0, 1672, 0], // Bls12381MapFp2ToG2
    [6315452, 7232, 3960, 0], // Bls12381HashToG2
    [10558948, 632860943, 2204, 9340474], // Bls12381Pairing
    [1994, 0, 0, 0], // Bls12381FrFromU256
    [1155, 0, 248, 0], // Bls12381FrToU256
    [74, 0, 0, 0], // Bls12381FrAddSub
    [332, 0, 0, 0], // Bls12381FrMul
    [691, 74558, 0, 128], // Bls12381FrPow
    [35421, 0, 0, 0], // Bls12381FrInv
    [344, 0, 0, 0], // Bn254EncodeFp
    [476, 0, 0, 0], // Bn254DecodeFp
    [904, 0, 0, 0], // Bn254G1CheckPointOnCurve
    [2811, 0, 0, 0], // Bn254G2CheckPointOnCurve
    [1706052, 0, 0, 0], // Bn254G2CheckPointInSubgroup
    [61, 0, 0, 0], // Bn254G1ProjectiveToAffine
    [3623, 0, 0, 0], // Bn254G1Add
    [1150435, 0, 0, 0], // Bn254G1Mul
    [5263916, 392472814, 1821, 6232546], // Bn254Pairing
    [2052, 0, 0, 0], // Bn254FrFromU256
    [1133, 0, 312, 0], // Bn254FrToU256
    [74, 0, 0, 0], // Bn254FrAddSub
    [332, 0, 0, 0], // Bn254FrMul
    [755, 68930, 0, 0], // Bn254FrPow
    [33151, 0, 0, 0], // Bn254FrInv
    [1185193, 41568084, 73061, 229779], // Bn254G1Msm
    [849110, 0, 24656, 0], // MlDsa44DecodeVerifyingKey
    [1505271, 0, 43088, 0], // MlDsa65DecodeVerifyingKey
    [2625760, 0, 73808, 0], // MlDsa87DecodeVerifyingKey
    [37888, 0, 4104, 0], // MlDsa44DecodeSignature
    [47691, 0, 5128, 0], // MlDsa65DecodeSignature
    [66346, 0, 7176, 0], // MlDsa87DecodeSignature
    [685165, 6103, 0, 0], // VerifyMlDsa44Sig
    [983619, 6103, 0, 0], // VerifyMlDsa65Sig
    [1437210, 6102, 0, 0], // VerifyMlDsa87Sig
];

/// The table that prices CPU instructions.
pub fn cpu_instructions() -> ContractCostParams {
    column(0)
}

/// The table that prices memory bytes.
pub fn memory_bytes() -> ContractCostParams {
    column(2)
}

fn column(first: usize) -> ContractCostParams {
    let rows: Vec<_> = COST_PARAMETERS
        .iter()
        .map(|row| ContractCostParamEntry {
            ext: ExtensionPoint::V0,
            const_term: row[first],
            linear_term: row[first + 1],
        })
        .collect();
    ContractCostParams(rows.try_into().expect("95 rows are below the protocol's 1,024"))
}
