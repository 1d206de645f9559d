// Signals, stages of transforms, banks: plain data that drivers pass to kernels.
//
// Headers in types/ are included both by ordinary code and by code compiled for other instruction
// sets. They therefore use no template of the standard library (see kernels/simd/vector.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fost {

using Index = std::ptrdiff_t;

// Element type of signals in memory: the type of the computation, or a type that float32 represents
// exactly and to which load_tile converts.
enum class SourceType { same, int8, uint8, int16, uint16, float16 };
constexpr Index source_bytes(SourceType source_type, Index bytes) {
  switch (source_type) {
    case SourceType::same: return bytes;
    case SourceType::int8:
    case SourceType::uint8: return 1;
    case SourceType::int16:
    case SourceType::uint16:
    case SourceType::float16: return 2;
  }
  return 0;
}

// A matrix in memory with arbitrary strides (in elements; zero and negative ones are allowed).
template <class T> struct View {
  T* data;
  Index rows;
  Index columns;
  Index row_stride;
  Index column_stride;
  SourceType source_type = SourceType::same;  // if not `same`, data points to that type
};

// Tables of cosine and Fourier transforms, computed by plans/dct.cpp.

template <class T> struct Fourier;

// The Fourier transform of an odd number of reals without an unrolled kernel: by two matrices or,
// for a large prime, by a convolution (Rader).
template <class T> struct FourierPrime {
  int size;
  const T* cosines;               // (size - 1) / 2 squared, in panels (see dense.hpp), or null
  const T* sines;                 // negative sines, in the same layout
  const Fourier<T>* convolution;  // of the length of the convolution, or null
  const T* kernel;                // Fourier transform of the convolution kernel
};

// One pass: `radix` transforms of `size` reals each are combined into one.
template <class T> struct FourierPass {
  int radix;
  int size;
  const T* roots;                // cosines and negative sines of 2 pi t / radix, t < radix
  const T* twiddles;             // cos, sin of 2 pi j k / (radix size), j = 1 ... for each k
  const T* middle;               // radix x radix, for k = size / 2, or null
  const FourierPrime<T>* prime;  // for a radix without an unrolled kernel, else null
};

// The Fourier transform of `length` reals (see fourier.hpp).
template <class T> struct Fourier {
  int length;
  FourierPass<T> first;  // on parts of one number each
  int count;
  const FourierPass<T>* passes;   // the later passes
  const std::int32_t* gathered;   // permutation before the first pass ...
  const std::int32_t* scattered;  // ... and after it, for the transpose
};

// The cosine transform along one axis of the signal, by one of three algorithms.
template <class T> struct CosineAxis {
  int length;
  Index stride;
  const T* codelet;           // tables of the unrolled kernel, or null
  const T* halves[2];         // matrices of even and odd outputs in panels, or null
  const T* transposed[2];     // the transposed matrices, for the inverse
  const Fourier<T>* fourier;  // of the same length, or null
  const T* rotations;         // cos, sin of pi k / (2 length), k = 1 ...
  T scale;                    // sqrt(2 / length)
};

// One block of reflectors U_a U_(a+1) ... U_(a+size-1) = I - V T V^T (compact WY).
template <class T> struct ReflectorGroup {
  int size;           // 1 to 12
  int begin;          // features below it are zero in every vector of the group
  const T* vectors;   // n x size, row-major: entry i of all vectors side by side
  const T* triangle;  // T, size x size, upper triangular
};

// Two row numbers of a tile in one word, which saves a load in the innermost loops.
using RowPair = std::uint64_t;
constexpr RowPair row_pair(std::int32_t first, std::int32_t second) {
  return static_cast<RowPair>(first) | static_cast<RowPair>(second) << 32;
}
constexpr Index first_row(RowPair pair) { return static_cast<Index>(pair & 0xffffffff); }
constexpr Index second_row(RowPair pair) { return static_cast<Index>(pair >> 32); }

// Rotations in the order of application, in the two-operation form of
// kernels/transforms/givens.hpp.
template <class T> struct Rotations {
  int count;
  const RowPair* rows;  // per rotation: the rows to read, the rows to write
  const T* factors;     // per rotation: alpha, beta
  int n_scaled;
  const std::int32_t* scaled;  // rows to be scaled after the rotations ...
  const T* scales;             // ... and their factors
};

enum class StageKind { reflectors, rotations, cosine, dense };

// One factor of a transform. The kind determines which fields are set.
template <class T> struct Stage {
  StageKind kind;
  bool is_transposed;               // the stage is the transpose of the described one
  int count;                        // number of groups or axes
  const ReflectorGroup<T>* groups;  // reflectors: in the order u_1 ... u_m
  Rotations<T> forward, inverse;    // rotations
  const CosineAxis<T>* axes;        // cosine
  const T* matrix;                  // dense: U, row-major
  const T* transposed;              // dense: U^T, or null if BLAS computes the product
};

// U = U_first ... U_last as a list of stages. The forward transform applies them in order, the
// inverse applies their inverses in reverse order.
template <class T> struct Program {
  int n;
  int n_stages;
  const Stage<T>* stages;
};

// One member of a bank, beyond the base that all members share. A member made of rotations alone
// leaves some coefficients of the base unchanged. It works on an array of 2 n coefficient rows: it
// reads the coefficients of the base from the first n rows and writes changed ones to the last n.
template <class T> struct BankMember {
  Program<T> program;
  bool rotates;            // rotations only
  Rotations<T> rotations;  // on the array of 2 n rows
  const RowPair* places;   // per varying feature: the row of its coefficient, the feature
  const T* scales;         // per varying feature: the factor of its coefficient
};

// A coder: a transform alone, or a bank of transforms, each the shared base followed by one member.
// A bank codes each signal by its best member. Common features are changed by no member, varying
// features by at least one.
template <class T> struct CoderProgram {
  Program<T> base;
  int count = 0;  // number of members, 0 for a transform alone
  const BankMember<T>* members = nullptr;
  int n_varying = 0, n_common = 0;
  const RowPair* common = nullptr;  // per common feature, as BankMember::places
  const T* ones = nullptr;          // per common feature
};

}  // namespace fost
