// SPDX-License-Identifier: BSD-3-Clause
//
// std::getline and >> into a std::string in tracked memory: they read into another string, which is then assigned. This
// file is compiled with the pass, so that the assignment is tracked.
#include <istream>
#include <string>

// The functions of libstdc++. Under their own names this file would call its functions below.
std::istream &plainGetline(std::istream &stream, std::string &to, char end) asm("snapshot_plain_getline");
std::istream &plainExtract(std::istream &stream, std::string &to) asm("snapshot_plain_extract");

namespace {

// Reads into a new string, and assigns it if the call extracted something. A stream that is not good extracts nothing.
template <class Extract> std::istream &extract(std::istream &stream, std::string &to, Extract &&call) {
    if (!stream.good())
        return call(to);
    std::string text;
    call(text);
    bool extracted = !text.empty() || !stream.fail();
    if (extracted)
        to.assign(text.data(), text.size());
    return stream;
}

} // namespace

#define GETLINE                                                                                                        \
    "_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE"
#define EXTRACT "_ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE"

std::istream &getlineUntil(std::istream &stream, std::string &to, char end) asm("__snapshot_libc_" GETLINE "S4_");
std::istream &getlineUntil(std::istream &stream, std::string &to, char end) {
    return extract(stream, to, [&](std::string &text) -> std::istream & { return plainGetline(stream, text, end); });
}

std::istream &getlineOf(std::istream &stream, std::string &to) asm("__snapshot_libc_" GETLINE);
std::istream &getlineOf(std::istream &stream, std::string &to) { return getlineUntil(stream, to, stream.widen('\n')); }

std::istream &extractWord(std::istream &stream, std::string &to) asm("__snapshot_libc_" EXTRACT);
std::istream &extractWord(std::istream &stream, std::string &to) {
    return extract(stream, to, [&](std::string &text) -> std::istream & { return plainExtract(stream, text); });
}
