// General dictionaries and the memory of pursuits in them, as plain data.
#pragma once

#include "types/coding.hpp"

namespace fost {

// The atoms of a general dictionary, in rows, and what pursuit needs to know of them.
template <class T> struct Atoms {
  int n;
  int count;
  int pitch;         // entries from one row of `gram` to the next, a multiple of PITCH
  const T* rows;     // count x n
  T* gram;           // count x pitch, inner products of the atoms, zeros beyond count; may be null
                     // where entries are missing
  bool* known;       // count, the rows of `gram` that are there already; null if all are
  const T* scales;   // pitch, correlations are multiplied by them before they are compared;
                     // null compares them as they are
  const T* squares;  // count x n, squared entries, where norms over observed entries are
                     // wanted, or null
};

// Which signals use which atom: entries begins[k] to begins[k + 1] - 1 belong to atom k.
template <class T> struct AtomUses {
  const std::int64_t* begins;
  const std::int32_t* rows;    // the signal of each entry
  const std::int64_t* places;  // where its coefficient stands among the values
  T* values;
};

// What the rows of the inner products are padded to: several of the longest vectors.
constexpr int PITCH = 32;

// The same of residuals, and features in a block of an atom.
constexpr int RESIDUAL_PITCH = 64;
constexpr int ATOM_BLOCK = 16;

constexpr Index whole(Index size, Index pitch) { return (size + pitch - 1) / pitch * pitch; }

// Signals that are pursued side by side at most.
constexpr int PURSUITS = 8;

// Those atoms of one member of a union that count: not those that a member before it has too.
template <class T> struct UnionMember {
  int first;                   // the number of the first of them
  int count;
  const std::int32_t* places;  // the row of each coefficient on the board, see BankMember
  const T* scales;             // a factor of each coefficient
};

// The rotations of one member of a union in an order in which coefficients are found to be the
// strongest as they appear, and few are stored. Of each rotation, rows of the board (see BankMember)
// to read, and to write where something is kept.
template <class T> struct ScreenMember {
  // Rotations of which both coefficients are kept, by turns some pairs and some alone: of a pair the
  // one coefficient goes from the first rotation to the second without being stored. (Rows to read and
  // to write of that coefficient, and of the other one in each rotation; factors of the same.) Then
  // those of which the first is an atom's and the second is kept (two pairs of rows; factors of the
  // first, beta), and those of which both are atoms' (one pair; four factors).
  int turns, first, both;
  const std::int32_t* kept;  // per turn: pairs, and those alone
  const RowPair* rows;
  const T* factors;
  // Coefficients of other atoms: rows of the board, and factors.
  int stored;
  const std::int32_t* places;
  const T* scales;
};

// What finds the strongest atom of a union from residuals: all members, and the numbers of the atoms
// in the order in which their coefficients appear.
template <class T> struct Screen {
  int count;
  const ScreenMember<T>* members;
  const std::int32_t* atoms;
};

// Atoms by blocks of ATOM_BLOCK features, so many of each. Most are nothing but zeros, and these are
// all the same block: what is read stays in the caches, and no loop depends on an atom.
template <class T> struct AtomBlocks {
  int count;
  const std::int32_t* places;  // of atom k from k * count on: where its blocks begin among the values
  const T* values;
};

// Several transforms whose atoms are one dictionary.
template <class T> struct UnionProgram {
  CoderProgram<T> bank;
  const UnionMember<T>* members;
  const std::int32_t* indices;  // of the atoms, by their numbers: i + n b is atom i of member b
  Screen<T> screen;             // without members where some are not rotations
  const std::int32_t* rows;     // of features on the board of residuals: those of most atoms come first
  AtomBlocks<T> atoms;          // beyond the base, by rows of the board
  int pitch;                    // from the residual of a signal to that of the next
};

// Memory of one thread for pursuit, for `tile` signals at a time. What is wanted per signal is
// wanted for those `together`, or, where entries are missing, for the whole tile; the lower part
// is for missing entries alone.
template <class T> struct PursuitMemory {
  int tile;
  int together;     // signals that are pursued side by side
  double tol;       // stop where the squared residual is no larger; negative never stops early
  T* rows;          // tile x n, signals or residuals
  T* correlations;  // tile x pitch, zeros beyond count
  T* alpha;         // pitch per signal
  double* factor;   // the rows M of pursuits.hpp, or the factor of omp_observed.hpp, s x s per signal
  double* products; // s per signal, of an atom with those chosen before
  double* c;        // s per signal, coordinates of the signal along the orthogonalised atoms
  double* x;        // s per signal, coefficients, or a row of the factor
  T* directions;    // s x n per signal, the orthogonalised atoms, where entries are missing
  T* observed;      // tile x n, one where observed and zero elsewhere
  T* scales;        // tile x pitch, one over the norms of the observed parts, or null
  double* left;     // tile, squared residuals
  Gemm<T> gemm;     // null where it is not worth while
};

}  // namespace fost
