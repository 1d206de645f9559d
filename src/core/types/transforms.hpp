// Signals and what codes them, as plain data that the drivers hand to the kernels. No standard
// library templates: this and the other *_types.hpp cross into code compiled for other
// instruction sets (see simd.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "types/dct.hpp"

namespace fost {

using Index = std::ptrdiff_t;

// Numbers in memory that become others when they are loaded: as they are, or of a type that
// float32 holds exactly.
enum class Stored { same, int8, uint8, int16, uint16, float16 };
constexpr Index stored_bytes(Stored stored, Index bytes) {
  switch (stored) {
    case Stored::same: return bytes;
    case Stored::int8:
    case Stored::uint8: return 1;
    case Stored::int16:
    case Stored::uint16:
    case Stored::float16: return 2;
  }
  return 0;
}

// A matrix in memory that may have any strides (in elements, zero or negative included).
template <class T> struct View {
  T* data;
  Index rows;
  Index columns;
  Index row_stride;
  Index column_stride;
  Stored stored = Stored::same;  // where not the same, data points to those and load_tile converts
};

// One block of reflectors U_a U_(a+1) ... U_(a+size-1) = I - V T V^T (compact WY).
template <class T> struct ReflectorGroup {
  int size;           // 1 to 12
  int begin;          // features below it are zero in every vector of the group
  const T* vectors;   // n x size, row-major: entry i of all vectors side by side
  const T* triangle;  // T, size x size, upper triangular
};

// Two rows of a tile in one word, since in the innermost loops every load counts.
using RowPair = std::uint64_t;
constexpr RowPair row_pair(std::int32_t first, std::int32_t second) {
  return static_cast<RowPair>(first) | static_cast<RowPair>(second) << 32;
}
constexpr Index first_row(RowPair pair) { return static_cast<Index>(pair & 0xffffffff); }
constexpr Index second_row(RowPair pair) { return static_cast<Index>(pair >> 32); }

// Rotations in the order of application, in the form of givens.hpp.
template <class T> struct Rotations {
  int count;
  const RowPair* rows;         // per rotation: those to read, those to write
  const T* factors;            // per rotation: alpha, beta
  int n_scaled;
  const std::int32_t* scaled;  // rows that are multiplied in the end ...
  const T* scales;             // ... by these
};

enum class Kind { reflectors, rotations, cosine, dense };

// One factor of a transform. Which fields are set depends on the kind.
template <class T> struct Stage {
  Kind kind;
  bool backwards;                       // it is the transpose of what the fields say
  int count;                            // groups or axes
  const ReflectorGroup<T>* groups;      // reflectors, in the order u_1 ... u_m
  Rotations<T> forward, inverse;        // rotations
  const CosineAxis<T>* axes;            // cosine
  const T* matrix;                      // dense: U, row-major
  const T* transposed;                  // dense: U^T, or null where BLAS does the product
};

// U = U_first ... U_last as a list of stages: forward applies them in order, inverse
// applies their inverses in reverse order.
template <class T> struct Program {
  int n;
  int n_stages;
  const Stage<T>* stages;
};

// One of several transforms, beyond the base that they share. Where it is rotations alone, it
// leaves some coefficients of the base as they are: then it works on a board of 2 n rows, reads
// the base's coefficients from the first n and writes those that it changes to the others.
template <class T> struct BankMember {
  Program<T> program;
  bool rotates;                // rotations alone
  Rotations<T> rotations;      // on the board
  const RowPair* places;       // per varying feature: the row of its coefficient, and itself
  const T* scales;             // per varying feature: a factor of its coefficient
};

// What codes signals: a transform alone, or a bank of several, each of them the base and a member
// beyond it, where the one that suits a signal best codes it. Features that no member changes are
// common, the others varying.
template <class T> struct CoderProgram {
  Program<T> base;
  int count = 0;                           // members, none for a transform alone
  const BankMember<T>* members = nullptr;
  int n_varying = 0, n_common = 0;
  const RowPair* common = nullptr;         // per common feature, as in BankMember
  const T* ones = nullptr;                 // per common feature
};

}  // namespace fost
