/* SPDX-License-Identifier: BSD-3-Clause */
#include "fast.h"

const struct fast *fast_files = NULL;
