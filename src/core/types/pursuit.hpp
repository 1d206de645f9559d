// Dictionaries of atoms and the working memory of orthogonal matching pursuit: plain data.
#pragma once

#include "types/coding.hpp"

namespace fost {

// The atoms of a general dictionary, in rows, with the data that pursuit needs.
template <class T> struct Atoms {
  int n;
  int count;
  int pitch;         // entries from one row of `gram` to the next, a multiple of PITCH
  const T* rows;     // count x n
  T* gram;           // count x pitch, inner products of the atoms, zeros beyond count; may be
                     // null if entries are missing
  bool* known;       // count, rows of `gram` that are computed already; null if all are
  const T* scales;   // pitch, factors of correlations before they are compared; null for none
  const T* squares;  // count x n, squared entries, for norms over observed entries, or null
};

// Atoms that are combinations of `entries` atoms of a base each.
template <class T> struct SparseAtoms {
  int entries;
  const T* values;             // count x entries
  const std::int32_t* places;  // count x entries, the atoms of the base
};

// The signals that use each atom: entries begins[k] to begins[k + 1] - 1 belong to atom k.
template <class T> struct AtomUses {
  const std::int64_t* begins;
  const std::int32_t* rows;    // the signal of each entry
  const std::int64_t* places;  // position of its coefficient in `values`
  T* values;
};

// Rows of inner products are padded to a multiple of this: several of the longest vectors.
constexpr int PITCH = 32;

// Rows of residuals are padded to a multiple of this; features per block of an atom.
constexpr int RESIDUAL_PITCH = 64;
constexpr int ATOM_BLOCK = 16;

constexpr Index round_up(Index size, Index pitch) { return (size + pitch - 1) / pitch * pitch; }

// Largest number of signals in a batch of pursuits.
constexpr int BATCH_SIGNALS = 8;

// Up to this many signals, BLAS would spend more time on packing the atoms than on the products.
constexpr int FEW_SIGNALS = 8;

// The atoms of one member of a union, without those that an earlier member also has.
template <class T> struct UnionMember {
  int first;  // the number of its first atom
  int count;
  const std::int32_t* places;  // the coefficient row of each atom, see BankMember
  const T* scales;             // a factor of each coefficient
};

// The rotations of one member of a union, ordered so that correlations are compared as soon as they
// are computed and few are stored. For each rotation: the coefficient rows (see BankMember) to
// read, and those to write if a result is stored.
template <class T> struct ScheduledMember {
  // Rotations come in three groups.
  //   1. Both results are stored. Runs of chains of two rotations alternate with runs of single
  //      ones. In a chain, one coefficient passes from the first rotation to the second in a
  //      register. Per chain: rows to read and write of that coefficient, then of the other
  //      coefficient in each rotation; factors alpha, beta per rotation.
  //   2. The first result is the correlation of an atom, the second is stored (two row pairs; two
  //      factors of the first result, beta).
  //   3. Both results are correlations of atoms (one row pair; four factors).
  int runs, first, both;
  const std::int32_t* run_lengths;  // per run: number of chains, number of single rotations
  const RowPair* rows;
  const T* factors;
  // Remaining atoms: stored coefficients (rows) and their factors.
  int n_stored;
  const std::int32_t* places;
  const T* scales;
};

// The schedule by which the atom of the largest correlation with a residual is found: all members,
// and the numbers of the atoms in the order in which their correlations are computed.
template <class T> struct RotationSchedule {
  int count;
  const ScheduledMember<T>* members;
  const std::int32_t* atoms;
};

// Atoms in blocks of ATOM_BLOCK features, `count` blocks per atom. Most blocks are zero, and all
// zero blocks are one block in memory: reads stay in the caches, and no loop depends on the atom.
template <class T> struct AtomBlocks {
  int count;
  const std::int32_t* places;  // per atom and block: where the block begins among the values
  const T* values;
};

// Several transforms whose atoms form one dictionary.
template <class T> struct UnionProgram {
  CoderProgram<T> bank;
  const UnionMember<T>* members;
  const std::int32_t* indices;   // of the atoms, by their numbers: i + n b is atom i of member b
  RotationSchedule<T> schedule;  // without members if some member is not made of rotations
  const std::int32_t* rows;      // row of each feature in residuals; most used features come first
  AtomBlocks<T> atoms;           // beyond the base, with features in the order of `rows`
  int pitch;                     // from the residual of one signal to the next
};

// Working memory of one thread for pursuit of `tile` signals at a time. "Per signal" means for
// `batch` signals or, if entries are missing, for the whole tile. The last fields are for missing
// entries only.
template <class T> struct PursuitMemory {
  int tile;
  int batch;        // signals in a batch
  double tol;       // a pursuit stops at this squared residual; negative: never early
  T* rows;          // tile x n, signals or residuals
  T* correlations;  // tile x pitch, zeros beyond count
  T* alpha;         // pitch per signal
  double*
      factor;  // the rows M of omp_steps.hpp, or the factor of omp_missing.hpp, s x s per signal
  double* products;  // s per signal, inner products of an atom with those chosen before
  double* c;         // s per signal, coordinates of the signal along the orthogonalised atoms
  double* x;         // s per signal, coefficients, or a row of the factor
  T* directions;     // s x n per signal, the orthogonalised atoms, if entries are missing
  T* observed;       // tile x n, one where observed and zero elsewhere
  T* scales;         // tile x pitch, reciprocal norms of the observed parts, or null
  double* left;      // tile, squared residuals
  Gemm<T> gemm;      // null if BLAS does not pay off
};

}  // namespace fost
