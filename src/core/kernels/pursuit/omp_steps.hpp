// Steps of orthogonal matching pursuit for several signals at once, one signal per lane.
//
// The orthonormal directions q_i are linear combinations of the chosen atoms; row i of M has the
// coefficients of q_i. Step t takes the atom a of the largest correlation with the residual. With
// the inner products g of a with the atoms chosen before,
//
//     l = M g,   rest = <a, a> - ||l||^2,   row t of M = (-M^T l, 1) / sqrt(rest),
//     c_t = <y, q_t> = (<y, a> - <l, c>) / sqrt(rest) = <residual, a> / sqrt(rest).
//
// The coefficients of the chosen atoms are x = M^T c, which grow by c_t times row t, and
// ||residual||^2 = ||y||^2 - ||c||^2.
//
// These few numbers depend on each other through square roots and divisions, hence the vectors
// across signals. The choice of atoms is left to derived classes. NumPy twin: tests/reference.py,
// omp_steps.
#pragma once

#include "kernels/pursuit/omp_common.hpp"

namespace fost {
namespace FOST_NAMESPACE {

// At most P signals, a multiple of LANES<double>.
template <class T, int P> class OmpSteps {
 public:
  OmpSteps(const Atoms<T>& atoms, const PursuitMemory<T>& memory, const Codes<T>& codes, int count)
      : atoms_(atoms), memory_(memory), codes_(codes), count_(count) {
    for (int p = 0; p < P; ++p) least_[p] = 1;
  }

 protected:
  static constexpr int L = LANES<double>;

  // Begins with signal p; false if its entries are not finite or its norm is out of range.
  bool begin(int p, const T* row) {
    energy_[p] = left_[p] = squared_norm(row, atoms_.n);
    if (!in_numeric_range(energy_[p], row, atoms_.n)) return false;
    open_[p] = left_[p] > memory_.tol;
    return true;
  }

  std::int32_t* chosen(int p) const { return codes_.indices + static_cast<Index>(p) * codes_.s; }
  // Row t of M.
  double* row(Index t) const { return memory_.factor + t * (t + 1) / 2 * P; }

  bool any_open() const {
    bool any = false;
    for (int p = 0; p < count_; ++p) any |= open_[p] != 0;
    return any;
  }

  bool has(int p, int k) const {
    bool found = false;
    for (int i = 0; i < counts_[p]; ++i) found |= chosen(p)[i] == k;
    return found;
  }

  // Sets the next atom of signal p; false if its correlation is no larger than rounding.
  bool try_atom(int p, int k, double strength, double square) {
    atom_[p] = k;
    square_[p] = square;
    return strength * strength >
           ROUNDING_TOLERANCE<T> * ROUNDING_TOLERANCE<T> * energy_[p] * square_[p];
  }

  // The inner products of the atom of signal p with the atoms chosen before, and its correlation
  // with the signal or the residual; zeros if the pursuit has ended.
  void load_products(int p, double correlation) {
    if (open_[p] != 0) {
      for (int i = 0; i < taken_; ++i)
        memory_.products[i * P + p] = inner_product(atoms_, chosen(p)[i], atom_[p]);
      correlation_[p] = correlation;
    } else {
      for (int i = 0; i < taken_; ++i) memory_.products[i * P + p] = 0;
      correlation_[p] = 0;
      square_[p] = 1;
    }
  }

  // Orthogonalises the atoms: their squared norms outside the span, -M^T l as the new row of M and,
  // if correlations are those with the signals, the correlations with the residuals.
  template <bool OF_SIGNALS> void orthogonalise() {
    double* last = row(taken_);
#pragma GCC unroll 4
    for (int p = 0; p < P; p += L) {
      Vec<double> rest = load(square_ + p), correlation = load(correlation_ + p);
      for (int j = 0; j < taken_; ++j) store(last + j * P + p, Vec<double>{});
      for (int i = 0; i < taken_; ++i) {
        const double* own = row(i) + p;
        Vec<double> l = {};
        for (int j = 0; j <= i; ++j) l += load(own + j * P) * load(memory_.products + j * P + p);
        for (int j = 0; j <= i; ++j)
          store(last + j * P + p, load(last + j * P + p) - l * load(own + j * P));
        rest -= l * l;
        if constexpr (OF_SIGNALS)
          correlation -= l * load(memory_.c + static_cast<Index>(i) * P + p);
      }
      store(rest_ + p, rest);
      store(correlation_ + p, correlation);
      store(last + taken_ * P + p, Vec<double>{} + 1);
      store(memory_.x + taken_ * P + p, Vec<double>{});
    }
  }

  // Adds the atoms and their directions. A pursuit ends if an atom is linearly dependent on the
  // chosen ones; its numbers here are zero then.
  void take() {
    double *last = row(taken_), *c = memory_.c + static_cast<Index>(taken_) * P;
#pragma GCC unroll 4
    for (int p = 0; p < P; p += L) {
      const Vec<double> square = load(square_ + p), least = load(least_ + p), none = {};
      // Errors of the projection grow as the shares of chosen atoms outside the span shrink.
      const Mask<double> takes = Mask<double>(load(open_ + p) * load(rest_ + p) * least >
                                              DEPENDENCE_TOLERANCE<T> * square);
      const Vec<double> rest = takes ? load(rest_ + p) : square, share = rest / square;
      const Vec<double> inverse = (takes ? none + 1 : none) / square_root(rest);
      const Vec<double> coordinate = load(correlation_ + p) * inverse;
      store(least_ + p, share < least ? share : least);
      store(left_ + p, load(left_ + p) - coordinate * coordinate);
      store(open_ + p, takes ? none + 1 : none);
      store(c + p, coordinate);
      for (int j = 0; j <= taken_; ++j) {
        const Vec<double> entry = load(last + j * P + p) * inverse;
        double* x = memory_.x + j * P + p;
        store(last + j * P + p, entry);
        store(x, load(x) + coordinate * entry);
      }
    }
    for (int p = 0; p < count_; ++p)
      if (open_[p] != 0) {
        chosen(p)[counts_[p]++] = atom_[p];
        open_[p] = left_[p] > memory_.tol;
      }
    ++taken_;
  }

  void write() const {
    for (int p = 0; p < count_; ++p) write_code(counts_[p], memory_.x + p, P, codes_, p);
  }

  const Atoms<T>& atoms_;
  const PursuitMemory<T>& memory_;
  Codes<T> codes_;
  int count_;
  int taken_ = 0;  // number of atoms of the pursuits that continue
  int counts_[P] = {};
  int atom_[P] = {};
  double energy_[P] = {}, left_[P] = {};
  double least_[P];  // least share of a chosen atom's squared norm outside the span of the others
  double open_[P] = {};  // one while a pursuit continues, then zero
  double square_[P] = {}, rest_[P] = {}, correlation_[P] = {};
};

}  // namespace FOST_NAMESPACE
}  // namespace fost
