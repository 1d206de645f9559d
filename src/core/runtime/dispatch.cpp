// Processor detection and the table of instruction sets.
#include "runtime/dispatch.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace fost {
namespace {

struct InstructionSet {
  const char* name;
  bool (*supported)();
  const Kernels<float>* single;
  const Kernels<double>* full;
  const Algebra* algebra;
};

bool always() { return true; }
#if defined(__x86_64__)
// By cpuid, since not every compiler knows this feature's name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
[[maybe_unused]] bool has_avx2() {
  return has_f16c() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
[[maybe_unused]] bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

const InstructionSet SETS[] = {
    {"baseline", always, &baseline::single, &baseline::full, &baseline::algebra},
#if defined(FOST_AVX2)
    {"avx2", has_avx2, &avx2::single, &avx2::full, &avx2::algebra},
#endif
#if defined(FOST_AVX512)
    {"avx512", has_avx512, &avx512::single, &avx512::full, &avx512::algebra},
#endif
};

const InstructionSet* find(const std::string& name) {
  for (const InstructionSet& set : SETS)
    if (name == set.name && set.supported()) return &set;
  std::string known;
  for (const std::string& other : available_isas()) known += (known.empty() ? "" : ", ") + other;
  throw std::invalid_argument("instruction set '" + name +
                              "' is not available; this machine runs: " + known);
}

std::atomic<const InstructionSet*> current{nullptr};

// FOST_ISA if it is set, else the best instruction set that the processor supports.
const InstructionSet* initial() {
  const char* forced = std::getenv("FOST_ISA");
  return find(forced && *forced ? forced : available_isas().back());
}

const InstructionSet& in_use() {
  const InstructionSet* set = current.load();
  if (!set) current.store(set = initial());
  return *set;
}

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const InstructionSet& set : SETS)
    if (set.supported()) names.push_back(set.name);
  return names;
}

std::string get_isa() { return in_use().name; }
void set_isa(const std::string& name) { current.store(find(name)); }

template <> const Kernels<float>& kernels<float>() { return *in_use().single; }
template <> const Kernels<double>& kernels<double>() { return *in_use().full; }
const Algebra& algebra() { return *in_use().algebra; }

#if defined(__x86_64__)
std::optional<bool> registers_clean() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned TELLS_USE = 1u << 2, UPPER_HALVES = 1u << 2;
  if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(0xd, 1, &a, &b, &c, &d) ||
      !(a & TELLS_USE))
    return std::nullopt;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return !(low & UPPER_HALVES);
}
#else
std::optional<bool> registers_clean() { return std::nullopt; }
#endif

}  // namespace fost
