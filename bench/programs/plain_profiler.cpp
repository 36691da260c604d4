// Minimal profilers for the benchmark `clr`, for .NET on x86-64 Linux.
//
// PLAIN_PROFILER selects one:
// `mutex`     the article's design on today's hooks: one lock, a map from threads to stacks of open calls, a map from
//             functions to counts and times, and the system's clock; without its printing.
// `slow`      the runtime's own wrappers around empty hooks (SetEnterLeaveFunctionHooks3WithInfo).
// `slow-info` the same, and each enter hook reads its frame (GetFunctionEnter3Info).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <unordered_map>
#include <vector>

using Result = int32_t;
using Id = uintptr_t;

static const Result OK = 0, NO_INTERFACE = Result(0x80004002);
// Hooks in the first mask make the runtime reject precompiled code, which does not affect the cost of a call.
static const uint32_t ENTERLEAVE = 0x1000, FRAME_INFO = 0x08000000;

struct Call { Id function; uint64_t start; };
struct Total { uint64_t calls, nanoseconds; };

static std::mutex lock;
static std::unordered_map<uintptr_t, std::vector<Call>> *stacks;
static std::unordered_map<Id, Total> *totals;
static bool asks;
static void *info;

static uint64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

// The address of a thread-local variable identifies the thread as well as its id, and is faster to get.
static uintptr_t thread() {
    static thread_local char mine;
    return uintptr_t(&mine);
}

template <typename Function> static Function slot(void *object, size_t number) {
    return (*reinterpret_cast<Function **>(object))[number];
}

extern "C" {

void plain_enter(Id function) {
    std::lock_guard<std::mutex> guard(lock);
    (*stacks)[thread()].push_back({function, now()});
}

void plain_leave(Id function) {
    std::lock_guard<std::mutex> guard(lock);
    auto &stack = (*stacks)[thread()];
    if (stack.empty()) return;
    Total &total = (*totals)[function];
    total.calls += 1;
    total.nanoseconds += now() - stack.back().start;
    stack.pop_back();
}

// The id is in R14 on enter and in RDI on leave; arguments and results are in the saved registers.
__attribute__((naked)) void fast_enter() {
    asm("push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9; push %r10; push %r11\n"
        "sub $128, %rsp\n"
        "movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp); movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"
        "mov %r14, %rdi; call plain_enter@PLT\n"
        "movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5; movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"
        "add $128, %rsp\n"
        "pop %r11; pop %r10; pop %r9; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax; ret");
}

__attribute__((naked)) void fast_leave() {
    asm("push %rax; push %rdx; sub $40, %rsp; movups %xmm0, (%rsp); movups %xmm1, 16(%rsp)\n"
        "call plain_leave@PLT\n"
        "movups (%rsp), %xmm0; movups 16(%rsp), %xmm1; add $40, %rsp; pop %rdx; pop %rax; ret");
}

static void slow_enter(Id function, Id more) {
    if (!asks) return;
    // GetFunctionEnter3Info without a buffer for arguments: only the frame.
    using Get = Result (*)(void *, Id, Id, Id *, uint32_t *, void *);
    Id frame = 0;
    uint32_t size = 0;
    slot<Get>(info, 63)(info, function, more, &frame, &size, nullptr);
}

static void slow_leave(Id, Id) {}

static Result start(void *unknown) {
    // ICorProfilerInfo5
    static const uint8_t wanted[16] = {0x28, 0x29, 0x60, 0x07, 0x38, 0xCE, 0x83, 0x4B, 0x81, 0xE7, 0x74, 0xAD, 0xAF, 0x78, 0x12, 0x14};
    using Query = Result (*)(void *, const void *, void **);
    Result result = slot<Query>(unknown, 0)(unknown, wanted, &info);
    if (result < 0) return result;
    const char *which = std::getenv("PLAIN_PROFILER");
    bool fast = which && std::strcmp(which, "mutex") == 0;
    asks = which && std::strcmp(which, "slow-info") == 0;
    stacks = new std::unordered_map<uintptr_t, std::vector<Call>>;
    totals = new std::unordered_map<Id, Total>;
    using Mask = Result (*)(void *, uint32_t, uint32_t);
    result = slot<Mask>(info, 82)(info, ENTERLEAVE | (fast ? 0 : FRAME_INFO), 0);
    if (result < 0) return result;
    using Hooks = Result (*)(void *, const void *, const void *, const void *);
    if (fast) {
        auto enter = reinterpret_cast<const void *>(&fast_enter), leave = reinterpret_cast<const void *>(&fast_leave);
        return slot<Hooks>(info, 61)(info, enter, leave, leave);
    }
    auto enter = reinterpret_cast<const void *>(&slow_enter), leave = reinterpret_cast<const void *>(&slow_leave);
    return slot<Hooks>(info, 62)(info, enter, leave, leave);
}

static Result initialize(void *, void *unknown) {
    Result result = start(unknown);
    // Otherwise the benchmark would measure the program without a profiler.
    if (result < 0) std::abort();
    return result;
}

static Result nothing() { return OK; }
static uint32_t reference(void *) { return 1; }

static void *callback_table[98];
static void *callback = callback_table;

static Result callback_query(void *object, const void *, void **out) { *out = object; return OK; }

static Result create(void *, void *, const void *, void **out) {
    for (void *&entry : callback_table) entry = reinterpret_cast<void *>(&nothing);
    callback_table[0] = reinterpret_cast<void *>(&callback_query);
    callback_table[1] = callback_table[2] = reinterpret_cast<void *>(&reference);
    callback_table[3] = reinterpret_cast<void *>(&initialize);
    *out = &callback;
    return OK;
}

static void *factory_table[5] = {
    reinterpret_cast<void *>(&callback_query), reinterpret_cast<void *>(&reference), reinterpret_cast<void *>(&reference),
    reinterpret_cast<void *>(&create), reinterpret_cast<void *>(&nothing)};
static void *factory = factory_table;

__attribute__((visibility("default"))) Result DllGetClassObject(const void *, const void *, void **out) {
    if (!out) return NO_INTERFACE;
    *out = &factory;
    return OK;
}

}
