/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Shadow of include/rtrcu/detail/word.h for the explored build: the real text, with the layout that SIM_TWO_WORDS says.
 */
#ifndef SIM_RTRCU_DETAIL_WORD_H
#define SIM_RTRCU_DETAIL_WORD_H

#include <rtrcu/detail/reader.h>

#ifdef SIM_TWO_WORDS
#pragma push_macro("__x86_64__")
#undef __x86_64__
#define __aarch64__ 1
#include_next <rtrcu/detail/word.h>
#undef __aarch64__
#pragma pop_macro("__x86_64__")
#else
#include_next <rtrcu/detail/word.h>
#endif

#endif
